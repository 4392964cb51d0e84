"""The same request and the same seed give the same bytes; another seed gives other ids and nothing else."""

import aiohttp
from tests.emulator.wire import ADD, WEATHER, Got, Wire, answered, prompt

from pollux.emulator.server import run_emulator

BODIES = [
    prompt("hello"),
    prompt("add 2 and 3", ADD),
    prompt("weather in Paris and in Rome", WEATHER, generationConfig={"thinkingConfig": {"includeThoughts": True}}),
]


async def everything(seed: int) -> list[Got]:
    async with run_emulator(seed=seed) as emulator, aiohttp.ClientSession() as session:
        wire = Wire(session, emulator.url)
        got = [await wire.ask(body) for body in BODIES] + [await wire.stream(body) for body in BODIES]
        return got + [await wire.stream(body, alt="") for body in BODIES]


async def test_the_same_request_and_seed_give_the_same_bytes():
    first, second = await everything(7), await everything(7)
    assert [got.raw for got in first] == [got.raw for got in second]


async def test_another_seed_gives_other_ids_and_signatures_only():
    ones, others = await everything(1), await everything(2)
    for one, other in zip(ones[:3], others[:3], strict=True):
        assert one.raw != other.raw
        assert one.json["usageMetadata"] == other.json["usageMetadata"]


async def test_a_conversation_outlives_the_emulator_it_began_with():
    body = prompt("add 2 and 3", ADD)
    async with aiohttp.ClientSession() as session:
        async with run_emulator(seed=1) as emulator:
            content = (await Wire(session, emulator.url).ask(body)).json["candidates"][0]["content"]
        async with run_emulator(seed=2) as emulator:
            got = await Wire(session, emulator.url).ask(answered(body, content, {"result": 5}))
    assert got.status == 200
