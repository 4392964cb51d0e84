"""Threads: one open run, a history that goes on, and what their owner may do to them. Nobody else may."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.engine.builders import (
    ADA,
    BOB,
    TO_BOB,
    FakeTool,
    HeldTool,
    Lab,
    answer,
    approve,
    ask,
    mail,
    question,
    sent,
    settle,
)
from tests.waiting import HANG_SECONDS

from pollux.core.errors import Misfit, NotFound, PolluxError, ThreadBusy
from pollux.core.ids import ThreadId
from pollux.core.messages import Message, Text, user
from pollux.core.run import Run
from pollux.engine.engine import Engine, Start
from pollux.engine.model import Provider
from pollux.providers.scripted import ScriptedProvider, call, reply

SEND = call("send_mail", TO_BOB)


async def test_a_thread_with_an_open_run_is_busy(lab: Lab):
    engine = await lab.engine(SEND, tools=[mail()])
    run = await answer(engine)
    with pytest.raises(ThreadBusy) as busy:
        await ask(engine, thread_id=run.thread_id)
    assert busy.value.run_id == run.id


async def test_a_prompt_that_supersedes_cancels_the_open_run_first(lab: Lab):
    slow = HeldTool()
    engine = await lab.engine(call("slow"), reply("The new one."), tools=[slow])
    old = await ask(engine)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
    new = await answer(engine, "rather this", thread_id=old.thread_id, supersede=True)
    old = await engine.queries.run(old.id)
    assert (old.status, old.cancel and old.cancel.reason, new.text) == ("cancelled", "superseded", "The new one.")
    assert sent(lab.model)[-1] == "user: rather this"


async def test_a_run_that_cannot_be_stopped_in_time_is_not_superseded(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pollux.engine.engine.SUPERSEDE_SECONDS", 0.01)
    slow = HeldTool(stubborn=True)
    engine = await lab.engine(call("slow"), tools=[slow])
    old = await ask(engine)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
    with pytest.raises(ThreadBusy, match="could not be stopped"):
        await ask(engine, thread_id=old.thread_id, supersede=True)
    with pytest.raises(ThreadBusy, match="could not be stopped"):
        await ask(engine, thread_id=old.thread_id, supersede=True)
    slow.let_go.set()
    await settle(engine, old)


async def test_the_history_of_earlier_runs_is_sent(lab: Lab):
    engine = await lab.engine(call("look"), reply("It is red."), reply("Still red."), tools=[FakeTool()])
    first = await answer(engine, "look")
    await answer(engine, "and now?", thread_id=first.thread_id)
    assert sent(lab.model) == [
        "user: look",
        "assistant: look()",
        "tool: seen",
        "assistant: It is red.",
        "user: and now?",
    ]


async def test_the_history_is_the_same_after_a_restart(lab: Lab):
    before = await lab.engine(reply("One."), reply("Two."))
    first = await answer(before, "1")
    await answer(before, "2", thread_id=first.thread_id)
    await before.close()
    after = await lab.engine(reply("Three."))
    await answer(after, "3", thread_id=first.thread_id)
    assert sent(lab.model) == ["user: 1", "assistant: One.", "user: 2", "assistant: Two.", "user: 3"]


async def test_notices_are_kept_in_the_thread(lab: Lab):
    engine = await lab.engine(SEND, reply("Sent."), tools=[mail()])
    run = await approve(engine, await answer(engine))
    roles = [message.role for message in await engine.queries.messages(run.thread_id, ADA)]
    assert roles == ["user", "assistant", "notice", "tool", "assistant"]


async def test_a_thread_may_change_its_model_midway(lab: Lab):
    one, two = ScriptedProvider(reply("From one."), name="one"), ScriptedProvider(reply("From two."), name="two")
    by_name: dict[str, Provider] = {"m1": one, "m2": two}
    engine = await lab.engine(providers=lambda model: by_name[model])
    first = await answer(engine, "first", model="m1")
    second = await answer(engine, "second", model="m2", thread_id=first.thread_id)
    assert second.text == "From two."
    assert sent(two) == ["user: first", "assistant: From one.", "user: second"]


async def test_a_thread_with_a_name_of_the_caller_s_begins_on_first_use(lab: Lab):
    engine = await lab.engine(reply("Hi."))
    run = await answer(engine, thread_id=ThreadId("mine"), create=True)
    assert (run.thread_id, (await engine.queries.thread(ThreadId("mine"), ADA)).head) == ("mine", 2)


async def test_an_unknown_thread_is_not_found_unless_it_is_to_be_opened(lab: Lab):
    engine = await lab.engine()
    with pytest.raises(NotFound):
        await ask(engine, thread_id=ThreadId("mine"))


async def test_an_unknown_profile_is_not_found(lab: Lab):
    engine = await lab.engine()
    with pytest.raises(NotFound):
        await ask(engine, profile="nobody")


async def test_a_fork_goes_its_own_way(lab: Lab):
    engine = await lab.engine(reply("One."), reply("Two."), reply("Other two."))
    first = await answer(engine, "1")
    await answer(engine, "2", thread_id=first.thread_id)
    fork = await engine.threads.fork(first.thread_id, ADA, upto=2)
    await answer(engine, "other 2", thread_id=fork.id)
    assert sent(lab.model) == ["user: 1", "assistant: One.", "user: other 2"]
    assert fork.forked_from == first.thread_id
    assert len(await engine.queries.messages(first.thread_id, ADA)) == 4


async def test_imported_messages_are_history(lab: Lab):
    engine = await lab.engine(reply("Yes."))
    past = [user("remember 7"), Message("assistant", (Text("I will."),))]
    thread = await engine.threads.open(ADA, past, title="numbers")
    await answer(engine, "what was it?", thread_id=thread.id)
    assert sent(lab.model) == ["user: remember 7", "assistant: I will.", "user: what was it?"]


async def test_a_thread_is_renamed_also_while_a_run_is_open(lab: Lab):
    engine = await lab.engine(SEND, reply("Sent."), tools=[mail()])
    run = await answer(engine)
    await engine.threads.rename(run.thread_id, ADA, "Mail to Bob")
    await approve(engine, run)
    thread = await engine.queries.thread(run.thread_id, ADA)
    assert (thread.title, thread.open_run) == ("Mail to Bob", None)
    assert [t.title for t in await engine.queries.threads(ADA)] == ["Mail to Bob"]


async def test_an_erased_thread_is_gone_and_its_audit_stays(lab: Lab):
    engine = await lab.engine(SEND, reply("Sent."), tools=[mail()])
    run = await approve(engine, await answer(engine))
    await engine.threads.erase(run.thread_id, ADA, by=ADA)
    for gone in (
        engine.queries.thread(run.thread_id, ADA),
        engine.queries.messages(run.thread_id, ADA),
        engine.queries.run(run.id, ADA),
        ask(engine, thread_id=run.thread_id),
    ):
        with pytest.raises(NotFound):
            await gone
    assert [entry.kind for entry in await engine.queries.audit()][-1] == "erased"
    assert (await engine.queries.verify_audit()).valid


async def test_a_thread_with_an_open_run_is_not_erased(lab: Lab):
    engine = await lab.engine(SEND, tools=[mail()])
    run = await answer(engine)
    with pytest.raises(Misfit) as busy:
        await engine.threads.erase(run.thread_id, ADA, by=ADA)
    assert busy.value.code == "thread_busy"


async def test_somebody_else_s_things_look_like_unknown_ones(lab: Lab):
    engine = await lab.engine(SEND, tools=[mail()])
    run = await answer(engine)
    for attempt in _everything_about(engine, run):
        with pytest.raises(NotFound) as foreign:
            await attempt()
        assert _kind_of(foreign.value) == ("not_found", "there is no")
    assert await engine.queries.runs(BOB) == []
    assert [row.run_id for row in await engine.queries.runs(ADA)] == [run.id]


def _everything_about(engine: Engine, run: Run) -> list[Callable[[], Awaitable[object]]]:
    asked, action, thread = question(run).id, run.open[0].id, run.thread_id

    async def watch() -> None:
        async for _ in engine.watch(run.id, user=BOB):
            raise AssertionError("it was shown")

    return [
        lambda: engine.start(Start("mine now", user=BOB, thread_id=thread)),
        lambda: engine.resolve(asked, "approved", by=BOB, user=BOB),
        lambda: engine.edit(asked, {"to": "bob"}, by=BOB, user=BOB),
        lambda: engine.submit(action, "x", user=BOB),
        lambda: engine.settle(action, "done", by=BOB, user=BOB),
        lambda: engine.cancel(run.id, by=BOB, user=BOB),
        watch,
        lambda: engine.queries.run(run.id, BOB),
        lambda: engine.queries.thread(thread, BOB),
        lambda: engine.queries.messages(thread, BOB),
        lambda: engine.threads.fork(thread, BOB),
        lambda: engine.threads.rename(thread, BOB, "mine"),
        lambda: engine.threads.erase(thread, BOB, by=BOB),
    ]


def _kind_of(problem: PolluxError) -> tuple[str, str]:
    return problem.code, str(problem).split(" '")[0].rsplit(" ", 1)[0]


async def test_a_thread_that_others_change_all_the_time_is_given_up(lab: Lab):
    store = lab.faulty()
    engine = await lab.engine(reply("."), store=store)
    run = await answer(engine)

    async def rename_first(change: object) -> None:
        thread = await store.inner.thread(run.thread_id)
        assert thread is not None
        store.before_commit = None
        await engine.threads.rename(run.thread_id, ADA, f"{thread.title}x")
        store.before_commit = rename_first

    store.before_commit = rename_first
    with pytest.raises(PolluxError, match="changed by other requests"):
        await engine.threads.rename(run.thread_id, ADA, "never")
    assert (await engine.queries.thread(run.thread_id)).title == "xxxxx"
