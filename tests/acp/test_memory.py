"""Floods with the limits that everybody has: how much memory they take. `-s` prints the figures."""

import sys
from pathlib import Path

import pytest
from tests.acp.processes import running
from tests.acp.talking import AGENTS
from tests.waiting import HANG_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")]

MOST_MIB = 64
FLOODS = "updates text calls junk requests stderr_for_ever line".split()


async def test_a_flood_takes_little_memory(tmp_path: Path):
    agents = {way: [sys.executable, "-I", "-S", str(AGENTS / "scripted.py"), f"floods_{way}"] for way in FLOODS}
    async with running(tmp_path / "said", agents, timeout=2 * HANG_SECONDS, one_by_one=True) as us:
        for way in FLOODS:
            ended, grew = await us.hear(seconds=3 * HANG_SECONDS)
            print(f"{way}: grew by {grew / 1024:.1f} MiB")
            assert (ended, grew < MOST_MIB * 1024) == ("flood", True)
