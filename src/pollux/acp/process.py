"""An agent as a process tree that is talked with over pipes. Nothing of it outlives the block that started it."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import BinaryIO

from pollux.acp.failures import AgentFailed, Mask
from pollux.acp.limits import Limits
from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.tools.shell.environment import child_environment
from pollux.tools.shell.output import Output, listen
from pollux.tools.shell.process import Child, cannot_run, start_process

CHUNK = 65536
HURRIED_CLOSE_SECONDS = 0.3
HURRIED_STOP_SECONDS = 0.7
"""With what `Limits.cancel_seconds` is: within the two seconds that a stopped tool has."""


@frozen
class AgentCommand:
    """How to start an agent: a program and its arguments, and what it finds beside what every program does."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str

    def __post_init__(self) -> None:
        if not self.argv or not self.argv[0]:
            raise ValidationError("an agent's command is a program and its arguments, found no program")
        if not os.path.isabs(self.cwd):
            raise ValidationError(f"an agent's directory is an absolute path, found {self.cwd!r}")


class Agent:
    """A started agent: lines go in, bytes come out, and what it writes to stderr is kept within bounds."""

    def __init__(
        self, command: AgentCommand, child: Child, stdin: "_Input", stdout: asyncio.StreamReader, stderr: Output
    ) -> None:
        self.output = stdout
        self.mask = Mask(command.env.values())
        self._program = command.argv[0]
        self._child = child
        self._input = stdin
        self._stderr = stderr
        self._ended_itself = False
        self.flooded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when it writes to stderr without end."""

    @property
    def stderr(self) -> str:
        return self.mask(self._stderr.text)

    @property
    def gone(self) -> asyncio.Future[None]:
        """Done when nothing of it is left."""
        return self._child.gone

    def write(self, line: bytes) -> int:
        """Send a line without waiting. Says how much of all that was sent is unread."""
        return self._input.write(line)

    def close_input(self) -> None:
        self._input.close()

    async def end(self, *, hurry: bool) -> None:
        """See it end: it is asked to, then killed. With hurry it has less time in between."""
        if hurry and not self.gone.done():
            self._child.tell("stop")
            await asyncio.wait({self.gone}, timeout=HURRIED_STOP_SECONDS)
            self._child.tell("kill")
        await self._child.end()

    def obituary(self, doing: str) -> AgentFailed:
        """Why it fell silent. Only known once it has ended."""
        report = self._child.report
        if "cannot" in report:
            return AgentFailed("spawn", cannot_run(self._program, report["cannot"]).stderr.strip())
        if not self._ended_itself:
            return AgentFailed("crash", f"the agent closed its output while {doing}")
        if "exit" in report:
            how = f"ended with exit code {report['exit']}"
        elif "signal" in report:
            number = report["signal"]
            known = number in {each.value for each in signal.Signals}
            how = f"was ended by {signal.Signals(number).name if known else f'signal {number}'}"
        else:
            how = "was killed together with the process that watches over it"
        return AgentFailed("crash", f"the agent {how} while {doing}")

    async def die(self, seconds: float) -> None:
        """Wait for its own end, so that it can be told from the one that we bring."""
        await asyncio.wait({self.gone}, timeout=seconds)
        self._ended_itself = self.gone.done()


@asynccontextmanager
async def launched(command: AgentCommand, *, limits: Limits) -> AsyncGenerator[Agent]:
    """An agent that has been started. Its tree is gone when the block has been left.

    Raises AgentFailed when its directory cannot be entered, ValidationError for what no system could start.
    """
    loop = asyncio.get_running_loop()
    agent: Agent | None = None

    def flooded() -> None:
        if agent is not None and not agent.flooded.done():
            agent.flooded.set_result(None)

    with _pipe() as (stdin, writing), _pipe() as (reading, stdout):
        async with listen("stderr", limits.stderr_bytes, on_output=None, stop=flooded) as stderr:
            reader = asyncio.StreamReader(limit=CHUNK)
            incoming, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), reading)
            try:
                outgoing, given = await loop.connect_write_pipe(_Input, writing)
                try:
                    child = await _started(command, stdin=stdin, stdout=stdout, stderr=stderr.pipe)
                    agent = Agent(command, child, given, reader, stderr)
                    try:
                        yield agent
                    finally:
                        await child.end()
                finally:
                    if not given.lost.done():
                        outgoing.abort()
                    await asyncio.wait({given.lost})
            finally:
                incoming.close()


async def _started(command: AgentCommand, *, stdin: BinaryIO, stdout: BinaryIO, stderr: BinaryIO) -> Child:
    env = child_environment(os.environ, command.env)
    try:
        return await start_process(
            command.argv, cwd=Path(command.cwd), env=env, stdin=stdin, stdout=stdout, stderr=stderr
        )
    except OSError as problem:
        where = f"in {command.cwd} " if problem.filename is not None else ""
        raise AgentFailed("spawn", f"the agent cannot be started {where}({problem.strerror})") from None


@contextmanager
def _pipe() -> Generator[tuple[BinaryIO, BinaryIO]]:
    """Both ends, closed in the end by whoever comes first."""
    readable, writable = os.pipe()
    with os.fdopen(readable, "rb", buffering=0) as reading, os.fdopen(writable, "wb", buffering=0) as writing:
        yield reading, writing


class _Input(asyncio.Protocol):
    """Our end of an agent's input."""

    def __init__(self) -> None:
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        # Broken when the agent has closed it: its output tells us the rest.
        if not self.lost.done():
            self.lost.set_result(None)

    def write(self, line: bytes) -> int:
        assert self._transport is not None
        if self._transport.is_closing():
            return 0
        self._transport.write(line)
        return self._transport.get_write_buffer_size()

    def close(self) -> None:
        assert self._transport is not None
        if not self._transport.is_closing():
            self._transport.close()
