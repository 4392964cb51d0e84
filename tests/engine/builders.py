"""Builders for the engine's tests: tools that can be held, stores that can die, and a lab that puts them together."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any, Literal, cast

from tests.stores.postgres import fresh_database
from tests.waiting import HANG_SECONDS

from pollux.core.errors import StoreError
from pollux.core.events import Event
from pollux.core.ids import RunId, ThreadId, UserId
from pollux.core.messages import JSON, Message
from pollux.core.policy import Rule
from pollux.core.profile import Profile
from pollux.core.run import Approval, Run
from pollux.core.tools import Reconciled, Tool, ToolContext, ToolSpec
from pollux.dispatch.local import LocalDispatcher
from pollux.engine.engine import Engine, Start
from pollux.engine.feed import Item
from pollux.engine.model import Provider, Providers
from pollux.engine.perform import Instruct, fixed_instructions
from pollux.engine.ports import Change, Dispatcher, Store
from pollux.providers.scripted import ScriptedProvider, Step
from pollux.stores.memory import MemoryStore
from pollux.stores.postgres.store import PostgresStore
from pollux.stores.sqlite import SqliteStore
from pollux.testing.clock import FakeClock

ADA = UserId("ada")
BOB = UserId("bob")
KEY = b"k" * 32
ANYTHING: Mapping[str, JSON] = {"type": "object"}
MAIL: Mapping[str, JSON] = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "body": {"type": "string"}},
    "required": ["to"],
}
TO_BOB: dict[str, JSON] = {"to": "bob@example.com", "body": "hello"}

Body = Callable[[ToolContext, dict[str, JSON]], Awaitable[object]]
Kind = Literal["memory", "sqlite", "postgres"]


class FakeTool:
    """A tool that keeps what it was asked to do. `body` does it, where the result alone is not enough."""

    def __init__(
        self,
        name: str = "look",
        result: object = "seen",
        *,
        body: Body | None = None,
        schema: Mapping[str, JSON] = ANYTHING,
        found: Reconciled | None = None,
        **spec: Any,
    ) -> None:
        self.spec = ToolSpec(name, f"The tool {name}.", schema, **spec)
        self.result = result
        self.body = body
        self.found = found
        self.ran: list[tuple[str, dict[str, JSON]]] = []
        self.looked = 0

    def prepare(self, args: dict[str, JSON]) -> dict[str, JSON]:
        return args

    def subjects(self, args: dict[str, JSON]) -> frozenset[str]:
        return frozenset({str(args["to"])} if "to" in args else ())

    def preview(self, args: dict[str, JSON]) -> str:
        return f"{self.spec.name} {args}"

    async def run(self, context: ToolContext, args: dict[str, JSON]) -> object:
        self.ran.append((context.key, args))
        return await self.body(context, args) if self.body else self.result

    async def reconcile(self, context: ToolContext, args: dict[str, JSON]) -> Reconciled:
        self.looked += 1
        assert self.found is not None, "nobody expected a look"
        return self.found


class HeldTool(FakeTool):
    """A tool that says when it began and ends when it is let go. A stubborn one ignores a few cancellations."""

    def __init__(self, name: str = "slow", result: object = "done", *, stubborn: bool = False, **spec: Any) -> None:
        super().__init__(name, result, body=self._hold, **spec)
        self.began = asyncio.Event()
        self.let_go = asyncio.Event()
        self.task: asyncio.Task[Any] | None = None
        """In which it was last run."""
        self.stops = 0
        self._stubborn = stubborn

    async def _hold(self, context: ToolContext, args: dict[str, JSON]) -> object:
        self.task = asyncio.current_task()
        self.began.set()
        while not self.let_go.is_set():
            try:
                await self.let_go.wait()
            except asyncio.CancelledError:
                self.stops += 1
                if not self._stubborn or self.stops > 3:
                    raise
        return self.result


def mail(result: object = "sent", **spec: Any) -> FakeTool:
    """A side effect with a recipient: needs a person by default."""
    more: dict[str, Any] = {"side_effect": True, "repeat": "keyed", **spec}
    return FakeTool("send_mail", result, schema=MAIL, **more)


class CountingIds:
    """Ids that are the same in every run of a test."""

    def __init__(self) -> None:
        self._runs = count(1)
        self._threads = count(1)

    def run_id(self) -> RunId:
        return RunId(f"run_{next(self._runs)}")

    def thread_id(self) -> ThreadId:
        return ThreadId(f"thr_{next(self._threads)}")


class FaultyStore:
    """A store with trouble on order: its commits can fail for a while, be held back, or be its process's last act."""

    is_instant = False

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.commits = 0
        self.refusing: Exception | None = None
        self.refused = asyncio.Event()
        self.dies_at: int | None = None
        self.writes_the_last = True
        self.died = asyncio.Event()
        self.before_commit: Callable[[Change], Awaitable[None]] | None = None
        self.after_commit: Callable[[Change], Awaitable[None]] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def commit(self, change: Change) -> None:
        if self.died.is_set():
            await _forever()
        if self.refusing is not None:
            self.refused.set()
            raise self.refusing
        self.commits += 1
        is_last = self.commits == self.dies_at
        if is_last and not self.writes_the_last:
            self.died.set()
            await _forever()
        if self.before_commit:
            await self.before_commit(change)
        await self.inner.commit(change)
        if is_last:
            self.died.set()
            await _forever()
        if self.after_commit:
            await self.after_commit(change)

    def as_store(self) -> Store:
        return cast("Store", self)

    def refuse(self, problem: Exception | None = None) -> None:
        self.refusing = problem or StoreError("the disk is full")

    def recover(self) -> None:
        self.refusing = None


