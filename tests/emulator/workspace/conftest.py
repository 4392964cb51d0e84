"""A running workspace emulator with a clock that tests turn, and a client that speaks to it in bytes."""

from collections.abc import AsyncGenerator
from pathlib import Path

import aiohttp
import pytest
from tests.emulator.workspace.desk import ALL, Clock, Desk
from tests.waiting import HANG_SECONDS

from pollux.emulator.workspace import Workspace, run_workspace


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger_file(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"


@pytest.fixture
async def workspace(clock: Clock, ledger_file: Path) -> AsyncGenerator[Workspace]:
    async with run_workspace(ledger=ledger_file, clock=clock) as running:
        yield running


@pytest.fixture
async def desk(workspace: Workspace) -> AsyncGenerator[Desk]:
    timeout = aiohttp.ClientTimeout(total=HANG_SECONDS)
    async with aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield Desk(session, workspace.url, workspace.tokens(ALL)["access_token"])
