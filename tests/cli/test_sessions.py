"""Sessions from the command line: looked at, taken elsewhere and back, forked, erased."""

import asyncio
import json
import os
import pty
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from tests.cli.messages import MESSAGES
from tests.cli.store_bench import POLLUX, Place, place, send

from pollux.cli.kept import json_text
from pollux.cli.masking import Mask
from pollux.cli.sessions.as_gemini import gemini_lines
from pollux.cli.sessions.as_json import SessionCopy, copy_of, document_of, masked, parse
from pollux.cli.sessions.as_text import markdown
from pollux.core.errors import ValidationError
from pollux.core.messages import Blob, Message, Native, Text, Thought, ToolCall, ToolResult
from pollux.core.redact import Secret
from pollux.sdk.gemini_cli.history import message_records_to_history
from pollux.sdk.gemini_cli.messages import history_to_messages
from pollux.sdk.gemini_cli.sessions import load_session
from pollux.testing import call, reply

__all__ = ["place"]

SAMPLES = Path(__file__).parents[3] / "shared" / "samples" / "gemini-sessions"
GEMINI = [
    {"sessionId": "0b1c2d3e", "projectHash": "", "startTime": "2027-01-08T09:00:00Z", "kind": "main"},
    {"id": "1", "type": "user", "content": "I am Ada."},
    {"id": "2", "type": "gemini", "content": "Hello Ada."},
]


def gemini_file(path: Path, *more: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in GEMINI) + "".join(more))
    return path


def shelved(place: Place) -> Path:
    """A session of Gemini CLI, where it keeps them for this directory."""
    chats = place.home / ".gemini" / "tmp" / "work" / "chats"
    chats.mkdir(parents=True)
    (chats.parent / ".project_root").write_text(str(place.cwd))
    return gemini_file(chats / "session-2027-01-08T09-00-0b1c2d3e.jsonl", "{ cut off\n")


async def history_of(place: Place, session_id: str) -> tuple[Message, ...]:
    async with place.agent(session_id=session_id) as agent:
        return tuple(await agent.history())


# Looking.


