"""The demo's shop in a process of its own, for stories in which it dies: `python -m tests.web.shop_process HOME …`."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pollux.cli.demo_shop import serving_shop, shop_settings
from pollux.cli.lasting import until_told
from pollux.config import read_settings
from pollux.core.redact import Secret
from pollux.shop.ledger import Ledger

PATIENCE = 60.0


@dataclass
class ShopProcess:
    """A shop that can be killed."""

    url: str
    popen: "subprocess.Popen[str]"

    def kill(self) -> None:
        """As a crash does."""
        self.popen.kill()
        self.popen.wait(PATIENCE)
        if self.popen.stdout is not None:
            self.popen.stdout.close()


async def started(home: Path, scripts: Path, model: str, *, port: int = 0, hold: str = "") -> ShopProcess:
    """The shop's process, once it answers. With `hold` it stops before an order is written, or right after."""
    words = [str(home), str(scripts), model, str(port), hold]
    with (home / "shop.err").open("a") as talk:
        popen = subprocess.Popen(
            [sys.executable, "-m", "tests.web.shop_process", *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=talk, text=True, cwd=Path(__file__).parents[2],
        )  # fmt: skip
    assert popen.stdout is not None
    url = await asyncio.wait_for(asyncio.to_thread(popen.stdout.readline), PATIENCE)
    assert url, (home / "shop.err").read_text()
    return ShopProcess(url.strip(), popen)


@asynccontextmanager
async def shop_process(home: Path, scripts: Path, model: str, **more: Any) -> AsyncGenerator[ShopProcess]:
    """The shop, ended with the block if it has not ended before."""
    home.mkdir(exist_ok=True)
    process = await started(home, scripts, model, **more)
    try:
        yield process
    finally:
        if process.popen.poll() is None:
            process.kill()


def marker(home: Path) -> Path:
    """What is there once an order waits to be killed."""
    return home / "held"


def _hold(home: Path, when: str) -> None:
    order = Ledger.order

    def held(self: Ledger, *args: Any, **named: Any) -> Any:
        if when == "after":
            order(self, *args, **named)
        marker(home).touch()
        threading.Event().wait()

    Ledger.order = held


async def _main(home: Path, scripts: Path, model: str, port: int, hold: str) -> None:
    if hold:
        _hold(home, hold)
    plain = read_settings({"HOME": str(home)}, cwd=home)
    settings = replace(plain, gemini_api_key=Secret("demo"), gemini_base_url=model)
    async with serving_shop(shop_settings(settings, home, port=port), assets=scripts) as (url, _):
        print(url, flush=True)
        await until_told().wait()


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5]))
