"""What the README shows besides Python: its requests are sent, its script tag is the one that pages take."""

import asyncio
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.docs.test_snippets import REPOSITORY, blocks_of
from tests.http.site import TOKENS, process

from pollux.asgi.static import PATHS
from pollux.emulator import run_emulator

README = (REPOSITORY / "README.md").read_text()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
async def test_the_requests_of_the_readme_ask_and_then_list_what_waits(tmp_path: Path):
    [block] = [block for block in blocks_of(README) if block.language == "bash" and "curl" in block.body]
    async with (
        run_emulator(port=0) as model,
        process(tmp_path, GEMINI_API_KEY="demo", GOOGLE_GEMINI_BASE_URL=model.url) as server,
    ):
        sent = await asyncio.to_thread(
            subprocess.run,
            ["bash", "-euc", block.body.replace("http://127.0.0.1:8642", server.url)],
            env={"PATH": "/usr/bin:/bin", "POLLUX_TOKEN": TOKENS["ada"]},
            check=True, capture_output=True, timeout=60,
        )  # fmt: skip
    said = sent.stdout.decode()
    decoder = json.JSONDecoder()
    run, end = decoder.raw_decode(said)
    waiting, _ = decoder.raw_decode(said, end)
    assert run["status"] == "awaiting_confirmation"
    assert [item["id"] for item in waiting["items"]] == [run["approvals"][0]["id"]]
    assert waiting["items"][0]["args"]["to"] == "bob@example.com"


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
