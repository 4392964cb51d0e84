"""A session as Gemini CLI writes its own: JSON lines, each call beside its result.

What that form has no place for is left out: signatures, pins, and which tool result was the answer to nothing.
"""

import hashlib
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from pollux.cli.sessions.as_json import SessionCopy
from pollux.core.messages import Blob, FileRef, Message, Part, Text, Thought, ToolCall, ToolResult
from pollux.sdk.gemini_cli.parts import as_response

Line = dict[str, Any]


def gemini_lines(copy: SessionCopy) -> Iterator[Line]:
    """The records of the file, in order."""
    yield {
        "sessionId": copy.session_id,
        "projectHash": hashlib.sha256(copy.project.encode()).hexdigest(),
        "startTime": copy.start_time,
        "lastUpdated": copy.last_updated,
        "kind": "main",
        **({"summary": copy.title} if copy.title else {}),
    }
    for at, message in enumerate(copy.messages):
        if message.role == "tool":
            continue
        # Nobody wrote down when each of them was said.
        said = {"id": f"{copy.session_id}-{at + 1}", "timestamp": copy.last_updated}
        if message.role == "assistant":
            yield {**said, "type": "gemini", **_reply(message, _results(copy.messages, at), copy.last_updated)}
        elif message.role == "notice":
            yield {**said, "type": "info", "content": message.text}
        else:
            yield {**said, "type": "user", "content": _content(message)}


def _reply(message: Message, results: dict[str, ToolResult], stamp: str) -> Line:
    content = _content(message)
    is_plain = all("text" in part for part in content)
    reply: Line = {
        "content": message.text if is_plain else content,
        "thoughts": [
            {"subject": "", "description": part.text, "timestamp": stamp}
            for part in message.parts
            if isinstance(part, Thought)
        ],
    }
    calls = [_call(call, results.get(call.id), stamp) for call in message.calls]
    return {**reply, "toolCalls": calls} if calls else reply


def _results(messages: tuple[Message, ...], at: int) -> dict[str, ToolResult]:
    """The results that follow a reply, by call. An id may come again in a later turn."""
    found: dict[str, ToolResult] = {}
    for message in messages[at + 1 :]:
        if message.role == "assistant":
            break
        for part in message.parts:
            if isinstance(part, ToolResult):
                found.setdefault(part.call_id, part)
    return found


def _call(call: ToolCall, result: ToolResult | None, stamp: str) -> Line:
    entry: Line = {"id": call.id, "name": call.name, "args": call.args, "timestamp": stamp}
    if result is None:
        return {**entry, "status": "cancelled"}
    response = {"id": call.id, "name": call.name, "response": as_response(result.result)}
    status = "error" if result.is_error else "success"
    return {**entry, "result": [{"functionResponse": response}], "status": status}


def _content(message: Message) -> list[Line]:
    return [written for part in message.parts if (written := _part(part)) is not None]


def _part(part: Part) -> Line | None:
    match part:
        case Text(text=text):
            return {"text": text}
        case Blob(mime=mime, data=data):
            return {"inlineData": {"mimeType": mime, "data": b64encode(data).decode()}}
        case FileRef(mime=mime, uri=uri):
            return {"fileData": {"mimeType": mime, "fileUri": uri}}
        case _:
            return None
