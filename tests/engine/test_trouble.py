"""A store in trouble, racing callers, and engines that close at any moment."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from tests.engine.builders import (
    ADA,
    TO_BOB,
    FakeTool,
    HeldTool,
    Lab,
    answer,
    approve,
    ask,
    kinds,
    mail,
    question,
    settle,
    until,
    watched,
)
from tests.waiting import HANG_SECONDS, POLL_SECONDS

from pollux.core.errors import Draining, Misfit, StoreError
from pollux.core.ids import RunId
from pollux.engine.ports import Change, Recorded
from pollux.providers.scripted import call, calls, fail, reply

RESOLVERS, ROUNDS = 64, 20


async def test_of_many_who_answer_at_once_one_is_taken(lab: Lab):
    tool = mail()
    steps = [step for _ in range(ROUNDS) for step in (call("send_mail", TO_BOB), reply("Sent."))]
    engine = await lab.engine(*steps, tools=[tool])
    refusals: Counter[str] = Counter()
    for _ in range(ROUNDS):
        run = await answer(engine)
        resolving = [engine.resolve(question(run).id, "approved", by=f"user{n}") for n in range(RESOLVERS)]
        results = await asyncio.gather(*resolving, return_exceptions=True)
        refusals.update(result.code for result in results if isinstance(result, Misfit))
        assert (await settle(engine, run)).text == "Sent."
    assert len(tool.ran) == len({key for key, _ in tool.ran}) == ROUNDS
    assert refusals == {"already_resolved": ROUNDS * (RESOLVERS - 1)}


async def test_two_engines_that_answer_at_once_take_one_answer(lab: Lab):
    tool = mail()
    one = await lab.engine(call("send_mail", TO_BOB), reply("Sent."), tools=[tool])
    other = await lab.engine(reply("Sent."), tools=[tool])
    run = await answer(one)
    resolving = [engine.resolve(question(run).id, "approved", by=ADA) for engine in (one, other) for _ in range(8)]
    results = await asyncio.gather(*resolving, return_exceptions=True)
    assert sum(isinstance(result, Misfit) for result in results) == 15
    async with asyncio.timeout(HANG_SECONDS):
        while (run := await one.queries.run(run.id)).is_open:
            await asyncio.sleep(POLL_SECONDS)
    assert (run.text, len(tool.ran)) == ("Sent.", 1)


async def test_a_result_is_written_when_the_store_recovers(lab: Lab):
    slow, store = HeldTool(repeat="once"), lab.faulty()
    engine = await lab.engine(call("slow"), reply("Done."), tools=[slow], store=store)
    run = await ask(engine)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
    store.refuse()
    slow.let_go.set()
    async with asyncio.timeout(HANG_SECONDS):
        await store.refused.wait()
    store.recover()
    run = await settle(engine, run)
    assert (run.text, len(slow.ran)) == ("Done.", 1)


async def test_a_prompt_the_store_does_not_take_starts_nothing(lab: Lab):
    store = lab.faulty()
    engine = await lab.engine(store=store)
    store.refuse()
    with pytest.raises(StoreError):
        await ask(engine)
    store.recover()
    assert await engine.queries.runs(ADA) == []
    assert lab.model.requests == []


async def test_an_answer_the_store_does_not_take_can_be_given_again(lab: Lab):
    tool, store = mail(), lab.faulty()
    engine = await lab.engine(call("send_mail", TO_BOB), reply("Sent."), tools=[tool], store=store)
    run = await answer(engine)
    store.refuse()
    with pytest.raises(StoreError):
        await approve(engine, run)
    store.recover()
    assert (await approve(engine, run)).text == "Sent."
    assert len(tool.ran) == 1


async def test_a_due_run_that_cannot_be_told_is_told_later_and_not_asked_all_the_time(lab: Lab):
    store = lab.faulty()
    engine = await lab.engine(fail("server", retry_after=1), reply("There."), store=store)
    run = await answer(engine)
    store.refuse()
    lab.clock.advance(1)
    async with asyncio.timeout(HANG_SECONDS):
        await store.refused.wait()
        while lab.clock.waiting == ():
            await asyncio.sleep(0)
    assert lab.clock.waiting == (lab.clock.now() + 5,)
    store.recover()
    lab.clock.advance(5)
    assert (await until(engine, run, lambda now: now.ending)).text == "There."


async def test_a_list_of_due_runs_that_cannot_be_read_is_read_later(lab: Lab):
    store, asked = lab.faulty(), asyncio.Event()
    engine = await lab.engine(fail("server", retry_after=1), reply("There."), store=store)
    run = await answer(engine)

    async def broken(now: float) -> list[RunId]:
        asked.set()
        raise StoreError("no")

    vars(store)["due"] = broken
    lab.clock.advance(1)
    async with asyncio.timeout(HANG_SECONDS):
        await asked.wait()
        while lab.clock.waiting == ():
            await asyncio.sleep(0)
    del vars(store)["due"]
    lab.clock.advance(5)
    assert (await until(engine, run, lambda now: now.ending)).text == "There."


async def test_a_history_that_cannot_be_read_is_waited_for(lab: Lab):
    store = lab.faulty()
    engine = await lab.engine(call("send_mail", TO_BOB), tools=[mail()], store=store)
    run = await answer(engine)
    await engine.close()
    store = lab.faulty()
    engine = await lab.engine(reply("Sent."), tools=[mail()], store=store)
    tries: list[int] = []

    async def trouble_at_first(*args: Any) -> Any:
        tries.append(1)
        if len(tries) < 3:
            raise StoreError("not now")
        return await store.inner.messages(*args)

    vars(store)["messages"] = trouble_at_first
    first = await engine.queries.run(run.id)
    await engine.cancel(first.id, by=ADA)
    run = await answer(engine, "again", thread_id=run.thread_id)
    assert (run.text, len(tries)) == ("Sent.", 3)


async def test_a_fact_that_cannot_be_written_at_all_does_not_run_its_tool_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("pollux.engine.recovery.AGAIN_SECONDS", 0.01)
    tool, store = FakeTool(repeat="once"), lab.faulty()
    engine = await lab.engine(call("look"), tools=[tool], store=store)

    async def choke(change: Change) -> None:
        if "ActionCompleted" in {type(event).__name__ for event in change.events}:
            raise ValueError("a result that no store can hold")

    store.before_commit = choke
    run = await until(engine, await ask(engine), lambda now: now.ending)
    assert (len(tool.ran), run.ending and run.ending.code) == (1, "outcome_unknown")


async def test_an_engine_that_closes_takes_no_new_work(lab: Lab):
    engine = await lab.engine()
    await engine.close()
    with pytest.raises(Draining):
        await ask(engine)


async def test_closing_with_grace_lets_the_work_end(lab: Lab):
    slow = HeldTool()
    engine = await lab.engine(call("slow"), reply("Done."), tools=[slow])
    run = await ask(engine)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
        closing = asyncio.create_task(engine.close(grace=HANG_SECONDS))
        await asyncio.sleep(0)
        slow.let_go.set()
        await closing
    after = await lab.engine()
    assert (await after.queries.run(run.id)).text == "Done."


async def test_closing_with_too_little_grace_leaves_the_rest_to_a_recovery(lab: Lab):
    slow = HeldTool(repeat="repeatable")
    engine = await lab.engine(call("slow"), tools=[slow])
    run = await ask(engine)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
        await engine.close(grace=0.01)
    slow.let_go.set()
    after = await lab.engine(reply("Done."), tools=[slow])
    assert await after.recover() == 1
    assert (await settle(after, run)).text == "Done."


async def test_a_caller_whose_engine_closes_is_told_so(lab: Lab):
    store = lab.faulty()
    engine = await lab.engine(store=store)
    store.dies_at = 1
    caller = asyncio.create_task(ask(engine))
    async with asyncio.timeout(HANG_SECONDS):
        await store.died.wait()
        await engine.close()
        with pytest.raises(Draining):
            await caller


async def test_what_another_process_writes_is_seen_here(lab: Lab):
    if lab.kind == "memory":
        pytest.skip("no other process can reach this memory")
    slow, tool = HeldTool(), mail()
    one = await lab.engine(calls(("slow", {}), ("send_mail", TO_BOB)), reply("Both."), tools=[slow, tool])
    run = await ask(one)
    watching = asyncio.create_task(watched(one, run))
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
    other = await lab.engine(tools=[slow, tool])
    await other.resolve(question(await other.queries.run(run.id)).id, "approved", by=ADA)
    await until(one, run, lambda now: any(action.tool == "send_mail" and action.outcome for action in now.actions))
    slow.let_go.set()
    assert (await settle(one, run)).text == "Both."
    numbers = [item.seq for item in await watching if isinstance(item, Recorded)]
    assert numbers == list(range(1, len(numbers) + 1))


async def test_waiting_for_a_run_ends_after_its_time(lab: Lab):
    slow = HeldTool()
    engine = await lab.engine(call("slow"), tools=[slow])
    run = await ask(engine)
    run = await engine.wait_settled(run.id, seconds=0.01)
    assert run.is_open
    assert "RunClaimed" in await kinds(engine, run)
