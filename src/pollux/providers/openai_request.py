"""What an OpenAI-compatible service is sent: messages, tools and settings in the wire form of chat completions."""

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import assert_never

from pollux.core.errors import ModelError
from pollux.core.messages import JSON, Blob, FileRef, Message, Part, Text, Thought, ToolCall, ToolResult
from pollux.core.tools import ToolSpec
from pollux.engine.model import ModelRequest
from pollux.providers.encoding import merged, sent_name, to_json

NAME = "openai"
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

_CHOICES = {"auto": "auto", "none": "none", "any": "required"}


def encode_message(message: Message) -> bytes:
    """One message, or one for each result of a tool message; empty where there is nothing to send."""
    match message.role:
        case "notice":
            return b""
        case "tool":
            return b",".join(_result(part) for part in message.parts if isinstance(part, ToolResult))
        case "user":
            content = list(_content(message.parts))
            return to_json({"role": "user", "content": content}) if content else b""
        case "assistant":
            if message.native is not None and message.native.provider == NAME:
                return message.native.body.encode()
            return _assistant(message)
        case _:
            assert_never(message.role)


def encode_tools(tools: Sequence[ToolSpec]) -> bytes:
    """The declarations, joined by commas. Schemas are passed as they are."""
    return b",".join(
        to_json(
            {
                "type": "function",
                "function": {
                    "name": sent_name(tool.name, TOOL_NAME),
                    "description": tool.description,
                    "parameters": tool.input_schema,
                },
            }
        )
        for tool in tools
    )


def encode_request(request: ModelRequest, tools: bytes, *, limit_name: str) -> bytes:
    """The whole body. `extra` is laid over everything else; a None in it takes a field away."""
    rest = merged(_settings(request, limit_name), request.extra)
    if "messages" in rest:
        raise ModelError("extra must not hold `messages`: the thread is what is said", kind="bad_request")
    more_tools: Sequence[JSON] = rest.pop("tools", ()) or ()
    declared = b",".join(filter(None, (tools, *map(to_json, more_tools))))
    system = to_json({"role": "system", "content": request.system}) if request.system else b""
    said = b",".join(filter(None, (system, request.turns.encoded(NAME, encode_message))))
    body = b'{"messages":[' + said + b"]"
    if declared:
        body += b',"tools":[' + declared + b"]"
    return body + b"," + to_json({key: value for key, value in rest.items() if value is not None})[1:]


def _settings(request: ModelRequest, limit_name: str) -> dict[str, JSON]:
    settings: dict[str, JSON] = {"model": request.model}
    if request.stream:
        settings |= {"stream": True, "stream_options": {"include_usage": True}}
    if request.tools and request.tool_mode != "auto":
        settings["tool_choice"] = _CHOICES[request.tool_mode]
    if request.max_output_tokens is not None:
        settings[limit_name] = request.max_output_tokens
    if request.temperature is not None:
        settings["temperature"] = request.temperature
    if request.output_schema is not None:
        schema = {"name": "answer", "schema": request.output_schema}
        settings["response_format"] = {"type": "json_schema", "json_schema": schema}
    if request.thinking == "off" and (effort := _least_effort(request.model)):
        settings["reasoning_effort"] = effort
    return settings


def _least_effort(model: str) -> str | None:
    """The least thinking that a family accepts; None for those that know no such setting."""
    if re.match(r"o\d", model):
        return "low"
    if found := re.match(r"gpt-5(?:\.(\d+))?", model):
        return "none" if found[1] else "minimal"
    return None


def _assistant(message: Message) -> bytes:
    calls = [_call(part) for part in message.parts if isinstance(part, ToolCall)]
    if not calls and not message.text:
        return b""
    turn: dict[str, JSON] = {"role": "assistant", "content": message.text or None}
    if calls:
        turn["tool_calls"] = calls
    return to_json(turn)


def _call(call: ToolCall) -> dict[str, JSON]:
    function = {"name": sent_name(call.name, TOOL_NAME), "arguments": to_json(call.args).decode()}
    return {"id": call.id, "type": "function", "function": function}


def _result(result: ToolResult) -> bytes:
    text = result.result if isinstance(result.result, str) else to_json(result.result).decode()
    return to_json({"role": "tool", "tool_call_id": result.call_id, "content": text})


def _content(parts: Sequence[Part]) -> Iterator[dict[str, JSON]]:
    for part in parts:
        match part:
            case Text(text=text):
                yield {"type": "text", "text": text}
            case Blob():
                yield _blob(part)
            case FileRef(mime=mime, uri=uri) if mime.startswith("image/"):
                yield {"type": "image_url", "image_url": {"url": uri}}
            case FileRef(mime=mime, uri=uri):
                yield {"type": "text", "text": f"[file {uri} ({mime})]"}
            case Thought() | ToolCall() | ToolResult():
                pass
            case _:
                assert_never(part)


def _blob(blob: Blob) -> dict[str, JSON]:
    data = b64encode(blob.data).decode("ascii")
    if blob.mime.startswith("audio/"):
        return {"type": "input_audio", "input_audio": {"data": data, "format": blob.mime.removeprefix("audio/")}}
    url = f"data:{blob.mime};base64,{data}"
    if blob.mime.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "file", "file": {"filename": blob.name or "file", "file_data": url}}
