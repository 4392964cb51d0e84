"""Statements for a real PostgreSQL: what they answer, what they cannot do, and how they are stopped."""

import asyncio
import sys
from collections.abc import Generator
from typing import Any

import psycopg
import pytest
from tests.runbooks.blocks.at_work import ID, block, prepared, preview, run, scene, subjects
from tests.stores.postgres import fresh_database

from pollux.core.errors import OutcomeUnknown, ToolError, ValidationError
from pollux.runbooks.blocks import Call
from pollux.runbooks.blocks.postgres import Postgres
from pollux.runbooks.blocks.sql import MAX_ROWS

pytestmark = pytest.mark.slow

POSTGRES = Postgres()


@pytest.fixture(scope="module")
def url() -> Generator[str]:
    with fresh_database() as url:
        yield url


@pytest.fixture
def things(url: str) -> Generator[str]:
    with psycopg.connect(url, autocommit=True) as database:
        database.execute("CREATE TABLE things (id int PRIMARY KEY, name text)")
        database.execute("INSERT INTO things VALUES (1, 'spoon'), (2, NULL)")
        yield url
        database.execute("DROP TABLE things")


def query(url: str, text: str, **props: Any):
    return block("postgres", uri=url, query=text, **props)


def rows(url: str) -> Any:
    with psycopg.connect(url) as database:
        return database.execute("SELECT * FROM things ORDER BY id").fetchall()


async def test_a_query_answers_with_all_the_keys_that_templates_know(things: str):
    result = await run(POSTGRES, query(things, "SELECT * FROM things ORDER BY id; SELECT 2 AS two"), scene())
    output = POSTGRES.output(result)
    assert output["rows"] == [{"id": 1, "name": "spoon"}, {"id": 2, "name": None}]
    assert (output["columns"], output["total_rows"], output["result_count"]) == (["id", "name"], 3, 2)
    assert result["results"][1]["data"]["rows"] == [{"two": 2}]
    assert POSTGRES.after(scene(), query("", ""), result).outputs[ID]["total_rows"] == 3


async def test_an_empty_answer_is_one_all_the_same(things: str):
    result = await run(POSTGRES, query(things, "SELECT * FROM things WHERE false"), scene())
    assert (POSTGRES.output(result)["rows"], POSTGRES.succeeded(result)) == ([], True)


async def test_values_are_exact_or_text(url: str):
    values = {
        "1.50::numeric": "1.50",
        "'infinity'::timestamptz": "infinity",
        "'10000-01-01'::date": "10000-01-01",
        "'\\x00ff'::bytea": "AP8=",
        "'{\"x\": [1]}'::jsonb": {"x": [1]},
        "'NaN'::float8": "nan",
        "ARRAY[1,2]": [1, 2],
        "true": True,
        "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        "'%s'": "%s",
    }
    text = "SELECT " + ", ".join(f"{value} AS c{number}" for number, value in enumerate(values))
    (row,) = (await run(POSTGRES, query(url, text), scene()))["results"][0]["data"]["rows"]
    assert list(row.values()) == list(values.values())


async def test_statements_that_write_are_carried_out_all_or_none(things: str):
    done = await run(
        POSTGRES, query(things, "UPDATE things SET name = 'x'; INSERT INTO things VALUES (3) RETURNING id"), scene()
    )
    output = POSTGRES.output(done)
    assert (output["rows_affected"], output["rows"]) == (2, [{"id": 3}])
    with pytest.raises(ToolError, match="does not exist"):
        await run(POSTGRES, query(things, "DELETE FROM things; DELETE FROM nothing"), scene())
    assert rows(things) == [(1, "x"), (2, "x"), (3, None)]


async def test_statements_with_transactions_of_their_own_may_be_left_half_done(things: str):
    with pytest.raises(OutcomeUnknown):
        await run(POSTGRES, query(things, "BEGIN; DELETE FROM things; COMMIT; DELETE FROM nothing"), scene())
    assert rows(things) == []


async def test_a_statement_that_must_stand_alone_may(things: str):
    assert POSTGRES.succeeded(await run(POSTGRES, query(things, "VACUUM things"), scene()))


async def test_the_database_itself_keeps_a_reading_block_from_writing(things: str):
    with psycopg.connect(things, autocommit=True) as database:
        database.execute(
            "CREATE OR REPLACE FUNCTION sneaky() RETURNS int LANGUAGE sql AS 'DELETE FROM things RETURNING id'"
        )
    made = query(things, "SELECT sneaky()")
    assert POSTGRES.call(made, scene()).tool == "runbook_postgres_read"
    with pytest.raises(ToolError, match=r"this block only reads. Say `readOnly: false`"):
        await run(POSTGRES, made, scene())
    assert len(rows(things)) == 2
    await run(POSTGRES, query(things, "SELECT sneaky()", readOnly=False), scene())
    assert rows(things) == []


