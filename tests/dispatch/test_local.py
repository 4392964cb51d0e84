"""The embedded dispatcher: the conformance suite."""

from collections.abc import AsyncGenerator, Sequence

import pytest

from pollux.core.tools import Tool
from pollux.dispatch.local import LocalDispatcher
from pollux.engine.engine import Engine
from pollux.engine.ports import Dispatcher
from pollux.providers.scripted import ScriptedProvider
from pollux.stores.memory import MemoryStore
from pollux.testing.clock import FakeClock
from pollux.testing.dispatcher_suite import DispatcherSuite


class LocalHouse:
    """One process that does everything."""

    def __init__(self, engine: Engine, dispatcher: Dispatcher) -> None:
        self.door = engine
        self.dispatcher = dispatcher

    async def close(self) -> None:
        await self.door.close()


class LocalLab:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self._store = MemoryStore(key=b"k" * 32)
        self.houses: list[LocalHouse] = []

    async def open(self, provider: ScriptedProvider, tools: Sequence[Tool] = ()) -> LocalHouse:
        dispatcher = LocalDispatcher(self.clock)
        engine = Engine(
            store=self._store,
            providers=lambda model: provider,
            tools=tools,
            clock=self.clock,
            dispatcher=dispatcher,
        )
        await engine.__aenter__()
        self.houses.append(LocalHouse(engine, dispatcher))
        return self.houses[-1]


class TestLocal(DispatcherSuite):
    @pytest.fixture
    async def lab(self) -> AsyncGenerator[LocalLab]:
        lab = LocalLab()
        yield lab
        for house in lab.houses:
            await house.close()
