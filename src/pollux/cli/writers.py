"""A run as lines: one writer for each format. Every line is checked against its schema before it leaves.

A call is told when it begins, so that a time-out shows which one was running, and its result when that is there. What
did not begin, such as a call that was rejected, is told with its result. A run that fails tells a result of every call
that had begun: each call has one.
"""

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import chain, count
from typing import Any, Literal, Protocol

from pollux.cli.masking import Mask
from pollux.cli.outlet import Outlet
from pollux.core.errors import PolluxError
from pollux.core.messages import Usage
from pollux.sdk import events
from pollux.sdk.events import AgentEvent
from pollux.wire.breaks import json_line

Format = Literal["text", "json", "stream-json", "gemini-stream-json"]
UNNAMED = "unnamed"
FORMATS: tuple[Format, ...] = ("text", "json", "stream-json", "gemini-stream-json")


class StreamShapeViolation(PolluxError):
    """A line that does not keep the contract. It does not leave."""

    code = "stream_shape_violation"


class Writer(Protocol):
    """Tells a run in one format."""

    def begin(self, prompt: str) -> None: ...

    def read(self, event: AgentEvent) -> None: ...

    def fail(self, code: str, message: str, run_id: str = "") -> None:
        """The last word about a run that has no result."""
        ...


class Lines:
    """Lines on standard output: masked, checked, whole."""

    def __init__(self, outlet: Outlet, mask: Mask, schema: Mapping[str, Any]) -> None:
        self._outlet = outlet
        self._mask = mask
        self._schema = schema
        self._validator: Any = None

    def write(self, line: dict[str, Any]) -> None:
        """Raises StreamShapeViolation, Closed or OSError."""
        line = self._mask.value(line)
        if self._validator is None:
            import jsonschema_rs

            self._validator = jsonschema_rs.validator_for(dict(self._schema))
        if not self._validator.is_valid(line):
            raise StreamShapeViolation(f"a line of type {str(line.get('type'))[:40]!r} does not keep the contract")
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        self._outlet.write(json_line(text.encode("utf-8", "replace")))


class Told:
    """What a run has told so far."""

    def __init__(self) -> None:
        self.model = ""
        self.session_id = ""
        self.run_id = ""
        self.text: list[str] = []
        self.calls: dict[str, events.ToolCallRequest] = {}
        self.asked: dict[str, events.ApprovalRequired] = {}
        self.used: list[dict[str, Any]] = []
        self.running: dict[str, dict[str, Any]] = {}
        """The calls that have begun and have no result yet, by the model's own ids."""

    def read(self, event: AgentEvent) -> None:
        match event:
            case events.ModelInfo():
                self.model, self.session_id, self.run_id = event.model, event.session_id, event.run_id
            case events.Content():
                self.text.append(event.text)
            case events.ToolCallRequest():
                self.calls[event.id] = event
            case events.ToolCallStarted():
                self.running[event.id] = self._call(event)
            case events.ToolCallResponse():
                self.asked.pop(event.id, None)
                call = self.running.pop(event.id, None) or self._call(event)
                self.calls.pop(event.id, None)
                self.used.append({**call, "result": result_of(event)})
            case events.ApprovalRequired():
                self.asked[event.call_id] = event
            case _:
                pass

    def _call(self, event: events.ToolCallStarted | events.ToolCallResponse) -> dict[str, Any]:
        asked = self.calls.get(event.id)
        # A model may call what has no name. It is told what is wrong with that; here it is called something.
        return {"id": self._own(event.id), "name": event.name or UNNAMED, "args": asked.args if asked else {}}

    def _own(self, call_id: str) -> str:
        """An id that no call before it had: some services begin anew with every turn, and readers pair by ids."""
        taken = {used["id"] for used in (*self.used, *self.running.values())}
        ids = chain((call_id,), (f"{call_id}-{number}" for number in count(2)))
        return next(id_ for id_ in ids if id_ not in taken)

    def result(self, event: events.Finished) -> dict[str, Any]:
        """The line that ends a run which was answered, or waits for people."""
        line: dict[str, Any] = {
            "type": "result",
            "result": "".join(self.text),
            "status": event.reason,
            "runId": self.run_id,
            "sessionId": self.session_id,
            "usage": usage_of(event.usage, event.cost),
        }
        marks = {"finishReason": event.finish_reason, "incomplete": event.incomplete, "cut": event.cut}
        line |= {name: mark for name, mark in marks.items() if mark}
        if event.reason == "awaiting_confirmation":
            line["approvals"] = [approval_of(asked) for asked in self.asked.values()]
        return line


