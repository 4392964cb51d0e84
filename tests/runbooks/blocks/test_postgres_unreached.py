"""Statements for PostgreSQL before any server is asked: what is refused, what is kept from it, and what people see."""

import asyncio
import sys
from typing import Any

import pytest
from tests.runbooks.blocks.at_work import block, prepared, preview, run, scene, subjects
from tests.waiting import HANG_SECONDS

from pollux.core.errors import ToolError, ValidationError
from pollux.runbooks.blocks.postgres import Postgres

POSTGRES = Postgres()


def query(url: str, text: str, **props: Any):
    return block("postgres", uri=url, query=text, **props)


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

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server, asyncio.timeout(HANG_SECONDS):
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
