"""What a model can do wrong, from the wire to the run's end: typed, in time, no tool from an unfinished answer."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest
from tests.engine.builders import ADA
from tests.engine.test_trace import Sum
from tests.waiting import HANG_SECONDS, until

from pollux.core.profile import Limits
from pollux.dispatch.local import LocalDispatcher
from pollux.emulator import Emulator, run_emulator
from pollux.engine.engine import Engine, Start
from pollux.engine.ports import Clock
from pollux.engine.system import SystemClock
from pollux.providers.gemini import GeminiProvider
from pollux.stores.memory import MemoryStore
from pollux.testing.clock import FakeClock


class Expected(NamedTuple):
    status: str
    code: str
    ran: int
    requests: int


MUCH_TIME = 1000.0

FINE = Expected("completed", "", 1, 2)
AT_ONCE = Expected("failed", "model_error", 0, 1)
TWICE = Expected("failed", "model_error", 0, 2)
FOUR_TIMES = Expected("failed", "model_error", 0, 4)
BROKE_OFF = Expected("failed", "stream_interrupted", 0, 1)
TIMED_OUT = Expected("failed", "timeout", 0, 1)

FAULTS = {
    "400": AT_ONCE,
    "401": Expected("failed", "auth_error", 0, 1),
    "403": Expected("failed", "auth_error", 0, 1),
    "429": FOUR_TIMES,
    "429-quotaday": AT_ONCE,
    "500": FOUR_TIMES,
    "502": FOUR_TIMES,
    "503": FOUR_TIMES,
    "504": FOUR_TIMES,
    "429-times2": Expected("completed", "", 1, 4),
    "503-times3": Expected("completed", "", 1, 5),
    "html": FOUR_TIMES,
    "reset-mid": BROKE_OFF,
    "half": BROKE_OFF,
    "truncated": BROKE_OFF,
    "stream-error": BROKE_OFF,
    "bad-json": BROKE_OFF,
    "idle": TIMED_OUT,
    "silent": TIMED_OUT,
    "slow": FINE,
    "split-utf8": FINE,
    "lf": FINE,
    "cr": FINE,
    "comments": FINE,
    "events": FINE,
    "multi-line": FINE,
    "malformed-call": TWICE,
    "unexpected-call": TWICE,
    "too-many-calls": TWICE,
    "empty": TWICE,
    "no-candidates": TWICE,
    "safety": AT_ONCE,
    "recitation": AT_ONCE,
    "block": AT_ONCE,
    "max-tokens": AT_ONCE,
    "unknown-reason": AT_ONCE,
    "unknown-part": FINE,
    "no-id": FINE,
    "duplicate-ids": FINE,
    "split-calls": FINE,
    "huge": Expected("completed", "", 0, 1),
}

# Of an answer that is not streamed nothing has been seen when it breaks off, so it may be asked for again.
WHOLE = FAULTS | {
    "reset-mid": FOUR_TIMES,
    "truncated": FOUR_TIMES,
    "stream-error": FOUR_TIMES,
    "bad-json": AT_ONCE,
}


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with run_emulator(port=0) as emulator:
        yield emulator


@asynccontextmanager
async def engine_of(emulator: Emulator, clock: Clock) -> AsyncGenerator[Engine]:
    provider = GeminiProvider("a-key", emulator.url)
    async with Engine(
        store=MemoryStore(),
        providers=lambda model: provider,
        tools=[Sum()],
        clock=clock,
        dispatcher=LocalDispatcher(clock),
    ) as engine:
        yield engine
    await provider.close()


@pytest.mark.parametrize("live", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_has_a_typed_end_within_its_time(
    emulator: Emulator, fault: str, live: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("pollux.engine.retry.FIRST_DELAY", 0.001)
    expected = FAULTS[fault] if live else WHOLE[fault]
    # Where nothing but the run's own time ends it, that passes once the model was asked, and not before.
    clock, held = SystemClock(), FakeClock()
    start = Start(
        "add 2 and 3", user=ADA, model=f"gemini-3.8-flash--{fault}", live=live, limits=Limits(seconds=MUCH_TIME)
    )
    async with (
        engine_of(emulator, held if expected is TIMED_OUT else clock) as engine,
        asyncio.timeout(HANG_SECONDS),
    ):
        run = await engine.start(start)
        if expected is TIMED_OUT:
            await until(lambda: emulator.requests)
            held.advance(MUCH_TIME - 1)
            assert (await engine.wait_settled(run.id, seconds=0)).is_open
            held.advance(1)
        run = await engine.wait_settled(run.id)
    code = run.ending.code if run.ending else "open"
    found = Expected(run.status, code, sum(a.status == "completed" for a in run.actions), len(emulator.requests))
    assert found == expected, run.ending


def test_there_are_at_least_twenty_scripts():
    assert len(FAULTS) >= 20
