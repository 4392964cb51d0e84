"""Watching: the journal, the text so far, then everything as it happens; once each, in order, to the end."""

import asyncio
import tracemalloc
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any, cast

import pytest
from tests.engine.builders import ADA, FakeTool, HeldTool, Kind, Lab, ask, settle, watched
from tests.engine.watching import Speaker, Viewer, seated, seqs, text
from tests.waiting import HANG_SECONDS

from pollux.core.events import ModelReplied, RunCompleted
from pollux.core.ids import RunId
from pollux.core.machine import fold
from pollux.core.run import Run
from pollux.engine.engine import Engine, Start
from pollux.engine.feed import BACKLOG, BLOCK, Delta, Feed, Item, Said, TurnRestarted, Watcher
from pollux.engine.model import ModelRequest
from pollux.engine.ports import Recorded
from pollux.engine.watch import watch_feed
from pollux.providers.scripted import Answer, Step, call, chunks, fail, reply


@pytest.fixture(params=["memory", "sqlite"])
def kind(request: pytest.FixtureRequest) -> Kind:
    """Not on PostgreSQL: there a watcher's first look takes a moment, and the models of these tests have spoken."""
    return request.param


def held(until: asyncio.Event, answer: Answer) -> Step:
    """A step that waits until somebody looks."""

    async def step(request: ModelRequest) -> Answer:
        await until.wait()
        return answer

    return step


async def test_a_watcher_sees_every_fact_and_all_text_to_the_end(lab: Lab):
    engine = await lab.engine(call("look"), chunks(["It ", "is ", "red."]), tools=[FakeTool()])
    run = await ask(engine, live=True)
    items = await watched(engine, run)
    assert seqs(items) == list(range(1, 11))
    assert text(items) == "It is red."
    assert type(cast("Recorded", items[-1]).event).__name__ == "RunCompleted"


async def test_from_any_place_the_rest_follows_without_gap_or_duplicate(lab: Lab):
    slow = HeldTool()
    engine = await lab.engine(call("slow"), chunks(["a", "b"]), tools=[slow])
    run = await ask(engine)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
    viewers = [Viewer(engine, run, after) for after in range(8)]
    await seated(engine, len(viewers))
    slow.let_go.set()
    for after, viewer in enumerate(viewers):
        items = await viewer.end()
        assert seqs(items) == list(range(after + 1, 11))
        assert text(items) == "ab"


async def test_after_the_end_the_journal_is_replayed(lab: Lab):
    engine = await lab.engine(reply("Hi."))
    run = await settle(engine, await ask(engine))
    assert seqs(await watched(engine, run)) == [1, 2, 3, 4, 5]
    assert seqs(await watched(engine, run, after=3)) == [4, 5]


async def test_a_late_watcher_gets_the_open_turn_s_text_so_far(lab: Lab):
    speaker = Speaker()
    engine = await lab.engine(provider=speaker)
    run = await ask(engine, live=True)
    early = Viewer(engine, run)
    speaker.think("hm")
    speaker.say("Once ", "upon ")
    await early.shows("Once upon ")
    late = Viewer(engine, run)
    await late.shows("Once upon ")
    speaker.say("a time")
    speaker.end()
    for items in (await early.end(), await late.end()):
        assert (text(items), text(items, "thought")) == ("Once upon a time", "hm")
        assert seqs(items) == [1, 2, 3, 4, 5]


async def test_a_long_journal_read_while_the_run_goes_on_leaves_no_stale_text(lab: Lab):
    speaker, store = Speaker(), lab.faulty()
    engine = await lab.engine(provider=speaker, store=store)
    run = await ask(engine, live=True)
    first = Viewer(engine, run)
    speaker.say("old text")
    await first.shows("old text")
    slow_read = store.inner.journal

    async def journal(run_id: RunId, after: int = 0) -> Sequence[Recorded]:
        vars(store).pop("journal", None)
        found = await slow_read(run_id, after)
        speaker.end()
        async with asyncio.timeout(HANG_SECONDS):
            await first.task
        return found

    vars(store)["journal"] = journal
    items = await watched(engine, run)
    assert (seqs(items), text(items)) == ([1, 2, 3, 4, 5], "")


async def test_an_answer_that_begins_anew_takes_its_text_back(lab: Lab):
    look = asyncio.Event()
    engine = await lab.engine(held(look, chunks(["no", "thing"], stop="bad_call")), chunks(["Right."]))
    viewer = Viewer(engine, await ask(engine, live=True))
    await seated(engine, 1)
    look.set()
    items = await viewer.end()
    assert [item for item in items if isinstance(item, TurnRestarted)] == [TurnRestarted(1, 2)]
    assert text(items) == "Right."


