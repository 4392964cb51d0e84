"""What has consequences beyond the page asks first, in the page's own words."""

from pathlib import Path
from typing import Any

import pytest
from tests.page.site import page_site

from pollux.engine.on_page import EVERYTHING
from pollux.page.consequences import consequential
from pollux.providers.scripted import ScriptedProvider, call, reply

TEXT: dict[str, Any] = {"type": "string"}


def tool(name: str) -> dict[str, Any]:
    properties = dict.fromkeys(("ref", "coordinate", "key", "value", "event"), TEXT)
    return {"name": name, "description": "", "inputSchema": {"type": "object", "properties": properties}}


STATE: dict[str, Any] = {
    "private": [{"ref": "e1", "private": True}],
    "asks": [
        {"ref": "e1", "role": "textbox", "name": "Password"},
        {"ref": "e2", "role": "textbox", "name": "Card  holder", "consequential": "enter"},
        {"ref": "e4", "role": "button", "name": "Pay now", "consequential": True},
    ],
    "interactions": [
        {"refName": "buy", "items": [{"coordinate": ["mug", "buy"], "name": "Buy", "consequential": True}]},
    ],
}


@pytest.mark.parametrize(
    ("name", "args", "preview"),
    [
        ("click", {"ref": "e4"}, "Press “Pay now”"),
        ("trigger-interaction", {"coordinate": "mug/buy"}, "Press “Buy”"),
        ("click-buy", {"coordinate": "mug/buy"}, "Press “Buy”"),
        ("press", {"ref": "e2", "key": "Enter"}, "Press a key in “Card holder”: Enter"),
        ("press", {"key": "Enter"}, "Press the key Enter"),
        ("press", {"key": " "}, "Press the key Space"),
        ("press", {"key": "Return"}, "Press the key Return"),
        ("press", {"ref": "e2", "key": "Control+Enter"}, "Press a key in “Card holder”: Control+Enter"),
        ("press", {"ref": "e2", "key": "Shift+ "}, "Press a key in “Card holder”: Shift+ "),
        ("press", {"ref": "", "key": "Enter"}, 'press {"key":"Enter","ref":""}'),
        ("fill", {"ref": "e1", "value": "hunter2"}, "Fill in “Password”: hunter2"),
        ("fill", {"ref": "e1", "value": "a", "event": "b"}, 'Fill in “Password”: {"event":"b","value":"a"}'),
        ("wave", {"ref": "e4"}, "wave: “Pay now”"),
        # The name of one control must not stand before a press of another.
        ("click", {"name": "e2", "ref": "e4"}, 'click {"name":"e2","ref":"e4"}'),
    ],
)
async def test_it_asks_in_the_words_that_stand_on_the_page(
    tmp_path: Path, name: str, args: dict[str, Any], preview: str
):
    async with page_site(tmp_path, ScriptedProvider(call(name, args), reply("Done."))) as site:
        page = await site.page()
        page.tools, page.state = [tool(name)], STATE
        told = await page.say("go on")
        assert told["type"] == "approval-required"
        (question,) = told["approvals"]
        assert (question["preview"], question["tool"], question["onPage"]) == (preview, name, True)
        answer = {"approvalId": question["id"], "decision": "approve_once"}
        assert (await page.post("/api/agent/approvals/resolve", answer))[0] == 200
        assert (await page.answer())["calls"][0]["args"] == args


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("click", {"ref": "e3"}),
        ("click", {"ref": "e2"}),
        ("fill", {"ref": "e2", "value": "Ada"}),
        ("press", {"ref": "e2", "key": "Tab"}),
        ("press", {"key": "Tab"}),
        ("press", {"key": "+"}),
        ("press", {"key": "Control++"}),
        ("scroll", {"ref": "e4"}),
    ],
)
async def test_nothing_else_asks(tmp_path: Path, name: str, args: dict[str, Any]):
    async with page_site(tmp_path, ScriptedProvider(call(name, args))) as site:
        page = await site.page()
        page.tools, page.state = [tool(name)], STATE
        assert (await page.say("go on"))["type"] == "tool-calls"


async def test_where_too_much_has_consequences_every_press_asks(tmp_path: Path):
    many = [{"ref": f"e{number}", "consequential": True} for number in range(2_001)]
    assert EVERYTHING in consequential({"asks": many}, ()).pressed
    async with page_site(tmp_path, ScriptedProvider(call("click", {"ref": "another"}))) as site:
        page = await site.page()
        page.tools, page.state = [tool("click")], {"asks": many}
        assert (await page.say("go on"))["type"] == "approval-required"


def test_the_model_is_not_told_of_it_twice():
    from pollux.page.prompt import system_prompt

    assert "Pay now" not in system_prompt(STATE)
