"""Statements for real SQLite files: what they answer, what they cannot do, and how they are stopped."""

import asyncio
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.runbooks.blocks.at_work import ID, block, prepared, preview, run, scene, subjects
from tests.waiting import until

from pollux.core.errors import OutcomeUnknown, ToolError, ValidationError
from pollux.runbooks.blocks import Call
from pollux.runbooks.blocks.sql import MAX_BYTES, MAX_ROWS
from pollux.runbooks.blocks.sqlite import Sqlite

SQLITE = Sqlite()
FOREVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


def query(text: str, **props: Any):
    return block("sqlite", **({"uri": "sqlite://shop.db", "query": text} | props))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database:
        database.executescript(
            "CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT, price REAL, picture BLOB);"
            "INSERT INTO things VALUES (1, 'spoon', 1.5, x'00ff'), (2, NULL, NULL, NULL);"
        )
    return tmp_path


def rows(folder: Path, text: str = "SELECT count(*) FROM things") -> Any:
    with closing(sqlite3.connect(folder / "shop.db")) as database:
        return database.execute(text).fetchall()


def is_locked(folder: Path) -> bool:
    with closing(sqlite3.connect(folder / "shop.db", timeout=0, isolation_level=None)) as database:
        try:
            database.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        return False


async def test_a_query_answers_with_all_the_keys_that_templates_know(folder: Path):
    result = await run(SQLITE, query("SELECT * FROM things"), scene(folder))
    output = SQLITE.output(result)
    spoon = {"id": 1, "name": "spoon", "price": 1.5, "picture": "AP8="}
    assert output["rows"] == [spoon, {"id": 2, "name": None, "price": None, "picture": None}]
    assert output["columns"] == ["id", "name", "price", "picture"]
    assert (output["total_rows"], output["rows_affected"], output["result_count"]) == (2, 0, 1)
    assert result["results"][0] == output["first"]
    assert result["results"][0]["type"] == "Query"
    assert result["results"][0]["data"]["rows"][0] == spoon
    assert SQLITE.after(scene(folder), query(""), result).outputs[ID]["total_rows"] == 2


async def test_several_statements_answer_one_after_the_other(folder: Path):
    text = (
        "UPDATE things SET name = 'x'; SELECT name FROM things;"
        " DELETE FROM things WHERE id = 2; INSERT INTO things(name) VALUES ('y')"
    )
    result = await run(SQLITE, query(text), scene(folder))
    output = SQLITE.output(result)
    assert [one["type"] for one in result["results"]] == ["Statement", "Query", "Statement", "Statement"]
    assert (output["rows_affected"], output["total_rows_affected"], output["rows"]) == (
        2,
        4,
        [{"name": "x"}, {"name": "x"}],
    )
    assert rows(folder) == [(2,)]


async def test_statements_that_write_are_carried_out_all_or_none(folder: Path):
    with pytest.raises(ToolError, match="no such table"):
        await run(SQLITE, query("DELETE FROM things; DELETE FROM unicorns"), scene(folder))
    assert rows(folder) == [(2,)]


async def test_what_a_statement_returns_is_written_too(folder: Path):
    result = await run(SQLITE, query("INSERT INTO things(name) VALUES ('a'), ('b') RETURNING id"), scene(folder))
    assert SQLITE.output(result)["rows"] == [{"id": 3}, {"id": 4}]
    assert rows(folder) == [(4,)]


async def test_statements_with_transactions_of_their_own_may_be_left_half_done(folder: Path):
    with pytest.raises(OutcomeUnknown, match=r"no such table: unicorns.*may have been carried out"):
        await run(SQLITE, query("BEGIN; DELETE FROM things; COMMIT; DELETE FROM unicorns"), scene(folder))
    assert rows(folder) == [(0,)]
    await run(SQLITE, query("PRAGMA user_version = 7; VACUUM"), scene(folder))
    assert rows(folder, "PRAGMA user_version") == [(7,)]


