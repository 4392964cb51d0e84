"""A lab for each test, and a bound on all of them."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.crash.lab import Lab, running_lab


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncGenerator[Lab]:
    async with running_lab(tmp_path) as running:
        yield running
