"""The audit from the command line: read, verified, taken elsewhere and checked there by anyone."""

import csv
import io
import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import pytest
from tests.cli.store_bench import POLLUX, Place, place, send
from tests.http.site import site

from pollux.bootstrap import open_store
from pollux.core.canonical import canonical
from pollux.core.policy import Rule
from pollux.engine.ports import AuditFact, Change
from pollux.providers.scripted import call, reply
from pollux.testing import scripted as model

__all__ = ["place"]


async def test_entries_are_listed_oldest_first_page_by_page(place: Place):
    await place.waiting()
    entries = place.data("audit", "list", "--json")["items"]
    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
    assert {"kind", "toolName", "policyDecision", "inputHash", "previous", "hash"} <= set(entries[0])
    first = place.data("audit", "list", "--json", "--limit", "1")
    assert (first["items"], first["next"]) == (entries[:1], 1 if len(entries) > 1 else None)
    assert place.data("audit", "list", "--json", "--after", "1")["items"] == entries[1:]
    assert place.data("audit", "list", "--json", "--user", "somebody")["items"] == []


async def test_people_read_a_line_for_each_entry_and_hear_that_there_are_more(place: Place):
    session = await place.said("one")
    place.pollux("sessions", "delete", session, "--yes")
    await place.waiting()
    done = place.pollux("audit", "list", "--limit", "1")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1)
    assert "erased" in done.stdout and session in done.stdout and "by local" in done.stdout
    assert done.stderr == "pollux: there are more: --after 1\n"


async def test_people_read_which_rule_allowed_what_was_started(place: Place):
    allow = Rule("allow", tool="send", name="post freely")
    async with place.agent(
        call("send", {"to": "bob@example.com"}), reply("Sent."), tools=[send], policy=[allow]
    ) as agent:
        await agent.send("Mail Bob")
    decided, started, completed = place.pollux("audit", "list").stdout.splitlines()
    assert " started " in started and " completed " in completed
    assert all(line.endswith("by rule:post freely") for line in (decided, started, completed))


async def test_a_whole_audit_is_said_to_be_whole(place: Place):
    await place.waiting()
    head = place.data("audit", "head", "--json")
    done = place.pollux("audit", "verify")
    assert (done.returncode, done.stdout) == (0, f"whole: {head['seq']} entries, head {head['hash']}\n")
    assert place.data("audit", "verify", "--json") == {
        "valid": True, "entries": head["seq"], "head": head["hash"], "problems": [],
    }  # fmt: skip


async def test_a_changed_audit_is_named_line_by_line_and_is_an_error(place: Place):
    await place.waiting()
    with sqlite3.connect(place.store) as db:
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
        db.execute("UPDATE audit SET user = 'nobody' WHERE seq = 1")
    db.close()
    done = place.pollux("audit", "verify")
    assert done.returncode == 1
    assert "update: entry 1 changed after being written" in done.stdout.splitlines()
    assert "drop trigger: " in done.stdout
    assert "tampered with" in done.stderr
    report = place.pollux("audit", "verify", "--json")
    assert (report.returncode, json.loads(report.stdout)["valid"]) == (1, False)


@pytest.mark.parametrize("change", ["at = 'x'", "at = 9e999", "tool_name = x'ff'", "by = CAST(x'ff' AS TEXT)"])
async def test_a_value_of_another_kind_takes_no_entry_away(place: Place, change: str):
    await place.waiting()
    before = place.data("audit", "list", "--json")["items"]
    with closing(sqlite3.connect(place.store)) as db:
        db.execute("DROP TRIGGER audit_refuses_update")
        db.execute(f"UPDATE audit SET {change} WHERE seq = 1")
        db.commit()
    for words in (("list",), ("export",)):
        done = place.pollux("audit", *words)
        assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (0, "", len(before))
    assert "update: entry 1 changed" in place.pollux("audit", "verify").stdout


def seconds(moment: str | None) -> float | None:
    """A time of an export as the number that was hashed: none of its digits is lost."""
    if moment is None:
        return None
    second, _, fraction = moment.removesuffix("Z").partition(".")
    return float(f"{datetime.fromisoformat(f'{second}+00:00').timestamp():.0f}.{fraction}")


async def test_anyone_can_check_the_chain_of_an_export(place: Place):
    await place.waiting()
    await place.waiting({"to": "ünïcode@example.com"})
    done = place.pollux("audit", "export")
    entries = [json.loads(line) for line in done.stdout.splitlines()]
    previous = "0" * 64
    for entry in entries:
        own = entry.pop("hash")
        assert entry["previous"] == previous
        hashed = {re.sub("[A-Z]", lambda upper: f"_{upper[0].lower()}", name): value for name, value in entry.items()}
        hashed |= {name: seconds(hashed[name]) for name in ("at", "started_at", "ended_at")}
        assert sha256(canonical(hashed)).hexdigest() == own
        previous = own
    assert place.pollux("audit", "head").stdout == f"{len(entries)} {previous}\n"


