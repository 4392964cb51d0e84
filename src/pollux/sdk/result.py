"""What a prompt came to: the stream, drained."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any, Generic, Literal, TypeVar

from pollux.core.errors import PolluxError, ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON, Usage
from pollux.sdk import events
from pollux.sdk.events import AgentEvent, ApprovalRequired, FinishReason

T = TypeVar("T")


@frozen
class ToolUse:
    """A call of the model and what became of it."""

    id: str
    name: str
    args: dict[str, JSON]
    result: JSON = None
    error: str | None = None


@frozen
class Result(Generic[T]):
    """An answer. `text` is everything that was said, `last_text` what was said after the last tool."""

    text: str
    last_text: str
    output: T
    """The answer as the `output_type` that was asked for; None without one."""
    usage: Usage
    cost: float | None
    tool_calls: tuple[ToolUse, ...]
    reason: FinishReason
    session_id: str
    run_id: str
    approvals: tuple[ApprovalRequired, ...] = ()
    """The questions that wait for an answer, where the reason is `awaiting_confirmation`."""
    finish_reason: Literal["", "length"] = ""
    """`length` where the answer reached the output limit."""
    incomplete: bool = False
    """Whether the answer is not whole."""
    cut: bool = False
    """Whether the limit was the profile's own: the model said more, and it was not read."""

    def __str__(self) -> str:
        return self.text


class RunFailed(PolluxError):
    """A prompt that ended without an answer. `code` says why, `result` holds what there was before."""

    def __init__(self, message: str, *, code: str, result: Result[Any]) -> None:
        super().__init__(message, code=code)
        self.result = result


class Drained:
    """What has been read of a stream so far."""

    def __init__(self) -> None:
        self._model = events.ModelInfo("", "", "")
        self._said: list[str] = []
        self._turn = 0
        """Where the turn's own text begins."""
        self._calls: list[ToolUse] = []
        self._open: dict[str, int] = {}
        """Where a call stands that has no answer yet. An id may come again in a later turn."""
        self._asked: dict[str, ApprovalRequired] = {}
        self._failure: events.Failure | None = None
        self._finished = events.Finished("failed")

    def read(self, event: AgentEvent) -> None:
        match event:
            case events.ModelInfo():
                self._model = event
            case events.Content(text=text):
                self._said.append(text)
            case events.TurnRestarted():
                del self._said[self._turn :]
            case events.ToolCallRequest():
                self._open[event.id] = len(self._calls)
                self._calls.append(ToolUse(event.id, event.name, event.args))
            case events.ToolCallResponse():
                self._answer(event)
            case events.ApprovalRequired():
                self._asked[event.call_id] = event
            case events.UsageUpdate() | events.ChatCompressed() | events.Thought() | events.ToolCallStarted():
                pass
            case events.Failure():
                self._failure = event
            case events.Finished():
                self._finished = event

    def result(self, convert: Callable[[str], T]) -> Result[T]:
        """What it came to.

        Raises:
            RunFailed: it ended without an answer.
            ValidationError: the answer is not of the type that was asked for.
        """
        reason = self._finished.reason
        if reason in ("failed", "cancelled"):
            code = self._failure.code if self._failure else reason
            said = self._failure.message if self._failure else "the run was cancelled"
            raise RunFailed(said, code=code, result=self._made(None))
        try:
            return self._made(convert("".join(self._said[self._turn :]) if reason == "completed" else ""))
        except ValidationError as problem:
            if note := self._finished.note:
                raise ValidationError(f"{problem}. {note}", code=problem.code) from None
            raise

    def _answer(self, event: events.ToolCallResponse) -> None:
        at = self._open.pop(event.id, None)
        if at is not None:
            self._calls[at] = replace(self._calls[at], result=event.result, error=event.error)
        self._asked.pop(event.id, None)
        self._turn = len(self._said)

    def _made(self, output: T) -> Result[T]:
        return Result(
            text="".join(self._said),
            last_text="".join(self._said[self._turn :]),
            output=output,
            usage=self._finished.usage,
            cost=self._finished.cost,
            tool_calls=tuple(self._calls),
            reason=self._finished.reason,
            session_id=self._model.session_id,
            run_id=self._model.run_id,
            approvals=tuple(self._asked.values()),
            finish_reason=self._finished.finish_reason,
            incomplete=self._finished.incomplete,
            cut=self._finished.cut,
        )


async def drain(stream: AsyncIterator[AgentEvent], convert: Callable[[str], T]) -> Result[T]:
    """Read a stream to its end."""
    drained = Drained()
    async for event in stream:
        drained.read(event)
    return drained.result(convert)
