"""A store that is gone for a moment, at each of its reads and commits in turn: every run goes on where it was."""

import asyncio
import inspect
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

import pytest
from tests.engine.builders import ADA, TO_BOB, FakeTool, Lab, mail, question, settle

from pollux.core.errors import Conflict, Misfit, StoreError, ThreadBusy
from pollux.core.ids import UserId
from pollux.core.messages import JSON
from pollux.core.policy import Rule
from pollux.core.run import Run
from pollux.core.tools import Reconciled, ToolContext
from pollux.engine.engine import Start
from pollux.engine.ports import Store
from pollux.providers.scripted import calls, reply

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
    assert run is not None and run.status == "awaiting_confirmation", run.ending
    await again(lambda: engine.resolve(question(run).id, "approved", by=ADA), unless=(Misfit,))
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
