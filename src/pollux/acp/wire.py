"""Messages to and from an agent: our calls and its answers, its requests and ours, all within bounds.

Why not the SDK's own connection: it keeps a line of any length, starts a task for every message without waiting for
any, stops reading at a line that is no object, and writes the agent's words to the root logger.
docs/decisions/2026-11-16-a-bounded-wire-for-agents.md has the figures.
"""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable

from pollux.acp import rpc
from pollux.acp.failures import AgentFailed
from pollux.acp.limits import MIB, Limits
from pollux.acp.lines import Lines, LineTooLong
from pollux.acp.process import CHUNK, Agent
from pollux.acp.rpc import Id, Notification, Refused, Reply, Request
from pollux.core.messages import JSON

Hear = Callable[[Request | Notification], Awaitable[None]]


class Silent(Exception):
    """The agent's output has ended."""


class Unreadable(Exception):
    """The agent has answered, and nobody can read what."""


class Wire:
    """One agent's two pipes. When it has failed, everybody who waits for an answer gets to know why."""

    def __init__(self, agent: Agent, limits: Limits) -> None:
        self.ignored = 0
        """Lines that were no message, and answers to nothing."""
        self._agent = agent
        self._limits = limits
        self._numbers = itertools.count()
        self._waiting: dict[Id, asyncio.Future[JSON]] = {}
        self._problem: Exception | None = None
        self._received = 0
        self._messages = 0
        self._since = 0.0

    @property
    def is_silent(self) -> bool:
        """Whether the agent's output has ended by itself."""
        return isinstance(self._problem, Silent)

    def call(self, method: str, params: dict[str, JSON]) -> asyncio.Future[JSON]:
        """Send a request. Its answer raises Refused for an error, Unreadable, and whatever the wire failed with."""
        answer: asyncio.Future[JSON] = asyncio.get_running_loop().create_future()
        if self._problem is not None:
            answer.set_exception(self._problem)
            answer.exception()
            return answer
        number = next(self._numbers)
        self._waiting[number] = answer
        answer.add_done_callback(lambda _: self._forget(number, answer))
        self._send({"id": number, "method": method, "params": params})
        return answer

    def notify(self, method: str, params: dict[str, JSON]) -> None:
        self._send({"method": method, "params": params})

    def answer(self, id: Id, result: JSON) -> None:
        self._send({"id": id, "result": result})

    def refuse(self, id: Id, problem: Refused) -> None:
        data = {} if problem.data is None else {"data": problem.data}
        self._send({"id": id, "error": {"code": problem.code, "message": str(problem), **data}})

    def fail(self, problem: Exception) -> None:
        """Nothing more will come of this conversation. Only the first reason counts."""
        if self._problem is None:
            self._problem = problem
        for answer in list(self._waiting.values()):
            if not answer.done():
                answer.set_exception(self._problem)

    async def listen(self, hear: Hear) -> None:
        """Hear everything until the output ends, in order: what `hear` does with a message is done before the next."""
        try:
            async for line in self._lines():
                match rpc.parse(line):
                    case Reply() as reply:
                        self._take(reply)
                    case None:
                        self._miss(line)
                    case Request() | Notification() as message:
                        await hear(message)
            self.fail(Silent())
        except LineTooLong:
            self.fail(AgentFailed("flood", f"the agent sent a line of more than {self._limits.line_bytes} bytes"))
        except Exception as problem:  # noqa: BLE001  The top of a task: whoever waits for an answer gets it.
            self.fail(problem)

    async def _lines(self) -> AsyncGenerator[bytes]:
        lines = Lines(self._limits.line_bytes)
        while data := await self._agent.output.read(CHUNK):
            self._received += len(data)
            if self._received > self._limits.received_bytes:
                raise AgentFailed("flood", f"the agent sent more than {self._limits.received_bytes / MIB:g} MiB")
            for line in lines.feed(data):
                if line.strip():
                    self._count()
                    yield line
            # Reading what is there already does not wait: others must have their turn.
            await asyncio.sleep(0)
        if rest := lines.rest():
            yield rest

    def _forget(self, number: Id, answer: asyncio.Future[JSON]) -> None:
        self._waiting.pop(number, None)
        if not answer.cancelled():
            # Looked at: nobody need wait for an answer any more.
            answer.exception()

    def _count(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._since > self._limits.burst_seconds:
            self._since, self._messages = now, 0
        self._messages += 1
        if self._messages > self._limits.burst:
            seconds = self._limits.burst_seconds
            raise AgentFailed("flood", f"the agent sent more than {self._limits.burst} messages in {seconds:g} s")

    def _take(self, reply: Reply) -> None:
        answer = self._waiting.get(reply.id)
        if answer is None or answer.done():
            self.ignored += 1
        elif reply.error is None:
            answer.set_result(reply.result)
        else:
            code, text = reply.error.get("code"), reply.error.get("message")
            answer.set_exception(
                Refused(
                    code if isinstance(code, int) else rpc.INTERNAL_ERROR,
                    text if isinstance(text, str) else "",
                    reply.error.get("data"),
                )
            )

    def _miss(self, line: bytes) -> None:
        self.ignored += 1
        answer = self._waiting.get(rpc.answered_by(line))
        if answer is not None and not answer.done():
            answer.set_exception(Unreadable())

    def _send(self, message: dict[str, JSON]) -> None:
        # Never waits: an agent that reads only after it was read would wait for us, and we for it.
        unread = self._agent.write(rpc.encoded(message))
        if unread > self._limits.unread_bytes:
            self.fail(AgentFailed("flood", f"the agent does not read: {unread / MIB:.0f} MiB of answers wait for it"))
