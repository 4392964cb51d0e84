"""Statements for a real PostgreSQL: what they answer, what they cannot do, and how they are stopped."""

import asyncio
from collections.abc import Generator
from typing import Any

import psycopg
import pytest
from tests.runbooks.blocks.at_work import ID, block, prepared, run, scene
from tests.stores.postgres import fresh_database
from tests.waiting import HANG_SECONDS, until

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
    for text in ("SELECT pg_sleep(1000)", "CREATE TABLE slow AS SELECT pg_sleep(1000)::text"):
        with pytest.raises(ToolError, match=r"stopped: it took longer than 1 s"):
            await run(POSTGRES, query(url, text, timeoutSeconds=1), scene())


@pytest.mark.parametrize("text", ["SELECT pg_sleep(1000)", "DO $$ BEGIN PERFORM pg_sleep(1000); END $$"])
async def test_a_cancelled_statement_ends_in_the_server_too(url: str, text: str):
    def at_work() -> int:
        with psycopg.connect(url) as database:
            found = database.execute(
                # Of this database: others may be tested at the same time.
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                " AND application_name = 'pollux-runbook' AND state = 'active'"
            ).fetchone()
            assert found is not None
            return found[0]

    running = asyncio.create_task(run(POSTGRES, query(url, text), scene()))
    await until(at_work)
    running.cancel()
    async with asyncio.timeout(HANG_SECONDS):
        with pytest.raises(asyncio.CancelledError):
            await running
    await until(lambda: not at_work())


async def test_a_lost_connection_leaves_open_what_was_done(url: str):
    text = "CREATE TABLE IF NOT EXISTS t (a int); SELECT pg_terminate_backend(pg_backend_pid())"
    with pytest.raises(OutcomeUnknown):
        await run(POSTGRES, query(url, text), scene())
