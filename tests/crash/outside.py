"""The world outside of Pollux: files that only ever grow, and tools of every repeat class that act on them.

What a tool did is written here by the tool itself and seen on disk, so these files tell the truth about a run whatever
became of the process that ran it.
"""

import asyncio
import fcntl
import json
import os
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pollux.core.messages import JSON
from pollux.core.policy import Rule
from pollux.core.tools import Reconciled, Repeat, ToolContext, ToolSpec
from pollux.tools.define import Args, FunctionTool

Point = Literal["commit:before", "commit:after", "effect:before", "effect:after", "model:announced", "model:asked"]
"""Where a process can be made to end: around a commit, around an effect, once a model call is announced or made."""

Begin = Callable[[ToolContext], Awaitable[None]]
"""Begins the child run of an action, unless it was begun before."""

CLASSES: tuple[Repeat, ...] = ("keyed", "checkable", "once", "repeatable")
SCHEMA: dict[str, JSON] = {"type": "object", "properties": {}, "additionalProperties": False}
RULES = (Rule("allow", tool="slow"), Rule("require_approval", tool="*", priority=-1))


class Outside:
    """A directory of files, one JSON object a line. Many processes append to them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def note(self, name: str, /, **fields: JSON) -> None:
        """Add a line, and return when it is on disk."""
        line = json.dumps({**fields, "pid": os.getpid()}) + "\n"
        file = os.open(self.directory / f"{name}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, line.encode())
            # A tracer that makes syncs fail may hit this one too; the line is written all the same.
            with suppress(OSError):
                os.fsync(file)
        finally:
            os.close(file)

    def notes(self, name: str) -> list[dict[str, Any]]:
        """Every line so far."""
        path = self.directory / f"{name}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def has(self, name: str, /, **fields: JSON) -> bool:
        """Whether there is a line with these fields."""
        return any(fields.items() <= note.items() for note in self.notes(name))

    @contextmanager
    def locked(self) -> Generator[None]:
        """Alone among all processes."""
        with (self.directory / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


@dataclass
class Fault:
    """The n-th time that this process comes to a point, it sends itself a signal."""

    point: Point | None = None
    number: int = 0
    signal: int = signal.SIGKILL
    lock: str = ""
    """A file lock that nobody here may hold at that moment: a stopped process would keep everybody else waiting."""
    seen: Counter[str] = field(default_factory=Counter[str])

    def reach(self, point: Point) -> None:
        self.seen[point] += 1
        if point != self.point or self.seen[point] != self.number:
            return
        if self.lock:
            with open(self.lock) as file:
                fcntl.flock(file, fcntl.LOCK_EX)
        os.kill(os.getpid(), self.signal)


FAULTS: dict[Path, Fault] = {}
"""Where this process ends. No tool holds it: with another one it would be another tool, that nobody approved."""
BEGINNERS: dict[Path, Begin] = {}
"""What begins a child run in this process. No tool holds it either."""


def make_tools(outside: Outside, fault: Fault, begin: Begin) -> list[FunctionTool]:
    """One tool of each class, named after it; a slow one that asks nobody; one that begins a child run; two liars."""
    FAULTS[outside.directory], BEGINNERS[outside.directory] = fault, begin

    async def act(context: ToolContext, kind: str) -> dict[str, JSON]:
        outside.note("attempts", kind=kind, key=context.key)
        FAULTS[outside.directory].reach("effect:before")
        if kind == "keyed":
            with outside.locked():
                if not outside.has("effects", key=context.key):
                    outside.note("effects", kind=kind, key=context.key)
        else:
            outside.note("effects", kind=kind, key=context.key)
        FAULTS[outside.directory].reach("effect:after")
        while (outside.directory / "hold").exists():
            await asyncio.sleep(0.01)
        return {"done": context.key}

    async def look(context: ToolContext, args: Args) -> Reconciled:
        is_done = outside.has("effects", key=context.key)
        return Reconciled("done", {"done": context.key}) if is_done else Reconciled("not_done")

    async def wait(context: ToolContext, args: Args) -> str:
        outside.note("waiting", key=context.key)
        while not (outside.directory / "release").exists():
            await asyncio.sleep(0.01)
        return "released"

    def tool(kind: Repeat) -> FunctionTool:
        async def run(context: ToolContext, args: Args) -> dict[str, JSON]:
            return await act(context, kind)

        spec = ToolSpec(kind, f"Acts; {kind}.", SCHEMA, side_effect=kind != "repeatable", repeat=kind)
        return FunctionTool(spec, run, reconcile=look)

    async def beget(context: ToolContext, args: Args) -> None:
        FAULTS[outside.directory].reach("effect:before")
        await BEGINNERS[outside.directory](context)
        FAULTS[outside.directory].reach("effect:after")

    async def idle(context: ToolContext, args: Args) -> str:
        return "done, says the tool"

    async def act_again(context: ToolContext, args: Args) -> dict[str, JSON]:
        return await act(context, "careless")

    return [
        *map(tool, CLASSES),
        FunctionTool(ToolSpec("slow", "Waits.", SCHEMA), wait),
        FunctionTool(
            ToolSpec("child", "Begins a run.", SCHEMA, side_effect=True, repeat="keyed", where="child"), beget
        ),
        # Two that break their promise, to see that it is noticed.
        FunctionTool(ToolSpec("idle", "Says it acted.", SCHEMA, side_effect=True, repeat="keyed"), idle),
        FunctionTool(ToolSpec("careless", "Ignores its key.", SCHEMA, side_effect=True, repeat="keyed"), act_again),
    ]
