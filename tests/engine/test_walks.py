"""The engine at random: walks of fifty steps with approvals, cancels, crashes and time, alike on every store."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engine.builders import ADA, TO_BOB, FakeTool, Kind, Lab, ask, journal, mail
from tests.waiting import HANG_SECONDS

from pollux.core.effects import RunTool
from pollux.core.errors import Misfit, ThreadBusy
from pollux.core.ids import RunId, ThreadId
from pollux.core.machine import fold, pending
from pollux.core.messages import JSON
from pollux.core.profile import Limits, Profile
from pollux.core.run import Run
from pollux.core.tools import Reconciled, ToolContext
from pollux.engine.engine import Engine
from pollux.engine.model import ModelEvent, ModelRequest
from pollux.providers.scripted import Answer, ScriptedProvider, call, calls, fail, reply

STEPS = 50
LIMITS = Limits(model_calls=8, approval_seconds=3600, page_seconds=60, seconds=90_000)


class Whim(ScriptedProvider):
    """Answers by the seed and by what it is told alone, so that it says the same whoever asks first."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = seed
        self._asked: Counter[str] = Counter()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        told = str([message.parts for message in request.turns])
        self._asked[told] += 1
        dice = Random(f"{self._seed} {told} {self._asked[told]}")
        self._steps = (self._pick(dice),)
        self.requests.clear()
        async for event in super().stream(request):
            yield event

    def _pick(self, dice: Random) -> Answer:
        names = ("look", "hold_once", "hold_keyed", "send_mail", "click", "unknown")
        some = [(name, TO_BOB if name == "send_mail" else {}) for name in dice.choices(names, k=dice.randint(2, 3))]
        return dice.choice(
            [
                reply("That is all."),
                call(*some[0]),
                calls(*some),
                calls(*some),
                fail("rate_limit", retry_after=1.0),
                Answer(),
            ]
        )


class Walk:
    """One world on one store. Every step ends when nothing moves any more by itself."""

    def __init__(self, kind: Kind, path: Path, seed: int) -> None:
        self.lab = Lab(kind, path)
        self.dice = Random(seed)
        self.model = Whim(seed)
        self.held: list[asyncio.Future[None]] = []
        self.once, self.keyed = self._holding("hold_once", "once"), self._holding("hold_keyed", "keyed")
        self.tools = [FakeTool(), self.once, self.keyed, mail(), FakeTool("click", where="page")]
        self.prompts = 0

    def _holding(self, name: str, repeat: str) -> FakeTool:
        async def hold(context: ToolContext, args: dict[str, JSON]) -> object:
            free: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.held.append(free)
            try:
                await free
            finally:
                self.held.remove(free)
            return "held"

        return FakeTool(name, body=hold, repeat=repeat, found=Reconciled("unknown"))

    async def open(self) -> None:
        profile = Profile(tools=tuple(tool.spec.name for tool in self.tools), limits=LIMITS)
        self.engine: Engine = await self.lab.engine(provider=self.model, tools=self.tools, profile=profile)
        await self.engine.recover()

    async def take_a_step(self) -> None:
        steps: list[Callable[[], Any]] = [
            self.prompt, self.prompt, self.answer, self.answer, self.answer, self.submit, self.let_go, self.cancel,
            self.crash, self.wait,
        ]  # fmt: skip
        try:
            await self.dice.choice(steps)()
        except (Misfit, ThreadBusy):
            pass
        await self.calm()

    async def prompt(self) -> None:
        self.prompts += 1
        thread = ThreadId(f"thr_{self.dice.randint(1, 2)}")
        await ask(
            self.engine, f"prompt {self.prompts}", thread_id=thread, create=True, supersede=self.dice.random() < 0.3
        )

    async def answer(self) -> None:
        questions = await self.engine.queries.approvals(ADA)
        if not questions:
            return
        approval = self.dice.choice(sorted(q.action.approval.id for q in questions if q.action.approval))
        if self.dice.random() < 0.2:
            await self.engine.edit(approval, {"to": "eve@example.com"}, by=ADA)
        else:
            await self.engine.resolve(approval, self.dice.choice(("approved", "approved", "rejected")), by=ADA)

    async def submit(self) -> None:
        for run in await self.runs():
            for action in run.open:
                if action.handed_over and not action.outcome:
                    await self.engine.submit(action.id, "clicked")
                    return

    async def let_go(self) -> None:
        for free in self.held:
            free.set_result(None)

    async def cancel(self) -> None:
        alive = [run.id for run in await self.runs() if run.is_open]
        if alive:
            await self.engine.cancel(self.dice.choice(alive), by=ADA)

    async def crash(self) -> None:
        await self.engine.close()
        await self.open()

    async def wait(self) -> None:
        self.lab.clock.advance(self.dice.choice((0.5, 1, 61, 3601)))
        await self.engine.recover()

    async def runs(self) -> list[Run]:
        rows = await self.engine.queries.runs(ADA, limit=100)
        return [await self.engine.queries.run(row.run_id) for row in sorted(rows, key=lambda row: row.run_id)]

    async def calm(self) -> None:
        """Until everything that can move has moved: what is left waits for people, clocks or a held tool."""
        async with asyncio.timeout(HANG_SECONDS):
            while not await self._is_calm():
                await asyncio.sleep(0 if self.lab.kind == "memory" else 0.001)

    async def _is_calm(self) -> bool:
        rows = await self.engine.queries.runs(ADA, limit=100)
        alive = [row.run_id for row in rows if row.status not in ("completed", "failed", "cancelled")]
        runs = [await self.engine.queries.run(run_id) for run_id in alive]
        owed = [effect for run in runs for effect in pending(run)]
        are_begun = all(isinstance(effect, RunTool) and effect.begun for effect in owed)
        held = [free for free in self.held if not free.done()]
        return are_begun and len(owed) == len(held) == len(self.held) and not any(run.cancel for run in runs)

    async def see_off(self) -> None:
        """Everybody answers and time passes: nothing may be stuck."""
        for _ in range(12):
            await self.let_go()
            await self.calm()
        self.lab.clock.advance(100_000)
        await self.engine.recover()
        await self.let_go()
        await self.calm()


async def walk(kind: Kind, path: Path, seed: int) -> dict[RunId, list[str]]:
    """The facts of every run of one walk, by their names."""
    world = Walk(kind, path, seed)
    await world.open()
    for _ in range(STEPS):
        await world.take_a_step()
    await world.see_off()
    told: dict[RunId, list[str]] = {}
    for run in await world.runs():
        facts = await journal(world.engine, run.id)
        assert not run.is_open, (run.status, facts)
        assert fold(facts) == run
        told[run.id] = [type(fact).__name__ for fact in facts]
    assert max(Counter(key for key, _ in world.once.ran).values(), default=0) <= 1
    assert (await world.engine.queries.verify_audit()).valid
    await world.lab.close()
    return told


@pytest.mark.slow
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(seed=st.integers(0, 2**32))
def test_a_walk_ends_alike_on_every_store(seed: int):
    with TemporaryDirectory() as here, TemporaryDirectory() as there:
        in_memory = asyncio.run(walk("memory", Path(here), seed))
        on_disk = asyncio.run(walk("sqlite", Path(there), seed))
        on_a_server = asyncio.run(walk("postgres", Path(there), seed))
    assert in_memory == on_disk == on_a_server
    assert sum(map(len, in_memory.values())) > 10
