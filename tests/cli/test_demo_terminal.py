"""The demo at a terminal: a line that can be edited, words in one piece, and Ctrl-C that stops one thing at a time."""

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.cli.demos import environment, running
from tests.cli.store_bench import POLLUX
from tests.cli.terminal import CTRL_C, ENTER, UP, Terminal

from pollux.cli.demo.opened import PROMPTS

pytestmark = pytest.mark.slow

ANSWER = "\x1b[?2004l"
"""What the line editor writes when it stops listening."""
WELCOME = Path(__file__).parents[2] / "web/packages/console/src/pages/threads/welcome.tsx"
LEFT = "\x1b[D"
MAIL = "send an email to bob@example.com saying " + "wonderful " * 20


@asynccontextmanager
async def demo(tmp_path: Path) -> AsyncGenerator[Terminal]:
    terminal = Terminal([*POLLUX, "demo", "--port", "0"], cwd=tmp_path, env=environment(tmp_path), columns=80)
    try:
        await terminal.until("Ctrl-C ends it.")
        yield terminal
    finally:
        terminal.close()


async def test_what_is_typed_can_be_edited_and_comes_again(tmp_path: Path):
    async with demo(tmp_path) as terminal:
        await terminal.ready()
        terminal.type("say one twoo", LEFT, "\x7f", ENTER)
        await terminal.until(ANSWER + "one two\r\n")
        await terminal.ready()
        terminal.type(UP, "!", ENTER)
        await terminal.until(ANSWER + "one two!\r\n")


async def test_ctrl_c_clears_the_line_then_stops_the_answer_and_leaves_when_there_is_nothing_to_stop(tmp_path: Path):
    async with demo(tmp_path) as terminal:
        await terminal.ready()
        terminal.type("say nothing", CTRL_C)
        await terminal.say("count to 9000")
        await terminal.until("\r\n12")
        terminal.type(CTRL_C)
        await terminal.until("[cancelled]")
        await terminal.say(MAIL)
        await terminal.until("approve?")
        terminal.type(CTRL_C)
        await terminal.until("[cancelled]")
        await terminal.say("say still here")
        await terminal.until(ANSWER + "still here\r\n")
        await terminal.ready()
        terminal.type(CTRL_C)
        assert await terminal.ended() == 130
        assert terminal.echoes
        assert ANSWER + "nothing" not in terminal.raw


async def test_long_lines_break_between_words(tmp_path: Path):
    async with demo(tmp_path) as terminal:
        await terminal.say("say " + "wonderful " * 30)
        await terminal.until("\nwonderful")
        said = "wonderful" + await terminal.until("\x1b[?2004h")
        rows = [row.strip() for row in said.replace("\r", "").split("\n") if row.startswith("wonderful")]
        assert len(rows) >= 3 and all(len(row) < 80 for row in rows)
        assert set(" ".join(rows).split()) == {"wonderful"}


async def test_each_suggestion_of_the_console_and_the_terminal_does_what_it_says(tmp_path: Path):
    cards = re.findall(r'\[\s*"([^"]+)",\s*"([^"]+)",?\s*\]', WELCOME.read_text())
    assert len(cards) == 3
    async with running(tmp_path) as shown:
        await shown.hears("you> ")
        runs = [await shown.call("POST", "/api/agent/run", {"prompt": prompt}) for _, prompt in cards]
        asked = [sorted(subject for each in run["approvals"] for subject in each["subjects"]) for run in runs]
        assert asked == [[], ["bob@example.com"], ["ada@example.com", "carl@example.com"]]
        assert "The tools I can call now" in runs[0]["summary"]
        states = ["completed", "awaiting_confirmation", "awaiting_confirmation"]
        assert [run["state"] for run in runs] == states
        typed = [await shown.call("POST", "/api/agent/run", {"prompt": prompt}) for prompt in PROMPTS]
        assert [run["state"] for run in typed] == states
        assert "5" in typed[0]["summary"]
        assert [run["approvals"][0]["subjects"] for run in typed[1:]] == [["bob@example.com"], ["carol@example.com"]]
