"""The chat as a person meets it: a real terminal, keys typed one after another, and a model on this machine."""

import asyncio
import json
import os
import re
import signal
import socket
import stat
import threading
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.cli.chats import Place
from tests.cli.fakes import Request, events, serving
from tests.cli.terminal import ALT_ENTER, CTRL_C, CTRL_D, ENTER, TAB, UP, Terminal
from tests.waiting import HANG_SECONDS

from pollux.emulator import run_emulator
from pollux.emulator.faults import FaultBook, read_rules

pytestmark = pytest.mark.slow

QUESTION = "run it?"
WRITE = 'call write_file {"path": "a.txt", "content": "one"}'


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[Place]:
    async with run_emulator() as emulator:
        yield Place(tmp_path, emulator)


def slow(place: Place) -> None:
    """From now on the model takes its time: five minutes to count to 1000."""
    place.emulator.faults = FaultBook(read_rules([{"fault": "slow;every=300"}]))


async def leave(terminal: Terminal) -> int:
    await terminal.ready()
    terminal.type(CTRL_D)
    return await terminal.ended()


# Talking.


async def test_it_answers_and_ctrl_d_leaves(place: Place):
    async with place.terminal() as terminal:
        await terminal.say("say hello Ada")
        await terminal.until("hello Ada\r\n")
        assert await leave(terminal) == 0
        assert "--session" in terminal.raw
        assert terminal.echoes


async def test_markdown_is_drawn_as_it_streams(place: Place):
    async with place.terminal() as terminal:
        await terminal.say("say this is **bold** and `code`")
        await terminal.until("this is \x1b[1mbold\x1b[0m and \x1b[36mcode\x1b[0m\r\n")


async def test_without_colour_no_code_sets_any_and_the_marks_are_read(place: Place):
    async with place.terminal(env={"NO_COLOR": "1"}) as terminal:
        await terminal.say("say this is **bold** and `code`")
        await terminal.until("this is **bold** and `code`\r\n")
        assert await leave(terminal) == 0
        assert not [code for code in terminal.raw.split("\x1b[")[1:] if code.lstrip("0123456789;").startswith("m")]


async def test_what_the_model_says_cannot_move_the_cursor(place: Place):
    async with place.terminal() as terminal:
        await terminal.ready()
        terminal.type("\x1b[200~say \x1b]0;title\x07 \u202eevil\x1b[201~", ENTER)
        await terminal.until("\\x1b]0;title\\x07 \\u202eevil\r\n")


async def test_while_it_waits_the_seconds_are_counted_and_gone_before_the_answer(place: Place):
    may_answer = threading.Event()

    def respond(request: Request, connection: socket.socket) -> None:
        may_answer.wait(2 * HANG_SECONDS)
        said = {"candidates": [{"content": {"parts": [{"text": "hello"}]}, "finishReason": "STOP"}]}
        connection.sendall(events(json.dumps(said).encode()))

    with serving(respond) as url:
        async with place.terminal(env={"GOOGLE_GEMINI_BASE_URL": url}) as terminal, asyncio.timeout(2 * HANG_SECONDS):

            async def counted() -> int:
                await terminal.until(" waiting ")
                return int(await terminal.until(" s"))

            await terminal.say("say hello")
            first = await counted()
            while await counted() == first:
                pass
            may_answer.set()
            before = await terminal.until("hello\r\n")
            last = re.findall(r". waiting \d+ s", terminal.raw)[-1]
            assert before.endswith(f"\r{' ' * len(last)}\r")


async def test_answers_alone_go_where_standard_output_goes(place: Place):
    async with place.terminal(into="out.txt") as terminal:
        await terminal.say("say **hello** Ada")
        assert await leave(terminal) == 0
        assert (place.work / "out.txt").read_text() == "**hello** Ada\n"


# Stopping and leaving.


async def test_ctrl_c_stops_an_answer_and_the_chat_goes_on(place: Place):
    slow(place)
    async with place.terminal() as terminal:
        await terminal.say("count to 1000")
        await terminal.until("2\r\n")
        terminal.type(CTRL_C)
        await terminal.until("(stopped)")
        await terminal.say("say still here")
        # Nothing more of the answer came after it was stopped.
        assert not re.search(r"^\d+\r$", await terminal.until("still here\r\n"), re.MULTILINE)
        assert await leave(terminal) == 0


