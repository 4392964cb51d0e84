"""Arguments beyond all measure: refused before anybody is asked, and repeated to nobody."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.engine.builders import Lab, answer, mail, sent

from pollux.core.messages import JSON
from pollux.providers.scripted import call, reply

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