def test_what_reads_may_be_repeated_and_what_writes_happens_once():
    reading, writing = (tool.spec for tool in SQLITE.tools)
    assert (reading.name, reading.repeat) == ("runbook_sqlite_read", "repeatable")
    assert (writing.name, writing.repeat) == ("runbook_sqlite", "once")
    assert SQLITE.call(query("SELECT 1; SELECT 2"), scene()).tool == reading.name
    assert SQLITE.call(query("SELECT 1; DROP TABLE a"), scene()).tool == writing.name
    assert SQLITE.call(query("SELECT 1", readOnly=False), scene()).tool == writing.name
    call = SQLITE.call(query("DROP TABLE a"), scene())
    with pytest.raises(ValidationError, match="runbook_sqlite_read only reads"):
        prepared(SQLITE, Call(reading.name, call.args))


async def test_what_only_reads_makes_no_database(tmp_path: Path):
    with pytest.raises(ToolError, match="there is no database"):
        await run(SQLITE, query("SELECT 1"), scene(tmp_path))
    assert list(tmp_path.iterdir()) == []
    await run(SQLITE, query("CREATE TABLE a (b)"), scene(tmp_path))
    assert (tmp_path / "shop.db").exists()


async def test_the_database_itself_keeps_a_reading_block_from_writing(folder: Path, monkeypatch: pytest.MonkeyPatch):
    def yes(statement: object, dialect: str) -> bool:
        return True

    monkeypatch.setattr("pollux.runbooks.blocks.sql.reads_only", yes)
    with pytest.raises(ToolError, match=r"this block only reads. Say `readOnly: false`"):
        await run(SQLITE, query("DELETE FROM things"), scene(folder))
    assert rows(folder) == [(2,)]


@pytest.mark.parametrize("text", ["ATTACH 'other.db' AS o", "VACUUM INTO 'other.db'", "ATTACH ('a' || 'b') AS o"])
async def test_no_statement_reaches_another_file(folder: Path, text: str):
    with pytest.raises(ToolError, match=r"not authorized|authorization denied"):
        await run(SQLITE, query(text), scene(folder))
    assert [path.name for path in folder.iterdir()] == ["shop.db"]


async def test_more_rows_than_anybody_reads_are_left_out(folder: Path):
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 50000) SELECT i FROM n"
    result = await run(SQLITE, query(many), scene(folder))
    assert SQLITE.output(result)["total_rows"] == MAX_ROWS
    assert "the rest was left out" in result["note"]
    large = await run(
        SQLITE, query("SELECT hex(zeroblob(1000000)) UNION ALL SELECT hex(zeroblob(1500000))"), scene(folder)
    )
    assert len(str(large)) < MAX_BYTES + 1000


async def test_text_that_is_none_is_replaced(folder: Path):
    result = await run(SQLITE, query("SELECT CAST(x'ff41' AS TEXT) AS a, 9e999 AS b"), scene(folder))
    assert SQLITE.output(result)["rows"] == [{"a": "\ufffdA", "b": "inf"}]


async def test_a_query_without_end_is_stopped_by_its_time_out(folder: Path):
    with pytest.raises(ToolError, match=r"stopped: it took longer than 0\.2 s"):
        await run(SQLITE, query(FOREVER, timeoutSeconds=0.2), scene(folder))


async def test_a_cancelled_statement_has_ended_when_the_call_returns(folder: Path):
    text = f"DELETE FROM things; INSERT INTO things(id) {FOREVER}"
    running = asyncio.create_task(run(SQLITE, query(text), scene(folder)))
    await until(lambda: is_locked(folder))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    # Nobody holds it any more: neither what was begun nor its lock.
    assert not is_locked(folder)
    assert rows(folder) == [(2,)]


class Watched(sqlite3.Connection):
    """Notes what it is asked for, and for what it was too early."""

    asked: ClassVar[list[str]]
    early: ClassVar[set[int]]

    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        self.asked.append(sql)
        try:
            return super().execute(sql, *args)
        except sqlite3.OperationalError:
            self.early.add(id(self))
            raise


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> type[Watched]:
    """Every connection from now on."""
    Watched.asked, Watched.early = [], set()
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Watched))
    return Watched


