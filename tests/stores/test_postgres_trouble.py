"""Lost answers, rivals, texts that cannot be kept, servers that are not there: each has its words."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import psycopg
import pytest
from tests.stores.postgres import fresh_database, short_folder
from tests.stores.postgres_proxy import between
from tests.stores.postgres_worker import KEY, store_at
from tests.waiting import until

from pollux.core.errors import Conflict, StoreError, ThreadBusy, ValidationError
from pollux.core.events import CancelRequested
from pollux.core.ids import RunId, UserId
from pollux.core.thread import ThreadErased
from pollux.engine.ports import AuditFact, Change
from pollux.stores.postgres.address import Address
from pollux.stores.postgres.connections import Db, connect
from pollux.stores.postgres.scopes import ask
from pollux.stores.postgres.store import PostgresStore
from pollux.stores.postgres.writing import write
from pollux.stores.rows import prepare
from pollux.testing.store_lab import ADA, NOON, Story, grant, tell_all, thread_change
from pollux.wire.codec import Codec

pytestmark = pytest.mark.slow


@pytest.fixture
def url() -> Iterator[str]:
    with fresh_database() as url:
        yield url


@pytest.fixture
async def store(url: str) -> AsyncIterator[PostgresStore]:
    store = store_at(url)
    await store.open()
    yield store
    await store.close()


async def test_a_commit_takes_two_round_trips_and_a_question_one(store: PostgresStore, url: str):
    story = await Story("1").start(store)
    changed = story.change(CancelRequested(by="bob", at=NOON))
    changed = replace(changed, audit=(AuditFact(NOON, "decided", "ada"),), grants=(grant("eve"),))
    db = connect(Address(url))
    trips = _round_trips(db, lambda: write(db, prepare(changed, Codec(KEY)), key=KEY, told="x"))
    asked = _round_trips(db, lambda: ask(db, (b"SELECT count(*) FROM pollux.runs", ()), user="ada"))
    db.close()
    assert (trips, asked) == (2, 1)
    assert (await store.verify_audit()).entries == 1


async def test_a_commit_whose_answer_was_lost_may_turn_up(store: PostgresStore, url: str):
    # A socket's path must be short.
    with short_folder() as place:
        async with between(url, place) as (way, proxy):
            far = store_at(way)
            await far.open()
            story = Story("1")
            proxy.arm()
            with pytest.raises(StoreError, match="may have been written"):
                await story.start(far)
            # It has been, this time. Whoever asks again is told so.
            with pytest.raises(Conflict):
                await story.start(far)
            assert await store.versions([story.run_id]) == {story.run_id: 3}
            await far.close()


async def test_a_connection_cut_while_it_wrote_leaves_nothing(url: str):
    def cut(change: Change):
        return [(b"SELECT pg_terminate_backend(pg_backend_pid())", ())] if change.audit else ()

    store = store_at(url, beside=cut)
    await store.open()
    story = await Story("1").start(store)
    with pytest.raises(StoreError, match=r"may have been written|cannot be reached"):
        await story.ask(store)
    assert await store.run(story.run_id) == story.run
    assert (await store.verify_audit()).entries == 0
    await store.close()


async def test_connections_that_were_cut_while_idle_are_not_noticed_by_anybody(store: PostgresStore, url: str):
    await asyncio.gather(*(Story(str(number)).start(store) for number in range(8)))
    with psycopg.connect(url, autocommit=True) as db:
        cut = db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pollux'"
            " AND datname = current_database()"
        ).fetchall()
    assert len(cut) > 1
    await asyncio.gather(*(Story(f"more {number}").start(store) for number in range(8)))


async def test_of_two_who_begin_the_same_new_thread_the_second_finds_it_busy(store: PostgresStore):
    rivals = [Story("same") for _ in range(12)]
    for number, rival in enumerate(rivals):
        rival.run_id = RunId(f"run_{number}")
    outcomes = await asyncio.gather(*(rival.start(store) for rival in rivals), return_exceptions=True)
    assert sum(isinstance(outcome, Story) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, ThreadBusy) for outcome in outcomes) == 11


async def test_a_number_that_is_taken_in_a_journal_is_the_last_wall(store: PostgresStore, url: str):
    story = await Story("1").start(store)
    db = connect(Address(url))
    forged = b"INSERT INTO pollux.events VALUES (%s, 4, 'RunCancelled', 1, 0, '{}') RETURNING 1"
    ask(db, (forged, (f"r:{story.run_id}",)))
    db.close()
    with pytest.raises(Conflict, match="there already"):
        await story.answer(store)
    assert await store.versions([story.run_id]) == {story.run_id: 3}


@pytest.mark.parametrize("bad", ["nul \0", "half a pair \ud800"])
async def test_text_that_cannot_be_kept_is_refused_before_anything_is_asked(store: PostgresStore, bad: str):
    refused = [
        store.commit(Change(audit=(AuditFact(NOON, "revoked", "ada", by=bad),))),
        store.commit(Change(grants=(replace(grant("eve"), subject=bad),))),
        store.commit(Change(secrets=((ADA, bad, b"sealed"),))),
        store.run(RunId(bad)),
        store.runs(UserId(bad)),
        store.versions([RunId(bad)]),
        store.runs(ADA, before=bad),
    ]
    for refusal in await asyncio.gather(*refused, return_exceptions=True):
        assert isinstance(refusal, ValidationError)
    assert await store.run(RunId("run_1")) is None


async def test_what_a_model_says_may_hold_a_nul(store: PostgresStore):
    story = await Story("1").start(store, "nul: \0")
    await story.answer(store, "\0 yourself")
    assert await store.run(story.run_id) == story.run


async def test_callers_who_leave_tear_nothing_apart(store: PostgresStore):
    stories = [Story(str(number)) for number in range(30)]
    tasks = [asyncio.create_task(tell_all(store, story)) for story in stories]
    # Some have written by then, and none of those who came last is through.
    await until(lambda: store.versions([story.run_id for story in stories]))
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for story in stories[1::2]:
        assert await store.run(story.run_id) == story.run
    assert (await store.verify_audit()).valid


async def test_many_at_once_share_a_few_connections(url: str):
    store = store_at(url, connections=2)
    await store.open()
    await asyncio.gather(*(tell_all(store, Story(str(number))) for number in range(20)))
    with psycopg.connect(url) as db:
        mine = "SELECT FROM pg_stat_activity WHERE application_name = 'pollux' AND datname = current_database()"
        # One more is the line on which it listens.
        assert len(db.execute(mine).fetchall()) <= 3
    assert (await store.verify_audit()).entries == 80
    await store.close()


async def test_a_database_that_is_not_there_is_said_without_the_password(url: str):
    with socket.socket() as nobody:
        # Bound, so that it is nobody else's, and nobody listens.
        nobody.bind(("127.0.0.1", 0))
        nowhere = f"postgresql://u:hunter2@127.0.0.1:{nobody.getsockname()[1]}/db"
        for address in (url.replace("/t_", "/none_"), nowhere):
            with pytest.raises(StoreError, match="expected") as refusal:
                await store_at(address).open()
            assert "hunter2" not in str(refusal.value)


async def test_a_store_that_was_closed_opens_again_under_new_names(store: PostgresStore):
    name = store.enlist()
    await store.close()
    await store.open()
    assert not await store.is_alive(name)
    assert await store.is_alive(store.enlist())


async def test_a_waiting_listener_is_told_when_the_store_closes(store: PostgresStore):
    waiting = asyncio.create_task(store.changed_elsewhere())
    await asyncio.sleep(0)
    await store.close()
    with pytest.raises(StoreError, match="Open it first"):
        await waiting


def _round_trips(db: Db, work: Callable[[], object]) -> int:
    """The server is ready for more once in each."""
    with NamedTemporaryFile("r") as trace:
        db.pgconn.trace(trace.fileno())
        work()
        db.pgconn.untrace()
        return sum("ReadyForQuery" in line for line in Path(trace.name).read_text().splitlines())


async def test_an_error_at_the_very_end_of_a_pipeline_is_no_fault_of_ours(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
):
    # As psycopg raises it about once in a hundred times when the transaction of a notice fails, on a full disk say.
    leave = psycopg.Pipeline.__exit__

    def slip(pipeline: psycopg.Pipeline, *problem: Any) -> None:
        leave(pipeline, *problem)
        raise IndexError("pop from an empty deque")

    story = Story("1")
    with monkeypatch.context() as slipping:
        slipping.setattr(psycopg.Pipeline, "__exit__", slip)
        await story.start(store)
        with pytest.raises(StoreError):
            await store.versions([story.run_id])
    assert await store.versions([story.run_id]) == {story.run_id: 3}


async def test_a_thread_that_is_marked_as_erased_has_no_words_left(store: PostgresStore, url: str):
    story = await Story("1").start(store, "my secret")
    await story.answer(store)
    assert story.thread is not None
    # Whoever does it may die right after this commit.
    await store.commit(thread_change(story.thread, ThreadErased(by="ada", at=NOON)))
    with psycopg.connect(url) as db:
        db.execute("SELECT set_config('pollux.scope', 'engine', true)")
        assert db.execute("SELECT count(*) FROM pollux.content").fetchone() == (0,)


async def test_the_audit_is_whole_whatever_digits_the_server_shows(url: str):
    store = store_at(f"{url}&options=-c%20extra_float_digits%3D0")
    await store.open()
    await store.commit(Change(audit=(AuditFact(1763240000.1234567, "decided", "ada"),)))
    assert (await store.verify_audit()).problems == ()
    await store.close()


@pytest.mark.parametrize(
    ("change", "said"),
    [({"dbname": "nowhere"}, "none of this name"), ({"user": "nobody"}, "user and password")],
)
def test_a_refused_connection_is_told_by_its_cause(url: str, change: dict[str, str], said: str):
    address = Address(url)
    address.parameters |= change
    with pytest.raises(StoreError, match=said):
        connect(address)
