"""A lab for each test."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.runbooks.lab import RunbookLab


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncGenerator[RunbookLab]:
    lab = RunbookLab(tmp_path)
    yield lab
    await lab.close()
