"""What Anthropic is sent: turns, tools and settings in the wire form of the Messages API."""

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Final, assert_never

from pollux.core.errors import ModelError
from pollux.core.messages import JSON, Blob, FileRef, Message, Part, Text, Thought, ToolCall, ToolResult
from pollux.core.tools import ToolSpec
from pollux.engine.model import ModelRequest
from pollux.providers.anthropic_models import UNKNOWN_MAX_TOKENS, Claude, claude
from pollux.providers.anthropic_schema import fitted
from pollux.providers.encoding import merged, sent_name, to_json

NAME = "anthropic"
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
CALL_ID = re.compile(r"[A-Za-z0-9_-]+")

_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_THOUGHT: Final = re.compile(r'"type":\s*"(?:redacted_)?thinking"')
_COUNTED: Final = frozenset({"model", "system", "tool_choice", "thinking", "output_config", "cache_control"})


def encode_message(message: Message) -> bytes:
    """One message; empty where there is nothing to send."""
    match message.role:
        case "notice":
            return b""
        case "tool":
            return _turn("user", [_result(part) for part in message.parts if isinstance(part, ToolResult)])
        case "user":
            return _turn("user", list(_content(message.parts)))
        case "assistant":
            if message.native is not None and message.native.provider == NAME:
                return message.native.body.encode()
            return _turn("assistant", list(_said(message.parts)))
        case _:
            assert_never(message.role)


def encode_tools(tools: Sequence[ToolSpec]) -> bytes:
    """The declarations, joined by commas. Schemas are passed as they are."""
    return b",".join(
        to_json(
            {
                "name": sent_name(tool.name, TOOL_NAME),
                "description": tool.description,
                "input_schema": tool.input_schema,
            }
        )
        for tool in tools
    )


def encode_request(request: ModelRequest, tools: bytes) -> bytes:
    """The whole body. `extra` is laid over everything else; a None in it takes a field away."""
    return _body(request, tools, merged(_settings(request), request.extra))


def encode_count(request: ModelRequest, tools: bytes) -> bytes:
    """The body for counting tokens, which knows fewer settings."""
    rest = merged(_settings(request), request.extra)
    return _body(request, tools, {key: value for key, value in rest.items() if key in _COUNTED | {"tools"}})


def _body(request: ModelRequest, tools: bytes, rest: dict[str, JSON]) -> bytes:
    if "messages" in rest:
        raise ModelError("extra must not hold `messages`: the thread is what is said", kind="bad_request")
    more_tools: Sequence[JSON] = rest.pop("tools", ()) or ()
    declared = b",".join(filter(None, (tools, *map(to_json, more_tools))))
    body = b'{"messages":[' + request.turns.encoded(NAME, encode_message) + b"]"
    if declared:
        body += b',"tools":[' + declared + b"]"
    return body + b"," + to_json({key: value for key, value in rest.items() if value is not None})[1:]


def _settings(request: ModelRequest) -> dict[str, JSON]:
    model = claude(request.model)
    longest = model.max_tokens if model else UNKNOWN_MAX_TOKENS
    # A budget for a whole run may be more than any answer can be, and the service refuses what is too much.
    max_tokens = min(request.max_output_tokens or longest, longest)
    settings: dict[str, JSON] = {"model": request.model, "max_tokens": max_tokens}
    if request.stream:
        settings["stream"] = True
    if request.system:
        settings["system"] = request.system
    if request.tools and request.tool_mode != "auto":
        settings["tool_choice"] = {"type": request.tool_mode}
    if request.temperature is not None:
        settings["temperature"] = request.temperature
    if request.output_schema is not None:
        settings["output_config"] = {"format": {"type": "json_schema", "schema": fitted(request.output_schema)}}
    if model is not None and "thinking" not in request.extra:
        settings = merged(settings, _thinking(request, model, max_tokens))
    return settings


def _thinking(request: ModelRequest, model: Claude, max_tokens: int) -> dict[str, JSON]:
    effort = None
    match request.thinking:
        case "off":
            thinking, effort = model.off()
        case _ if request.tools and request.tool_mode == "any":
            # Thinking and a call that must be made exclude each other.
            thinking, effort = model.off() if model.binds_thoughts else (None, None)
        case "default":
            thinking = model.default()
        case "shown" if not model.is_adaptive and _is_unthought(request.turns):
            thinking = None
        case "shown":
            thinking = model.shown(max_tokens)
        case _:
            assert_never(request.thinking)
    settings: dict[str, JSON] = {"thinking": thinking} if thinking else {}
    return settings | ({"output_config": {"effort": effort}} if effort else {})


def _is_unthought(turns: Sequence[Message]) -> bool:
    """Whether results are due to calls that were made without a thought, or by another model.

    Where thinking has a number of tokens, it cannot begin between a call and its result.
    """
    if not turns or turns[-1].role != "tool":
        return False
    asked = next((message for message in reversed(turns) if message.role == "assistant"), None)
    native = asked.native if asked else None
    return native is None or native.provider != NAME or not _THOUGHT.search(native.body)


def _turn(role: str, content: Sequence[JSON]) -> bytes:
    return to_json({"role": role, "content": content}) if content else b""


def _said(parts: Sequence[Part]) -> Iterator[dict[str, JSON]]:
    for part in parts:
        if isinstance(part, Text) and part.text.strip():
            yield {"type": "text", "text": part.text}
        elif isinstance(part, ToolCall):
            name = sent_name(part.name, TOOL_NAME)
            yield {"type": "tool_use", "id": sent_name(part.id, CALL_ID), "name": name, "input": part.args}


def _result(result: ToolResult) -> dict[str, JSON]:
    text = result.result if isinstance(result.result, str) else to_json(result.result).decode()
    block = {"type": "tool_result", "tool_use_id": sent_name(result.call_id, CALL_ID), "content": text}
    return block | ({"is_error": True} if result.is_error else {})


def _content(parts: Sequence[Part]) -> Iterator[dict[str, JSON]]:
    for part in parts:
        match part:
            case Text(text=text):
                # The service refuses texts without a word in them.
                if text.strip():
                    yield {"type": "text", "text": text}
            case Blob():
                yield _blob(part)
            case FileRef(mime=mime, uri=uri):
                yield _file(mime, uri)
            case Thought() | ToolCall() | ToolResult():
                pass
            case _:
                assert_never(part)


def _blob(blob: Blob) -> dict[str, JSON]:
    titled: dict[str, JSON] = {"title": blob.name} if blob.name else {}
    if blob.mime in _IMAGES or blob.mime == "application/pdf":
        data = b64encode(blob.data).decode("ascii")
        source = {"type": "base64", "media_type": blob.mime, "data": data}
        if blob.mime in _IMAGES:
            return {"type": "image", "source": source}
        return {"type": "document", "source": source} | titled
    text = _text_of(blob)
    if text is None or not text.strip():
        return {"type": "text", "text": f"[file {blob.name or 'without a name'} ({blob.mime})]"}
    return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}} | titled


def _text_of(blob: Blob) -> str | None:
    if blob.mime.startswith(("audio/", "video/", "image/")):
        return None
    try:
        return blob.data.decode()
    except UnicodeDecodeError:
        return None


def _file(mime: str, uri: str) -> dict[str, JSON]:
    source = {"type": "url", "url": uri}
    if mime.startswith("image/"):
        return {"type": "image", "source": source}
    if mime == "application/pdf":
        return {"type": "document", "source": source}
    return {"type": "text", "text": f"[file {uri} ({mime})]"}
