"""Two processes on one file, with an SQLite whose log has the fault: the second server says so at its start."""

import logging
import sqlite3
from pathlib import Path

import aiohttp
import pytest
from tests.http.site import TOKENS, known, process, settings_in

from pollux.engine.sqlite_fault import can_lose_commits
from pollux.serve import running_app

WARNING = "can lose commits when two programs empty a store's log at once"


@pytest.mark.parametrize(("version", "is_told"), [((3, 51, 2), True), ((3, 51, 3), False), ((3, 50, 7), False)])
async def test_a_server_that_shares_its_file_warns_of_an_sqlite_with_the_fault(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    version: tuple[int, int, int],
    is_told: bool,
):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
    monkeypatch.setattr(sqlite3, "sqlite_version", ".".join(map(str, version)))
    settings = settings_in(tmp_path)
    with caplog.at_level(logging.WARNING):
        async with running_app(settings, known(TOKENS)):
            assert WARNING not in caplog.text
            async with running_app(settings, known(TOKENS)):
                assert (WARNING in caplog.text) is is_told
    assert (f"SQLite {sqlite3.sqlite_version}" in caplog.text) is is_told
    caplog.clear()
    # What a process leaves that was killed is no other process.
    async with running_app(settings, known(TOKENS)):
        assert WARNING not in caplog.text


@pytest.mark.slow
async def test_of_two_server_processes_the_second_warns_and_both_serve(tmp_path: Path):
    async with process(tmp_path) as first, process(tmp_path) as second, aiohttp.ClientSession() as http:
        for serving in (first, second):
            async with http.get(f"{serving.url}/readyz") as got:
                assert got.status == 200
        # Both talk into one file.
        assert first.talk.count(WARNING) == can_lose_commits(sqlite3.sqlite_version_info)
