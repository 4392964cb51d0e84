"""Where the tour's mail ends, how often it did, and how its sending is made to stop at the worst moment.

Gmail's stand-in where Google's packages are installed, else an outbox that is a file. What is counted is kept by the
other side, not by the server that is killed.
"""

import asyncio
import fcntl
import json
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final, Protocol

from pollux.cli.demo.caller import Caller, Unexpected
from pollux.emulator.workspace import Workspace

PATIENCE: Final = 30.0


class Post(Protocol):
    """The other side."""

    name: str
    tool: str
    moment: str
    """What is true at the worst moment."""
    mended: str
    """What the server does about it afterwards."""
    events: tuple[str, ...]
    """What the journal then says of the mail, from beginning to end."""

    def sent(self) -> list[list[str]]:
        """Who got a mail: one list of addresses for each mail that left."""
        ...

    def held(self) -> AbstractContextManager[None]:
        """Within this block, a mail that is being sent gets stuck at the worst moment."""
        ...

    async def stuck(self, caller: Caller, run_id: str) -> None:
        """Until it is. Raises Unexpected."""
        ...


class Gmail:
    """A Gmail on this machine, with a ledger that is written before anything is answered."""

    name = "Gmail's ledger"
    tool = "gmail_send"
    moment = "Gmail has sent the mail, and the server has not heard of it"
    mended = "the server finds its mail in Sent, and sends no second one"
    events: tuple[str, ...] = ("ActionDecided", "ActionStarted", "ActionNoted", "ActionReconciled")

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def sent(self) -> list[list[str]]:
        return [[*entry.to] for entry in self._workspace.ledger]

    @contextmanager
    def held(self) -> Generator[None]:
        # The mail is sent at once, and the answer comes a minute later: to nobody.
        self._workspace.fault("slow;seconds=60", method="drafts.send", times=1)
        yield
        self._workspace.faults.clear()

    async def stuck(self, caller: Caller, run_id: str) -> None:
        async def is_sent() -> bool:
            return bool(self.sent())

        await until(is_sent, "Gmail to take the mail")


class Outbox:
    """A file with a line for each mail."""

    name = "the outbox"
    tool = "demo_mail"
    moment = "the yes is recorded, and the mail not yet written"
    mended = "the server takes the mail up again, under the same key"
    events: tuple[str, ...] = ("ActionDecided", "ActionStarted", "ActionStarted", "ActionCompleted")

    def __init__(self, file: Path) -> None:
        self._file = file

    def sent(self) -> list[list[str]]:
        lines = self._file.read_text().splitlines() if self._file.exists() else []
        return [[json.loads(line)["to"]] for line in lines]

    @contextmanager
    def held(self) -> Generator[None]:
        # Whoever writes to it takes this lock first.
        with self._file.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    async def stuck(self, caller: Caller, run_id: str) -> None:
        async def is_begun() -> bool:
            run = await caller.get(f"/api/agent/runs/{run_id}")
            return run["actions"][0]["state"] == "executing"

        await until(is_begun, "the mail to be begun")


async def until(holds: Callable[[], Awaitable[bool]], what: str) -> None:
    """Wait until it holds. Raises Unexpected where it never does."""
    try:
        async with asyncio.timeout(PATIENCE):
            # What is waited for happens in other processes: nobody here could set an event.
            while not await holds():  # noqa: ASYNC110
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise Unexpected(f"waited {PATIENCE:.0f} s in vain for {what}") from None
