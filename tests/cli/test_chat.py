"""The chat through pipes: line by line, no control codes, nobody asked, every exit code."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.cli.chats import POLLUX, Place
from tests.waiting import HANG_SECONDS

from pollux.emulator import run_emulator
from pollux.emulator.faults import FaultBook, read_rules

pytestmark = pytest.mark.slow

WRITE = 'call write_file {"path": "a.txt", "content": "one"}\n'


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[Place]:
    async with run_emulator() as emulator:
        yield Place(tmp_path, emulator)


async def test_answers_are_all_there_is_on_standard_output(place: Place):
    (place.work / "notes.txt").write_text("buy milk")
    done = await place.piped("say **hello**\nread the file notes.txt\n")
    assert (done.code, done.out) == (0, "**hello**\nread_file returned buy milk\n")
    assert done.talk == '  > read_file {"path": "notes.txt"}\n'


async def test_a_backslash_joins_lines_and_the_last_line_needs_no_end(place: Place):
    done = await place.piped("say one\\\ntwo")
    assert (done.code, place.prompts, done.out) == (0, ["say one\ntwo"], "one\ntwo\n")


async def test_a_line_may_be_longer_than_any_buffer(place: Place):
    done = await place.piped(f"say {'x' * 200_000}\n")
    assert (done.code, done.out) == (0, f"{'x' * 200_000}\n")


async def test_control_characters_leave_as_escapes(place: Place):
    done = await place.piped("say \x1b[31mred\u202e\n")
    assert done.out == "\\x1b[31mred\\u202e\n"


async def test_a_key_in_an_answer_is_masked(place: Place):
    done = await place.piped("say the key is demo-key-of-the-tests, is it not\n")
    assert "the key is" in done.out and "is it not" in done.out
    assert "demo-key-of-the-tests" not in done.out + done.talk


async def test_with_nobody_there_a_question_waits_and_no_line_answers_it(place: Place):
    done = await place.piped(f"{WRITE}y\n")
    assert (done.code, done.out) == (3, "")
    assert "write_file needs approval: pollux approvals approve " in done.talk
    assert not (place.work / "a.txt").exists()
    again = await place.piped("y\n", "--session", "latest")
    assert again.code == 3, "it still waits"


async def test_a_rule_lets_it_pass(place: Place):
    done = await place.piped(WRITE, "--allow", "write_file:a.txt")
    assert done.code == 0
    assert (place.work / "a.txt").read_text() == "one"


async def test_a_failed_answer_is_told_and_the_next_line_is_asked(place: Place):
    place.emulator.faults = FaultBook(read_rules([{"fault": "400", "times": 1}]))
    done = await place.piped("say one\nsay two\n")
    assert (done.code, done.out) == (0, "two\n")
    assert done.talk.startswith("pollux: model_error: ")
    assert (await place.piped("say one\n", "--model", "gemini-3.8-flash--400")).code == 1


async def test_a_silent_model_is_given_up_on_in_time(place: Place):
    done = await place.piped("say one\n", "--model", "gemini-3.8-flash--silent", "--timeout", "1")
    assert done.code == 1 and "pollux: timeout" in done.talk


async def test_without_a_key_nothing_is_asked(place: Place):
    done = await place.piped("say one\n", env={"GEMINI_API_KEY": ""})
    assert (done.code, done.out, place.prompts) == (1, "", [])
    assert "GEMINI_API_KEY is not set" in done.talk


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--cwd", "nowhere"), "--cwd must be a directory"),
        (("--model", "nonsense"), "has no known form"),
        (("--allow", "two words"), "--allow expects"),
        (("--system-prompt-file", "nowhere"), "cannot be read"),
        (("--system-prompt", "x", "--system-prompt-file", "y"), "not both"),
        (("--timeout", "soon"), "expected seconds above 0"),
        (("words",), "unrecognized arguments"),
    ],
)
async def test_what_cannot_be_used_is_said_in_a_line(place: Place, options: tuple[str, ...], said: str):
    done = await place.piped("say one\n", *options)
    assert (done.code, done.out, place.prompts) == (2, "", [])
    assert said in done.talk and "Traceback" not in done.talk


@pytest.mark.parametrize("session", ["latest", "none-such"])
async def test_a_session_that_is_not_there_is_an_error(place: Place, session: str):
    done = await place.piped("say one\n", "--session", session)
    assert (done.code, done.out) == (1, "")
    assert "there is no session" in done.talk


async def test_the_store_may_be_named(place: Place):
    assert (await place.piped("say one\n", "--store", "own.db")).code == 0
    assert (place.work / "own.db").exists()
    assert (await place.piped("say two\n", "--store", "own.db", "--session", "latest")).code == 0


# Commands.


async def test_help_lists_every_command(place: Place):
    done = await place.piped("/help\n")
    for name in ("/help", "/model", "/tools", "/sessions", "/compress", "/cost", "/undo", "/quit"):
        assert f"  {name} " in done.out


async def test_an_unknown_command_is_answered_with_a_hint_and_a_path_is_not_one(place: Place):
    done = await place.piped("/modle\n/etc/passwd is what?\n")
    assert "there is no command /modle. Did you mean /model?" in done.talk
    assert place.prompts == ["/etc/passwd is what?"]


async def test_another_model_answers_from_then_on(place: Place):
    done = await place.piped(
        "/model\nsay one\n/model gemini-2.5-pro\nsay two\n/model claude-x\n/model what\nsay three\n"
    )
    assert done.out.splitlines() == [
        "gemini-3.8-flash",
        "one",
        "gemini-2.5-pro answers from now on.",
        "two",
        "three",
    ]
    assert [request.path.split("/")[-1].split(":")[0] for request in place.emulator.requests] == [
        "gemini-3.8-flash",
        "gemini-2.5-pro",
        "gemini-2.5-pro",
    ]
    assert len(place.emulator.requests[-1].body["contents"]) == 5, "in the same session"
    assert "ANTHROPIC_API_KEY is not set" in done.talk and "'what' has no known form" in done.talk


async def test_tools_are_listed_with_those_that_ask_first(place: Place):
    done = await place.piped("/tools\n")
    assert "read_file\n    Read a text file" in done.out
    assert "shell (asks first" in done.out


async def test_sessions_are_listed_and_gone_on_with_by_number(place: Place):
    await place.piped("say first\n")
    done = await place.piped("say second\n/sessions\n/sessions 2\nsay third\n/sessions 7\n")
    listed = [line for line in done.out.splitlines() if "messages" in line]
    assert listed[0].startswith("*  1") and listed[0].endswith("2 messages  say second")
    assert listed[1].startswith("   2") and listed[1].endswith("2 messages  say first")
    assert [part["parts"][0]["text"] for part in place.emulator.requests[-1].body["contents"]] == [
        "say first",
        "first",
        "say third",
    ]
    assert "expected a number from 1 to 2" in done.talk


async def test_the_cost_is_the_sessions(place: Place):
    done = await place.piped("/cost\nsay one\n/cost\n")
    empty, _, spent = done.out.splitlines()
    assert empty == "0 tokens in, 0 out: $0.0000"
    assert "tokens in" in spent and spent != empty


async def test_undo_drops_the_last_exchange_tools_and_all(place: Place):
    (place.work / "notes.txt").write_text("buy milk")
    done = await place.piped("say one\nread the file notes.txt\n/undo\nsay two\n/undo\n/undo\n/undo\nsay three\n")
    assert "Taken back: read the file notes.txt\n2 messages are left." in done.out
    assert "there is nothing to undo" in done.talk
    assert [len(request.body["contents"]) for request in place.emulator.requests] == [1, 3, 5, 3, 1]


async def test_a_summary_is_made_before_the_next_answer_and_only_then(place: Place):
    long = "word " * 500
    done = await place.piped(f"say {long}\nsay {long}\n/compress\nsay one\nsay two\n")
    assert done.code == 0
    assert done.talk.count("summarised") == 1
    assert "(summarised: " in done.talk and " tokens became " in done.talk


async def test_there_may_be_nothing_to_summarise(place: Place):
    done = await place.piped("/compress\nsay one\n")
    assert done.talk == "  (there was nothing to summarise yet)\n"


# Ends.


async def test_quit_leaves_what_follows_unread(place: Place):
    done = await place.piped("/quit\nsay one\n")
    assert (done.code, done.out, place.prompts) == (0, "", [])


@pytest.mark.parametrize("redirection", ["</dev/null", "<&-", "<empty"])
async def test_without_words_it_ends_at_once(place: Place, redirection: str):
    (place.work / "empty").touch()
    process = await asyncio.create_subprocess_exec(
        "sh", "-c", f'"$@" {redirection}', "sh", *POLLUX, cwd=place.work, env=place.env
    )
    assert await asyncio.wait_for(process.wait(), HANG_SECONDS) == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_a_signal_ends_it_without_a_word(place: Place, number: signal.Signals, code: int):
    process = await asyncio.create_subprocess_exec(
        *POLLUX,
        cwd=place.work,
        env=place.env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(b"say one\n")
    assert await asyncio.wait_for(process.stdout.readline(), HANG_SECONDS) == b"one\n"
    process.send_signal(number)
    _, talk = await asyncio.wait_for(process.communicate(), HANG_SECONDS)
    assert (process.returncode, talk) == (code, b"")


async def test_a_reader_who_has_seen_enough_is_no_error(place: Place):
    reading, writing = os.pipe()
    os.close(reading)
    process = await asyncio.create_subprocess_exec(
        *POLLUX,
        cwd=place.work,
        env=place.env,
        stdin=asyncio.subprocess.PIPE,
        stdout=writing,
        stderr=asyncio.subprocess.PIPE,
    )
    os.close(writing)
    _, talk = await asyncio.wait_for(process.communicate(b"say one\n"), HANG_SECONDS)
    assert (process.returncode, talk) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
async def test_a_full_disk_is_said_in_a_line(place: Place):
    with Path("/dev/full").open("wb") as full:
        process = await asyncio.create_subprocess_exec(
            *POLLUX,
            cwd=place.work,
            env=place.env,
            stdin=asyncio.subprocess.PIPE,
            stdout=full,
            stderr=asyncio.subprocess.PIPE,
        )
        _, talk = await asyncio.wait_for(process.communicate(b"say one\n"), HANG_SECONDS)
    assert (process.returncode, talk) == (1, b"pollux: standard output cannot be written (No space left on device)\n")


async def test_a_terminal_that_cannot_write_a_character_gets_its_escape(place: Place):
    done = await place.piped("say é\n", env={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    assert (done.code, done.out) == (0, "\\xe9\n")


def test_help_is_told_without_an_event_loop_or_a_line_editor():
    told = (
        "import sys, json\nfrom pollux.cli.chat import main\ntry:\n  main(['--help'])\nexcept SystemExit:\n  pass\n"
        "print(json.dumps([name for name in ('asyncio', 'prompt_toolkit', 'aiohttp') if name in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, text=True, timeout=2 * HANG_SECONDS, check=True
    )
    assert "pollux chat --session latest" in done.stdout
    assert json.loads(done.stdout.splitlines()[-1]) == []
