"""Anybody may ask whether the audit is whole. That must cost nobody anything, and still notice what was changed."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.attack.restored import KEY
from tests.http.site import site

from pollux.engine import verification
from pollux.engine.ports import AuditFact, AuditPart, Change
from pollux.engine.verification import AGAIN_SECONDS, NAMED_SECONDS, PIECE, Verification
from pollux.stores.sqlite import SqliteStore
from pollux.testing import scripted

VERIFY = "/api/agent/audit/verify"


class Counted(SqliteStore):
    """Says how many entries were walked."""

    walked = 0
    whole = 0

    async def verify_part(self, seq: int, own: str, limit: int) -> AuditPart:
        part = await super().verify_part(seq, own, limit)
        self.walked += part.seq - seq
        return part

    async def verify_audit(self):
        self.whole += 1
        return await super().verify_audit()


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def store(tmp_path: Path):
    made = Counted(tmp_path / "pollux.db", key=KEY, heads=tmp_path / "heads.jsonl")
    await made.open()
    await add(made, 5)
    yield made
    await made.close()


async def add(store: SqliteStore, count: int) -> None:
    await store.commit(Change(audit=tuple(AuditFact(1.0, "started", "ada") for _ in range(count))))


async def test_a_question_walks_what_is_new_and_nothing_else(store: Counted):
    clock = Clock()
    checked = Verification(store, clock)
    assert (await checked.report()).entries == 5
    for _ in range(10):
        await checked.report()
    await add(store, 2)
    report = await checked.report()
    assert (report.valid, report.entries, store.walked, store.whole) == (True, 7, 7, 0)
    assert report == await store.verify_audit()


async def test_many_who_ask_at_once_are_answered_by_one_walk(store: Counted):
    checked = Verification(store)
    reports = await asyncio.gather(*(checked.report() for _ in range(50)))
    assert {report.entries for report in reports} == {5}
    assert store.walked == 5


async def test_a_long_chain_is_walked_piece_by_piece_and_each_answer_says_how_far(
    store: Counted, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(verification, "PIECE", 2)
    monkeypatch.setattr(verification, "SLICE_SECONDS", 0)
    checked = Verification(store)
    assert [(await checked.report()).entries for _ in range(4)] == [2, 4, 5, 5]
    assert store.walked == 5
    assert PIECE > 2


@pytest.mark.parametrize("seq", [1, 4, 5])
async def test_a_change_in_the_part_that_was_checked_is_named_within_the_hour(store: Counted, tmp_path: Path, seq: int):
    clock = Clock()
    checked = Verification(store, clock)
    assert (await checked.report()).valid
    with closing(sqlite3.connect(tmp_path / "pollux.db")) as db, db:
        [(trigger,)] = db.execute("SELECT sql FROM sqlite_master WHERE name = 'audit_refuses_update'").fetchall()
        db.execute("DROP TRIGGER audit_refuses_update")
        db.execute("UPDATE audit SET user = 'eve' WHERE seq = ?", (seq,))
        db.execute(trigger)
    clock.now += AGAIN_SECONDS
    report = await checked.report()
    assert report.problems == (f"update: entry {seq} changed after being written",)
    # To name it took a whole walk: it is not taken again for everybody who asks.
    assert [(await checked.report()).valid for _ in range(5)] == [False] * 5
    assert store.whole == 1
    clock.now += NAMED_SECONDS
    assert not (await checked.report()).valid


async def test_a_tail_that_was_cut_off_is_named_at_the_next_question(store: Counted, tmp_path: Path):
    checked = Verification(store)
    assert (await checked.report()).valid
    with closing(sqlite3.connect(tmp_path / "pollux.db")) as db, db:
        [(trigger,)] = db.execute("SELECT sql FROM sqlite_master WHERE name = 'audit_refuses_delete'").fetchall()
        db.execute("DROP TRIGGER audit_refuses_delete")
        db.execute("DELETE FROM audit WHERE seq > 3")
        db.execute("UPDATE sqlite_sequence SET seq = 3")
        db.execute(trigger)
    assert (await checked.report()).problems == ("roll back: a head was signed for entry 5, but the last one is 3",)


async def test_one_user_who_asks_without_end_is_slowed_and_others_are_not(tmp_path: Path, store: Counted):
    async with site(tmp_path, scripted(), store=store, burst=1_000) as server:
        answers = [await server.ada.get(VERIFY) for _ in range(40)]
        assert {got.status for got in answers} == {200, 429}
        assert answers[-1].code == "rate_limited"
        told = (await server.bob.get(VERIFY)).body
        assert (told["ok"], told["valid"], told["entries"], told["problems"]) == (True, True, None, [])
        assert store.walked == 5
