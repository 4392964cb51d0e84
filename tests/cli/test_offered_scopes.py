"""Every prompt offers what its question allows, and what it offers is what is granted."""

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.machine import Machine
from tests.cli.terminal import ENTER, Terminal
from tests.cli.test_runbook import EXAMPLE, POLLUX

from pollux.cli.asking import REVOKE, choices_of
from pollux.cli.grants import lines_of_grant
from pollux.core.ids import GrantId, Instant, ThreadId, UserId
from pollux.core.policy import Grant, Scope
from pollux.core.run import lasting_scope


@pytest.mark.parametrize(
    ("scopes", "granted", "words"),
    [
        ((), None, "[y]es / [N]o"),
        (("session",), None, "[y]es / [N]o"),
        (("session", "always"), "always", f"[y]es / [a]lways for these {REVOKE} / [N]o"),
        (("session", "document"), "document", f"[y]es / [a]lways in this document {REVOKE} / [N]o"),
    ],
)
def test_what_a_prompt_offers_is_what_is_granted(scopes: tuple[Scope, ...], granted: str | None, words: str):
    assert (lasting_scope(scopes), choices_of(scopes)) == (granted, words)


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
