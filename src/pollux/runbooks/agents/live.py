"""Foreign agents at work in this process, and what each of them is waiting for.

An agent's request becomes a call of the run that it works in. The tool behind that call finds the agent here again: to
give it the leave it waits for, and to hear from it how the tool call ended.
"""

import asyncio
from collections.abc import Collection, Sequence
from typing import Any

from pollux.acp.updates import ToolCall
from pollux.core.errors import ToolExecutionError
from pollux.core.messages import JSON
from pollux.core.tools import Answered, ToolContext


class Waiting:
    """One request of an agent: `leave` is given when it may go on, `over` when what it did has ended."""

    def __init__(self, writes: Sequence[dict[str, JSON]]) -> None:
        loop = asyncio.get_running_loop()
        self.writes = writes
        """Of leave for an edit, how the agent may have us write it."""
        self.leave: asyncio.Future[Any] = loop.create_future()
        self.over: asyncio.Future[JSON] = loop.create_future()

    def end(self, result: JSON) -> None:
        if not self.over.done():
            self.over.set_result(result)


class LiveAgents:
    """Those at work, by the action in which each of them is."""

    def __init__(self) -> None:
        self._requests: dict[tuple[str, str], Waiting] = {}

    async def ask(
        self,
        context: ToolContext,
        tool: str,
        request: str,
        args: dict[str, JSON],
        *,
        capabilities: Collection[str],
        writes: Sequence[dict[str, JSON]] = (),
    ) -> Any:
        """Have the request decided. What the tool behind it gives as leave, or an error that says why there is none."""
        waiting = self._requests[context.action_id, request] = Waiting(writes)
        asking = asyncio.ensure_future(context.ask(tool, {**args, "request": request}, capabilities=capabilities))
        try:
            await asyncio.wait({asking, waiting.leave}, return_when=asyncio.FIRST_COMPLETED)
            if waiting.leave.done() and not waiting.leave.cancelled():
                # The call goes on until the agent says that it has ended.
                asking.add_done_callback(_look)
                return waiting.leave.result()
            raise Refusal(await asking)
        except asyncio.CancelledError:
            asking.cancel()
            waiting.leave.cancel()
            raise

    def request(self, context: ToolContext, args: dict[str, JSON]) -> Waiting:
        """The request that this call was asked for. Raises ToolExecutionError where the agent is not there any more."""
        asker = context.action_id.rpartition("-")[0]
        waiting = self._requests.get((asker, str(args["request"])))
        if waiting is None or waiting.leave.cancelled():
            raise ToolExecutionError("the agent that asked for this does not wait for it any more")
        return waiting

    def ended(self, context: ToolContext, request: str, call: ToolCall) -> None:
        """The tool call that this request was about came to its end."""
        if waiting := self._requests.get((context.action_id, request)):
            waiting.end({"status": call.status, "title": call.title})

    def forget(self, context: ToolContext) -> None:
        """The agent has gone: what it was still at will not be told of any more."""
        for key in [key for key in self._requests if key[0] == context.action_id]:
            waiting = self._requests.pop(key)
            waiting.leave.cancel()
            waiting.end({"status": "not told", "title": "the agent ended without telling how this ended"})


class Refusal(Exception):
    """What an agent asked for, and was not given."""

    def __init__(self, answered: Answered) -> None:
        super().__init__(answered.message or "it was not allowed")
        self.is_over = answered.code in ("withdrawn", "cancelled")
        """Nobody refused it: there is nobody any more who could have allowed it."""


def _look(asking: "asyncio.Future[Answered]") -> None:
    # What came of it is in the journal. That it could not be written is told where the agent's own end is.
    if not asking.cancelled():
        asking.exception()