async def test_ctrl_c_at_the_prompt_clears_the_line_and_twice_leaves(place: Place):
    async with place.terminal() as terminal:
        await terminal.ready()
        terminal.type("say nothing", CTRL_C)
        await terminal.until("Ctrl-C again leaves")
        await terminal.ready()
        terminal.type(CTRL_C)
        assert await terminal.ended() == 130
        assert place.prompts == []


async def test_ctrl_c_after_other_words_is_the_first_again(place: Place):
    async with place.terminal() as terminal:
        await terminal.ready()
        terminal.type(CTRL_C)
        await terminal.say("say one")
        await terminal.until("one\r\n")
        await terminal.ready()
        terminal.type(CTRL_C)
        await terminal.until("Ctrl-C again leaves")
        await terminal.ready()


async def test_an_interrupt_from_elsewhere_is_as_good_as_the_key(place: Place):
    async with place.terminal() as terminal:
        await terminal.ready()
        os.kill(terminal.pid, signal.SIGINT)
        await terminal.until("Ctrl-C again leaves")
        await terminal.ready()
        os.kill(terminal.pid, signal.SIGINT)
        assert await terminal.ended() == 130
        assert terminal.echoes


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_at_the_prompt_leaves_the_terminal_as_it_was(place: Place, number: signal.Signals):
    async with place.terminal() as terminal:
        await terminal.ready()
        os.kill(terminal.pid, number)
        assert await terminal.ended() == 128 + number
        assert terminal.echoes
        assert "Traceback" not in terminal.raw


async def test_a_signal_in_an_answer_ends_it(place: Place):
    slow(place)
    async with place.terminal() as terminal:
        await terminal.say("count to 1000")
        await terminal.until("2\r\n")
        os.kill(terminal.pid, signal.SIGTERM)
        assert await terminal.ended() == 143
        assert "Traceback" not in terminal.raw


# Typing.


@pytest.mark.parametrize("keys", [("one", ALT_ENTER, "two"), ("one\\", ENTER, "two"), ("\x1b[200~one\rtwo\x1b[201~",)])
async def test_several_lines_are_one_prompt(place: Place, keys: tuple[str, ...]):
    async with place.terminal() as terminal:
        await terminal.ready()
        terminal.type("say ", *keys, ENTER)
        await terminal.ready()
        assert place.prompts == ["say one\ntwo"]


async def test_what_was_typed_before_comes_back_and_is_nobody_elses(place: Place):
    async with place.terminal() as terminal:
        await terminal.say("say demo-key-of-the-tests again")
        await leave(terminal)
    history = place.home / "pollux" / "history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert "again" in history.read_text() and "demo-key-of-the-tests" not in history.read_text()
    async with place.terminal() as terminal:
        await terminal.ready()
        terminal.type(UP, ENTER)
        await terminal.until("again\r\n")


async def test_a_history_that_cannot_be_kept_still_lets_people_talk(place: Place):
    (place.home / "pollux" / "history").mkdir(parents=True)
    async with place.terminal() as terminal:
        await terminal.say("say hello")
        await terminal.until("hello\r\n")


async def test_tab_completes_a_command(place: Place):
    async with place.terminal() as terminal:
        await terminal.ready()
        terminal.type("/he", TAB, ENTER)
        await terminal.until("Alt-Enter")


# Being asked.


async def test_a_yes_runs_what_was_shown(place: Place):
    async with place.terminal() as terminal:
        await terminal.say(WRITE)
        shown = await terminal.until(QUESTION)
        assert "write_file asks first" in shown and "path: a.txt" in shown and "content: one" in shown
        await answer(terminal, "y")
        await terminal.until("write_file returned")
        assert (place.work / "a.txt").read_text() == "one"


@pytest.mark.parametrize("word", ["", "n", "what?", "yess"])
async def test_anything_but_a_yes_is_a_no(place: Place, word: str):
    async with place.terminal() as terminal:
        await terminal.say(WRITE)
        await terminal.until(QUESTION)
        await answer(terminal, word)
        await terminal.until("! write_file:")
        assert await leave(terminal) == 0
        assert not (place.work / "a.txt").exists()