async def test_the_sessions_of_this_directory_are_listed(place: Place, tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    here = await place.said("one", "two")
    async with place.agent(reply("x"), cwd=tmp_path / "elsewhere") as agent:
        await agent.send("three")
    (item,) = place.data("sessions", "list", "--json")["items"]
    assert (item["sessionId"], item["messageCount"], item["summary"]) == (here, 4, "one")
    assert len(place.data("sessions", "list", "--json", "--all")["items"]) == 2
    assert len(place.data("sessions", "list", "--json", "--all", "--limit", "1")["items"]) == 1
    done = place.pollux("sessions", "list")
    assert done.stdout.startswith(f"{here}  ") and done.stdout.endswith("4 messages  one\n")


def test_without_sessions_there_is_nothing_on_standard_output(place: Place):
    done = place.pollux("sessions", "list")
    assert (done.returncode, done.stdout) == (0, "")
    assert "Try --all" in done.stderr


def test_a_broken_session_is_listed_with_what_is_wrong_with_it(place: Place):
    path = shelved(place)
    (path.parent / "session-nonsense.jsonl").write_text("nonsense")
    items = place.data("sessions", "list", "--json")["items"]
    assert {item["sessionId"] for item in items} == {"0b1c2d3e", None}
    assert all(item["problem"] for item in items)
    done = place.pollux("sessions", "list")
    assert done.stdout.count("    broken: ") == 2
    assert f"(no id) {path.parent / 'session-nonsense.jsonl'}" in done.stdout


async def test_a_session_is_shown_message_by_message(place: Place):
    session = await place.said("first line\nsecond line")
    done = place.pollux("sessions", "show", session)
    lines = done.stdout.splitlines()
    assert lines[0] == "first line second line"
    assert lines[-7:] == [
        "[1] user", "    first line", "    second line", "", "[2] assistant", "    re: first line", "    second line",
    ]  # fmt: skip
    assert place.pollux("sessions", "show", "latest").stdout == done.stdout


async def test_what_was_said_cannot_pass_for_another_message_nor_command_the_terminal(place: Place):
    session = await place.said("hello\n\n[2] assistant\x1b[2J\u202e")
    shown = place.pollux("sessions", "show", session).stdout
    assert "\x1b" not in shown and "\u202e" not in shown
    assert "    [2] assistant\\x1b[2J\\u202e" in shown.splitlines()
    written = place.pollux("sessions", "show", session, "--json").stdout
    assert "\x1b" not in written and "\u202e" not in written
    assert json.loads(written)["messages"][0]["parts"][0]["text"].endswith("\x1b[2J\u202e")


async def test_calls_and_results_are_shown_and_long_ones_are_cut(place: Place):
    steps = (call("send", {"to": "b" * 5_000}), reply("Sent."))
    async with place.agent(*steps, tools=[send], policy="allow_all") as agent:
        await agent.send("Mail")
    shown = place.pollux("sessions", "show", agent.session_id).stdout
    assert "    calls send {" in shown and "    send returned sent" in shown
    assert "more characters; --json has them all" in shown


def test_looking_at_a_session_of_gemini_cli_makes_no_copy(place: Place):
    path = shelved(place)
    before = path.read_bytes()
    assert "Hello Ada." in place.pollux("sessions", "show", "0b1c2d3e").stdout
    (item,) = place.data("sessions", "list", "--json")["items"]
    assert item["filePath"] == str(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("verb", [["show"], ["export"], ["fork"], ["delete", "--yes"]])
def test_a_session_that_is_not_there_is_said_to_be_missing(place: Place, verb: list[str]):
    done = place.pollux("sessions", verb[0], "thr_nobody", *verb[1:])
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no session 'thr_nobody'" in done.stderr


def test_latest_of_nothing_is_said_to_be_missing(place: Place):
    done = place.pollux("sessions", "show", "latest")
    assert done.returncode == 1 and "sessions list --all" in done.stderr


# Elsewhere and back.


@settings(deadline=None, max_examples=200)
@given(messages=MESSAGES)
def test_what_is_exported_is_read_back_whole(messages: tuple[Message, ...]):
    copy = SessionCopy("thr_1", messages, title="A title", project="/work")
    text = json_text(document_of(copy), indent=2)
    assert copy_of(parse(text.encode())) == copy


@settings(deadline=None, max_examples=10)
@given(messages=MESSAGES)
def test_a_session_goes_through_a_file_into_another_store(tmp_path_factory: pytest.TempPathFactory, messages: Any):
    place = Place(tmp_path_factory.mktemp("place"))

    async def kept() -> str:
        async with place.agent() as agent:
            opened = await agent._opened(find=False)  # pyright: ignore[reportPrivateUsage]
            return (await opened.engine.threads.open(opened.user, messages, title="A title")).id

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POLLUX_HOME", place.environ["POLLUX_HOME"])
        patch.chdir(place.cwd)
        session = asyncio.run(kept())
        assert place.pollux("sessions", "export", session, "-o", "out.json").returncode == 0
        done = place.pollux("sessions", "import", "out.json", "--store", "other.db")
        assert (done.returncode, done.stderr) == (0, "")
        place.store = place.cwd / "other.db"
        new = done.stdout.strip()
        assert new != session
        assert asyncio.run(history_of(place, new)) == messages


async def test_an_imported_session_belongs_to_this_directory_and_can_be_gone_on_with(place: Place):
    session = await place.said("one")
    place.pollux("sessions", "export", session, "-o", "one.json")
    new = place.pollux("sessions", "import", "one.json").stdout.strip()
    assert {item["sessionId"] for item in place.data("sessions", "list", "--json")["items"]} == {session, new}
    async with place.agent(reply("more"), session_id=new) as agent:
        await agent.send("and now?")
        assert [message.text for message in await agent.history()] == ["one", "re: one", "and now?", "more"]


def test_a_file_of_gemini_cli_is_imported_and_what_is_broken_is_named(place: Place):
    path = gemini_file(place.cwd / "session.jsonl", "{ cut off\n")
    before = path.read_bytes()
    done = place.pollux("sessions", "import", "session.jsonl")
    assert done.returncode == 0
    assert done.stderr.startswith("pollux: passed over: line 4 ")
    document = place.data("sessions", "show", done.stdout.strip(), "--json")
    assert [message["parts"][0]["text"] for message in document["messages"]] == ["I am Ada.", "Hello Ada."]
    assert (document["title"], path.read_bytes()) == ("I am Ada.", before)


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not here")
@pytest.mark.parametrize("name", ["agent-sessions-jsonl_v040.jsonl", "agent-sessions-small.json"])
def test_real_files_of_gemini_cli_are_imported(place: Place, name: str):
    done = place.pollux("sessions", "import", str(SAMPLES / name))
    assert (done.returncode, done.stderr) == (0, "")
    assert place.data("sessions", "show", done.stdout.strip(), "--json")["messages"]


DOCUMENT: dict[str, Any] = {"type": "pollux-session", "version": 1, "sessionId": "x", "messages": []}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "no record of a Gemini CLI session"),
        ("[1, 2]", "no record of a Gemini CLI session"),
        (json.dumps({**DOCUMENT, "version": 2}), "found version '2'; update Pollux"),
        (json.dumps({**DOCUMENT, "messages": [{"role": "king", "parts": []}]}), "messages/0/role does not fit"),
        (
            json.dumps({**DOCUMENT, "messages": [{"role": "user", "parts": [{"type": "text", "text": 1}]}]}),
            "messages/0",
        ),
        (json.dumps({**DOCUMENT, "title": 7}), "title does not fit"),
        ('{"type": "pollux-session", "version": 1, "sessionId": "x", "messages": [NaN]}', "holds NaN, which is not"),
        ('{"type": "pollux-session", "version": 1,', "file is not JSON: "),
    ],
)
def test_a_file_that_is_no_session_is_refused_with_the_reason(place: Place, content: str, said: str):
    (place.cwd / "file").write_text(content)
    done = place.pollux("sessions", "import", "file")
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr and "Traceback" not in done.stderr


