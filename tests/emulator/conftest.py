"""A running emulator and the clients that talk to it, each closed after its test, none waiting for ever."""

import warnings
from collections.abc import AsyncGenerator

import aiohttp
import pytest
from tests.emulator.wire import Wire
from tests.waiting import HANG_SECONDS

from pollux.emulator.server import Emulator, run_emulator

with warnings.catch_warnings():
    # Compiling the vendor's module for the first time warns about an escape sequence of its own.
    warnings.simplefilter("ignore")
    from google import genai
    from google.genai import types


@pytest.fixture
async def emulator() -> AsyncGenerator[Emulator]:
    async with run_emulator() as running:
        yield running


@pytest.fixture
async def wire(emulator: Emulator) -> AsyncGenerator[Wire]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=HANG_SECONDS)) as session:
        yield Wire(session, emulator.url)


@pytest.fixture
async def gemini(emulator: Emulator) -> AsyncGenerator[genai.Client]:
    client = genai.Client(
        api_key="test-key", http_options=types.HttpOptions(base_url=emulator.url, timeout=int(HANG_SECONDS * 1000))
    )
    yield client
    await client.aio.aclose()
    client.close()