class Lab:
    """One storage, one clock, and the engines of a test. Closing it finds out what was left behind."""

    def __init__(self, kind: Kind, path: Path) -> None:
        self.kind: Kind = kind
        self._path = path
        self._memory = MemoryStore(key=KEY)
        self._database = ExitStack()
        self._url = self._database.enter_context(fresh_database()) if kind == "postgres" else ""
        self.clock = FakeClock()
        self.ids = CountingIds()
        self.engines: list[Engine] = []
        self.model = ScriptedProvider()

    def store(self) -> Store:
        """The storage, as a process that has just begun would open it."""
        match self.kind:
            case "memory":
                return self._memory
            case "sqlite":
                return SqliteStore(self._path / "pollux.db", key=KEY)
            case "postgres":
                return PostgresStore(self._url, key=KEY)

    def faulty(self) -> FaultyStore:
        return FaultyStore(self.store())

    async def engine(
        self,
        *steps: Step,
        tools: Iterable[Tool] = (),
        rules: Sequence[Rule] = (),
        profile: Profile | None = None,
        provider: Provider | None = None,
        providers: Providers | None = None,
        instruct: Instruct = fixed_instructions,
        store: Store | FaultyStore | None = None,
        dispatcher: Dispatcher | None = None,
    ) -> Engine:
        """An engine on the storage, open until the test is over. The script is kept as `model`."""
        if provider is None:
            provider = self.model = ScriptedProvider(*steps)
        one = provider
        engine = Engine(
            store=store.as_store() if isinstance(store, FaultyStore) else store or self.store(),
            providers=providers or (lambda model: one),
            tools=tools,
            profiles={profile.name: profile} if profile else None,
            rules=rules,
            instruct=instruct,
            clock=self.clock,
            ids=self.ids,
            dispatcher=dispatcher or LocalDispatcher(self.clock),
        )
        await engine.__aenter__()
        self.engines.append(engine)
        return engine

    async def close(self) -> None:
        """Every engine, promptly and in whatever state."""
        for engine in reversed(self.engines):
            # No tool of a test ends by itself: one that is waited for is waited for in vain.
            async with asyncio.timeout(HANG_SECONDS):
                await engine.close()
        self.engines.clear()
        self._database.close()


async def ask(engine: Engine, prompt: str | Message = "go on", **more: Any) -> Run:
    """A run that has begun."""
    return await engine.start(Start(prompt, user=more.pop("user", ADA), **more))


async def settle(engine: Engine, run: Run | RunId) -> Run:
    """The run once it has ended, or waits for people or clocks."""
    async with asyncio.timeout(HANG_SECONDS):
        return await engine.wait_settled(run if isinstance(run, str) else run.id, through_retries=False)


async def answer(engine: Engine, prompt: str | Message = "go on", **more: Any) -> Run:
    """A run as far as it comes by itself."""
    return await settle(engine, await ask(engine, prompt, **more))


async def until(engine: Engine, run: Run, is_so: Callable[[Run], object]) -> Run:
    """The run as soon as this is so, watched from its beginning."""
    async with asyncio.timeout(HANG_SECONDS):
        items = engine.watch(run.id)
        try:
            async for _ in items:
                now = await engine.queries.run(run.id)
                if is_so(now):
                    return now
        finally:
            await cast("Any", items).aclose()
    raise AssertionError("the run ended without it")


async def approve(engine: Engine, run: Run, **more: Any) -> Run:
    """The run after its only question was answered with yes."""
    await engine.resolve(question(run).id, "approved", by=ADA, **more)
    return await settle(engine, run)


def question(run: Run) -> Approval:
    """The one approval that the run waits for."""
    (approval,) = run.approvals
    return approval


async def journal(engine: Engine, run: Run | RunId) -> list[Event]:
    """The facts of a run, as they were written."""
    run_id = run if isinstance(run, str) else run.id
    return [record.event for record in await store_of(engine).journal(run_id)]


async def kinds(engine: Engine, run: Run | RunId) -> list[str]:
    """The names of a run's facts, in order."""
    return [type(event).__name__ for event in await journal(engine, run)]


def store_of(engine: Engine) -> Store:
    """The store that an engine writes to."""
    return cast("Store", vars(engine)["_store"])


async def watched(engine: Engine, run: Run | RunId, after: int = 0) -> list[Item]:
    """Everything that a watcher sees until the run has ended."""
    run_id = run if isinstance(run, str) else run.id
    async with asyncio.timeout(HANG_SECONDS):
        return [item async for item in engine.watch(run_id, after=after)]


def sent(model: ScriptedProvider, number: int = -1) -> list[str]:
    """What the model was told in one request: each message's role with its text or results."""
    told: list[str] = []
    for message in model.requests[number].turns:
        results = [str(getattr(part, "result", "")) for part in message.parts if hasattr(part, "result")]
        calls = [f"{call.name}()" for call in message.calls]
        told.append(f"{message.role}: {message.text or ' '.join(results + calls)}")
    return told


async def _forever() -> None:
    await asyncio.get_running_loop().create_future()