@pytest.mark.parametrize("format_", ["jsonl", "csv"])
async def test_an_export_is_the_same_here_and_from_a_server(place: Place, tmp_path: Path, format_: str):
    await kept(
        place,
        AuditFact(1.25, "decided", "ada", tool_name="send", by="ünïcode", started_at=1763596800.1234567),
        AuditFact(1763596801.0, "started", "ada", tool_name="=1"),
    )
    here = place.pollux("audit", "export", "--format", format_).stdout
    async with site(tmp_path, model(), store=open_store(place.settings())) as there:
        told = await there.ada.get(f"/api/agent/audit/export?format={format_}")
    assert here.encode() == told.body
    assert "2025-11-20T00:00:00.1234567Z" in here and "1970-01-01T00:00:01.250Z" in here


async def test_an_export_as_a_table_holds_nothing_that_moves_the_cursor(place: Place):
    await kept(
        place,
        AuditFact(1.5, "started", "local", tool_name="\x1b[2J\u202e", message="a, b"),
        AuditFact(2.5, "granted", "=1"),
    )
    table = place.pollux("audit", "export", "--format", "csv").stdout
    names, *rows = csv.reader(io.StringIO(table, newline=""))
    first, second = (dict(zip(names, row, strict=True)) for row in rows)
    assert (first["toolName"], first["message"]) == ("\\x1b[2J\\u202e", "a, b")
    assert second["user"] == "'=1"


@pytest.mark.parametrize("format_", ["jsonl", "csv"])
async def test_no_export_holds_a_key_of_this_machine(place: Place, format_: str):
    key = 'AIza"key"-of-this\\machine'
    await kept(place, AuditFact(1.5, "started", "local", message=f"it was {key}!"))
    place.environ["GEMINI_API_KEY"] = key
    told = place.process("audit", "export", "--format", format_).stdout
    assert "it was [redacted]!" in told and "of-this" not in told


async def kept(place: Place, *facts: AuditFact) -> None:
    """A store in which this was done."""
    store = open_store(place.settings())
    await store.open()
    await store.commit(Change(audit=facts))
    await store.close()


def test_an_empty_audit_has_the_head_of_no_entry(place: Place):
    assert place.pollux("audit", "head").stdout == f"0 {'0' * 64}\n"
    assert place.pollux("audit", "export").stdout == ""
    assert place.pollux("audit", "list").stderr == "pollux: there are no entries\n"
    assert place.pollux("audit", "verify").returncode == 0


@pytest.mark.parametrize("length", [*range(1, 10), 31, 32, 33])
async def test_the_last_entry_is_found_however_long_the_audit_is(place: Place, length: int):
    await kept(place, *(AuditFact(at=1.0, kind="granted", user="local") for _ in range(length)))
    assert place.data("audit", "head", "--json")["seq"] == length


async def test_a_reader_who_has_seen_enough_is_no_error(place: Place):
    await place.waiting()
    process = subprocess.Popen(
        [*POLLUX, "audit", "export"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=place.cwd, env=place.environ,
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.wait(timeout=60) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.slow
@pytest.mark.parametrize(("where", "why"), [(">&-", "it is closed"), (">/dev/full", "No space left on device")])
def test_output_that_cannot_be_written_is_one_line_and_an_error(place: Place, where: str, why: str):
    command = ["sh", "-c", f'exec "$@" {where}', "sh", sys.executable, "-m", "pollux.cli", "audit", "head"]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=60, cwd=place.cwd, env=place.environ)
    assert (done.returncode, done.stderr) == (1, f"pollux: standard output cannot be written ({why})\n")


@pytest.mark.parametrize("words", [["--limit", "0"], ["--after", "-1"], ["--limit", "ten"], ["--lim", "5"]])
def test_a_number_that_is_none_is_a_usage_error(place: Place, words: list[str]):
    done = place.pollux("audit", "list", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["approvals", "grants", "audit", "sessions"])
def test_help_is_given_with_examples_and_without_an_event_loop(place: Place, name: str):
    told = f"""
import sys
from pollux.cli.{name} import main
try:
    main(["--help"])
except SystemExit as end:
    assert end.code == 0
assert "asyncio" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, text=True, timeout=60, cwd=place.cwd, env=place.environ
    )
    assert done.returncode == 0, done.stderr
    assert f"usage: pollux {name}" in done.stdout and "examples:" in done.stdout


async def test_the_program_itself_verifies(place: Place):
    await place.waiting()
    done = place.process("audit", "verify")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("whole: ")
