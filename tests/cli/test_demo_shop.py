"""The demo's shop, as a newcomer meets it: a link in the terminal, pages behind it, and an end with the rest."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import aiohttp

from pollux.cli.demo_shop import PROMPTS, VISITOR, serving_shop, shop_settings
from pollux.config import Settings, load_project, read_settings
from pollux.core.redact import Secret

POLLUX = [sys.executable, "-W", "error", "-m", "pollux.cli"]


@dataclass
class Demo:
    """A demo that waits for words, and the shop's address in it."""

    process: asyncio.subprocess.Process
    url: str
    told: list[str]


@asynccontextmanager
async def demo(cwd: Path) -> AsyncGenerator[Demo]:
    process = await asyncio.create_subprocess_exec(
        *POLLUX, "demo",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, env=_environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert process.stdout is not None
    told: list[str] = []
    try:
        async with asyncio.timeout(60):
            while not told or "what can you do" not in told[-1]:
                told.append((await process.stdout.readline()).decode())
        found = re.search(r"shop: (http://127\.0\.0\.1:\d+/shop/)", "".join(told))
        assert found is not None, told
        yield Demo(process, found[1], told)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_the_link_leads_to_the_shop_and_what_to_ask_is_said(tmp_path: Path):
    async with demo(tmp_path) as running, aiohttp.ClientSession() as http:
        async with http.get(running.url) as answer:
            assert answer.status == 200 and "The Tea Cupboard" in await answer.text()
        async with http.get(running.url.replace("/shop/", "/pollux.js")) as answer:
            assert answer.status in (200, 404)
    assert all(f"  {prompt}\n" in running.told for prompt in PROMPTS)


async def test_it_ends_with_the_chat_though_a_browser_is_still_there(tmp_path: Path):
    async with demo(tmp_path) as running, aiohttp.ClientSession() as http:
        async with http.get(running.url) as answer:
            await answer.read()
        running.process.send_signal(signal.SIGINT)
        async with asyncio.timeout(30):
            assert await running.process.wait() == 130


def test_help_tells_of_both_parts(tmp_path: Path):
    done = subprocess.run(
        [*POLLUX, "demo", "--help"], capture_output=True, text=True, timeout=60, cwd=tmp_path, env=_environment()
    )
    assert done.returncode == 0 and "chat" in done.stdout and "shop" in done.stdout


def test_nothing_of_the_workspace_counts_in_the_shop(tmp_path: Path):
    (tmp_path / "pollux.toml").write_text('[[rules]]\ntool = "action_placeOrder"\ndecision = "allow"\n')
    rights = load_project(_settings(tmp_path, POLLUX_TOKENS="eve:0123456789abcdef0")).rights
    assert [(rule.tool, rule.decision) for rule in rights.rules] == [("action_addToCart", "allow")]
    assert VISITOR in str(rights.profiles["page"].table["instructions"])


def test_it_is_on_this_machine_alone_whatever_the_environment_says(tmp_path: Path):
    settings = _settings(tmp_path, POLLUX_HOST="0.0.0.0", POLLUX_PUBLIC_URL="https://shop.example")
    assert (settings.host, settings.port, settings.public_url, settings.tokens) == ("127.0.0.1", 0, None, ())


async def test_two_shops_keep_two_books(tmp_path: Path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        async with (
            serving_shop(_settings(tmp_path / name)) as (url, _),
            aiohttp.ClientSession() as http,
            http.post(url.replace("/shop/", "/_jay/actions/getCart"), json={}) as answer,
        ):
            assert answer.status == 200
        assert (tmp_path / name / "home/shop.db").exists()


def _settings(path: Path, **environ: str) -> Settings:
    given: Mapping[str, str] = {"HOME": str(path), **environ}
    plain = replace(read_settings(given, cwd=path), gemini_api_key=Secret("demo"))
    return shop_settings(plain, path / "home")


def _environment() -> dict[str, str]:
    """Without the keys of whoever runs the tests."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("GEMINI_", "GOOGLE_", "POLLUX_"))}
