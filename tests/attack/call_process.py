"""A server in a process of its own whose model asks to send a mail: `python -m tests.attack.call_process`.

It has a rule of each kind that compares texts. Whoever edits the question has all of them decided again.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

from tests.attack.standing import stand
from tests.engine.builders import FakeTool
from tests.http.site import site

from pollux.core.conditions import Condition, Operator
from pollux.core.messages import JSON
from pollux.core.policy import Rule
from pollux.engine.model import ModelEvent, ModelRequest
from pollux.providers.scripted import ScriptedProvider, call
from pollux.stores.sqlite import SqliteStore

CONDITIONS: tuple[tuple[str, Operator, str], ...] = (
    ("to", "address", "*@example.com"),
    ("to[*]", "address", "*@example.com"),
    ("to[*]", "host", "*.example.com"),
    ("**.to", "file", "/etc/*"),
    ("to[*]", "glob", "*evil*"),
    ("to[*]", "matches", "(a|b)+@evil"),
)
RULES: tuple[Rule, ...] = (
    Rule("deny", tool="send_mail", subjects=("*@rival.example",)),
    *(Rule("require_approval", tool="send_mail", where=(Condition(*each),)) for each in CONDITIONS),
)


class Asking(ScriptedProvider):
    """Wants one mail sent, each time."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        async for event in ScriptedProvider(call("send_mail", {"to": "bob@example.com"})).stream(request):
            yield event


class Mail(FakeTool):
    """One that takes whatever it is given for recipients."""

    def subjects(self, args: dict[str, JSON]) -> frozenset[str]:
        to = args.get("to")
        return frozenset(map(str, cast("list[JSON]", to) if isinstance(to, list) else [to]))


async def _main(home: Path) -> None:
    tools = [Mail("send_mail", side_effect=True)]
    store = SqliteStore(home / "pollux.db", key=b"k" * 32)
    limits: dict[str, Any] = {"requests_per_minute": 1e9, "burst": 10**9}
    async with site(home, Asking(), tools=tools, rules=RULES, store=store, **limits) as here:
        await stand(here.url)


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1])))
