"""Rows are walled off by owner in the database itself: a query that forgets to ask whose they are sees nothing."""

import logging
from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest
from psycopg import sql
from tests.stores.postgres import fresh_database
from tests.stores.postgres_worker import store_at

from pollux.engine.ports import Change
from pollux.stores.postgres.address import Address
from pollux.stores.postgres.connections import Db, connect
from pollux.stores.postgres.schema import INNER, OWNED
from pollux.stores.postgres.scopes import ask
from pollux.testing.store_lab import ADA, Story, browser_session, grant, tell_all

pytestmark = pytest.mark.slow


@pytest.fixture
async def url() -> AsyncIterator[str]:
    """Everything in it is Ada's."""
    with fresh_database() as url:
        store = store_at(url)
        await store.open()
        await tell_all(store, Story("1"))
        await store.commit(Change(grants=(grant("eve"),), secrets=((ADA, "google", b"sealed"),)))
        await store.commit(Change(sessions=(browser_session("1"),)))
        await store.close()
        yield url


@pytest.fixture
def db(url: str) -> Iterator[Db]:
    db = connect(Address(url))
    yield db
    db.close()


@pytest.mark.parametrize("table", OWNED)
def test_without_a_condition_a_user_still_sees_only_what_is_hers(db: Db, table: str):
    assert _seen(db, table, user="bob") == 0
    assert _seen(db, table, user="") == 0
    assert _seen(db, table, user="ada") == _seen(db, table, user=None) > 0


@pytest.mark.parametrize("table", INNER)
def test_what_was_said_is_seen_by_the_engine_alone(db: Db, table: str):
    assert _seen(db, table, user="ada") == 0
    assert _seen(db, table, user=None) > 0


@pytest.mark.parametrize("table", [*OWNED, *INNER])
def test_a_connection_that_names_no_scope_sees_nothing(db: Db, table: str):
    ask(db, (b"SELECT 1", ()))  # A scope ends with its transaction.
    found = db.execute(sql.SQL("SELECT count(*) FROM pollux.{}").format(sql.Identifier(table))).fetchone()
    assert found == (0,)


def test_a_user_cannot_write_what_would_be_another_s(db: Db):
    stolen = b"INSERT INTO pollux.secrets VALUES ('ada', 'other', 'x')"
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        ask(db, (stolen, ()), user="bob")
    ask(db, (b"UPDATE pollux.grants SET subject = 'all' RETURNING 1", ()), user="bob")
    assert ask(db, (b"SELECT subject FROM pollux.grants", ())) == [("eve@example.org",)]


async def test_a_superuser_is_told_that_no_wall_holds_for_him(url: str, caplog: pytest.LogCaptureFixture):
    store = store_at(url.replace("pollux@", "postgres@"))
    with caplog.at_level(logging.WARNING):
        await store.open()
        await store.close()
    assert "no superuser" in caplog.text


def _seen(db: Db, table: str, *, user: str | None) -> int:
    [(count,)] = ask(db, (f"SELECT count(*) FROM pollux.{table}".encode(), ()), user=user)
    return count
