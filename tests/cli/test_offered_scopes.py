"""Every prompt offers what its question allows, and what it offers is what is granted."""

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.machine import Machine, emulator
from tests.cli.terminal import ENTER, Terminal
from tests.cli.test_runbook import EXAMPLE, POLLUX
from tests.runbooks.lab import agent, document

from pollux.cli.asking import REVOKE, answer_of, choices_of
from pollux.cli.grants import lines_of_grant
from pollux.core.ids import GrantId, Instant, ThreadId, UserId
from pollux.core.policy import ANY_ARGUMENTS, Grant, Scope
from pollux.core.run import lasting_scope
from pollux.sdk.approvals import Approve, Reject


@pytest.mark.parametrize(
    ("scopes", "granted", "words"),
    [
        ((), None, "[y]es / [N]o"),
        (("session",), None, "[y]es / [N]o"),
        (("session", "always"), "always", f"[y]es / [a]lways for these {REVOKE} / [N]o"),
        (("session", "document"), "document", f"[y]es / [a]lways in this document {REVOKE} / [N]o"),
        (("tool",), None, f"[y]es / [s] always allow save_note in this session {REVOKE} / [N]o"),
        (
            ("tool", "session", "document"),
            "document",
            f"[y]es / [s] always allow save_note in this session {REVOKE} / [a]lways in this document {REVOKE} / [N]o",
        ),
    ],
)
def test_what_a_prompt_offers_is_what_is_granted(scopes: tuple[Scope, ...], granted: str | None, words: str):
    assert (lasting_scope(scopes), choices_of(scopes, "save_note")) == (granted, words)


def test_where_the_session_is_not_offered_its_key_is_a_reason_why_not():
    assert answer_of("s", ("tool",)) == answer_of("Session", ("tool", "session")) == Approve(always="tool")
    assert answer_of("s", ("session", "always")) == Reject("s")


def test_a_grant_for_a_whole_tool_is_listed_as_one():
    grant = Grant(GrantId("g"), UserId("u"), "save_note", ANY_ARGUMENTS, "session", Instant(0), ThreadId("thr_1"))
    assert lines_of_grant(grant, str)[0].startswith("g  save_note, in session thr_1,")
    assert lines_of_grant(grant, str)[1] == "    with any arguments"


@pytest.mark.parametrize(
    ("scope", "words"),
    [("always", "always"), ("document", "in document 4f2a1b0c9d8e,"), ("session", "in session thr_1,")],
)
def test_a_grant_is_listed_with_how_long_it_counts(scope: Scope, words: str):
    thread = ThreadId("thr_1") if scope == "session" else None
    document = "4f2a1b0c9d8e7f60" if scope == "document" else ""
    grant = Grant(GrantId("g"), UserId("u"), "send", "bob", scope, Instant(0), thread, document=document)
    assert words in lines_of_grant(grant, str)[0]


async def test_always_at_the_question_of_an_agent_in_a_runbook_counts_for_its_document(tmp_path: Path):
    machine = Machine(tmp_path)
    shutil.copytree(EXAMPLE, machine.cwd, dirs_exist_ok=True)
    terminal = Terminal([*POLLUX, "runbook", "run", "todo.atrb"], cwd=machine.cwd, env=machine.environ)
    try:
        await terminal.until("trust it as it stands?")
        terminal.type(f"y{ENTER}")
        await terminal.until("[a]lways in this document")
        terminal.type(f"a{ENTER}")
        await terminal.until("3 blocks done")
    finally:
        terminal.close()
    listed = machine.run("grants", "list", "--json")
    assert [grant["scope"] for grant in json.loads(listed.stdout)["items"]] == ["document"], listed


TWO_FILES = document(
    agent(
        "us",
        'Write "eggs" to a.txt. Then write "milk" to b.txt.',
        source={"type": "internal"},
        capabilities={"readFiles": True, "writeFiles": True},
    )
)


async def test_at_the_terminal_a_tool_is_allowed_for_the_session_of_an_own_agent(tmp_path: Path):
    with emulator() as url:
        machine = Machine(tmp_path, GEMINI_API_KEY="demo", GOOGLE_GEMINI_BASE_URL=url)
        (machine.cwd / "two.json").write_text(TWO_FILES)
        terminal = Terminal([*POLLUX, "runbook", "run", "two.json", "--trust"], cwd=machine.cwd, env=machine.environ)
        try:
            await terminal.until("[s] always allow write_file in this session")
            terminal.type(f"s{ENTER}")
            await terminal.until("1 block done")
        finally:
            terminal.close()
        listed = machine.run("grants", "list", "--json")
    assert (machine.cwd / "a.txt").read_text().strip() == "eggs" and (machine.cwd / "b.txt").exists()
    assert terminal.text.count("run it?") == 1
    (grant,) = json.loads(listed.stdout)["items"]
    assert (grant["tool"], grant["subject"], grant["scope"]) == ("write_file", "any arguments", "session")
    assert machine.run("grants", "revoke", grant["id"]).returncode == 0


def test_without_a_terminal_it_is_allowed_with_the_answer(tmp_path: Path):
    with emulator() as url:
        machine = Machine(tmp_path, GEMINI_API_KEY="demo", GOOGLE_GEMINI_BASE_URL=url)
        (machine.cwd / "two.json").write_text(TWO_FILES)
        waits = machine.run("runbook", "run", "two.json", "--trust", "--output-format", "stream-json")
        assert waits.returncode == 3, waits
        last = json.loads(waits.stdout.splitlines()[-1])
        asked = last["approvals"][0]["id"]
        assert "always allow write_file in this session" in machine.run("approvals", "show", asked).stdout
        assert machine.run("approvals", "approve", asked, "--session", "--server", "http://127.0.0.1:1").returncode == 2
        assert machine.run("approvals", "approve", asked, "--session").returncode == 0
        assert machine.run("runbook", "resume", last["runId"]).returncode == 0
    assert (machine.cwd / "b.txt").exists()
