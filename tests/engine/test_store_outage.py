"""A store that is gone for a moment, at each of its reads and commits in turn: every run goes on where it was."""

import asyncio
import inspect
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar, cast

import pytest
from tests import waiting
from tests.engine.builders import ADA, KEY, TO_BOB, FakeTool, Lab, answer, ask, mail, question, settle
from tests.stores.postgres import own_cluster
from tests.waiting import HANG_SECONDS

from pollux.core.errors import Conflict, Misfit, StoreError, ThreadBusy
from pollux.core.ids import RunId, UserId
from pollux.core.messages import JSON, Message, Text, ToolCall
from pollux.core.policy import Rule
from pollux.core.profile import Profile
from pollux.core.run import Run
from pollux.core.tools import Reconciled, ToolContext
from pollux.dispatch.local import LocalDispatcher
from pollux.engine.engine import Engine, Start
from pollux.engine.model import Done, ModelEvent, ModelInfo, ModelRequest
from pollux.engine.perform import MOST_AGAIN
from pollux.engine.ports import Store
from pollux.engine.system import SystemClock
from pollux.providers.scripted import call, calls, reply
from pollux.stores.postgres.store import PostgresStore

OUTAGE = 3
"""So many calls in a row find no store, once it is gone."""
ALWAYS = ("open", "close", "changed_elsewhere")
T = TypeVar("T")


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries follow one another at once: nothing here is decided by time."""
    monkeypatch.setattr("pollux.engine.ledger.DELAYS", (0.0,))
    monkeypatch.setattr("pollux.engine.recovery.AGAIN_SECONDS", 0.0)


class GoneStore:
    """A store whose reads and commits are counted, and of which some find it gone."""

    is_instant = False

    def __init__(self, inner: Store, gone_at: int | None = None) -> None:
        self.inner = inner
        self.asked = 0
        self.gone_at = gone_at
        self.missed: list[str] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if name in ALWAYS or not inspect.iscoroutinefunction(found):
            return found

        async def asked(*args: Any, **options: Any) -> Any:
            self.asked += 1
            if self.gone_at is not None and self.gone_at <= self.asked < self.gone_at + OUTAGE:
                self.missed.append(name)
                raise StoreError("the database restarts")
            return await found(*args, **options)

        return asked

    def as_store(self) -> Store:
        return cast("Store", self)


class AccountTool(FakeTool):
    """A side effect for those with an account, which lies in the store: as a mailbox's does. It counts its effects."""

    def __init__(self, name: str, store: GoneStore, **spec: Any) -> None:
        super().__init__(name, "sent", schema=mail().spec.input_schema, side_effect=True, body=self._send, **spec)
        self.store = store
        self.sent: Counter[str] = Counter()

    async def is_offered(self, user: UserId) -> bool:
        return await self.store.as_store().secret(user, "account") is None

    async def admit(self, user: UserId) -> None:
        await self.store.as_store().secret(user, "account")

    async def _send(self, context: ToolContext, args: dict[str, JSON]) -> object:
        await self.store.as_store().secret(context.user, "account")
        if context.noted is None:
            await context.note("about to")
        if self.spec.repeat == "keyed":
            self.sent[context.key] = 1
        else:
            self.sent[context.key] += 1
        await self.store.as_store().secret(context.user, "account")
        return "sent"

    async def read_account(self, context: ToolContext, args: dict[str, JSON]) -> object:
        await self.store.as_store().secret(context.user, "account")
        return "seen"

    async def reconcile(self, context: ToolContext, args: dict[str, JSON]) -> Reconciled:
        await self.store.as_store().secret(context.user, "account")
        return Reconciled("done", "sent") if self.sent[context.key] else Reconciled("not_done")


async def again(work: Callable[[], Awaitable[T]], *, unless: tuple[type[Exception], ...] = ()) -> T | None:
    """What a caller does who is told to try again. Nothing comes of it where it turns out to be done already."""
    while True:
        try:
            return await work()
        except StoreError:
            await asyncio.sleep(0)
        except unless:
            return None


async def story(lab: Lab, gone_at: int | None) -> tuple[GoneStore, Run, list[AccountTool]]:
    """A prompt, calls of every kind that can be made again, a yes, and an answer."""
    store = GoneStore(lab.store())
    tools = [AccountTool("send_mail", store, repeat="checkable"), AccountTool("book", store, repeat="keyed")]
    looking = FakeTool(body=tools[0].read_account)
    engine = await lab.engine(
        calls(("send_mail", TO_BOB), ("book", TO_BOB), ("look", {})),
        reply("All done."),
        tools=[*tools, looking],
        rules=[Rule("allow", tool="book")],
        store=store.as_store(),
    )
    store.asked, store.gone_at = 0, gone_at
    run_id = lab.ids.run_id()
    await again(lambda: engine.start(Start("go", user=ADA, run_id=run_id)), unless=(Conflict, ThreadBusy))
    run = await again(lambda: settle(engine, run_id))
    assert run is not None
    assert run.status == "awaiting_confirmation", run.ending
    asked = question(run).id
    await again(lambda: engine.resolve(asked, "approved", by=ADA), unless=(Misfit,))
    run = await again(lambda: settle(engine, run_id))
    assert run is not None
    await engine.close()
    return store, run, tools


