"""A run id of the caller's own: the same one twice begins one run, stops nothing and leaves nothing behind."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from tests.engine.builders import ADA, TO_BOB, Lab, answer, approve, ask, mail, settle

from pollux.core.errors import Conflict, ThreadBusy
from pollux.core.ids import RunId, ThreadId
from pollux.core.run import Run
from pollux.engine.engine import Engine
from pollux.providers.scripted import call, reply

SEND = call("send_mail", TO_BOB)
MINE = RunId("run_mine")


async def test_what_a_door_was_asked_for_lies_with_the_run(lab: Lab):
    engine = await lab.engine(reply("Hi."))
    await answer(engine, run_id=MINE, request="a digest")
    assert (await engine.queries.run(MINE)).request == "a digest"


async def test_a_run_that_has_ended_is_not_begun_again(lab: Lab):
    engine = await lab.engine(reply("Hi."), reply("Never said."))
    run = await answer(engine, "first", run_id=MINE)
    for more in ({}, {"thread_id": run.thread_id}, {"thread_id": ThreadId("other"), "create": True}):
        with pytest.raises(Conflict):
            await ask(engine, "again", run_id=MINE, **more)
    assert await engine.queries.run(MINE) == run
    assert await _everything(engine) == ([run.thread_id], [MINE])
    assert len(lab.model.requests) == 1


async def test_a_run_that_waits_is_named_to_who_begins_it_again_in_its_thread(lab: Lab):
    engine = await lab.engine(SEND, reply("Sent."), tools=[mail()])
    run = await answer(engine, run_id=MINE)
    with pytest.raises(ThreadBusy) as busy:
        await ask(engine, run_id=MINE, thread_id=run.thread_id)
    assert busy.value.run_id == MINE
    with pytest.raises(Conflict):
        await ask(engine, run_id=MINE)
    assert await _everything(engine) == ([run.thread_id], [MINE])
    assert (await approve(engine, run)).text == "Sent."


async def test_a_run_is_not_superseded_by_its_own_repetition(lab: Lab):
    engine = await lab.engine(SEND, SEND, reply("Sent."), tools=[mail()])
    old = await answer(engine)
    new = await answer(engine, run_id=MINE, thread_id=old.thread_id, supersede=True)
    with pytest.raises(ThreadBusy) as busy:
        await ask(engine, run_id=MINE, thread_id=old.thread_id, supersede=True)
    assert busy.value.run_id == MINE
    assert (await engine.queries.run(MINE)).status == "awaiting_confirmation"
    assert (await approve(engine, new)).text == "Sent."


async def test_a_repetition_that_comes_while_the_first_begins_does_not_supersede_it(lab: Lab):
    store, twin = lab.faulty(), asyncio.Event()
    engine = await lab.engine(SEND, tools=[mail()], store=store)
    thread_id = ThreadId("mine")
    versions = store.inner.versions

    async def before_the_other_began(run_ids: Sequence[RunId]) -> dict[RunId, int]:
        vars(store).pop("versions", None)
        found = await versions(run_ids)
        await answer(engine, run_id=MINE, thread_id=thread_id, create=True)
        twin.set()
        return found

    vars(store)["versions"] = before_the_other_began
    with pytest.raises(ThreadBusy) as busy:
        await ask(engine, run_id=MINE, thread_id=thread_id, supersede=True)
    assert (twin.is_set(), busy.value.run_id) == (True, MINE)
    assert (await engine.queries.run(MINE)).status == "awaiting_confirmation"


@pytest.mark.parametrize("thread", [{}, {"thread_id": ThreadId("mine"), "create": True}])
async def test_of_sixteen_who_begin_one_run_at_once_one_does(lab: Lab, thread: dict[str, Any]):
    engine = await lab.engine(*[reply("Hi.")] * 16)
    outcomes = await asyncio.gather(
        *(ask(engine, f"from {number}", run_id=MINE, **thread) for number in range(16)), return_exceptions=True
    )
    (run,) = [outcome for outcome in outcomes if isinstance(outcome, Run)]
    refused = [outcome for outcome in outcomes if not isinstance(outcome, Run)]
    assert {type(refusal) for refusal in refused} <= {Conflict, ThreadBusy}
    assert {each.run_id for each in refused if isinstance(each, ThreadBusy)} <= {MINE}
    assert thread or {type(refusal) for refusal in refused} == {Conflict}
    assert (await settle(engine, run)).text == "Hi."
    assert await _everything(engine) == ([run.thread_id], [MINE])
    assert len(lab.model.requests) == 1


async def test_processes_that_begin_one_run_at_once_begin_one(lab: Lab):
    engines = [await lab.engine(reply("Hi.")) for _ in range(4)]
    outcomes = await asyncio.gather(
        *(ask(engine, run_id=MINE) for engine in engines for _ in range(4)), return_exceptions=True
    )
    (run,) = [outcome for outcome in outcomes if isinstance(outcome, Run)]
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 15
    assert await _everything(engines[0]) == ([run.thread_id], [MINE])


async def test_an_erased_run_is_not_begun_again(lab: Lab):
    engine = await lab.engine(reply("Hi."))
    run = await answer(engine, run_id=MINE)
    await engine.threads.erase(run.thread_id, ADA, by=ADA)
    with pytest.raises(Conflict):
        await ask(engine, run_id=MINE)
    assert await _everything(engine) == ([], [MINE])


async def _everything(engine: Engine) -> tuple[list[str], list[str]]:
    """Every thread and every run there is."""
    threads, runs = await engine.queries.threads(ADA), await engine.queries.runs(ADA)
    return [thread.id for thread in threads], [row.run_id for row in runs]
