"""A run of the command line whose process was killed is gone on with by `pollux sessions resume`."""

import json
import os
import select
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.programs import FORMATS, PATIENCE, POLLUX, Ended, Place
from tests.cli.store_bench import send
from tests.cli.terminal import ENTER, Terminal
from tests.cli.test_early import struck
from tests.waiting import block_until

from pollux import Agent
from pollux.emulator import Emulator
from pollux.testing import call, scripted

pytestmark = pytest.mark.slow

JSON = ("--output-format", "json")
STREAM = ("--output-format", "stream-json")
# Each goes wrong once: what goes on with the run meets a model that answers.
SILENT_ONCE = "gemini-3.8-flash--silent-times1"
IDLE_ONCE = "gemini-3.8-flash--idle-after2-times1"
SLOW = "gemini-3.8-flash--slow-every100"
"""Takes five minutes to count to 3000: longer than any of these tests."""
QUESTION = "run it?"


def started(place: Place, *words: str) -> "subprocess.Popen[bytes]":
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen[bytes]([*POLLUX, *words], cwd=place.cwd, env=place.environ, **streams)


def ended(process: "subprocess.Popen[bytes]", words: tuple[str, ...] = ()) -> Ended:
    with process:
        out, err = process.communicate(timeout=PATIENCE)
    done = Ended(words, process.returncode, out, err)
    assert "Traceback" not in done.talk, done
    return done


def pollux(place: Place, *words: str) -> Ended:
    return ended(started(place, *words), words)


def resumed(place: Place, *words: str, session: str = "latest") -> Ended:
    return pollux(place, "sessions", "resume", session, *words)