async def test_wherever_the_store_is_gone_for_a_moment_a_run_ends_as_if_it_had_not_been(lab: Lab):
    whole, run, _ = await story(lab, None)
    missed = Counter[str]()
    for gone_at in range(1, whole.asked + 1):
        store, run, tools = await story(lab, gone_at)
        outcomes = {action.tool: action.outcome and (action.outcome.status, action.outcome.code) for action in run.done}
        assert (run.status, run.text) == ("completed", "All done."), (gone_at, store.missed, run.ending)
        assert set(outcomes.values()) == {("completed", "")}, (gone_at, store.missed, outcomes)
        assert [sum(tool.sent.values()) for tool in tools] == [1, 1], (gone_at, store.missed)
        missed.update(store.missed)
    assert {"commit", "secret", "run", "grants"} <= missed.keys()


async def test_a_tool_that_waited_for_the_store_does_not_run_again_where_another_has_taken_it_over(lab: Lab):
    began, taken = asyncio.Event(), asyncio.Event()

    async def lost(context: ToolContext, args: dict[str, JSON]) -> object:
        began.set()
        await taken.wait()
        raise StoreError("the database restarts")

    one, other = mail(body=lost, repeat="keyed"), mail(repeat="keyed")
    losing = await lab.engine(calls(("send_mail", TO_BOB)), tools=[one], rules=[Rule("allow")])
    run = await ask(losing)
    taking = await lab.engine(reply("Done there."), tools=[other], rules=[Rule("allow")])
    async with asyncio.timeout(HANG_SECONDS):
        await began.wait()
        # As a queue's worker does that takes the first for dead.
        await vars(taking)["_recovery"].drive(run.id)
    assert (await settle(taking, run)).text == "Done there."
    taken.set()
    # Nothing of the lost attempt is left when its engine ends.
    await losing.close(grace=HANG_SECONDS)
    assert (len(one.ran), len(other.ran)) == (1, 1)


async def test_a_tool_that_alone_finds_the_store_in_trouble_is_not_begun_for_ever(lab: Lab):
    async def broken(context: ToolContext, args: dict[str, JSON]) -> object:
        raise StoreError("expected a stored account, found something else")

    tools = [
        FakeTool("book", body=broken, side_effect=True, repeat="keyed"),
        FakeTool("pay", body=broken, side_effect=True, repeat="once"),
        FakeTool("look", body=broken),
    ]
    # What became of the first two is unknown, and so is what to say of it: their runs end.
    steps = [call("book"), call("pay"), call("look"), reply("It cannot be seen.")]
    engine = await lab.engine(*steps, tools=tools, rules=[Rule("allow")])
    runs = [await answer(engine) for _ in tools]
    codes = [action.outcome and action.outcome.code for run in runs for action in run.done]
    assert codes == ["outcome_unknown", "outcome_unknown", "tool_call_failure"]
    assert [len(tool.ran) for tool in tools] == [MOST_AGAIN + 1, 1, MOST_AGAIN + 1]


async def test_instructions_that_need_the_store_wait_for_it(lab: Lab):
    found = iter([StoreError("the database restarts"), "Be brief."])

    async def instruct(run: Run, profile: Profile) -> str:
        said = next(found)
        if isinstance(said, StoreError):
            raise said
        return said

    engine = await lab.engine(reply("Yes."), instruct=instruct)
    assert (await answer(engine)).text == "Yes."
    assert lab.model.requests[0].system == "Be brief."


RUNS, ROUNDS, RESTARTS = 48, 4, 3


class Busy:
    """A model that has two things done, again and again, and then is content."""

    name = "busy"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        answered = sum(turn.role == "assistant" for turn in request.turns)
        if answered < ROUNDS:
            wanted = (ToolCall(f"{name}{answered}", name, TO_BOB) for name in ("send_mail", "book"))
            yield Done("tool_calls", Message("assistant", tuple(wanted)))
        else:
            yield Done("end", Message("assistant", (Text("Done."),)))

    async def count_tokens(self, request: ModelRequest) -> int:
        return 0

    async def models(self) -> tuple[ModelInfo, ...]:
        return ()

    async def close(self) -> None:
        pass


async def errand(engine: Engine, run_id: RunId) -> Run:
    """One prompt, asked for until it is taken, and its end."""
    start = Start("go", user=ADA, run_id=run_id)
    await again(lambda: engine.start(start), unless=(Conflict, ThreadBusy))
    while True:
        run = await again(lambda: settle(engine, run_id))
        if run is not None and run.ending:
            return run


@pytest.mark.slow
async def test_a_server_restarted_three_times_under_dozens_of_runs_ends_none_of_them(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.undo()
    with own_cluster() as cluster, cluster.database() as url:
        store = GoneStore(PostgresStore(url, key=KEY))
        tools = [AccountTool("send_mail", store, repeat="checkable"), AccountTool("book", store, repeat="keyed")]
        clock = SystemClock()
        engine = Engine(
            store=store.as_store(),
            providers=lambda model: Busy(),
            tools=tools,
            rules=[Rule("allow")],
            clock=clock,
            dispatcher=LocalDispatcher(clock),
        )
        async with engine, asyncio.timeout(4 * HANG_SECONDS):
            going = asyncio.gather(*(errand(engine, RunId(f"run_{number}")) for number in range(RUNS)))
            for restart in range(1, RESTARTS + 1):
                # Well under way: the last ones begin when the first ones have ended.
                await waiting.until(lambda at=restart: store.asked > 300 * at)
                await asyncio.to_thread(cluster.stop, "immediate" if restart % 2 else "fast")
                await asyncio.to_thread(cluster.start)
            runs = await going
        codes = Counter(action.outcome.code for run in runs for action in run.done if action.outcome)
        assert Counter(run.status for run in runs) == {"completed": RUNS}, [run.ending for run in runs]
        assert codes == {"": 2 * ROUNDS * RUNS}
        assert [len(tool.sent) for tool in tools] == [ROUNDS * RUNS] * 2
        assert {effects for tool in tools for effects in tool.sent.values()} == {1}
