"""A run that another process drives: pieces of its text come late, twice or never, and are shown once and in order."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from tests.engine.builders import FaultyStore, Kind, Lab, ask, journal, settle, store_of
from tests.engine.watching import text
from tests.waiting import HANG_SECONDS, until

from pollux.core.errors import Draining
from pollux.core.events import Event, ModelReplied, RunClaimed
from pollux.core.ids import RunId, UserId
from pollux.core.machine import fold, step
from pollux.core.run import Run
from pollux.engine import relay as relaying
from pollux.engine.airwaves import Interrupted, Piece, Signal, Told, Wanted
from pollux.engine.engine import Engine
from pollux.engine.feed import Delta, Feed, Item, Watcher
from pollux.engine.ledger import Ledger
from pollux.engine.ports import ANYTHING, News, Recorded
from pollux.engine.relay import MOST_AUDIENCES, Relay
from pollux.engine.watch import watch_feed
from pollux.providers.scripted import call, reply

RUN = RunId("run_1")


@pytest.fixture
def kind() -> Kind:
    return "memory"


@pytest.fixture(autouse=True)
def no_renewal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody says again that they watch, and nobody is forgotten, however long a test takes."""
    monkeypatch.setattr(relaying, "RENEW_SECONDS", 1000.0)
    monkeypatch.setattr(relaying, "HEARD_SECONDS", 1000.0)


class Air:
    """Airwaves that keep what is said, and bring what the test says."""

    def __init__(self) -> None:
        self.tuned: set[RunId] = set()
        self.wanted: list[bool] = []
        self.told: list[Piece] = []
        self.signals: asyncio.Queue[Signal] = asyncio.Queue()

    def tune_in(self, run_id: RunId) -> None:
        self.tuned.add(run_id)

    def tune_out(self, run_id: RunId) -> None:
        self.tuned.discard(run_id)

    def want(self, run_ids: Sequence[RunId], *, anew: bool) -> None:
        self.wanted += [anew for _ in run_ids]

    def tell(self, run_id: RunId, piece: Piece) -> None:
        self.told.append(piece)

    async def hear(self) -> Sequence[Signal]:
        return [await self.signals.get()]


