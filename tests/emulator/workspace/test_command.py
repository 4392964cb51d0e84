"""`pollux emulator workspace` and `all`: a line for each when ready, one ledger, a clean end."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.emulator.processes import ended
from tests.waiting import HANG_SECONDS

from pollux.emulator import main
from pollux.emulator.command import Options


@asynccontextmanager
async def running(*arguments: str, lines: int = 1) -> AsyncGenerator[list[dict[str, Any]]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "pollux.emulator",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(HANG_SECONDS), ended(process):
        yield [json.loads(await process.stdout.readline()) for _ in range(lines)]
        process.send_signal(signal.SIGTERM)
        out, err = await process.communicate()
    assert (process.returncode, out, err) == (0, b"", b"")


async def test_the_workspace_says_where_it_is_and_keeps_the_ledger(tmp_path: Path):
    scenario = tmp_path / "scenario.json"
    scenario.write_text('[{"match": {"path": "/revoke"}, "fault": "503"}]')
    ledger = tmp_path / "ledger.jsonl"
    arguments = ["--port", "0", "--scenario", str(scenario), "--ledger", str(ledger), "--token-seconds", "5"]
    async with running("workspace", *arguments) as [ready], aiohttp.ClientSession() as session:
        assert ready.keys() == {"ready", "url", "service"} and ready["service"] == "workspace"
        async with session.post(f"{ready['url']}/revoke", data={"token": "x"}) as spoiled:
            assert spoiled.status == 503
        async with session.get(f"{ready['url']}/_emulator/ledger") as listed:
            assert await listed.json() == []
    assert ledger.read_text() == ""


async def test_all_is_both_each_on_its_own_port_with_its_own_rules(tmp_path: Path):
    scenario = tmp_path / "scenario.json"
    scenario.write_text('{"workspace": [{"fault": "503"}], "gemini": [{"match": {"contains": "x"}, "fault": "500"}]}')
    async with running("all", "--port", "0", "--scenario", str(scenario), lines=2) as ready:
        assert [one["service"] for one in ready] == ["gemini", "workspace"]
        assert ready[0]["url"] != ready[1]["url"]
        async with aiohttp.ClientSession() as session:
            async with session.get(f"{ready[0]['url']}/v1beta/models", params={"key": "k"}) as models:
                assert models.status == 200
            async with session.get(f"{ready[1]['url']}/gmail/v1/users/me/profile") as spoiled:
                assert spoiled.status == 503


@pytest.mark.parametrize(
    ("options", "gemini", "workspace"),
    [
        (Options(service="all"), 8643, 8644),
        (Options(service="all", port=9000), 9000, 9001),
        (Options(service="all", port=0), 0, 0),
        (Options(service="workspace"), None, 8644),
        (Options(service="workspace", port=9000), None, 9000),
        (Options(service="gemini"), 8643, None),
    ],
)
def test_a_port_is_the_services_own_or_the_first_of_two(options: Options, gemini: int | None, workspace: int | None):
    assert gemini is None or options.port_of("gemini") == gemini
    assert workspace is None or options.port_of("workspace") == workspace


@pytest.mark.parametrize(
    ("service", "text", "words"),
    [("workspace", '[{"fault": "boom"}]', "unknown fault"), ("all", "[]", "with `all`"), ("workspace", "{", "JSON")],
)
def test_a_scenario_that_cannot_be_read_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], service: str, text: str, words: str
):
    scenario = tmp_path / "scenario.json"
    scenario.write_text(text)
    assert main([service, "--port", "0", "--scenario", str(scenario)]) == 2
    said = capsys.readouterr()
    assert said.out == "" and (words in said.err or "line 1" in said.err)


@pytest.mark.parametrize("life", ["0", "-1", "long"])
def test_a_life_that_is_none_is_a_usage_error(life: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as left:
        main(["workspace", "--token-seconds", life])
    assert left.value.code == 2 and "--token-seconds" in capsys.readouterr().err