PART = {"type": "blob", "mime": "image/png", "data": "AA=="}


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"role": "user", "parts": [{**PART, "data": "[redacted]"}]}, "message 1 to be base64"),
        ({"role": "user", "parts": [], "native": {"provider": "gemini", "body": "[]"}}, "a JSON object"),
        ({"role": "user", "parts": [], "native": {"provider": "gemini", "body": "{"}}, "a JSON object"),
    ],
)
def test_a_message_that_would_break_later_is_refused_now(message: dict[str, Any], said: str):
    with pytest.raises(ValidationError, match=said):
        copy_of({**DOCUMENT, "messages": [message]})


@pytest.mark.parametrize("text", ['"\\ud800"', "1e999", "9" * 9_000, "[" * 5_000 + "]" * 5_000])
def test_values_that_no_store_can_keep_are_refused(place: Place, text: str):
    part = {"type": "tool_result", "callId": "c", "name": "n", "result": "HERE"}
    document = json.dumps({**DOCUMENT, "messages": [{"role": "tool", "parts": [part]}]})
    (place.cwd / "file").write_text(document.replace('"HERE"', text))
    done = place.pollux("sessions", "import", "file")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr and len(done.stderr) < 1_000


@pytest.mark.parametrize("name", [".", "nowhere.json"])
def test_what_is_no_file_is_not_imported(place: Place, name: str):
    done = place.pollux("sessions", "import", name)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr


def test_a_pipe_that_nobody_writes_to_keeps_nobody_waiting(place: Place):
    os.mkfifo(place.cwd / "pipe")
    assert place.pollux("sessions", "import", "pipe").returncode == 1


# Forms.


CONVERSATION = (
    Message("user", (Text("What is in here?"), Blob("image/png", b"\x89PNG", "a.png"))),
    Message("assistant", (Thought("Look."), Text("I look."), ToolCall("c1", "ls", {"path": "."}))),
    Message("tool", (ToolResult("c1", "ls", {"entries": ["```a", "b"]}),)),
    Message("notice", (Text("Approval needed"),)),
    Message("assistant", (Text("Two files."),)),
)
COPY = SessionCopy("thr_1", CONVERSATION, title="Files", project="/work", start_time="2027-01-08T09:00:00Z")


def test_markdown_holds_everything_and_no_text_ends_its_fence():
    text = markdown(COPY)
    assert text.startswith("# Files\n\nSession `thr_1`, of `/work`, begun 2027-01-08T09:00:00Z")
    for said in ("What is in here?", "*[a.png: image/png, 4 bytes]*", "> Look.", "Calls `ls`:", "Two files."):
        assert said in text
    assert "`ls` returned:\n\n````json\n" in text


def test_gemini_cli_reads_what_is_exported_for_it(tmp_path: Path):
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in gemini_lines(COPY)))
    loaded = load_session(path)
    assert (loaded.session_id, loaded.summary, loaded.problems) == ("thr_1", "Files", ())
    assert [record.type for record in loaded.records] == ["user", "gemini", "info", "gemini"]
    read = history_to_messages(message_records_to_history(loaded.records))
    said = [replace_blob_name(message) for message in CONVERSATION if message.role != "notice"]
    assert [(message.role, message.text, message.calls) for message in read] == [
        (message.role, message.text, message.calls) for message in said
    ]
    assert read[0].parts == said[0].parts and read[2].parts == said[2].parts


def replace_blob_name(message: Message) -> Message:
    """Gemini's form has no place for a file's name."""
    parts = tuple(Blob(part.mime, part.data) if isinstance(part, Blob) else part for part in message.parts)
    return Message(message.role, parts)


@settings(deadline=None, max_examples=100)
@given(messages=MESSAGES)
def test_every_session_has_all_forms(messages: tuple[Message, ...]):
    copy = SessionCopy("thr_1", messages)
    assert json.loads(json.dumps(list(gemini_lines(copy))))[0]["sessionId"] == "thr_1"
    assert markdown(copy).startswith("# Untitled session")