async def test_a_failed_call_s_text_is_followed_by_the_failure(lab: Lab):
    look = asyncio.Event()
    engine = await lab.engine(held(look, fail("server", after="I was")))
    viewer = Viewer(engine, await ask(engine, live=True))
    await seated(engine, 1)
    look.set()
    items = await viewer.end()
    assert text(items) == "I was"
    assert type(cast("Recorded", items[-1]).event).__name__ == "RunFailed"


async def test_after_a_takeover_the_turn_is_restarted(lab: Lab):
    speaker = Speaker()
    before = await lab.engine(provider=speaker)
    run = await ask(before, live=True)
    viewer = Viewer(before, run)
    speaker.say("half an ans")
    await viewer.shows("half an ans")
    after = await lab.engine(chunks(["whole"]))
    await _take_over(after, before, run)
    await settle(after, run)
    speaker.say("wer that nobody wants")
    if lab.kind != "memory":
        items = await viewer.end()
        assert (seqs(items), text(items)) == (list(range(1, len(seqs(items)) + 1)), "")
        assert TurnRestarted(1, 2) in items
    else:
        viewer.task.cancel()


async def _take_over(after: Engine, before: Engine, run: Run) -> None:
    """As if the process that drives it were found dead, although it only sleeps."""
    store = vars(after)["_store"]
    is_alive = store.is_alive

    async def nobody(driver: str) -> bool:
        return False

    store.is_alive = nobody
    assert await after.recover() == 1
    store.is_alive = is_alive


async def test_two_watchers_see_the_same(lab: Lab):
    engine = await lab.engine(call("look"), chunks(list("abc")), tools=[FakeTool()])
    run = await ask(engine, live=True)
    one, other = Viewer(engine, run), Viewer(engine, run)
    assert await one.end() == await other.end()


async def test_closing_a_watcher_stops_nothing(lab: Lab):
    speaker = Speaker()
    engine = await lab.engine(provider=speaker)
    run = await ask(engine, live=True)
    viewer = Viewer(engine, run)
    speaker.say("still ")
    await viewer.shows("still ")
    viewer.task.cancel()
    speaker.say("here")
    speaker.end()
    assert (await settle(engine, run)).text == "still here"


async def test_a_caller_who_leaves_in_the_middle_of_a_commit_stops_nothing(lab: Lab):
    store, writing = lab.faulty(), asyncio.Event()

    async def slowly(change: object) -> None:
        writing.set()
        for _ in range(3):
            await asyncio.sleep(0)

    store.before_commit = slowly
    engine = await lab.engine(reply("Hi."), store=store)
    caller = asyncio.create_task(ask(engine))
    async with asyncio.timeout(HANG_SECONDS):
        await writing.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    async with asyncio.timeout(HANG_SECONDS):
        while not (rows := await engine.queries.runs(ADA)):
            await asyncio.sleep(0)
    assert (await settle(engine, rows[0].run_id)).text == "Hi."


async def test_a_stalled_watcher_keeps_a_place_instead_of_the_text_and_misses_nothing(lab: Lab):
    pieces = [f"{number} " for number in range(3 * BACKLOG)]
    speaker = Speaker()
    engine = await lab.engine(provider=speaker)
    run = await ask(engine, live=True)
    stalled = engine.watch(run.id)
    assert await anext(stalled)
    (feed,) = cast("list[Feed]", vars(engine)["_ledger"].feeds)
    (backlog,) = feed.watchers
    quick = Viewer(engine, run)
    for half in (pieces[:BACKLOG], pieces[BACKLOG:]):
        speaker.think("hm ")
        speaker.say(*half)
    await quick.shows("".join(pieces))
    assert len(cast("Any", backlog)._items) <= 3
    speaker.end()
    async with asyncio.timeout(HANG_SECONDS):
        items = [item async for item in stalled]
    assert (text(items), text(items, "thought")) == ("".join(pieces), "hm hm ")
    assert len([item for item in items if isinstance(item, Delta)]) == 4
    assert text(await quick.end()) == "".join(pieces)


async def test_a_watcher_that_lags_a_little_gets_every_delta_as_it_came():
    watcher, said = Watcher(), Said(1, 1)
    for number in range(BACKLOG):
        watcher.hear(said.add("text", f"{number} "), said)
    assert [cast("Delta", item).text for item in await watcher.take()] == [f"{number} " for number in range(BACKLOG)]


