"""A lab for each test, and a bound on all of them."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.crash.lab import Lab, running_lab


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncGenerator[Lab]:
    async with running_lab(tmp_path) as running:
        yield running


@pytest.fixture(params=["sqlite", "postgres"])
async def either_lab(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncGenerator[Lab]:
    """Once for each store that outlives a process."""
    async with running_lab(tmp_path, kind=request.param) as running:
        yield running
