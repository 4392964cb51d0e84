"""The world that the fleet's tools act upon: files outside of every store, which tell the truth whoever died.

Servers and workers load the tools by `use = "tests.hosts.world:TOOLS"`. Each wish is wanted once by somebody; whatever
is done is written down with its wish, so that a second key for the same wish would be seen.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Literal

from tests.crash.outside import Outside

from pollux.core.messages import JSON
from pollux.core.tools import Reconciled, Repeat, ToolContext, ToolSpec
from pollux.tools.define import Args, FunctionTool

PLACE = "HOSTS_OUTSIDE"
"""Names the folder, in the environment of every process."""
KINDS: tuple[Repeat, ...] = ("keyed", "checkable", "once")
POLL_SECONDS = 0.01

Moment = Literal["before", "after"]


class World(Outside):
    """What was attempted and what happened, and where tools are held."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._done = directory / "done"
        self._done.mkdir(parents=True, exist_ok=True)

    def attempts(self, wish: str) -> list[int]:
        """The processes that tried it, in order."""
        return [note["pid"] for note in self.notes("attempts") if note["wish"] == wish]

    def has_left(self, wish: str, pid: int) -> bool:
        """Whether an attempt of this process is over, however it went."""
        return self.has("left", wish=wish, pid=pid)

    def do(self, wish: str, key: str, *, is_keyed: bool) -> None:
        """The effect: a file, on disk when this returns. What takes a key is there once for each key."""
        chance = "" if is_keyed else token_hex(8)
        with suppress(FileExistsError):
            os.close(os.open(self._done / f"{wish}~{key}~{chance}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        folder = os.open(self._done, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    def is_done(self, wish: str, key: str) -> bool:
        return any(self._done.glob(f"{wish}~{key}~*"))

    def effects(self) -> Counter[str]:
        """How often each wish was done."""
        return Counter(path.name.partition("~")[0] for path in self._done.iterdir())

    @contextmanager
    def held(self, wish: str, moment: Moment) -> Generator[None]:
        """Whoever comes to this moment of this wish stays there."""
        path = self._hold(wish, moment)
        path.touch()
        try:
            yield
        finally:
            path.unlink()

    def arrived(self, wish: str, moment: Moment) -> int | None:
        """The process that was held there first."""
        return next((note["pid"] for note in self.notes("held") if (note["wish"], note["at"]) == (wish, moment)), None)

    async def wait_there(self, wish: str, moment: Moment) -> None:
        """In a tool: go on once nobody holds this moment."""
        path = self._hold(wish, moment)
        if path.exists():
            self.note("held", wish=wish, at=moment)
        while path.exists():
            await asyncio.sleep(POLL_SECONDS)

    def _hold(self, wish: str, moment: Moment) -> Path:
        return self.directory / f"hold-{moment}-{wish}"


def _tool(kind: Repeat) -> FunctionTool:
    fields: dict[str, JSON] = {"wish": {"type": "string"}, "before": {"type": "number"}, "after": {"type": "number"}}
    schema: dict[str, JSON] = {"type": "object", "properties": fields, "required": ["wish"]}
    spec = ToolSpec(kind, f"Acts; {kind}.", schema, side_effect=True, repeat=kind)

    async def act(context: ToolContext, args: Args) -> dict[str, JSON]:
        world, wish = _world(), str(args["wish"])
        world.note("attempts", wish=wish, key=context.key)
        try:
            await world.wait_there(wish, "before")
            await _work_for(args.get("before"))
            if kind == "checkable":
                # The fence of such a tool: refused where another has taken the run meanwhile.
                await context.note("about to act")
            world.do(wish, context.key, is_keyed=kind == "keyed")
            await _work_for(args.get("after"))
            await world.wait_there(wish, "after")
        finally:
            world.note("left", wish=wish)
        return {"done": wish}

    async def look(context: ToolContext, args: Args) -> Reconciled:
        return Reconciled("done" if _world().is_done(str(args["wish"]), context.key) else "not_done")

    return FunctionTool(spec, act, reconcile=look)


async def _work_for(seconds: JSON) -> None:
    if isinstance(seconds, int | float):
        await asyncio.sleep(seconds)


def _world() -> World:
    return World(Path(os.environ[PLACE]))


TOOLS = [_tool(kind) for kind in KINDS]
