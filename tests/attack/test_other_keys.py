"""A key by another of its names, or with others held down, presses what it always presses: the visitor is asked."""

from pathlib import Path
from typing import Any

import pytest
from tests.page.site import page_site

from pollux.providers.scripted import ScriptedProvider, call

TEXT: dict[str, Any] = {"type": "string"}
PRESS: dict[str, Any] = {
    "name": "press",
    "description": "",
    "inputSchema": {"type": "object", "properties": {"ref": TEXT, "key": TEXT}},
}
STATE: dict[str, Any] = {
    "asks": [
        {"ref": "e1", "role": "textbox", "name": "Card holder", "consequential": "enter"},
        {"ref": "e2", "role": "button", "name": "Pay now", "consequential": True},
    ]
}
PRESSING = (
    "Return", "RETURN", " Enter ", "NumpadEnter", "Shift+Enter", "Control+Enter", "Ctrl+Return", "Meta+Enter",
    "Alt+Shift+Enter", "ctrl-enter", "Control + Enter", "{Enter}", "<Return>", "Spacebar", "Control+Space", "Shift+ ",
    "\n", "\r",
)  # fmt: skip
OTHERS = ("a", ".", "-", "Tab", "Shift+Tab", "Escape", "ArrowDown", "Control+a", "Backspace", "Enterprise")


@pytest.mark.parametrize("where", [{"ref": "e1"}, {}], ids=["in a field", "wherever the focus is"])
@pytest.mark.parametrize("key", PRESSING, ids=repr)
async def test_enter_and_space_ask_by_all_their_names(tmp_path: Path, key: str, where: dict[str, Any]):
    assert await _answer(tmp_path, {**where, "key": key}) == "approval-required"


@pytest.mark.parametrize("where", [{"ref": "e1"}, {}], ids=["in a field", "wherever the focus is"])
@pytest.mark.parametrize("key", OTHERS)
async def test_what_is_neither_of_them_asks_nothing(tmp_path: Path, key: str, where: dict[str, Any]):
    assert await _answer(tmp_path, {**where, "key": key}) == "tool-calls"


async def _answer(tmp_path: Path, args: dict[str, Any]) -> str:
    async with page_site(tmp_path, ScriptedProvider(call("press", args))) as site:
        page = await site.page()
        page.tools, page.state = [PRESS], STATE
        return (await page.say("go on"))["type"]
