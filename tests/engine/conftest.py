"""The lab of every test, on every store. A test that leaves a task behind fails."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.engine.builders import Kind, Lab


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture
async def lab(kind: Kind, tmp_path: Path) -> AsyncIterator[Lab]:
    before = asyncio.all_tasks()
    lab = Lab(kind, tmp_path)
    yield lab
    await lab.close()
    await asyncio.sleep(0)
    left = asyncio.all_tasks() - before - {asyncio.current_task()}
    assert not left, f"tasks were left behind: {left}"
