"""The demo as it stands open: two emulators, one server with console, shop and runbooks, and a chat in the terminal."""

import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from pollux.cli import demo_shop
from pollux.cli.demo.caller import calling
from pollux.cli.demo.chat import Chat
from pollux.cli.demo.keys import lines_of
from pollux.cli.demo.place import Ports, demo_settings, has_google
from pollux.cli.demo.seeding import seed
from pollux.cli.folding import Wrapping
from pollux.config import Settings, read_settings
from pollux.core.profile import DEFAULT_MODEL
from pollux.emulator import run_emulator
from pollux.emulator.workspace import Workspace, run_workspace
from pollux.engine.engine import Engine
from pollux.shop import site
from pollux.signals import on_signals

PROMPTS = (
    "add 2 and 3",
    "send an email to bob@example.com saying the report is ready",
    'invite carol@example.com to an event called "Tea" on Friday at 15:00',
)
IN_THE_SHOP = ("add two blue mugs to the cart", "place the order")
WITHOUT_GOOGLE = (PROMPTS[0], PROMPTS[1], "what can you do?")
GRACE = 0.5
"""How many seconds what is under way may go on at the end. Nothing of it is kept, and somebody has pressed Ctrl-C."""


@dataclass
class Opened:
    """The demo, open: where everything is, and what drives its runs."""

    engine: Engine
    url: str
    home: Path
    outbox: str
    asks: str | None
    """The host that is asked with the person's own key; None where the demo model is."""
    moved: bool
    """Whether a port was taken, so that others are used than those that are written everywhere."""
    has_google: bool


async def run(place: Path, leave: Callable[[signal.Signals], None], *, port: int | None = None) -> int:
    """Open everything, say where it is, and talk until the person leaves."""
    async with opened(place, port=port) as demo:
        print(in_rows(told(demo)), flush=True)
        chat = Chat(demo.engine, lines_of(demo.home))
        # An answer that comes is stopped first, and only who has nothing to stop leaves.
        on_signals(lambda number: None if chat.stop() else leave(number), signal.SIGINT)
        return await chat.talk()


def in_rows(text: str) -> str:
    """The text with its sentences wrapped. Links and words to type stand further in, and stay in one piece."""
    wrapping = Wrapping(sys.stdout)
    rows = [row if row.startswith(" ") else wrapping.feed(row) + wrapping.finish() for row in text.split("\n")]
    return "\n".join(rows)


@asynccontextmanager
async def opened(place: Path, *, port: int | None = None) -> AsyncGenerator[Opened]:
    """Everything that is shown, until the block ends. With port 0 all ports are any that are free."""
    # Nothing of it is kept, so it needs no home: machines without one can have a demo too.
    own = read_settings({"HOME": str(place), **os.environ}, cwd=Path.cwd())
    async with AsyncExitStack() as stack:
        ports = Ports(stack, are_any=port == 0)
        model = await ports.enter(lambda at: run_emulator(port=at), own.gemini_emulator_port)
        workspace = (
            await ports.enter(lambda at: run_workspace(port=at), own.workspace_emulator_port) if has_google() else None
        )
        settings = demo_settings(place, model=model.url, workspace=workspace.url if workspace else None)
        await _seed(settings, workspace)
        settings = _with_key(settings, own)
        shop, engine = await ports.enter(
            lambda at: demo_shop.serving_shop(replace(settings, port=at), grace=GRACE),
            own.port if port is None else port,
        )
        yield Opened(
            engine,
            shop.removesuffix(site.HOME),
            settings.home,
            f"{workspace.url}/outbox" if workspace else str(settings.home / "outbox.jsonl"),
            urlsplit(own.gemini_base_url).hostname if own.gemini_api_key is not None else None,
            ports.moved,
            workspace is not None,
        )


async def _seed(settings: Settings, workspace: Workspace | None) -> None:
    """By a server of its own, which has gone when the one that is shown begins: a real model is not asked for this."""
    async with (
        demo_shop.serving_shop(settings) as (shop, _),
        calling(shop.removesuffix(site.HOME), settings.home) as caller,
    ):
        if workspace is not None:
            await caller.connect(workspace)
        await seed(caller)


def _with_key(settings: Settings, own: Settings) -> Settings:
    if own.gemini_api_key is None:
        return settings
    return replace(settings, gemini_api_key=own.gemini_api_key, gemini_base_url=own.gemini_base_url)


def told(demo: Opened) -> str:
    """What a newcomer needs: where to look, and what to write."""
    token = (demo.home / "token").read_text().strip()
    lines = [
        "",
        f"  console  {demo.url}/login?token={token}",
        f"  shop     {demo.url}{site.HOME}",
        f"  outbox   {demo.outbox}",
        "",
        "Try, in the console or here:",
        *(f"  {prompt}" for prompt in (PROMPTS if demo.has_google else WITHOUT_GOOGLE)),
        "and in the shop, to the agent on its pages:",
        *(f"  {prompt}" for prompt in IN_THE_SHOP),
        "",
        f"Model: {_model(demo)}.",
        "In the console, a mail to Carol waits for your answer, and a runbook waits to be run.",
    ]
    if not demo.has_google:
        lines.append("For Gmail, Calendar and the runbook's agent: pip install 'pollux[all]'.")
    if demo.moved:
        lines.append("Some of the usual ports are taken: those above are free ones.")
    if not demo_shop.is_built():
        lines.append("What browsers load is not built yet: make web.")
    return "\n".join([*lines, f"{_stays(demo)}, and nothing is kept. Ctrl-C ends it."])


def _model(demo: Opened) -> str:
    if demo.asks is not None:
        return f"{DEFAULT_MODEL}, with your key"
    return "demo model, rule-based (set GEMINI_API_KEY for the real one)"


def _stays(demo: Opened) -> str:
    if demo.asks is None:
        return "Nothing leaves this machine"
    whose = "Google" if demo.asks.endswith(".googleapis.com") else demo.asks
    return f"Prompts go to {whose}, mails and orders nowhere"