async def test_a_watcher_that_lags_by_long_deltas_keeps_a_place_too():
    watcher, said = Watcher(), Said(1, 1)
    for _ in range(8):
        watcher.hear(said.add("text", "x" * (BLOCK // 4)), said)
    assert len(cast("Any", watcher)._items) == 1
    assert text(await watcher.take()) == "x" * 2 * BLOCK


async def test_what_was_said_before_and_after_a_fact_stays_before_and_after_it():
    watcher, said, fact = Watcher(), Said(1, 1), Recorded(7, RunCompleted(at=0))
    for _ in range(2):
        for number in range(2 * BACKLOG):
            watcher.hear(said.add("text", f"{number} "), said)
        watcher.put(fact)
    items = await watcher.take()
    assert [type(item) for item in items] == [Delta, Recorded, Delta, Recorded]
    assert text(items) == "".join(f"{number} " for number in range(2 * BACKLOG)) * 2


async def test_a_watcher_that_was_behind_can_fall_behind_again():
    watcher, said, items = Watcher(), Said(1, 1), list[Item]()
    for lag in (2 * BACKLOG, 1, 3 * BACKLOG, BACKLOG):
        for number in range(lag):
            watcher.hear(said.add("text", f"{number} "), said)
        items += await watcher.take()
    assert len(text(items)) == said.length


async def test_a_stalled_watcher_hears_that_the_answer_began_anew(lab: Lab):
    look, pieces = asyncio.Event(), [f"{number} " for number in range(3 * BACKLOG)]
    engine = await lab.engine(held(look, chunks(pieces, stop="bad_call")), chunks([*pieces, "at last"]))
    run = await ask(engine, live=True)
    stalled = engine.watch(run.id)
    assert await anext(stalled)
    look.set()
    await settle(engine, run)
    async with asyncio.timeout(HANG_SECONDS):
        items = [item async for item in stalled]
    assert TurnRestarted(1, 2) in items
    assert text(items) == "".join(pieces) + "at last"


@pytest.mark.slow
async def test_fifty_stalled_watchers_cost_no_more_than_the_text(lab: Lab):
    size, speaker = 4 * 2**20, Speaker()
    engine = await lab.engine(provider=speaker)
    run = await ask(engine, live=True)
    stalled = [engine.watch(run.id) for _ in range(50)]
    for watcher in stalled:
        await anext(watcher)
    (feed,) = cast("list[Feed]", vars(engine)["_ledger"].feeds)
    tracemalloc.start()
    try:
        for number in range(size // 512):
            feed.show(1, 1, "text", f"{number:512}")
        for watcher in stalled:
            # Past the rest of the journal, into the text: now it holds what it took.
            while not isinstance(await anext(watcher), Delta):
                pass
        held_now, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(len(delta.text) for delta in feed.shown()) == size
    assert held_now < 3 * size
    speaker.end()
    for watcher in stalled:
        await cast("Any", watcher).aclose()
    await settle(engine, run)


async def test_text_that_a_cancelled_answer_still_brings_is_not_shown(lab: Lab):
    speaker = Speaker()
    engine = await lab.engine(provider=speaker)
    run = await ask(engine, live=True)
    viewer = Viewer(engine, run)
    speaker.say("one")
    await viewer.shows("one")
    speaker.say("two")
    await engine.cancel(run.id, by=ADA)
    items = await viewer.end()
    assert text(items) in ("one", "onetwo")
    assert type(cast("Recorded", items[-1]).event).__name__ == "RunCancelled"


async def test_whoever_comes_while_a_tool_runs_reads_the_turns_text_once(lab: Lab):
    held = HeldTool("look")
    engine = await lab.engine(call("look", text="Let me see. "), reply("Done."), tools=[held])
    run = await engine.start(Start("?", user=ADA, live=True))
    async with asyncio.timeout(HANG_SECONDS):
        await held.began.wait()
    said: list[str] = []
    async with aclosing(engine.watch(run.id)) as items:
        async for item in items:
            if isinstance(item, Delta):
                said.append(item.text)
            elif isinstance(item, Recorded) and isinstance(item.event, ModelReplied):
                said.append(item.event.message.text)
            held.let_go.set()
    assert "".join(said).count("Let me see.") == 1


async def test_a_journal_that_is_ahead_of_the_feed_says_nothing_twice(lab: Lab):
    """A commit is in the store before those who are here hear of it: whoever comes just then finds both."""
    engine = await lab.engine(call("look", text="Let me see. "), reply("Done."), tools=[FakeTool("look")])
    run = await settle(engine, await ask(engine))
    journal = await engine.queries.journal(run.id)
    before = next(index for index, each in enumerate(journal) if isinstance(each.event, ModelReplied))
    feed = Feed(fold(each.event for each in journal[:before]), await engine.queries.thread(run.thread_id))
    feed.show(1, 1, "text", "Let me see. ")
    items = [item async for item in watch_feed(feed, engine.queries._store, 0)]  # pyright: ignore[reportPrivateUsage]
    assert [item for item in items if isinstance(item, Delta)] == []
