"""Journals of older versions: what they said is what they still say, and their open runs go on."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql
from tests.engine.builders import ADA, TO_BOB, FakeTool, Lab, approve, mail, settle
from tests.journals import kept
from tests.stores.postgres import fresh_database

from pollux.core.errors import Misfit
from pollux.core.ids import RunId, ThreadId
from pollux.core.policy import Rule
from pollux.engine.ports import Store
from pollux.providers.scripted import reply
from pollux.stores.postgres.address import Address
from pollux.stores.postgres.connections import connect
from pollux.stores.postgres.schema import MIGRATIONS, migrate
from pollux.stores.postgres.store import PostgresStore
from pollux.stores.sqlite import SqliteStore
from pollux.wire.codec import EVENTS, Codec, decode, references
from pollux.wire.versions import SINCE, VERSION

DIRECTORIES = sorted(path for path in kept.HERE.glob("v*") if path.is_dir())
JOURNALS = [path for directory in DIRECTORIES for path in sorted(directory.glob("*.jsonl")) if path.stem != "samples"]
BASE = kept.HERE / "v1"
"""The first that was released: what is not in it came later."""
TABLES = ("events", "content", "messages", "threads", "runs", "approvals", "grants", "audit")


def named(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}" if path.suffix else path.name


@pytest.fixture(params=DIRECTORIES, ids=named)
def directory(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def url() -> Iterator[str]:
    with fresh_database() as url:
        yield url


@pytest.mark.parametrize("path", JOURNALS, ids=named)
def test_a_kept_journal_says_what_it_said(path: Path):
    expected = _expected(path.parent)
    for stream, events in kept.read(path).streams().items():
        assert list(kept.missing(expected[stream], kept.told(events))) == []


@pytest.mark.parametrize("path", [*JOURNALS, *(each / "samples.jsonl" for each in DIRECTORIES)], ids=named)
def test_a_kept_event_written_again_is_the_same_event(path: Path):
    journal, codec = kept.read(path), Codec(kept.KEY)
    for row in journal.rows:
        event = decode(row.kind, row.v, row.facts, journal.contents)
        again = codec.encode(row.thread, event)
        assert decode(again.kind, again.version, again.facts, dict(again.contents)) == event
        assert (again.kind, again.version <= VERSION) == (row.kind, True)
        # What was once content is content for good: else it would outlive an erasure.
        assert len(again.contents) == len(list(references(row.facts)))


def test_only_runs_that_use_something_new_are_closed_to_older_versions():
    newest = [path for path in JOURNALS if path.parent == DIRECTORIES[-1]]
    needed = {path.stem: max(row.v for row in kept.read(path).rows) for path in newest}
    assert {stem: version for stem, version in needed.items() if version > 1} == {"shown": 2, "asked": 3, "observed": 3}


def test_every_kind_of_event_is_kept_with_every_field():
    rows = [row for directory in DIRECTORIES for row in kept.read(directory / "samples.jsonl").rows]
    found = {name for row in rows for name in (row.kind, *(f"{row.kind}.{field}" for field in json.loads(row.facts)))}
    wanted = {name for name in kept.vocabulary(*EVENTS.values()) if name.split(".")[0] in EVENTS and "=" not in name}
    assert wanted <= found, f"keep journals with {sorted(wanted - found)}: see scripts/keep_journal.py"


def test_what_came_after_the_first_release_says_since_when():
    known = set((BASE / "vocabulary.txt").read_text("utf-8").split("\n"))
    # A shape that says since when it is there says it for its members.
    new = {name for name in kept.vocabulary(*EVENTS.values()) - known if name.partition(".")[0] not in SINCE}
    assert new <= SINCE.keys(), f"say in pollux.wire.versions.SINCE since when there is {sorted(new - SINCE.keys())}"


def test_nothing_that_was_ever_written_has_lost_its_name():
    gone = {name for name in (BASE / "vocabulary.txt").read_text("utf-8").split("\n") if name}
    gone -= kept.vocabulary(*EVENTS.values())
    assert not gone, f"journals that are out there hold {sorted(gone)}"


async def test_a_kept_sqlite_file_is_brought_up_to_date_and_read_whole(directory: Path, tmp_path: Path):
    kept.restore(directory, tmp_path / "pollux.db")
    store = SqliteStore(tmp_path / "pollux.db", key=kept.KEY)
    await store.open()
    await _is_whole(store, directory)
    await store.close()


async def test_a_kept_database_is_brought_up_to_date_and_read_whole(tmp_path: Path, url: str):
    kept.restore(BASE, tmp_path / "kept.db")
    _copy(tmp_path / "kept.db", url)
    store = PostgresStore(url, key=kept.KEY)
    await store.open()
    await _is_whole(store, BASE)
    await store.close()


@pytest.mark.parametrize("directory", DIRECTORIES[1:], ids=named)
async def test_runs_that_an_older_version_left_open_go_on(directory: Path, tmp_path: Path):
    lab, tool = await _restored(directory, tmp_path), FakeTool("send_mail", "sent", side_effect=True, repeat="keyed")
    engine = await lab.engine(reply("Sent."), tools=[tool], rules=[Rule("allow")])
    await engine.recover()
    run = await settle(engine, _run_of(directory / "in_flight.jsonl"))
    assert (run.text, tool.ran) == ("Sent.", [(run.actions[0].id, TO_BOB)])
    await engine.close()
    engine = await lab.engine(reply("Sent as well."), tools=[mail()])
    run = await engine.queries.run(_run_of(directory / "waiting.jsonl"), ADA)
    # The code of a test's tool changes with the tests: then it is asked about as the tool that it is now.
    with suppress(Misfit):
        await approve(engine, run)
    run = await settle(engine, run)
    run = await approve(engine, run) if run.approvals else run
    assert run.text == "Sent as well."
    await lab.close()


async def test_a_tool_whose_mark_was_made_otherwise_before_the_first_release_is_not_repeated(tmp_path: Path):
    lab, tool = await _restored(DIRECTORIES[0], tmp_path), FakeTool("send_mail", side_effect=True, repeat="keyed")
    engine = await lab.engine(tools=[tool], rules=[Rule("allow")])
    await engine.recover()
    run = await settle(engine, _run_of(DIRECTORIES[0] / "in_flight.jsonl"))
    assert (run.ending and run.ending.code, tool.ran) == ("outcome_unknown", [])
    await lab.close()


async def _restored(directory: Path, folder: Path) -> Lab:
    """The kept file, an hour after its last event. It is no copy of one that went on: it may drive its runs."""
    kept.restore(directory, folder / "pollux.db")
    lab = Lab("sqlite", folder)
    lab.clock.advance(90_000)
    store = lab.store()
    await store.open()
    await store.trust()
    await store.close()
    return lab


async def _is_whole(store: Store, directory: Path) -> None:
    for stream, expected in _expected(directory).items():
        kind, name = stream.split(":")
        journal = await store.journal(RunId(name)) if kind == "r" else ()
        events = [record.event for record in journal] or await store.thread_journal(ThreadId(name))
        assert list(kept.missing(expected, kept.told(events))) == []
        if kind == "t":
            thread = await store.thread(ThreadId(name))
            assert thread and len(await store.messages(thread.id)) == thread.head
    assert (await store.verify_audit()).problems == ()
    listed = {row.run_id for row in await store.runs(ADA, limit=1000)}
    assert listed == {stream[2:] for stream in _expected(directory) if stream.startswith("r:")}


def _copy(path: Path, url: str) -> None:
    """A database as the first version made it, with what the file holds."""
    with closing(connect(Address(url))) as db:
        migrate(db, Address(url), MIGRATIONS[:1])
    with closing(sqlite3.connect(path)) as file, psycopg.connect(url, autocommit=True) as db:
        db.execute("SELECT set_config('pollux.scope', 'engine', false)")
        for table in TABLES:
            found = file.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in found.description]
            kept_names = [name for name in names if (table, name) != ("content", "id")]
            for row in found.fetchall():
                _insert(db, table, {name: value for name, value in zip(names, row, strict=True) if name in kept_names})
        db.execute(
            "UPDATE pollux.audit_head SET (seq, hash) = (SELECT seq, hash FROM pollux.audit ORDER BY seq DESC LIMIT 1)"
        )


def _insert(db: "psycopg.Connection[Any]", table: LiteralString, row: dict[str, Any]) -> None:
    values = [bool(value) if name in ("owed", "erased") else value for name, value in row.items()]
    columns = sql.SQL(", ").join(sql.Identifier(name) for name in row)
    marks = sql.SQL(", ").join([sql.Placeholder()] * len(row))
    db.execute(sql.SQL("INSERT INTO pollux.{} ({}) VALUES ({})").format(sql.Identifier(table), columns, marks), values)


def _expected(directory: Path) -> dict[str, Any]:
    return json.loads((directory / "expected.json").read_text("utf-8"))


def _run_of(path: Path) -> RunId:
    (stream,) = {row.stream for row in kept.read(path).rows if row.stream.startswith("r:")}
    return RunId(stream[2:])
