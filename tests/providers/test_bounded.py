"""No more answers at a time than were allowed, and a place is free as soon as an answer is over."""

import asyncio

import pytest
from tests.waiting import HANG_SECONDS, until

from pollux.core.errors import ModelError
from pollux.core.messages import user
from pollux.engine.model import ModelRequest, Turns
from pollux.providers.bounded import Bounded
from pollux.providers.scripted import Answer, ScriptedProvider, reply


def request() -> ModelRequest:
    return ModelRequest(model="m", turns=Turns([user("Hi")]))


async def read(provider: Bounded) -> None:
    async for _ in provider.stream(request()):
        pass


async def let_others_run() -> None:
    """Nothing here waits for anything but the others: after so many turns whoever could begin has begun."""
    for _ in range(100):
        await asyncio.sleep(0)


async def test_so_many_are_asked_for_and_the_others_wait_their_turn():
    begun: list[int] = []
    gates = [asyncio.Event() for _ in range(4)]

    async def held(_: ModelRequest) -> Answer:
        number = len(begun)
        begun.append(number)
        await gates[number].wait()
        return reply("Yes.")

    provider = Bounded(ScriptedProvider(*[held] * 4), 2)
    reading = [asyncio.create_task(read(provider)) for _ in gates]
    await let_others_run()
    assert begun == [0, 1]
    gates[0].set()
    await reading[0]
    await let_others_run()
    assert begun == [0, 1, 2]
    for gate in gates:
        gate.set()
    await asyncio.gather(*reading)
    assert begun == [0, 1, 2, 3]


async def test_an_answer_that_fails_or_is_dropped_frees_its_place():
    async def fails(_: ModelRequest) -> Answer:
        raise ModelError("no", kind="server")

    is_asked = asyncio.Event()

    async def hangs(_: ModelRequest) -> Answer:
        is_asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    provider = Bounded(ScriptedProvider(fails, hangs, reply("One."), reply("Two.")), 1)
    with pytest.raises(ModelError):
        await read(provider)
    dropped = asyncio.create_task(read(provider))
    await until(is_asked.is_set)
    dropped.cancel()
    await asyncio.wait([dropped])
    half = provider.stream(request())
    await anext(half)
    await half.aclose()
    await asyncio.wait_for(read(provider), HANG_SECONDS)
