"""Consent is to what a tool holds, too: one function with another value behind it is another tool."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.attack import gate_cases, shop_tools, standing
from tests.attack.gate_cases import toolbox
from tests.attack.shop_tools import PAIRS, SENT, Bank, of
from tests.attack.test_consent import process
from tests.engine.builders import ADA, answer, question, settle

from pollux.core.errors import Misfit
from pollux.engine.definitions import definition_hash
from pollux.engine.gate import Toolbox
from pollux.providers.scripted import call, reply
from pollux.stores.memory import MemoryStore
from pollux.tools.registered import registered_tools

PAY = call("pay", {"amount": "5"})


def used(target: str) -> Any:
    return registered_tools({"pay": {"use": f"tests.attack.shop_tools:{target}"}})["pay"]


async def test_a_yes_for_a_configured_tool_is_none_for_another_of_the_same_code():
    store = MemoryStore()
    SENT.clear()
    async with process(store, used("test"), PAY) as engine:
        asked = await answer(engine)
    async with process(store, used("live"), reply("Paid.")) as engine:
        with pytest.raises(Misfit, match="nothing ran") as refused:
            await engine.resolve(question(asked).id, "approved", by=ADA)
        assert (refused.value.code, SENT) == ("policy_changed", [])


async def test_always_for_a_configured_tool_is_not_for_another_of_the_same_code():
    store = MemoryStore()
    for target, status in [("test", "awaiting_confirmation"), ("test", "completed"), ("live", "awaiting_confirmation")]:
        async with process(store, used_for(target), PAY, reply("Paid.")) as engine:
            run = await answer(engine)
            assert (target, run.status) == (target, status)
            if run.is_open:
                await engine.resolve(question(run).id, "approved", by=ADA, scope="always")
                await settle(engine, run)


def used_for(target: str) -> Any:
    return registered_tools({"pay": {"use": f"tests.attack.shop_tools:{target}_to"}})["pay"]


def test_the_place_under_which_a_tool_was_found_is_a_part_of_it():
    assert definition_hash(used("live")) == definition_hash(used("live"))
    assert definition_hash(used("live")) != definition_hash(used("also_live"))


@pytest.mark.parametrize("what", PAIRS)
def test_another_value_makes_another_tool_and_the_same_value_does_not(what: str):
    make, one, other = PAIRS[what]
    assert definition_hash(make(one)) == definition_hash(make(one))
    assert definition_hash(make(one)) != definition_hash(make(other))


def test_what_a_tool_changes_while_it_works_does_not_make_it_another_one():
    bank = Bank("live")
    before = Toolbox([of(bank.pay)]).definition("pay")
    bank.host = "live, and called once"
    assert Toolbox([of(bank.pay)]).definition("pay") == before


class Member:
    """One whose place in a set is told to it, as an address tells it of a function."""

    places: ClassVar[dict[str, int]] = {}

    def __init__(self, run: Callable[..., object]) -> None:
        self.run = run

    def __hash__(self) -> int:
        return self.places[self.run.__module__]


def test_the_order_of_a_set_does_not_make_another_tool():
    runs = (standing.stand, gate_cases.toolbox)
    found: set[str] = set()
    for first in runs:
        Member.places = {run.__module__: int(run is not first) for run in runs}
        found.add(definition_hash(shop_tools.make(frozenset(map(Member, runs)))))
    assert len(found) == 1


EVERY = """
import json, sys
from pathlib import Path
from tests.attack.gate_cases import toolbox
from tests.attack.shop_tools import PAIRS
from tests.attack.test_consent_to_values import used
from pollux.engine.definitions import definition_hash
box = toolbox(Path(sys.argv[1]))
known = {name: definition_hash(tool) for name, tool in box.items()}
known |= {what: definition_hash(make(one)) for what, (make, one, _) in PAIRS.items()}
print(json.dumps(known | {"used": definition_hash(used("live"))}))
"""


def test_every_tool_is_the_same_one_in_every_process(tmp_path: Path):
    def known(seed: str) -> dict[str, str]:
        # Other addresses, another order of sets, and code that is compiled once more.
        environ = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.getcwd(), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", EVERY, str(tmp_path)]
        return json.loads(subprocess.run(command, env=environ, check=True, capture_output=True, timeout=60).stdout)

    first = known("1")
    assert first.keys() >= {*toolbox(tmp_path), *PAIRS}
    assert known("2") == first
    assert known("3") == first
