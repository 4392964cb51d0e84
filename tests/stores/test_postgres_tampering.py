"""Ways to tamper with the audit of a PostgreSQL store, by one who owns the tables but not the key; each is named."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from tests.stores.postgres import fresh_database
from tests.stores.postgres_worker import store_at

from pollux.core.errors import StoreRestored
from pollux.core.ids import UserId
from pollux.engine.ports import AuditEntry, AuditFact, AuditReport, Change
from pollux.stores.audit import hash_of
from pollux.stores.postgres.address import Address
from pollux.stores.postgres.connections import Db, connect
from pollux.stores.postgres.schema import TRIGGERS
from pollux.testing.store_lab import Story, tell_all

pytestmark = pytest.mark.slow

COLUMNS = sql.SQL(", ").join(map(sql.Identifier, AuditEntry.__dataclass_fields__))
Attack = Callable[[Db], object]


class Place:
    """A store with eight audit entries, closed, and the file of its heads."""

    def __init__(self, url: str, heads: Path) -> None:
        self.url = url
        self.heads = heads

    async def tell(self, *names: str) -> None:
        store = store_at(self.url, self.heads)
        await store.open()
        try:
            for name in names:
                await tell_all(store, Story(name), to="bob@example.org")
        finally:
            await store.close()

    async def verify(self) -> AuditReport:
        store = store_at(self.url, self.heads)
        await store.open()
        report = await store.verify_audit()
        await store.close()
        return report

    async def problems(self) -> list[str]:
        report = await self.verify()
        assert not report.valid
        return list(report.problems)

    def attack(self, attack: Attack) -> None:
        """Take the triggers away, do it, and put them back."""
        db = connect(Address(self.url))
        with db.transaction():
            db.execute("SELECT set_config('pollux.scope', 'engine', true)")
            db.execute("ALTER TABLE pollux.audit DISABLE TRIGGER USER")
            attack(db)
            for name in TRIGGERS:
                enable = sql.SQL("ALTER TABLE pollux.audit ENABLE ALWAYS TRIGGER {}")
                db.execute(enable.format(sql.Identifier(name)))
        db.close()

    def run(self, *statements: str) -> None:
        """As the owner of the tables, with the triggers in place."""
        db = connect(Address(self.url))
        try:
            with db.transaction():
                db.execute("SELECT set_config('pollux.scope', 'engine', true)")
                for statement in statements:
                    db.execute(statement.encode())
        finally:
            db.close()


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    with fresh_database() as url:
        place = Place(url, tmp_path / "heads.jsonl")
        await place.tell("1", "2")
        yield place


async def test_an_untouched_audit_is_whole(place: Place):
    report = await place.verify()
    assert report.valid
    assert report.entries == 8


async def test_an_update_is_named(place: Place):
    place.attack(lambda db: db.execute("""UPDATE pollux.audit SET "user" = 'eve' WHERE seq = 3"""))
    assert await place.problems() == ["update: entry 3 changed after being written"]


async def test_a_delete_is_named(place: Place):
    place.attack(lambda db: db.execute("DELETE FROM pollux.audit WHERE seq IN (3, 4)"))
    assert await place.problems() == ["delete: entries 3 to 4 are missing"]


@pytest.mark.parametrize("seq", [3, 8])
async def test_a_replacement_is_named(place: Place, seq: int):
    place.attack(lambda db: _put(db, _rehashed(replace(_entry(db, seq), user="eve"))))
    assert await place.problems() == [f"replace: entry {seq} was put in the place of another"]


async def test_a_change_of_order_is_named(place: Place):
    def attack(db: Db) -> None:
        for old, new in ((3, -1), (5, 3), (-1, 5)):
            db.execute("UPDATE pollux.audit SET seq = %s WHERE seq = %s", (new, old))

    place.attack(attack)
    assert await place.problems() == [f"reorder: entry {seq} was moved to another place" for seq in (3, 5)]


async def test_a_truncation_is_named(place: Place):
    place.attack(lambda db: db.execute("DELETE FROM pollux.audit WHERE seq > 6"))
    assert await place.problems() == ["truncate: entries 7 to 8 are missing at the end"]


async def test_a_roll_back_is_named(place: Place):
    place.attack(_roll_back)
    assert await place.problems() == ["roll back: a head was signed for entry 8, but the last one is 4"]


async def test_a_store_that_was_rolled_back_takes_nothing_more(place: Place):
    place.attack(_roll_back)
    with pytest.raises(StoreRestored):
        await place.tell("3", "4")


async def test_heads_that_were_emptied_are_lost_and_the_store_is_in_doubt(place: Place):
    place.heads.write_bytes(b"")
    lost = "lost heads: there are 8 entries, but the file of signed heads holds none"
    assert await place.problems() == [lost]
    with pytest.raises(StoreRestored):
        await place.tell("3")


async def test_another_unicode_form_is_another_text(place: Place):
    async def kept(user: str) -> None:
        store = store_at(place.url, place.heads)
        await store.open()
        await store.commit(Change(audit=(AuditFact(1.0, "decided", UserId(user)),)))
        await store.close()

    await kept("Kim")
    place.attack(lambda db: db.execute("""UPDATE pollux.audit SET "user" = %s WHERE seq = 9""", ("\u212aim",)))
    assert await place.problems() == ["update: entry 9 changed after being written"]


async def test_a_forged_history_is_named(place: Place):
    def attack(db: Db) -> None:
        entry = replace(_entry(db, 3), user="eve")
        for seq in range(3, 9):
            entry = _rehashed(entry)
            _put(db, entry)
            if seq < 8:
                entry = replace(_entry(db, seq + 1), previous=entry.hash)

    place.attack(attack)
    assert await place.problems() == ["forge: entries 3 to 8 were never sealed by this store"]


async def test_a_forged_entry_at_the_end_is_named(place: Place):
    def attack(db: Db) -> None:
        last = _entry(db, 8)
        _put(db, _rehashed(replace(last, seq=9, previous=last.hash, by="ada")))

    place.attack(attack)
    assert await place.problems() == ["forge: entry 9 was never sealed by this store"]


@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TRIGGER audit_refuses_delete ON pollux.audit"],
        ["ALTER TABLE pollux.audit DISABLE TRIGGER audit_refuses_delete"],
        # As it would be after a plain CREATE TRIGGER: a replica's session passes it by.
        ["ALTER TABLE pollux.audit ENABLE TRIGGER audit_refuses_delete"],
        [
            "DROP TRIGGER audit_refuses_delete ON pollux.audit",
            "CREATE TRIGGER audit_refuses_delete BEFORE DELETE ON pollux.audit FOR EACH ROW WHEN (false)"
            " EXECUTE FUNCTION pollux.refuse_change()",
            "ALTER TABLE pollux.audit ENABLE ALWAYS TRIGGER audit_refuses_delete",
        ],
    ],
)
async def test_a_dropped_or_altered_trigger_is_named(place: Place, statements: list[str]):
    place.run(*statements)
    assert await place.problems() == ["drop trigger: audit_refuses_delete is gone or was altered"]


async def test_triggers_that_do_nothing_are_named(place: Place):
    place.run(
        "CREATE OR REPLACE FUNCTION pollux.refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'"
    )
    assert await place.problems() == [f"drop trigger: {name} is gone or was altered" for name in TRIGGERS]


@pytest.mark.parametrize(
    "statement",
    [
        """UPDATE pollux.audit SET "user" = 'eve'""",
        "DELETE FROM pollux.audit",
        "TRUNCATE pollux.audit",
        "INSERT INTO pollux.audit SELECT * FROM pollux.audit WHERE seq = 3 ON CONFLICT (seq) DO UPDATE SET by = 'eve'",
    ],
)
async def test_the_triggers_refuse_whoever_owns_the_tables(place: Place, statement: str):
    with pytest.raises(psycopg.IntegrityError, match="only ever added to"):
        place.run(statement)
    assert (await place.verify()).valid


def _roll_back(db: Db) -> None:
    """As a copy of last week would have it."""
    db.execute("DELETE FROM pollux.audit WHERE seq > 4")
    db.execute("UPDATE pollux.audit_head SET seq = 4, hash = (SELECT hash FROM pollux.audit WHERE seq = 4)")


def _entry(db: Db, seq: int) -> AuditEntry:
    found = db.execute(sql.SQL("SELECT {} FROM pollux.audit WHERE seq = %s").format(COLUMNS), (seq,)).fetchone()
    assert found
    return AuditEntry(*found)


def _rehashed(entry: AuditEntry) -> AuditEntry:
    return replace(entry, hash=hash_of(entry))


def _put(db: Db, entry: AuditEntry) -> None:
    db.execute("DELETE FROM pollux.audit WHERE seq = %s", (entry.seq,))
    values = [getattr(entry, name) for name in AuditEntry.__dataclass_fields__]
    marks = sql.SQL(", ").join([sql.Placeholder()] * (len(values) + 1))
    put = sql.SQL("INSERT INTO pollux.audit ({}, seal) VALUES ({})").format(COLUMNS, marks)
    db.execute(put, (*values, "0" * 64))
