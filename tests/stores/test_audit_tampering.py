"""Eight ways to tamper with the audit, by somebody who has the file but not the key; each is named."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pollux.core.ids import UserId
from pollux.engine.ports import AuditEntry, AuditFact, AuditReport, Change
from pollux.stores.audit import hash_of
from pollux.stores.schema import TRIGGERS
from pollux.stores.sqlite import SqliteStore
from pollux.testing.store_lab import Story, tell_all

COLUMNS = ", ".join(field for field in AuditEntry.__dataclass_fields__)
Attack = Callable[[sqlite3.Connection], object]


@pytest.fixture
async def place(tmp_path: Path) -> Path:
    """A store with eight audit entries, closed."""
    await _tell(tmp_path, "1", "2")
    return tmp_path


async def test_an_untouched_audit_is_whole(place: Path):
    report = await _verify(place)
    assert report.valid
    assert report.entries == 8


async def test_an_update_is_named(place: Path):
    _attack(place, lambda db: db.execute("UPDATE audit SET user = 'eve' WHERE seq = 3"))
    assert await _problems(place) == ["update: entry 3 changed after being written"]


@pytest.mark.parametrize(("user", "looks_like"), [("Kim", "\u212aim"), ("jos\u00e9", "jose\u0301")])
async def test_another_unicode_form_is_another_text(tmp_path: Path, user: str, looks_like: str):
    store = _store(tmp_path)
    await store.open()
    for n in range(3):
        await store.commit(Change(audit=(AuditFact(float(n), "decided", UserId(user)),)))
    await store.close()
    assert (await _verify(tmp_path)).valid
    _attack(tmp_path, lambda db: db.execute("UPDATE audit SET user = ? WHERE seq = 2", (looks_like,)))
    assert await _problems(tmp_path) == ["update: entry 2 changed after being written"]


FORGED = b'{"seq": 6, "hash": "0", "sig": "0"}\n'
OTHERS_BEGIN = json.dumps({"seq": 0, "hash": "0" * 64, "at": 0.0, "begun": "0" * 64}).encode() + b"\n"


@pytest.mark.parametrize("left", [b"", b"x\n", FORGED, OTHERS_BEGIN])
async def test_heads_that_were_emptied_are_lost_and_the_store_is_in_doubt(place: Path, left: bytes):
    def cut(db: sqlite3.Connection) -> None:
        db.execute("DELETE FROM audit WHERE seq > 6")
        db.execute("UPDATE sqlite_sequence SET seq = 6 WHERE name = 'audit'")

    _attack(place, cut)
    (place / "heads.jsonl").write_bytes(left)
    assert "lost heads: there are 6 entries, but the file of signed heads holds none" in await _problems(place)
    assert await _doubt(place) == "the file of its signed heads holds none"


async def test_heads_that_all_were_forged_leave_the_store_in_doubt(place: Path):
    heads = place / "heads.jsonl"
    begun, *signed = heads.read_text().splitlines(keepends=True)
    heads.write_text("".join([begun, *(line.replace('"hash": "', '"hash": "0') for line in signed)]))
    assert await _doubt(place) == "the file of its signed heads holds none"


async def test_heads_that_were_pushed_out_of_sight_leave_the_store_in_doubt(place: Path):
    with (place / "heads.jsonl").open("a") as heads:
        heads.write("x" * 5000)
    assert await _doubt(place) == "the file of its signed heads holds none"


@pytest.mark.parametrize("left", [None, b"", b'{"seq": 1, "ha'])
async def test_a_store_whose_process_died_before_its_first_head_is_not_in_doubt(tmp_path: Path, left: bytes | None):
    heads = tmp_path / "heads.jsonl"
    await _opened(_store(tmp_path))
    if left is not None:
        # Beside a store without entries: as an older version leaves it, or one that ended while it wrote.
        heads.write_bytes(left)
        await _opened(_store(tmp_path))
    # Without the heads: as if the process had ended between the commit and the head.
    dying = SqliteStore(tmp_path / "pollux.db", key=b"k" * 32)
    await dying.open()
    await dying.commit(Change(audit=(AuditFact(1.0, "decided", UserId("ada")),)))
    await dying.close()
    assert (await _verify(tmp_path)).valid
    assert await _doubt(tmp_path) == ""


async def _opened(store: SqliteStore) -> None:
    await store.open()
    await store.close()


async def _doubt(place: Path) -> str:
    store = _store(place)
    await store.open()
    try:
        return await store.restored()
    finally:
        await store.close()


@pytest.mark.parametrize("column", ["at", "tool_name", "previous", "hash", "seal"])
@pytest.mark.parametrize("value", ["9e999", "-9e999", "x'00ff'", "CAST(x'ff' AS TEXT)", "'é'", "42"])
async def test_a_value_of_another_kind_is_named_and_hides_no_other_entry(place: Path, column: str, value: str):
    _attack(place, lambda db: db.execute(f"UPDATE audit SET {column} = {value} WHERE seq = 3"))
    (problem,) = [each for each in await _problems(place) if "entry 3" in each]
    assert problem.startswith("forge: " if column == "seal" else ("update: ", "replace: "))
    store = _store(place)
    await store.open()
    assert [entry.seq for entry in await store.audit()] == list(range(1, 9))
    await store.close()


async def test_a_delete_is_named(place: Path):
    _attack(place, lambda db: db.execute("DELETE FROM audit WHERE seq IN (3, 4)"))
    assert await _problems(place) == ["delete: entries 3 to 4 are missing"]


async def test_a_delete_of_the_beginning_is_named(place: Path):
    _attack(place, lambda db: db.execute("DELETE FROM audit WHERE seq = 1"))
    assert await _problems(place) == ["delete: entry 1 is missing"]


@pytest.mark.parametrize("seq", [3, 8])
async def test_a_replacement_is_named(place: Path, seq: int):
    def attack(db: sqlite3.Connection) -> None:
        old = _entry(db, seq)
        _put(db, _rehashed(replace(old, user="eve")), "INSERT OR REPLACE")

    _attack(place, attack)
    assert await _problems(place) == [f"replace: entry {seq} was put in the place of another"]


async def test_a_change_of_order_is_named(place: Path):
    def attack(db: sqlite3.Connection) -> None:
        db.execute("UPDATE audit SET seq = -1 WHERE seq = 3")
        db.execute("UPDATE audit SET seq = 3 WHERE seq = 5")
        db.execute("UPDATE audit SET seq = 5 WHERE seq = -1")

    _attack(place, attack)
    assert await _problems(place) == [f"reorder: entry {seq} was moved to another place" for seq in (3, 5)]


async def test_a_truncation_is_named(place: Path):
    _attack(place, lambda db: db.execute("DELETE FROM audit WHERE seq > 6"))
    assert await _problems(place) == ["truncate: entries 7 to 8 are missing at the end"]


async def test_one_flaw_is_told_as_one(tmp_path: Path):
    at = {
        "gone": "DELETE FROM audit WHERE seq = 4",
        "cut": "DELETE FROM audit WHERE seq = 8",
        "left": "DELETE FROM audit WHERE seq > 1",
    }
    for name, statement in at.items():
        await _tell(tmp_path / name, "1", "2")
        _attack(tmp_path / name, lambda db, statement=statement: db.execute(statement))
    assert await _problems(tmp_path / "gone") == ["delete: entry 4 is missing"]
    assert await _problems(tmp_path / "cut") == ["truncate: entry 8 is missing at the end"]
    (tmp_path / "left" / "heads.jsonl").unlink()
    lost = "lost heads: there is 1 entry, but the file of signed heads is missing"
    assert await _problems(tmp_path / "left") == [lost, "truncate: entries 2 to 8 are missing at the end"]


async def test_a_roll_back_is_named(tmp_path: Path):
    await _tell(tmp_path, "1")
    shutil.copy(tmp_path / "pollux.db", tmp_path / "copy.db")
    await _tell(tmp_path, "2")
    shutil.copy(tmp_path / "copy.db", tmp_path / "pollux.db")
    assert await _problems(tmp_path) == ["roll back: a head was signed for entry 8, but the last one is 4"]


async def test_a_roll_back_is_named_also_after_the_store_went_on(tmp_path: Path):
    await _tell(tmp_path, "1")
    shutil.copy(tmp_path / "pollux.db", tmp_path / "copy.db")
    await _tell(tmp_path, "2")
    shutil.copy(tmp_path / "copy.db", tmp_path / "pollux.db")
    # By code that does not look at the heads: ours takes no writes then.
    unguarded = SqliteStore(tmp_path / "pollux.db", key=b"k" * 32)
    await unguarded.open()
    for name in ("3", "4"):
        await tell_all(unguarded, Story(name), to="bob@example.org")
    await unguarded.close()
    [problem] = await _problems(tmp_path)
    assert problem.startswith("roll back: entries 5 to 8 differ from what was signed")


async def test_a_dropped_trigger_is_named(place: Path):
    with sqlite3.connect(place / "pollux.db") as db:
        db.execute("DROP TRIGGER audit_refuses_delete")
    assert await _problems(place) == ["drop trigger: audit_refuses_delete is gone or was altered"]


async def test_a_trigger_that_does_nothing_is_named(place: Path):
    with sqlite3.connect(place / "pollux.db") as db:
        db.execute("DROP TRIGGER audit_refuses_update")
        db.execute("CREATE TRIGGER audit_refuses_update BEFORE UPDATE ON audit BEGIN SELECT 1; END")
    assert await _problems(place) == ["drop trigger: audit_refuses_update is gone or was altered"]


async def test_a_forged_history_is_named(place: Path):
    def attack(db: sqlite3.Connection) -> None:
        entry = replace(_entry(db, 3), user="eve")
        for seq in range(3, 9):
            entry = _rehashed(entry)
            _put(db, entry, "INSERT OR REPLACE")
            if seq < 8:
                entry = replace(_entry(db, seq + 1), previous=entry.hash)

    _attack(place, attack)
    assert await _problems(place) == ["forge: entries 3 to 8 were never sealed by this store"]


async def test_a_forged_entry_at_the_end_is_named(place: Path):
    def attack(db: sqlite3.Connection) -> None:
        last = _entry(db, 8)
        _put(db, _rehashed(replace(last, seq=9, previous=last.hash, by="ada")), "INSERT")

    _attack(place, attack)
    assert await _problems(place) == ["forge: entry 9 was never sealed by this store"]


async def test_a_forged_head_is_named(place: Path):
    with (place / "heads.jsonl").open("a") as heads:
        heads.write(json.dumps({"seq": 4, "hash": "f" * 64, "at": 0, "sig": "0" * 64}) + "\n")
    assert await _problems(place) == ["forge: 1 head bears a wrong signature"]


async def test_half_a_head_is_no_tampering(place: Path):
    with (place / "heads.jsonl").open("a") as heads:
        heads.write('{"seq": 9, "ha')
    assert (await _verify(place)).valid


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET user = 'eve'",
        "DELETE FROM audit",
        "INSERT OR REPLACE INTO audit SELECT * FROM audit WHERE seq = 3",
        "REPLACE INTO audit SELECT * FROM audit",
    ],
)
async def test_the_triggers_refuse_an_outsider_s_connection_too(place: Path, statement: str):
    db = sqlite3.connect(place / "pollux.db")
    with pytest.raises(sqlite3.IntegrityError, match="only ever added to"):
        db.execute(statement)
    db.close()
    assert (await _verify(place)).valid


def _store(place: Path) -> SqliteStore:
    return SqliteStore(place / "pollux.db", key=b"k" * 32, heads=place / "heads.jsonl")


async def _tell(place: Path, *names: str) -> None:
    store = _store(place)
    await store.open()
    for name in names:
        await tell_all(store, Story(name), to="bob@example.org")
    await store.close()


async def _verify(place: Path) -> AuditReport:
    store = _store(place)
    await store.open()
    report = await store.verify_audit()
    await store.close()
    return report


async def _problems(place: Path) -> list[str]:
    report = await _verify(place)
    assert not report.valid
    return list(report.problems)


def _attack(place: Path, attack: Attack) -> None:
    """Take the triggers away, do it, and put them back."""
    db = sqlite3.connect(place / "pollux.db")
    for name in TRIGGERS:
        db.execute(f"DROP TRIGGER {name}")
    attack(db)
    for statement in TRIGGERS.values():
        db.execute(statement)
    db.commit()
    db.close()


def _entry(db: sqlite3.Connection, seq: int) -> AuditEntry:
    return AuditEntry(*db.execute(f"SELECT {COLUMNS} FROM audit WHERE seq = ?", (seq,)).fetchone())


def _rehashed(entry: AuditEntry) -> AuditEntry:
    return replace(entry, hash=hash_of(entry))


def _put(db: sqlite3.Connection, entry: AuditEntry, how: str) -> None:
    values = [getattr(entry, name) for name in AuditEntry.__dataclass_fields__]
    marks = ", ".join("?" * len(values))
    seal = "0" * 64
    db.execute(f"{how} INTO audit ({COLUMNS}, seal) VALUES ({marks}, ?)", (*values, seal))