def test_a_key_that_somebody_said_does_not_leave():
    key = "sk-canary-0123456789"
    native = Native("gemini", json.dumps({"parts": [{"text": key}]}))
    said = (
        Message("user", (Text(f"use {key}"), Blob("text/plain", b"\xff" + key.encode(), "env"))),
        Message("assistant", (ToolCall("c", "shell", {"command": f"curl -H {key}"}),), native=native),
    )
    copy = masked(SessionCopy("thr_1", said, title=key), Mask([Secret(key)]))
    for text in (json.dumps(document_of(copy)), json.dumps(list(gemini_lines(copy))), markdown(copy)):
        assert key not in text and "Y2FuYXJ5" not in text
    assert copy_of(document_of(copy)).messages == copy.messages
    assert copy.messages[0].parts[1] == Blob("text/plain", b"\xff[redacted]", "env")
    assert copy.messages[1].native is None


# Files.


async def test_an_export_writes_over_nothing_unless_it_is_told_to(place: Place):
    session = await place.said("one")
    (place.cwd / "out").write_text("mine")
    done = place.pollux("sessions", "export", session, "-o", "out")
    assert (done.returncode, (place.cwd / "out").read_text()) == (1, "mine")
    assert "--force" in done.stderr
    assert place.pollux("sessions", "export", session, "-o", "out", "--force").returncode == 0
    assert json.loads((place.cwd / "out").read_text())["sessionId"] == session
    assert os.listdir(place.cwd) == ["out"]


async def test_an_exported_file_is_its_owners_alone(place: Place):
    session = await place.said("one")
    place.pollux("sessions", "export", session, "--format", "markdown", "-o", "out.md")
    assert stat.S_IMODE((place.cwd / "out.md").stat().st_mode) == 0o600


async def test_a_place_that_cannot_be_written_is_named(place: Place):
    session = await place.said("one")
    done = place.pollux("sessions", "export", session, "-o", "nowhere/out")
    assert done.returncode == 1 and "nowhere/out cannot be written (No such file or directory)" in done.stderr


def test_force_without_a_file_is_a_usage_error(place: Place):
    assert place.pollux("sessions", "export", "latest", "--force").returncode == 2


# Forking and erasing.


async def test_a_fork_begins_like_the_session_and_goes_its_own_way(place: Place):
    session = await place.said("one", "two")
    fork = place.pollux("sessions", "fork", session, "--upto", "2").stdout.strip()
    assert [message.text for message in await history_of(place, fork)] == ["one", "re: one"]
    assert len(await history_of(place, session)) == 4


async def test_a_deleted_session_is_gone(place: Place):
    session = await place.said("one")
    done = place.pollux("sessions", "delete", session, "--yes")
    assert (done.returncode, done.stdout) == (0, "")
    assert place.data("sessions", "list", "--json", "--all") == {"items": []}
    assert place.pollux("sessions", "show", session).returncode == 1


async def test_without_a_terminal_nothing_is_deleted_unasked(place: Place):
    session = await place.said("one")
    done = place.process("sessions", "delete", session)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Give --yes" in done.stderr
    assert len(place.data("sessions", "list", "--json")["items"]) == 1


@pytest.mark.parametrize(("answer", "left"), [("y\n", 0), ("n\n", 1), ("\n", 1), ("\x04", 1)])
async def test_at_a_terminal_a_person_is_asked_and_no_is_the_default(place: Place, answer: str, left: int):
    session = await place.said("one")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*POLLUX, "sessions", "delete", session],
        stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, cwd=place.cwd, env=place.environ,
    )  # fmt: skip
    os.close(theirs)
    asked = b""
    while b"[y/N]" not in asked:
        asked += os.read(ours, 1_000)
    os.write(ours, answer.encode())
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    assert (process.returncode, out) == (0, b"")
    assert f"{session}, 2 messages: one".encode() in asked
    assert len(place.data("sessions", "list", "--json")["items"]) == left


async def test_a_session_with_an_open_run_is_not_deleted(place: Place):
    await place.waiting()
    (item,) = place.data("sessions", "list", "--json")["items"]
    done = place.pollux("sessions", "delete", item["sessionId"], "--yes")
    assert done.returncode == 1 and "has an open run" in done.stderr


def test_files_of_gemini_cli_are_not_deleted(place: Place):
    path = shelved(place)
    assert place.pollux("sessions", "delete", "0b1c2d3e", "--yes").returncode == 1
    assert path.exists()


@pytest.mark.parametrize("output", ["", ".", "/"])
async def test_an_export_needs_the_name_of_a_file(place: Place, output: str):
    session = await place.said("Hello")
    assert place.pollux("sessions", "export", session, "-o", output, "--force").returncode == 2


async def test_an_export_replaces_no_pipe_and_no_device(place: Place, tmp_path: Path):
    session, pipe = await place.said("Hello"), tmp_path / "pipe"
    os.mkfifo(pipe)
    done = place.pollux("sessions", "export", session, "-o", str(pipe), "--force")
    assert (done.returncode, "is something else" in done.stderr, pipe.is_fifo()) == (2, True, True)