async def test_who_writes_waits_for_others_and_can_be_cancelled_meanwhile(folder: Path, watched: type[Watched]):
    with closing(sqlite3.connect(folder / "shop.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        running = asyncio.create_task(run(SQLITE, query("DELETE FROM things"), scene(folder)))
        gone = asyncio.create_task(run(SQLITE, query("DELETE FROM things"), scene(folder)))
        # Both have found it locked, and try again.
        await until(lambda: len(watched.early) == 2)
        assert not running.done() and not gone.done()
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        assert not running.done()
        other.execute("COMMIT")
        await running
    assert rows(folder) == [(0,)]


async def test_who_reads_waits_for_those_who_write(folder: Path, watched: type[Watched]):
    text = "SELECT count(*) AS n FROM things"
    with closing(sqlite3.connect(folder / "shop.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        first = asyncio.create_task(run(SQLITE, query(text), scene(folder)))
        await until(lambda: watched.asked.count(text) == 1)
        # By the time that another has come so far, a reader who does not wait would be gone.
        second = asyncio.create_task(run(SQLITE, query(text), scene(folder)))
        await until(lambda: watched.asked.count(text) == 2)
        assert not first.done() and not second.done()
        other.execute("COMMIT")
        for running in (first, second):
            assert SQLITE.output(await running)["rows"] == [{"n": 2}]


async def test_what_no_database_reads_is_told(folder: Path):
    for text in ("SELECT 1 FROM", "SELECT 'a", "SELEC 1"):
        with pytest.raises(ToolError, match=r"shop\.db: "):
            await run(SQLITE, query(text), scene(folder))


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("sqlite://data/a.db", "/srv/data/a.db"),
        ("sqlite:///abs/a.db", "/abs/a.db"),
        ("sqlite:a.db?mode=ro", "/srv/a.db"),
        ("../b c.db", "/b c.db"),
        ("a%20b.db", "/srv/a%20b.db"),
        ("sqlite://a%20b.db", "/srv/a b.db"),
        ("sqlite::memory:", ":memory:"),
        (":memory:", ":memory:"),
    ],
)
def test_an_address_is_the_path_of_one_file(uri: str, path: str):
    call = SQLITE.call(query("SELECT 1", uri=uri), scene("/srv"))
    assert prepared(SQLITE, call)["uri"] == path
    assert subjects(SQLITE, call) == {f"sqlite:{path}"}


@pytest.mark.parametrize("uri", ["file:a.db?vfs=x", "sqlite://a.db?vfs=unix-none", "sqlite://a\0b"])
def test_an_address_that_is_more_than_a_path_is_refused(uri: str):
    with pytest.raises(ValidationError, match=r"uri must|uri: expected text without NUL"):
        prepared(SQLITE, SQLITE.call(query("SELECT 1", uri=uri), scene()))


def test_an_address_that_says_read_only_takes_nothing_that_writes():
    with pytest.raises(ValidationError, match="mode=ro, but the statements write"):
        prepared(SQLITE, SQLITE.call(query("DROP TABLE a", uri="sqlite:a.db?mode=ro"), scene()))


async def test_a_path_with_odd_letters_is_found(tmp_path: Path):
    place = tmp_path / "a?b#c %41"
    place.mkdir()
    await run(SQLITE, query("CREATE TABLE a (b)"), scene(place))
    assert (place / "shop.db").exists()


async def test_a_database_in_memory_is_new_each_time(tmp_path: Path):
    made = query("CREATE TABLE a (b); INSERT INTO a VALUES (1); SELECT * FROM a", uri="sqlite::memory:")
    for _ in range(2):
        assert SQLITE.output(await run(SQLITE, made, scene(tmp_path)))["rows"] == [{"b": 1}]


def test_a_block_without_statements_or_database_is_told_with_its_place():
    for made, said in [(query(" -- nothing"), "query is missing"), (query("SELECT 1", uri=""), "uri is missing")]:
        with pytest.raises(ValidationError, match=rf"^{said}.* line 7\)$"):
            SQLITE.call(made, scene())


def test_whoever_is_asked_sees_the_statements_and_the_file():
    assert preview(SQLITE, SQLITE.call(query("DROP TABLE a"), scene("/srv"))) == "on sqlite:/srv/shop.db:\nDROP TABLE a"


def test_a_failed_call_has_an_output_too():
    output = SQLITE.output({"error": "no"})
    assert (output["rows"], output["first"], output["total_rows"]) == ([], None, 0)
    assert not SQLITE.succeeded({"error": "no"})
