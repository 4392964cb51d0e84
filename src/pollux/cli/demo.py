"""`pollux demo`: everything at once on this machine. A list of parts; each later door appends its own."""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from pollux.bootstrap import running_engine
from pollux.cli import demo_shop
from pollux.cli.demo_chat import Chat
from pollux.cli.lines import StandardInput
from pollux.cli.parser import Parser
from pollux.config import Settings, read_settings
from pollux.core.profile import DEFAULT_MODEL, Profile
from pollux.core.redact import Secret
from pollux.core.tools import ToolContext, ToolSpec
from pollux.tools.define import Args, FunctionTool
from pollux.tools.demo_mail import demo_mail

PROMPTS = (
    "add 2 and 3",
    "send an email to bob@example.com saying the report is ready",
    "what can you do?",
)


@dataclass(slots=True)
class Demo:
    """What the parts share: settings that each may refine, and lines to show before the chat begins."""

    settings: Settings
    notes: list[str] = field(default_factory=list[str])


Part = Callable[[Demo], AbstractAsyncContextManager[None]]


@asynccontextmanager
async def model(demo: Demo) -> AsyncGenerator[None]:
    """The real model where there is a key, else the emulator."""
    if demo.settings.gemini_api_key is not None:
        demo.notes.append(f"model: {DEFAULT_MODEL}, with your key")
        yield
        return
    from pollux.emulator import run_emulator

    async with run_emulator(port=0) as emulator:
        demo.settings = replace(demo.settings, gemini_api_key=Secret("demo"), gemini_base_url=emulator.url)
        demo.notes.append(f"model: demo model, rule-based, at {emulator.url} (set GEMINI_API_KEY for the real one)")
        yield


@asynccontextmanager
async def shop(demo: Demo) -> AsyncGenerator[None]:
    """A shop whose pages have an agent on them, on a free port of this machine."""
    settings = demo_shop.shop_settings(demo.settings, demo.settings.home / "shop")
    async with demo_shop.serving_shop(settings) as (url, _):
        demo.notes.append(f"shop: {url} (open it in a browser, and ask the agent on the page)")
        demo.notes += [f"  {prompt}" for prompt in demo_shop.PROMPTS]
        if not demo_shop.is_built():
            demo.notes.append("  (there is no agent on its pages yet: the browser side is not built: make web)")
        yield


@asynccontextmanager
async def chat(demo: Demo) -> AsyncGenerator[None]:
    """A chat in this terminal, with two harmless tools and one that asks first."""
    outbox = demo.settings.home / "outbox.jsonl"
    tools = [_add(), _today(), demo_mail(outbox)]
    profile = Profile(
        instructions="You are a helpful assistant. Use the tools where they fit.",
        tools=tuple(tool.spec.name for tool in tools),
    )
    async with running_engine(demo.settings, tools=tools, profiles={"default": profile}) as engine:
        demo.notes.append(f"mail: nothing leaves this machine; the outbox is {outbox}")
        sys.stdout.write("\n".join(["Pollux demo", *demo.notes, "", "Try here:", *(f"  {p}" for p in PROMPTS)]) + "\n")
        await Chat(engine, StandardInput()).talk()
        yield


PARTS: tuple[Part, ...] = (model, shop, chat)


def main(argv: list[str]) -> int:
    """Run the demo until the person leaves; Ctrl-C and Ctrl-D both end it cleanly."""
    parser = Parser(
        prog="pollux demo",
        description="A chat with a demo model, and a shop with an agent on its pages. Ctrl-D leaves.",
        epilog="examples:\n  pollux demo\n  GEMINI_API_KEY=… pollux demo    with the real model",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="pollux-demo-") as home:
        try:
            asyncio.run(_run(Path(home), os.environ))
        except asyncio.CancelledError:
            return 143
    return 0


async def _run(home: Path, environ: Mapping[str, str]) -> None:
    settings = read_settings(environ, cwd=Path.cwd())
    demo = Demo(replace(settings, home=home, store=home / "pollux.db"))
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    async with AsyncExitStack() as parts:
        for part in PARTS:
            await parts.enter_async_context(part(demo))


def _add() -> FunctionTool:
    number = {"type": "number"}
    schema = {"type": "object", "properties": {"a": number, "b": number}, "required": ["a", "b"]}

    async def add(context: ToolContext, args: Args) -> object:
        return args["a"] + args["b"]

    return FunctionTool(ToolSpec("add", "Add two numbers.", schema), add)


def _today() -> FunctionTool:
    async def today(context: ToolContext, args: Args) -> str:
        return datetime.now().astimezone().date().isoformat()

    return FunctionTool(ToolSpec("today", "Tell today's date.", {"type": "object", "properties": {}}), today)