def speaking(process: "subprocess.Popen[bytes]") -> "subprocess.Popen[bytes]":
    """The same, once its model has said something."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
    assert ready and b"assistant" in process.stdout.readline()
    return process


def killed(process: "subprocess.Popen[bytes]", once: Callable[[], bool] = lambda: True) -> None:
    block_until(once)
    process.kill()
    assert ended(process).code == -signal.SIGKILL


def killed_unheard(place: Place, emulator: Emulator, *words: str) -> None:
    """A run that was killed while its model had not said a word."""
    before = len(emulator.requests)
    process = started(place, "run", *words, "--model", SILENT_ONCE)
    killed(process, lambda: len(emulator.requests) > before)


def calls(command: str) -> str:
    return f"call shell {json.dumps({'command': command})}"


def sessions(place: Place) -> list[str]:
    """Of every directory, last updated first."""
    listed = json.loads(pollux(place, "sessions", "list", "--all", "--json").stdout)
    return [item["sessionId"] for item in listed["items"]]


# Killed while the model answers.


@pytest.mark.parametrize("format_", FORMATS)
def test_an_answer_that_was_cut_off_is_told_whole(here: Place, format_: str):
    format_words = ("--output-format", format_)
    killed(speaking(started(here, "run", "count to 9", "--model", IDLE_ONCE, *STREAM)))
    done = resumed(here, *format_words)
    assert (done.code, done.talk) == (0, "")
    assert _answer_of(done, format_) == _answer_of(here.run("count to 9", *format_words), format_)


def test_its_session_goes_on_afterwards(here: Place, emulator: Emulator):
    killed_unheard(here, emulator, "say hello")
    (session,) = sessions(here)
    busy = here.run("say no", "--session", session, *JSON)
    assert (busy.code, busy.last("json")["code"]) == (1, "thread_busy")
    done = resumed(here, *JSON, session=session)
    assert (done.last("json")["result"], done.last("json")["sessionId"]) == ("hello", session)
    assert here.run("say more", "--session", session).text == "more"


def test_latest_is_the_one_that_was_interrupted_not_the_one_that_was_used_last(here: Place, emulator: Emulator):
    killed_unheard(here, emulator, "say hello")
    assert here.run("say later").text == "later"
    assert resumed(here).text == "hello"


def test_it_goes_on_in_the_directory_where_it_was_begun(here: Place, emulator: Emulator):
    killed_unheard(here, emulator, calls("touch made.txt"))
    begun, here.cwd = here.cwd, here.path
    done = resumed(here, *JSON)
    assert (done.code, done.last("json")["code"]) == (1, "not_found")
    assert "resume ID" in done.talk
    assert resumed(here, "--allow", "shell", session=sessions(here)[0]).code == 0
    assert (begun / "made.txt").exists()


def test_it_is_told_what_it_was_begun_with(here: Place, emulator: Emulator):
    killed_unheard(here, emulator, "say hello", "--system-prompt", "Speak like a pirate.")
    assert resumed(here).code == 0
    assert "Speak like a pirate." in json.dumps(emulator.requests[-1].body)


def test_what_was_allowed_stays_allowed(here: Place, emulator: Emulator):
    killed_unheard(here, emulator, calls("touch made.txt"), "--allow", "shell:touch")
    assert resumed(here).code == 0
    assert (here.cwd / "made.txt").exists()


def test_what_was_not_allowed_may_be_allowed_for_the_rest(here: Place, emulator: Emulator):
    killed_unheard(here, emulator, calls("touch made.txt"))
    assert resumed(here, "--allow", "shell:touch").code == 0
    assert (here.cwd / "made.txt").exists()


def test_what_was_forbidden_stays_forbidden(here: Place, emulator: Emulator):
    (here.cwd / "diary.txt").write_text("private words")
    policy = here.path / "never.toml"
    policy.write_text('[[rules]]\ndecision = "deny"\ntool = "read_file"\n')
    killed_unheard(here, emulator, 'call read_file {"path": "diary.txt"}', "--policy", str(policy))
    policy.unlink()
    assert b"private words" not in resumed(here, *JSON).stdout


def test_what_a_waiting_run_was_forbidden_stays_forbidden_after_an_answer(here: Place, emulator: Emulator):
    (here.cwd / "diary.txt").write_text("private words")
    policy = here.path / "never.toml"
    policy.write_text('[[rules]]\ndecision = "deny"\ntool = "read_file"\n')
    prompt = f'{calls("touch made.txt")} then call read_file {{"path": "diary.txt"}}'
    waiting = here.run(prompt, "--policy", str(policy), *JSON)
    assert waiting.code == 3
    policy.unlink()
    done = pollux(here, "approvals", "approve", waiting.last("json")["approvals"][0]["id"], *JSON)
    assert b"private words" not in done.stdout


# Killed while a tool runs.


def test_a_command_that_may_have_done_its_work_is_not_run_again(here: Place):
    noted = here.cwd / "noted"
    process = started(here, "run", calls("echo begun >> noted; sleep 1000"), "--allow", "shell")
    killed(process, noted.exists)
    done = resumed(here, "--allow", "shell", *STREAM)
    assert (done.code, done.last("stream-json")["code"]) == (4, "outcome_unknown")
    assert noted.read_text() == "begun\n"
    assert resumed(here, *JSON).last("json")["code"] == "not_found"
    assert here.run("say hello", "--session", "latest").text == "hello"


def test_a_question_that_was_answered_is_not_put_again(here: Place):
    noted = here.cwd / "noted"
    asked = here.run(calls("echo begun >> noted; sleep 1000"), *JSON)
    (approval,) = asked.last("json")["approvals"]
    killed(started(here, "approvals", "approve", approval["id"]), noted.exists)
    done = resumed(here, *STREAM)
    assert done.code == 4 and "needs approval" not in done.talk
    assert [line["type"] for line in done.lines("stream-json")] == ["tool_code", "tool_result", "error"]
    assert noted.read_text() == "begun\n"


# Killed while it waits.


async def test_the_question_of_a_killed_run_stays_answerable(here: Place):
    await _killed_at_its_question(here, "run", calls("touch made.txt"))
    done = resumed(here, *STREAM)
    assert done.code == 3
    (approval,) = done.last("stream-json")["approvals"]
    assert f"pollux approvals approve {approval['id']}" in done.talk
    assert pollux(here, "approvals", "approve", approval["id"]).code == 0
    assert (here.cwd / "made.txt").exists()


async def test_at_a_terminal_it_is_asked_there_again(here: Place):
    for words in (("run", calls("touch made.txt")), ("sessions", "resume", "latest")):
        await _killed_at_its_question(here, *words)
    terminal = Terminal([*POLLUX, "sessions", "resume", "latest"], cwd=here.cwd, env=here.environ)
    try:
        await terminal.until(QUESTION)
        terminal.type("y" + ENTER)
        assert await terminal.ended() == 0
    finally:
        terminal.close()
    assert (here.cwd / "made.txt").exists()


# How it ends.


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_it_with_the_code_of_the_signal(here: Place, number: signal.Signals, code: int):
    killed(speaking(started(here, "run", "count to 3000", "--model", SLOW, *STREAM)))
    second = speaking(started(here, "sessions", "resume", "latest", *STREAM))
    second.send_signal(number)
    done = ended(second)
    assert (done.code, done.last("stream-json")["code"]) == (code, "cancelled")
    assert here.run("say hello", "--session", "latest").text == "hello"


def test_a_signal_during_the_imports_has_its_last_line_and_leaves_the_run_as_it_was(
    here: Place, emulator: Emulator, tmp_path: Path
):
    killed_unheard(here, emulator, "say hello")
    (tmp_path / "struck").mkdir()
    folder = struck(tmp_path / "struck", "pollux.cli.finish", signal.SIGTERM).environ["PYTHONPATH"]
    here.environ["PYTHONPATH"] = folder
    done = resumed(here, *JSON)
    assert (done.code, done.last("json")["code"]) == (143, "cancelled")
    del here.environ["PYTHONPATH"]
    assert resumed(here).text == "hello"


def test_it_ends_by_its_timeout(here: Place, emulator: Emulator):
    before = len(emulator.requests)
    process = started(here, "run", "say hello", "--model", "gemini-3.8-flash--silent")
    killed(process, lambda: len(emulator.requests) > before)
    done = resumed(here, "--timeout", "2", *JSON)
    assert (done.code, done.last("json")["code"]) == (1, "timeout")


def test_without_a_key_nothing_is_recorded(here: Place, emulator: Emulator):
    killed_unheard(here, emulator, "say hello")
    key = here.environ.pop("GEMINI_API_KEY")
    done = resumed(here, *JSON)
    assert (done.code, done.last("json")["code"]) == (1, "missing_credential")
    here.environ["GEMINI_API_KEY"] = key
    assert resumed(here).text == "hello"


# Where there is nothing to go on with.


@pytest.mark.parametrize("session", ["latest", "thr_nobody", "", "\x1b[2J"])
def test_without_a_session_it_is_said_that_there_is_none(here: Place, session: str):
    done = resumed(here, *JSON, session=session)
    assert (done.code, done.last("json")["code"]) == (1, "not_found")
    assert "\x1b" not in done.talk


def test_a_session_whose_run_has_ended_was_not_interrupted(here: Place):
    session = here.run("say hello", *JSON).last("json")["sessionId"]
    done = resumed(here, *JSON, session=session)
    assert (done.code, done.last("json")["code"]) == (1, "not_found")
    assert f"session '{session}' was not interrupted" in done.talk


@pytest.mark.parametrize("name", ["latest", None])
def test_a_run_at_work_is_left_to_its_process(here: Place, name: str | None):
    process = speaking(started(here, "run", "count to 3000", "--model", SLOW, *STREAM))
    done = resumed(here, *JSON, session=name or sessions(here)[0])
    is_at_work = process.poll() is None
    process.terminate()
    assert (is_at_work, ended(process).code) == (True, 143)
    assert (done.code, done.last("json")["code"]) == (1, "thread_busy")
    assert "is alive and goes on with it" in done.talk


async def test_a_scripts_run_is_left_to_the_script(here: Place, monkeypatch: pytest.MonkeyPatch):
    for name in ("HOME", "POLLUX_HOME"):
        monkeypatch.setenv(name, here.environ[name])
    model = scripted(call("send", {"to": "bob@example.com"}))
    async with Agent(tools=[send], model=model, cwd=here.cwd, on_approval="defer") as agent:
        await agent.send("Mail Bob")
    done = resumed(here, *JSON)
    assert (done.code, done.last("json")["code"]) == (1, "not_found")
    assert "agent.resume()" in done.talk


def test_of_several_that_go_on_at_once_one_does_the_work(here: Place, emulator: Emulator):
    killed_unheard(here, emulator, calls("echo done >> noted"), "--allow", "shell")
    words = ("sessions", "resume", "latest", "--allow", "shell", *JSON)
    done = [ended(process) for process in [started(here, *words) for _ in range(4)]]
    assert {each.code for each in done} <= {0, 1}
    assert {each.last("json").get("code") for each in done if each.code} <= {"thread_busy", "not_found"}
    assert (here.cwd / "noted").read_text() == "done\n"


@pytest.mark.parametrize("words", [[], ["latest", "--timeout", "0"], ["latest", "--output-format", "yaml"]])
def test_what_cannot_be_meant_is_a_usage_error(here: Place, words: list[str]):
    done = pollux(here, "sessions", "resume", *words)
    assert (done.code, done.stdout) == (2, b"")
    assert "usage: pollux sessions resume" in done.talk


async def _killed_at_its_question(place: Place, *words: str) -> None:
    terminal = Terminal([*POLLUX, *words], cwd=place.cwd, env=place.environ)
    try:
        await terminal.until(QUESTION)
        os.kill(terminal.pid, signal.SIGKILL)
        assert await terminal.ended() == -signal.SIGKILL
    finally:
        terminal.close()


def _answer_of(done: Ended, format_: str) -> str:
    """The text of the answer, however it is told."""
    if format_ == "text":
        return done.text
    lines = done.lines(format_)
    if format_ == "gemini-stream-json":
        assert lines[-1]["status"] == "success"
        return "".join(line["content"] for line in lines if line.get("role") == "assistant")
    return lines[-1]["result"]


# Stopped for good.


def test_a_run_that_was_killed_in_a_tool_can_be_stopped_and_its_session_deleted(here: Place):
    noted = here.cwd / "noted"
    killed(started(here, "run", calls("echo begun >> noted; sleep 1000"), "--allow", "shell"), noted.exists)
    (session,) = sessions(here)
    done = pollux(here, "sessions", "cancel", session)
    assert (done.code, "its run is stopped" in done.talk) == (0, True)
    assert pollux(here, "sessions", "delete", session, "--yes").code == 0


def test_stopping_nothing_is_said(here: Place):
    assert here.run("say hello").code == 0
    (session,) = sessions(here)
    assert "has no open run" in pollux(here, "sessions", "cancel", session).talk
    unknown = pollux(here, "sessions", "cancel", "thr_none")
    assert (unknown.code, "there is no session 'thr_none'" in unknown.talk) == (1, True)


def test_a_waiting_run_can_be_stopped(here: Place):
    assert here.run(calls("touch made.txt")).code == 3
    (session,) = sessions(here)
    assert "its run is stopped" in pollux(here, "sessions", "cancel", session).talk
    assert pollux(here, "approvals", "list").text == ""
