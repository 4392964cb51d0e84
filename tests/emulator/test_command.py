"""The command: one line when ready, a clean end, plain words when something is not there."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest
from tests.emulator.processes import ended
from tests.emulator.wire import Wire, prompt
from tests.waiting import HANG_SECONDS

from pollux.emulator import main


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
async def test_it_says_once_when_it_is_ready_and_ends_cleanly(tmp_path: Path, stop: signal.Signals):
    scenario = tmp_path / "scenario.json"
    scenario.write_text('[{"match": {"contains": "boom"}, "fault": "503"}]')
    arguments = ["gemini", "--port", "0", "--scenario", str(scenario), "--ledger", str(tmp_path / "ledger.jsonl")]
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
        line = await process.stdout.readline()
        ready = json.loads(line)
        assert line.decode() == json.dumps(ready, separators=(",", ":")) + "\n"
        assert ready.keys() == {"ready", "url", "service"} and ready["service"] == "gemini"
        async with aiohttp.ClientSession() as session:
            wire = Wire(session, ready["url"])
            assert (await wire.ask(prompt("say hi"))).status == 200
            assert (await wire.ask(prompt("say boom"))).status == 503
            process.send_signal(stop)
            out, err = await process.communicate()
    assert (process.returncode, out, err) == (0, b"", b"")


def test_a_missing_scenario_is_a_usage_error(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    assert main(["gemini", "--scenario", str(tmp_path / "none.json")]) == 2
    assert "none.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ("gemini", "--replay", "recordings"),
        ("gemini", "--replay", "recordings/pipe.jsonl"),
        ("gemini", "--scenario", "recordings/pipe.jsonl"),
        ("workspace", "--ledger", "recordings/pipe.jsonl"),
    ],
)
def test_a_pipe_in_place_of_a_file_is_a_usage_error_and_not_waited_for(tmp_path: Path, words: tuple[str, ...]):
    (tmp_path / "recordings").mkdir()
    os.mkfifo(tmp_path / "recordings/pipe.jsonl")
    run = [sys.executable, "-m", "pollux.emulator", *words, "--port", "0"]
    ended = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=HANG_SECONDS)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "pipe.jsonl cannot be" in ended.stderr and "it is not a regular file" in ended.stderr


def test_importing_the_package_loads_no_server():
    code = "import sys, pollux.emulator; sys.exit('aiohttp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=HANG_SECONDS).returncode == 0


@pytest.mark.parametrize("port", ["99999999", "-1", "eighty", "65536"])
def test_a_port_that_is_none_is_a_usage_error(port: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as left:
        main(["gemini", "--port", port])
    assert left.value.code == 2
    assert "--port" in capsys.readouterr().err
