"""From Gemini's contents to our messages, with Gemini's own form kept beside them wherever ours says less.

Signatures, calls without an id and files inside a result have no place in neutral parts: such a turn goes back to
Gemini as it was, and to any other provider in neutral form.
"""

import json
from base64 import b64decode, b64encode
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import Final, cast

from pollux.core.messages import JSON, Blob, FileRef, Message, Native, Role, Text, ToolCall, ToolResult
from pollux.core.messages import Part as Neutral
from pollux.sdk.gemini_cli.parts import Part, parts_of

_PROVIDER: Final = "gemini"


def history_to_messages(history: Iterable[Mapping[str, JSON]]) -> tuple[Message, ...]:
    """The messages of a conversation given as Gemini's contents. Junk in a content is left out."""
    messages: list[Message] = []
    ids = _CallIds()
    for content in history:
        parts = list(parts_of(content.get("parts", [])))
        if content.get("role") == "model":
            said = [part for part in parts if "functionResponse" not in part]
            messages += _message("assistant", said, ids)
        else:
            messages += _message("tool", [part for part in parts if "functionResponse" in part], ids)
            messages += _message("user", [part for part in parts if _is_said(part)], ids)
    return tuple(messages)


class _CallIds:
    """Names calls that came without an id, and finds the name again when a response without an id comes."""

    def __init__(self) -> None:
        self._made = 0
        self._open: defaultdict[str, deque[str]] = defaultdict(deque)

    def of_call(self, call: Part) -> tuple[str, bool]:
        if "id" in call:
            return call["id"], False
        self._made += 1
        call_id = f"call_recorded_{self._made}"
        self._open[call["name"]].append(call_id)
        return call_id, True

    def of_response(self, response: Part) -> str:
        if "id" in response:
            return response["id"]
        waiting = self._open[response["name"]]
        return waiting.popleft() if waiting else ""


def _message(role: Role, parts: list[Part], ids: _CallIds) -> list[Message]:
    if not parts:
        return []
    body = json.dumps({"role": "model" if role == "assistant" else "user", "parts": parts}, separators=(",", ":"))
    native = None if all(_says_it_all(part) for part in parts) else Native(_PROVIDER, body)
    return [Message(role, tuple(_neutral(part, ids) for part in parts), native=native)]


def _neutral(part: Part, ids: _CallIds) -> Neutral:
    match part:
        case {"functionCall": dict()}:
            call = cast("Part", part["functionCall"])
            call_id, minted = ids.of_call(call)
            return ToolCall(call_id, call["name"], call["args"], minted)
        case {"functionResponse": dict()}:
            response = cast("Part", part["functionResponse"])
            result = cast("Part", response["response"])
            return ToolResult(ids.of_response(response), response["name"], result, is_error="error" in result)
        case {"inlineData": {"mimeType": str(mime), "data": str(data)}}:
            return Blob(mime, b64decode(data))
        case {"fileData": {"fileUri": str(uri)}}:
            return FileRef(cast("Part", part["fileData"]).get("mimeType", "application/octet-stream"), uri)
        case _:
            return Text(part.get("text", ""))


def _says_it_all(part: Part) -> bool:
    """Whether the neutral part brings Gemini the same again."""
    match part:
        case {"thoughtSignature": _}:
            return False
        case {"functionCall": dict()}:
            return "id" in part["functionCall"]
        case {"functionResponse": dict()}:
            return "id" in part["functionResponse"] and "parts" not in part["functionResponse"]
        case {"inlineData": {"data": str(data)}}:
            return b64encode(b64decode(data)).decode() == data
        case {"fileData": dict()}:
            return "mimeType" in part["fileData"]
        case _:
            return True


def _is_said(part: Part) -> bool:
    return "functionResponse" not in part and "functionCall" not in part
