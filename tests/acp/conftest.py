"""The SDK is imported once for all tests: it takes a second, and compiling it for the first time may warn."""

import asyncio
import logging
import warnings
from collections.abc import AsyncGenerator

import pytest

from pollux.acp import messages

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    asyncio.run(messages.load_models())


@pytest.fixture(autouse=True)
async def quiet(caplog: pytest.LogCaptureFixture) -> AsyncGenerator[None]:
    """Whatever an agent does, nothing reaches the loop's handler of exceptions and nobody logs an error."""
    problems: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: problems.append(context))
    yield
    assert problems == []
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
