"""Arguments beyond all measure: refused before anybody is asked, and repeated to nobody."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.engine.builders import Lab, answer, mail, sent

from pollux import tool
from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.engine.gate import Toolbox
from pollux.providers.scripted import call, reply


@dataclass
class Line:
    kind: Literal["a", "b"]


CANARY = "canary-0123456789"
LARGE: list[dict[str, JSON]] = [
    {"to": "bob@example.com", "body": CANARY * 300_000},
    {"to": CANARY * 300_000, "body": ""},
    {"to": "bob@example.com", "body": "", "more": [CANARY] * 300_000},
    {"to": "bob@example.com", "body": {CANARY: CANARY}},
    {"to": [CANARY], "body": ""},
    {"to": "bob@example.com", "body": f"{CANARY}\0"},
    {"to": "bob@example.com", CANARY * 10_000: ""},
]


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    lab = Lab("memory", tmp_path)
    yield lab
    await lab.close()


@pytest.mark.parametrize("args", LARGE, ids=["body", "recipient", "list", "object", "type", "nul", "name"])
async def test_arguments_that_do_not_fit_are_not_repeated(lab: Lab, args: dict[str, JSON]):
    tool = mail()
    engine = await lab.engine(call("send_mail", args), reply("Sorry."), tools=[tool])
    run = await answer(engine)
    told = sent(lab.model)[-1]
    assert (run.text, tool.ran, run.approvals) == ("Sorry.", [], ())
    assert CANARY not in told
    assert len(told) < 1_000


async def test_millions_of_values_are_refused_for_their_number_before_anything_is_done_with_each(lab: Lab):
    tool = mail()
    engine = await lab.engine(call("send_mail", {"to": [0] * 2_000_000}), reply("Sorry."), tools=[tool])
    assert ((await answer(engine)).text, tool.ran) == ("Sorry.", [])
    assert "more than 20,000 values" in sent(lab.model)[-1]


def spend(to: Literal["bob"], lines: list[Line] | None = None, sizes: dict[str, int] | None = None) -> str:
    """Spend."""
    return to


@pytest.mark.parametrize(
    "args",
    [
        {CANARY: 1},
        {"to": CANARY},
        {"to": [CANARY]},
        {"to": "bob", CANARY: 1},
        {"to": "bob", f"x` - at `$.{CANARY}": 1},
        {"to": "bob", "lines": [{CANARY: 1}]},
        {"to": "bob", "lines": [{"kind": CANARY}]},
        {"to": "bob", "lines": [{"kind": "a", CANARY: 1}]},
        {"to": "bob", "sizes": {CANARY: "x"}},
        {"to": "bob", "sizes": {CANARY: {CANARY: CANARY}}},
    ],
)
@pytest.mark.parametrize("is_described", [True, False])
def test_arguments_of_a_typed_tool_are_not_repeated(args: dict[str, JSON], is_described: bool):
    schema: Any = {"input_schema": tool(spend).spec.input_schema} if is_described else {}
    with pytest.raises(ValidationError) as refused:
        Toolbox([tool(spend, **schema)]).prepare("spend", args)
    assert CANARY not in str(refused.value)
    with pytest.raises(ValidationError) as refused:
        tool(spend).prepare(args)
    assert CANARY not in str(refused.value)