async def test_a_reading_block_sends_one_statement_at_a_time(things: str, monkeypatch: pytest.MonkeyPatch):
    # What our reading of the text missed, the server still refuses.
    from pollux.runbooks.blocks import postgres
    from pollux.runbooks.blocks.sql_text import Statement

    def one(text: str, dialect: str) -> tuple[Statement, ...]:
        return (Statement("SELECT 1; COMMIT; DELETE FROM things", ("SELECT",)),)

    monkeypatch.setattr(postgres, "statements", one)
    with pytest.raises(ToolError, match="multiple commands"):
        await run(POSTGRES, query(things, "SELECT 1"), scene())
    assert len(rows(things)) == 2


def test_what_reads_may_be_repeated_and_what_writes_happens_once():
    reading, writing = (tool.spec for tool in POSTGRES.tools)
    assert (reading.name, reading.repeat) == ("runbook_postgres_read", "repeatable")
    assert (writing.name, writing.repeat) == ("runbook_postgres", "once")
    call = POSTGRES.call(query("postgres://a/b", "SELECT 1; COMMIT; DELETE FROM a"), scene())
    assert call.tool == writing.name
    with pytest.raises(ValidationError, match="only reads"):
        prepared(POSTGRES, Call(reading.name, call.args))


async def test_more_rows_than_anybody_reads_are_left_out(url: str):
    result = await run(POSTGRES, query(url, "SELECT generate_series(1, 10000000) i; SELECT 1 a"), scene())
    assert len(result["results"][0]["data"]["rows"]) == MAX_ROWS
    assert "the rest was left out" in result["note"]


async def test_a_statement_is_stopped_by_its_time_out(url: str):
    for text in ("SELECT pg_sleep(60)", "CREATE TABLE slow AS SELECT pg_sleep(60)::text"):
        with pytest.raises(ToolError, match=r"stopped: it took longer than 0\.2 s"):
            await run(POSTGRES, query(url, text, timeoutSeconds=0.2), scene())


@pytest.mark.parametrize("text", ["SELECT pg_sleep(60)", "DO $$ BEGIN PERFORM pg_sleep(60); END $$"])
async def test_a_cancelled_statement_ends_in_the_server_too(url: str, text: str):
    def at_work() -> int:
        with psycopg.connect(url) as database:
            found = database.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pollux-runbook' AND state = 'active'"
            ).fetchone()
            assert found is not None
            return found[0]

    running = asyncio.create_task(run(POSTGRES, query(url, text), scene()))
    async with asyncio.timeout(10):
        while not at_work():
            await asyncio.sleep(0.05)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        while at_work():
            await asyncio.sleep(0.05)


async def test_a_lost_connection_leaves_open_what_was_done(url: str):
    text = "CREATE TABLE IF NOT EXISTS t (a int); SELECT pg_terminate_backend(pg_backend_pid())"
    with pytest.raises(OutcomeUnknown):
        await run(POSTGRES, query(url, text), scene())


async def test_who_cannot_be_reached_is_told_without_the_password():
    with pytest.raises(ToolError, match=r"postgresql://me@127\.0\.0\.1:1/db cannot be reached") as caught:
        await run(POSTGRES, query("postgres://me:geheim@127.0.0.1:1/db", "SELECT 1"), scene())
    assert "geheim" not in str(caught.value)


async def test_our_own_password_is_not_sent_to_a_server_that_a_document_names(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PGPASSWORD", "canary")
    heard = bytearray()
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Speaks just enough to ask for a password in the clear.
        try:
            while more := await reader.read(1024):
                heard.extend(more)
                is_asking_for_tls = more[4:8] == b"\x04\xd2\x16\x2f"
                writer.write(b"N" if is_asking_for_tls else b"R\x00\x00\x00\x08\x00\x00\x00\x03")
        finally:
            writer.close()
            await writer.wait_closed()
            ended.set()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server, asyncio.timeout(20):
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ToolError, match="no password supplied"):
            await run(POSTGRES, query(f"postgres://me@127.0.0.1:{port}/db?gssencmode=disable", "SELECT 1"), scene())
        await ended.wait()
    assert heard
    assert b"canary" not in heard


async def test_without_the_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ToolError, match=r"pip install 'pollux\[postgres\]'"):
        await run(POSTGRES, query("postgres://a/b", "SELECT 1"), scene())


def test_rules_and_people_see_the_database_without_its_password():
    call = POSTGRES.call(query("postgres://me:geheim@h:5/db?sslmode=require&sslpassword=geheim", "SELECT 1"), scene())
    assert subjects(POSTGRES, call) == {"postgresql://me@h:5/db?sslmode=require"}
    assert preview(POSTGRES, call) == "on postgresql://me@h:5/db?sslmode=require:\nSELECT 1"


@pytest.mark.parametrize("uri", ["mysql://a/b", "host=a dbname=b", "postgres://[a/b"])
def test_an_address_of_something_else_is_refused(uri: str):
    with pytest.raises(ValidationError, match="uri"):
        prepared(POSTGRES, POSTGRES.call(query(uri, "SELECT 1"), scene()))