@asynccontextmanager
async def at_work(work: Coroutine[Any, Any, None]) -> AsyncGenerator[None]:
    """Let it run as long as the block."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def story(lab: Lab) -> tuple[Engine, list[Event]]:
    """The facts of a run that speaks, calls a tool that nobody has, and speaks again."""
    engine = await lab.engine(call("look", text="Let me see. "), reply("Done."))
    run = await settle(engine, await ask(engine))
    return engine, await journal(engine, run)


async def asked(lab: Lab) -> Feed:
    """The run while the model answers for the first time."""
    engine, events = await story(lab)
    before = next(index for index, event in enumerate(events) if isinstance(event, ModelReplied))
    run = fold(events[:before])
    return Feed(run, await engine.queries.thread(run.thread_id))


def piece(place: int, said: str, turn: int = 1, attempt: int = 1) -> Piece:
    return Piece(turn, attempt, place, "text", said)


@pytest.mark.parametrize(
    ("pieces", "fits", "shown"),
    [
        ([piece(0, "one "), piece(4, "two")], [True, True], "one two"),
        ([piece(0, "one "), piece(0, "one "), piece(0, "one two")], [True, True, True], "one two"),
        ([piece(0, "one "), piece(2, "e two"), piece(1, "ne")], [True, True, True], "one two"),
        ([piece(4, "two")], [False], ""),
        ([piece(0, "one "), piece(5, "wo"), piece(4, "two")], [True, False, True], "one two"),
        ([piece(0, "of another", turn=2), piece(9, "of another", attempt=2)], [True, True], ""),
    ],
)
async def test_pieces_are_shown_once_and_in_order(lab: Lab, pieces: list[Piece], fits: list[bool], shown: str):
    feed, watcher = await asked(lab), Watcher()
    feed.join(watcher)
    assert [feed.hear(each) for each in pieces] == fits
    assert "".join(delta.text for delta in feed.shown()) == shown
    if shown:
        assert text(await watcher.take()) == shown


async def test_a_piece_that_comes_after_its_reply_is_not_shown(lab: Lab):
    engine, events = await story(lab)
    after = next(index for index, event in enumerate(events) if isinstance(event, ModelReplied)) + 1
    run = fold(events[:after])
    feed = Feed(run, await engine.queries.thread(run.thread_id))
    assert (run.turn, run.attempt) == (1, 1)
    assert feed.hear(piece(0, "Let me see. "))
    assert feed.shown() == []


@pytest.mark.parametrize("after", [0, 4])
async def test_text_is_not_told_after_its_reply_while_the_feed_is_behind_the_reader(lab: Lab, after: int):
    """The journal may be ahead of the feed, and so may a reader who comes back from another process."""
    engine, events = await story(lab)
    run, thread = fold(events[:3]), await engine.queries.thread(fold(events).thread_id)
    feed, early = Feed(run, thread), FaultyStore(store_of(engine))
    found = await early.inner.journal(run.id)
    assert isinstance(found[3].event, ModelReplied)

    async def up_to_the_reply(run_id: RunId, after: int = 0) -> Sequence[Recorded]:
        return [each for each in found[:4] if each.seq > after]

    vars(early)["journal"] = up_to_the_reply
    feed.hear(piece(0, "Let me "))
    watching = watch_feed(feed, early.as_store(), after)
    items = [await anext(watching) for _ in range(4 - after)]
    rest = asyncio.ensure_future(_rest_of(watching))
    await asyncio.sleep(0)
    assert feed.hear(piece(7, "see. "))
    feed.advance(fold(events), events[3:], thread)
    items += await asyncio.wait_for(rest, HANG_SECONDS)
    assert [item for item in items if isinstance(item, Delta)] == []
    assert [item.seq for item in items if isinstance(item, Recorded)] == list(range(after + 1, len(events) + 1))


async def _rest_of(watching: AsyncIterator[Item]) -> list[Item]:
    return [item async for item in watching]


async def test_whoever_watches_says_so_and_asks_again_when_something_is_missing(lab: Lab):
    feed, air = await asked(lab), Air()
    relay = Relay(air, {RUN: feed}.get)
    feed.elsewhere = relay
    watcher = Watcher()
    feed.join(watcher)
    assert (air.tuned, air.wanted) == ({feed.run.id}, [True])
    for _ in range(20):
        air.signals.put_nowait(Told(RUN, piece(5, "hole")))
    async with asyncio.timeout(HANG_SECONDS), at_work(relay.serve()):
        await until(lambda: len(air.wanted) >= 2)
        assert air.wanted == [True, True]
        air.signals.put_nowait(Interrupted())
        await until(lambda: len(air.wanted) >= 3)
    claimed = step(feed.run, RunClaimed(epoch=2, driver="another", at=0))
    feed.advance(claimed, [], feed.thread)
    feed.nudge()
    assert air.wanted == [True] * 4
    feed.leave(watcher)
    assert air.tuned == set()
    relay.close()


async def test_a_driver_tells_its_text_only_while_somebody_elsewhere_watches(lab: Lab):
    feed, air = await asked(lab), Air()
    relay = Relay(air, {RUN: feed}.get)
    feed.elsewhere, feed.driving = relay, True
    feed.show(1, 1, "thought", "hm")
    feed.show(1, 1, "text", "one ")
    assert not relay.is_watched(RUN)
    for anew in (True, False):
        air.signals.put_nowait(Wanted((RUN, RunId("run_other")), anew=anew))
    async with asyncio.timeout(HANG_SECONDS), at_work(relay.serve()):
        await until(lambda: len(air.told) >= 2)
        feed.show(1, 1, "text", "two ")
        feed.show(1, 1, "text", "three")
        await until(lambda: len(air.told) >= 3)
    assert relay.is_watched(RUN)
    assert air.told == [Piece(1, 1, 0, "thought", "hm"), piece(2, "one "), piece(6, "two three")]
    relay.close()


async def test_what_is_remembered_of_others_watching_is_bounded(lab: Lab):
    air, nowhere = Air(), dict[RunId, Feed]()
    relay = Relay(air, nowhere.get)
    names = [RunId(f"run_{number}") for number in range(MOST_AUDIENCES + 100)]
    air.signals.put_nowait(Wanted(tuple(names), anew=True))
    async with asyncio.timeout(HANG_SECONDS), at_work(relay.serve()):
        await until(lambda: relay.is_watched(names[-1]))
    assert sum(relay.is_watched(name) for name in names) == MOST_AUDIENCES
    relay.close()


class Newsroom(FaultyStore):
    """A store that tells the news it is given. `read` is when a run was read, and not yet handed over."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(store_of(engine))
        self.news: asyncio.Queue[News] = asyncio.Queue()
        self.heeded = asyncio.Event()
        self.found: Run | None = None

    async def changed_elsewhere(self) -> News:
        if self.news.empty():
            self.heeded.set()
        return await self.news.get()

    async def run(self, run_id: RunId, user: UserId | None = None) -> Run | None:
        if self.found is None:
            return await self.inner.run(run_id, user)
        await self.heeded.wait()
        return self.found


@pytest.mark.parametrize("is_named", [True, False])
async def test_news_that_comes_while_a_run_is_being_read_is_not_missed(lab: Lab, is_named: bool):
    engine, events = await story(lab)
    other = await settle(await lab.engine(reply("Hi.")), await ask(lab.engines[-1]))
    whole, store = fold(events), Newsroom(engine)
    ledger = Ledger(store.as_store())
    async with asyncio.timeout(HANG_SECONDS), at_work(ledger.follow_others()):
        await ledger.acquire(other.id)
        await store.heeded.wait()
        store.heeded.clear()
        store.found = fold(events[:3])
        store.news.put_nowait(News({whole.id: whole.version}) if is_named else ANYTHING)
        feed = await ledger.acquire(whole.id)
    assert feed.run.version == whole.version


async def test_a_run_that_was_erased_elsewhere_does_not_keep_others_from_being_followed(lab: Lab):
    engine, events = await story(lab)
    whole, store = fold(events), Newsroom(engine)
    other = await settle(await lab.engine(reply("Hi.")), await ask(lab.engines[-1]))
    ledger = Ledger(store.as_store())
    async with asyncio.timeout(HANG_SECONDS), at_work(ledger.follow_others()):
        store.found = fold(events[:3])
        store.heeded.set()
        gone = await ledger.acquire(whole.id)
        store.found = fold((await journal(engine, other))[:2])
        feed = await ledger.acquire(other.id)
        await engine.threads.erase(whole.thread_id, whole.user, by="ada")
        store.news.put_nowait(News({whole.id: whole.version, other.id: other.version}))
        await feed.wait_moved(2)
        with pytest.raises(Draining):
            await gone.wait_moved(3)
        gone.join(watcher := Watcher())
        with pytest.raises(Draining):
            await watcher.take()
    assert feed.run.version == other.version