class StreamJson:
    """Our own dialect: assistant, tool_code, tool_result, and one result or error."""

    def __init__(self, lines: Lines, mask: Mask) -> None:
        self._lines = lines
        self._mask = mask
        self._told = Told()
        self._said: list[str] = []
        self._begun: set[str] = set()

    def begin(self, prompt: str) -> None:
        pass

    def read(self, event: AgentEvent) -> None:
        self._told.read(event)
        match event:
            case events.Content():
                self._say(self._mask.piece(event.text))
            case events.ToolCallStarted():
                self._say(self._mask.rest())
                self._begin(self._told.running[event.id])
            case events.ToolCallResponse():
                self._say(self._mask.rest())
                self._end(self._told.used[-1])
            case events.Finished(reason="completed" | "awaiting_confirmation"):
                self._say(self._mask.rest())
                # As it was said, and not masked once more as a whole: readers compare the two.
                self._lines.write({**self._told.result(event), "result": "".join(self._said)})
            case _:
                pass

    def fail(self, code: str, message: str, run_id: str = "") -> None:
        self._say(self._mask.rest())
        for call in self._told.running.values():
            self._end({**call, "result": {"error": f"no result is known: {message or code}"}})
        self._told.running.clear()
        self._lines.write(error_line(code, message, run_id or self._told.run_id))

    def _begin(self, call: dict[str, Any]) -> None:
        if call["id"] not in self._begun:
            self._begun.add(call["id"])
            self._lines.write({"type": "tool_code", "id": call["id"], "name": call["name"], "args": call["args"]})

    def _end(self, used: dict[str, Any]) -> None:
        self._begin(used)
        self._lines.write({"type": "tool_result", "id": used["id"], "name": used["name"], "result": used["result"]})

    def _say(self, text: str) -> None:
        if text:
            self._said.append(text)
            self._lines.write({"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}})


class OneJson:
    """One object at the end."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._told = Told()

    def begin(self, prompt: str) -> None:
        pass

    def read(self, event: AgentEvent) -> None:
        self._told.read(event)
        if isinstance(event, events.Finished) and event.reason in ("completed", "awaiting_confirmation"):
            self._lines.write({**self._told.result(event), "toolCalls": self._told.used})

    def fail(self, code: str, message: str, run_id: str = "") -> None:
        self._lines.write(error_line(code, message, run_id or self._told.run_id))


class PlainText:
    """The text alone, byte for byte. An error that came before any of it is JSON; after it, it is none of stdout's."""

    def __init__(self, outlet: Outlet, lines: Lines, mask: Mask) -> None:
        self._outlet = outlet
        self._lines = lines
        self._mask = mask
        self._told = Told()
        self._said = False

    def begin(self, prompt: str) -> None:
        pass

    def read(self, event: AgentEvent) -> None:
        self._told.read(event)
        if isinstance(event, events.Content):
            self._say(self._mask.piece(event.text))
        elif isinstance(event, events.Finished):
            self._say(self._mask.rest())
            if self._outlet.is_terminal and self._said:
                self._outlet.write(b"\n")

    def fail(self, code: str, message: str, run_id: str = "") -> None:
        self._say(self._mask.rest())
        if not self._said:
            self._lines.write(error_line(code, message, run_id or self._told.run_id))

    def _say(self, text: str) -> None:
        if text:
            self._said = True
            self._outlet.write(text.encode("utf-8", "replace"))


class GeminiJson:
    """Gemini CLI's own dialect."""

    def __init__(self, lines: Lines, mask: Mask) -> None:
        self._lines = lines
        self._mask = mask
        self._told = Told()
        self._prompt = ""
        self._usage = Usage()
        self._began = time.monotonic()

    def begin(self, prompt: str) -> None:
        self._prompt = prompt

    def read(self, event: AgentEvent) -> None:
        self._told.read(event)
        match event:
            case events.ModelInfo():
                self._write("init", session_id=event.session_id, model=event.model)
                self._write("message", role="user", content=self._prompt)
            case events.Content():
                self._say(self._mask.piece(event.text))
            case events.ToolCallResponse():
                self._say(self._mask.rest())
                self._write_call(self._told.used[-1], event)
            case events.UsageUpdate():
                self._usage = event.total
            case events.Finished(reason="completed"):
                self._say(self._mask.rest())
                self._write("result", status="success", stats=self._stats())
            case events.Finished(reason="awaiting_confirmation"):
                self._say(self._mask.rest())
                self._ask()
            case _:
                pass

    def fail(self, code: str, message: str, run_id: str = "") -> None:
        if not self._told.run_id:
            self._lines.write(error_line(code, message, run_id))
            return
        self._say(self._mask.rest())
        self._write("result", status="error", error={"type": code, "message": message}, stats=self._stats())

    def _say(self, text: str) -> None:
        if text:
            self._write("message", role="assistant", content=text, delta=True)

    def _write_call(self, used: dict[str, Any], event: events.ToolCallResponse) -> None:
        self._write("tool_use", tool_name=used["name"], tool_id=used["id"], parameters=used["args"])
        if event.error is None:
            self._write("tool_result", tool_id=used["id"], status="success", output=_output(event.result))
        else:
            error = {"type": event.code or "error", "message": event.error}
            self._write("tool_result", tool_id=used["id"], status="error", output=event.error, error=error)

    def _ask(self) -> None:
        # Its own dialect has no word for a run that waits for people.
        ids = ", ".join(asked.id for asked in self._told.asked.values())
        message = f"waiting for approval: {ids}. `pollux approvals approve ID` goes on"
        self._write("error", severity="warning", message=message)
        error = {"type": "awaiting_confirmation", "message": message}
        self._write("result", status="error", error=error, stats=self._stats())

    def _write(self, type_: str, **members: Any) -> None:
        stamp = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._lines.write({"type": type_, "timestamp": stamp, **members})

    def _stats(self) -> dict[str, Any]:
        usage = self._usage
        counted = {
            "total_tokens": usage.total,
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "cached": usage.cached,
            "input": max(0, usage.input - usage.cached),
        }
        spent = int((time.monotonic() - self._began) * 1000)
        models = {self._told.model: counted} if self._told.model else {}
        return {**counted, "duration_ms": spent, "tool_calls": len(self._told.used), "models": models}


def writer_for(format_: Format, outlet: Outlet, mask: Mask) -> Writer:
    """The writer of a format."""
    from pollux.wire.lines import LINES

    lines = Lines(outlet, mask, LINES[format_])
    match format_:
        case "text":
            return PlainText(outlet, lines, mask)
        case "json":
            return OneJson(lines)
        case "stream-json":
            return StreamJson(lines, mask)
        case "gemini-stream-json":
            return GeminiJson(lines, mask)


def error_line(code: str, message: str, run_id: str = "") -> dict[str, Any]:
    """What went wrong, as the last line."""
    return {"type": "error", "error": message or code, "code": code, **({"runId": run_id} if run_id else {})}


def result_of(event: events.ToolCallResponse) -> Any:
    """A call's result; a failure is an object with `error`."""
    return event.result if event.error is None else {"error": event.error}


def usage_of(usage: Usage, cost: float | None) -> dict[str, Any]:
    """Tokens, and their price where it is known."""
    counted: dict[str, Any] = {
        "input": usage.input,
        "output": usage.output,
        "total": usage.total,
        "thoughts": usage.thoughts,
        "cached": usage.cached,
    }
    return counted if cost is None else {**counted, "cost": cost}


def approval_of(asked: events.ApprovalRequired) -> dict[str, Any]:
    """A question that waits, as others may answer it."""
    return {
        "id": asked.id,
        "tool": asked.tool,
        "args": asked.args,
        "argsHash": asked.args_hash,
        "reason": asked.reason,
        "preview": asked.preview,
        "expiresAt": asked.expires_at,
    }


def _output(result: Any) -> str:
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