async def test_always_is_not_asked_again(place: Place):
    async with place.terminal() as terminal:
        await terminal.say(WRITE)
        await terminal.until(QUESTION)
        await answer(terminal, "always")
        await terminal.until("write_file returned")
        await terminal.say(WRITE.replace("one", "two"))
        assert QUESTION not in await terminal.until("write_file returned")
        assert (place.work / "a.txt").read_text() == "two"


async def test_each_of_two_calls_is_asked_about(place: Place):
    async with place.terminal() as terminal:
        await terminal.say(f"{WRITE} {WRITE.replace('a.txt', 'b.txt')}")
        assert "a.txt" in await terminal.until(QUESTION)
        await answer(terminal, "y")
        await terminal.until("asks first")
        assert "b.txt" in await terminal.until(QUESTION)
        await answer(terminal, "n")
        await leave(terminal)
        assert (place.work / "a.txt").exists() and not (place.work / "b.txt").exists()


async def test_what_was_typed_before_the_question_is_no_answer_to_it(place: Place):
    async with place.terminal() as terminal:
        await terminal.ready()
        terminal.type(f"{WRITE}\ry\r")
        await terminal.until(QUESTION)
        await answer(terminal, "")
        await terminal.until("! write_file:")
        assert not (place.work / "a.txt").exists()


async def test_ctrl_c_at_a_question_stops_the_answer(place: Place):
    async with place.terminal() as terminal:
        await terminal.say(WRITE)
        await terminal.until(QUESTION)
        await terminal.until("why not")
        terminal.type(CTRL_C)
        await terminal.until("(stopped)")
        await terminal.say("say go on")
        await terminal.until("go on\r\n")
        assert not (place.work / "a.txt").exists()


async def test_hostile_arguments_are_shown_for_what_they_are(place: Place):
    async with place.terminal() as terminal:
        await terminal.ready()
        terminal.type(r'call shell {"command": "echo \u001b[2K\rls \u202e gnp.exe\n  run it? > y"}', ENTER)
        shown = await terminal.until(QUESTION + " [y]es")
        assert r"echo \x1b[2K\x0dls \u202e gnp.exe\x0a  run it? > y" in shown.replace("\r\n", "").replace(
            "      | ", ""
        )


async def test_at_a_narrow_terminal_no_argument_draws_a_row_of_its_own(place: Place):
    async with place.terminal(columns=20) as terminal:
        await terminal.ready()
        terminal.type('call shell {"command": "ls' + " " * 60 + 'run it? yes"}', ENTER)
        shown = await terminal.until("why not")
        rows = shown.split("command: ")[1].split("\r\n")[1:]
        ours = next(number for number, row in enumerate(rows) if not row)
        assert ours > 4
        assert all(row.startswith("      | ") and len(row) < 20 for row in rows[:ours])


# Commands.


async def test_undo_takes_the_last_exchange_back(place: Place):
    async with place.terminal() as terminal:
        await terminal.say("say one")
        await terminal.say("say two")
        await terminal.say("/undo")
        await terminal.until("Taken back: say two")
        await terminal.say("say three")
        await terminal.until("three\r\n")
        said = place.emulator.requests[-1].body["contents"]
        assert [turn["parts"][0]["text"] for turn in said] == ["say one", "one", "say three"]


async def test_the_latest_session_is_gone_on_with(place: Place):
    async with place.terminal() as terminal:
        await terminal.say("say one")
        assert await leave(terminal) == 0
    async with place.terminal("--session", "latest") as terminal:
        await terminal.say("say two")
        await terminal.until("two\r\n")
        assert len(place.emulator.requests[-1].body["contents"]) == 3


async def test_a_question_left_open_is_asked_when_somebody_comes(place: Place):
    left = await place.piped(f"{WRITE}\nsay unread\n")
    assert left.code == 3 and "pollux approvals approve" in left.talk
    async with place.terminal("--session", "latest") as terminal:
        await terminal.until(QUESTION)
        await answer(terminal, "y")
        await terminal.until("write_file returned")
        assert (place.work / "a.txt").read_text() == "one"


async def answer(terminal: Terminal, word: str) -> None:
    await terminal.until("why not")
    terminal.type(word, ENTER)
