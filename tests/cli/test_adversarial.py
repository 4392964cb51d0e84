"""What a hostile or clumsy person does to the program: every time one clear sentence and the right code, never a trace.

The hang recipes of `pollux run` are in `test_hangs`; here are the other commands, and what is handed in to all of them.
"""

import json
import os
import shlex
import socket
import subprocess
from pathlib import Path

import pytest
from tests.cli.fakes import Request, events, head, serving
from tests.cli.machine import POLLUX, Machine
from tests.cli.programs import keys
from tests.waiting import HANG_SECONDS

from pollux.cli.doctor import FORMATS
from pollux.cli.doctor.stream import check
from pollux.emulator import Emulator

pytestmark = pytest.mark.slow

PATIENCE = 2 * HANG_SECONDS


@pytest.fixture
def machine(tmp_path: Path, emulator: Emulator) -> Machine:
    """One whose keys and addresses are the emulator's."""
    return Machine(tmp_path / "machine", **keys(emulator.url))


def bent(machine: Machine, words: str, bend: str) -> tuple[int, str, str]:
    """The exit code and both outputs of the program, by way of a shell that bends its streams."""
    done = subprocess.run(
        # Bounded, so that a program which takes in everything fails instead of the machine.
        ["bash", "-c", f"ulimit -v 4000000; exec {shlex.join(POLLUX)} {words} {bend}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=machine.cwd,
        env=machine.environ,
        timeout=PATIENCE,
    )
    assert "Traceback" not in done.stderr, done
    return done.returncode, done.stdout, done.stderr


# Streams that are closed or full.


@pytest.mark.parametrize("bend", [">&-", ">/dev/full", "<&- >&-", "1</dev/null"])
@pytest.mark.parametrize(
    "words", ["version", "schema stream-json", "models", "setup --json", "doctor --offline", "--help"]
)
def test_an_answer_that_cannot_be_written_is_an_error(machine: Machine, words: str, bend: str):
    code, _, talk = bent(machine, words, bend)
    assert code == 1
    assert "cannot be written" in talk and talk.count("\n") == 1


@pytest.mark.parametrize("bend", ["2>/dev/full", "2</dev/null", "2>&-"])
@pytest.mark.parametrize(
    ("words", "code"),
    [("grants list", 0), ("run", 2), ("nonsense", 2), ("", 2), ("approvals show x", 1), ("schema --write out", 0)],
)
def test_a_remark_that_nobody_hears_does_not_change_the_code(machine: Machine, words: str, code: int, bend: str):
    assert bent(machine, words, bend)[0] == code


def test_the_demo_without_an_input_ends_like_one_whose_input_has_ended(machine: Machine):
    code, out, talk = bent(machine, "demo", "<&-")
    assert (code, talk) == (0, "")
    assert out.startswith("Pollux demo")


def test_a_chat_whose_output_was_never_open_says_so(machine: Machine):
    code, _, talk = bent(machine, "chat", "<<<'say hi' >&-")
    assert code == 1
    assert "standard output cannot be written" in talk


# More than anybody can read.


@pytest.mark.parametrize(
    ("words", "bend"),
    [
        ("run - --timeout 30", "</dev/zero"),
        ("run hi --timeout 30 --system-prompt-file /dev/zero", ""),
        ("chat --system-prompt-file /dev/zero", ""),
        ("chat", "</dev/zero"),
    ],
)
def test_what_never_ends_is_not_taken_in(machine: Machine, words: str, bend: str):
    code, _, talk = bent(machine, words, bend)
    assert code in (1, 2)
    assert "more than 20,000,000 bytes" in talk


def test_a_capture_in_which_all_is_wrong_is_not_read_to_its_end(machine: Machine):
    for words in ("doctor --stream -", "doctor --stream - --json"):
        code, out, talk = bent(machine, words, "< <(yes)")
        assert (code, talk.count("\n")) == (1, 1)
        assert "Is it the right file?" in talk and out.count("V4") == 1000


def test_a_chat_does_not_wait_for_instructions_that_nobody_writes(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    os.mkfifo(machine.cwd / "pipe")
    from pollux.cli.chat import asked
    from pollux.config import ConfigError

    monkeypatch.setattr("pollux.cli.reading.SECONDS", 0.2)
    with pytest.raises(ConfigError, match=r"pipe gave nothing within 0\.2 seconds"):
        asked.asked_by(["--system-prompt-file", str(machine.cwd / "pipe")])


def test_a_chat_takes_instructions_from_a_pipe_that_somebody_writes(machine: Machine, emulator: Emulator):
    code, out, _ = bent(machine, "chat --system-prompt-file <(echo Be brief.)", "<<<'say hi'")
    assert (code, out) == (0, "hi\n")
    assert "Be brief." in str(emulator.requests[-1].body)


# What is no text, and names that no file has.


def test_instructions_that_are_no_text_are_refused_by_their_option(machine: Machine):
    for command in ("run hi", "chat"):
        code, out, talk = bent(machine, f"{command} --system-prompt $'\\xff'", "")
        assert (code, out) == (2, "")
        assert "--system-prompt must be Unicode text" in talk


def test_an_answer_that_is_no_text_is_refused_before_anything_runs(machine: Machine):
    asked = bent(machine, """run 'call shell {"command": "touch made"}' --output-format json""", "")[1]
    question = json.loads(asked)["approvals"][0]["id"]
    for verb, option in (("approve", "--system-prompt"), ("reject", "--feedback")):
        code, out, talk = bent(machine, f"approvals {verb} {question} {option} $'\\xff'", "")
        assert (code, out) == (2, "")
        assert f"{option} must be Unicode text" in talk
    assert not (machine.cwd / "made").exists()
    assert question in bent(machine, "approvals list", "")[1]


@pytest.mark.parametrize("words", ["run hi --cwd", "chat --cwd", "approvals list --store", "sessions import"])
def test_a_name_that_is_too_long_is_a_line(machine: Machine, words: str):
    code, _, talk = bent(machine, f"{words} {'x' * 300}", "")
    assert code in (1, 2) and talk.count("\n") == 1


def test_a_configuration_that_cannot_be_looked_at_is_not_taken_for_none(machine: Machine):
    del machine.environ["GEMINI_API_KEY"]
    machine.environ["POLLUX_CONFIG"] = "x" * 300
    code, out, talk = bent(machine, "run hi", "")
    assert (code, out) == (2, "")
    assert "File name too long" in talk


def test_an_error_gives_no_orders_to_the_terminal(machine: Machine):
    code, _, talk = bent(machine, "run hi --config $'\\x1b]0;title\\x07'", "")
    assert code == 2
    assert "\x1b" not in talk and "\\x1b]0;title\\x07" in talk


@pytest.mark.parametrize("words", ["run hi", "chat", "models", "setup", "doctor --offline", "demo", "sessions list"])
def test_a_directory_that_is_gone_is_a_usage_error(machine: Machine, words: str):
    (machine.cwd / "gone").mkdir()
    machine.environ["PYTHONSAFEPATH"] = "1"
    done = subprocess.run(
        ["bash", "-c", f"cd gone; rmdir ../gone; exec {shlex.join(POLLUX)} {words}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=machine.cwd,
        env=machine.environ,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "pollux: the current directory is gone. Change to one that exists\n"


# Keys in the wrong place.


def test_a_key_in_the_place_of_another_word_is_not_repeated(machine: Machine):
    key = machine.environ["GEMINI_API_KEY"]
    for words in (f"run hi --model {key}", f"{key} hi", f"sessions show {key}", f"doctor --stream {key}"):
        code, out, talk = bent(machine, words, "")
        assert code in (1, 2) and "[redacted]" in talk
        assert key not in out + talk


@pytest.mark.parametrize("words", ["models --provider ollama", "models --provider ollama --json"])
def test_a_service_that_quotes_another_ones_key_is_masked(machine: Machine, words: str):
    def quote(request: Request, connection: socket.socket) -> None:
        connection.sendall(head("application/json", "400 Bad") + b'{"error": "not of demo-key-0001 from the file"}')

    (machine.cwd / ".env").write_text("GEMINI_API_KEY=demo-key-0001\n")
    del machine.environ["GEMINI_API_KEY"]
    with serving(quote) as url:
        machine.environ["OLLAMA_HOST"] = url
        code, out, talk = bent(machine, words, "")
    assert code == 1
    assert "demo-key-0001" not in out + talk and "[redacted]" in out + talk


# A service that is careless.


@pytest.mark.parametrize("format_", ["json", "stream-json", "gemini-stream-json"])
def test_calls_that_share_an_id_in_different_turns_are_told_apart(machine: Machine, format_: str):
    def call(request: Request, connection: socket.socket) -> None:
        turn = request.body.count(b'"role":"tool"')
        calls = [{"index": 0, "id": "call_0", "function": {"name": "glob", "arguments": '{"pattern": "*"}'}}]
        delta = {"tool_calls": calls} if turn < 3 else {"content": "done"}
        chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}]}
        connection.sendall(events(json.dumps(chunk).encode(), b"[DONE]"))

    with serving(call) as url:
        machine.environ["OPENAI_BASE_URL"] = f"{url}/v1"
        code, out, _ = bent(machine, f"run hi --model gpt-5.4 --output-format {format_}", "")
    lines = [json.loads(line) for line in out.splitlines()]
    named = [line for line in lines if line["type"] in ("tool_code", "tool_use")] or lines[0]["toolCalls"]
    ids = [line.get("tool_id") or line["id"] for line in named]
    assert (code, ids) == (0, ["call_0", "call_0-2", "call_0-3"])
    assert check(out.encode().splitlines(), FORMATS[format_])[1] == []


# A store that is none.


def test_a_store_that_is_something_else_is_told_in_our_own_lines(machine: Machine):
    (machine.cwd / "other.db").write_bytes(b"something else " * 1000)
    for words in ("approvals list", "sessions list", "audit verify", "grants list"):
        code, out, talk = bent(machine, f"{words} --store other.db", "")
        assert (code, out) == (1, "")
        assert all(line.startswith("pollux: ") for line in talk.splitlines())
        assert "the file is something else" in talk.splitlines()[-1]


def test_heads_of_the_audit_that_cannot_be_read_are_a_remark(machine: Machine):
    assert bent(machine, "audit verify", "")[0] == 0
    (machine.home / "pollux" / "audit-heads.jsonl").write_bytes(b"\xff\n{")
    code, out, talk = bent(machine, "audit verify", "")
    assert (code, out.startswith("whole: ")) == (0, True)
    assert talk == "pollux: passed over a line of the audit heads that is not whole\n" * 2


# Without the documentation.


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("rnu hi", "Did you mean run?"),
        ("session list", "Did you mean sessions?"),
        ("RUN hi", "Did you mean run?"),
        ("help apprvals", "Did you mean approvals?"),
        ("-p hi", 'pollux run "…"'),
        ("'What is this?'", 'pollux run "…"'),
    ],
)
def test_a_command_that_is_none_is_answered_with_what_was_meant(machine: Machine, words: str, hint: str):
    code, out, talk = bent(machine, words, "")
    assert (code, out) == (2, "")
    assert hint in talk.splitlines()[0]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("models --provder ollama", "Did you mean --provider?"),
        ("approvals approve x --output_format json", "Did you mean --output-format?"),
        ("sessions list --jsn", "Did you mean --json?"),
        ("chat --api_key not-to-be-seen", "Did you mean --api-key?"),
        ("doctor --apikey=not-to-be-seen", "Did you mean --api-key?"),
    ],
)
def test_an_option_that_is_none_is_answered_with_what_was_meant(machine: Machine, words: str, hint: str):
    code, out, talk = bent(machine, words, "")
    assert (code, out) == (2, "")
    assert hint in talk.splitlines()[-1] and "not-to-be-seen" not in talk


def test_a_folder_in_the_place_of_the_configuration_is_an_error(machine: Machine):
    (machine.cwd / "config" / ".gemini.yaml").mkdir(parents=True)
    code, out, _ = bent(machine, "setup", "")
    assert code == 1
    assert out.startswith("error: ") and "is a folder" in out


def test_a_key_that_is_missing_is_told_in_one_form_by_every_command(machine: Machine):
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        machine.environ.pop(name, None)
    first = bent(machine, "run hi", "")
    assert first[0] == 1
    assert bent(machine, "models", "") == first
