"""What the README shows besides Python: its requests are sent, its script tag is the one that pages take."""

import asyncio
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.cli.machine import POLLUX, Machine, emulator
from tests.cli.terminal import ENTER, Terminal
from tests.docs.test_snippets import REPOSITORY, blocks_of
from tests.http.site import process
from tests.waiting import HANG_SECONDS

from pollux.asgi.static import PATHS
from pollux.config import read_settings
from pollux.emulator import run_emulator

README = (REPOSITORY / "README.md").read_text()


def block_with(words: str) -> str:
    [block] = [block for block in blocks_of(README) if block.language == "bash" and words in block.body]
    return block.body


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed (apt-get install curl)")
async def test_the_requests_of_the_readme_ask_and_then_list_what_waits(tmp_path: Path):
    # The token is read from where it lies when nothing is configured.
    alone = {"POLLUX_HOME": str(tmp_path / ".local/share/pollux"), "POLLUX_TOKENS": ""}
    async with (
        run_emulator(port=0) as model,
        process(tmp_path, GEMINI_API_KEY="demo", GOOGLE_GEMINI_BASE_URL=model.url, **alone) as server,
    ):
        sent = await asyncio.to_thread(
            subprocess.run,
            ["bash", "-euc", block_with("curl").replace("http://127.0.0.1:8642", server.url)],
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            check=True, capture_output=True, timeout=2 * HANG_SECONDS,
        )  # fmt: skip
    said = sent.stdout.decode()
    decoder = json.JSONDecoder()
    run, end = decoder.raw_decode(said)
    waiting, _ = decoder.raw_decode(said, end)
    assert run["status"] == "awaiting_confirmation"
    assert [item["id"] for item in waiting["items"]] == [run["approvals"][0]["id"]]
    assert waiting["items"][0]["args"]["to"] == "bob@example.com"


@pytest.mark.slow
def test_the_commands_of_the_readme_answer(tmp_path: Path):
    with emulator() as url:
        machine = Machine(tmp_path, GEMINI_API_KEY="demo", GOOGLE_GEMINI_BASE_URL=url)
        (machine.cwd / "notes.txt").write_text("tea\n")
        for words in (["init", "--quiet"], ["add", "--intent-to-add", "."]):
            subprocess.run(["git", *words], cwd=machine.cwd, env=machine.environ, check=True)
        path = f"{with_pollux(tmp_path)}:{machine.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block_with("pollux run -")],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=2 * HANG_SECONDS, cwd=machine.cwd,
            env={**machine.environ, "PATH": path},
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "pollux: nothing waits for approval\n")
    answer, _, reviewed = done.stdout.rpartition('{"type":"result"')
    assert "demo model" in answer
    assert json.loads('{"type":"result"' + reviewed)["status"] == "completed"


@pytest.mark.slow
async def test_the_runbook_of_the_readme_runs_where_the_readme_lies(tmp_path: Path):
    machine = Machine(tmp_path)
    shutil.copytree(REPOSITORY / "examples/runbooks", machine.cwd / "examples/runbooks")
    command, name, *words = block_with("pollux runbook").split()
    assert command == "pollux"
    terminal = Terminal([*POLLUX, name, *words], cwd=machine.cwd, env=machine.environ)
    try:
        for question in ("trust it as it stands?", "run it?"):
            await terminal.until(question)
            terminal.type(f"y{ENTER}")
        await terminal.until("3 blocks done")
    finally:
        terminal.close()


def with_pollux(folder: Path) -> Path:
    """A folder in which `pollux` is what is tested here."""
    program = folder / "bin/pollux"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join(POLLUX)} "$@"\n')
    program.chmod(0o755)
    return program.parent


def test_the_emulator_listens_where_the_readme_says():
    assert f"http://127.0.0.1:{read_settings({'HOME': '/'}, cwd=Path('/')).gemini_emulator_port}`" in README


def test_the_script_tag_names_a_script_that_is_served():
    [source] = re.findall(r'<script src="https://agent.example.com(/[^"]+)"', README)
    assert source in PATHS


def test_the_pictures_are_there():
    assert [name for name in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README) if not (REPOSITORY / name).exists()] == []


def test_what_the_tour_says_is_what_the_readme_shows():
    """Its steps in their order; times, processes and hashes are another run's."""
    from tests.cli.test_demo_tour import STEPS

    shown = re.findall(r"^ +\d+\.\d s  (\S+(?: -9)?) ", README, re.MULTILINE)
    assert shown == list(STEPS)
