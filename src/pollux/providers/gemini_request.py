"""What Gemini is sent: turns, tools and settings in the wire form of generateContent."""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import assert_never, cast

from pollux.core.errors import ModelError
from pollux.core.messages import JSON, Blob, FileRef, Message, Part, Text, Thought, ToolCall, ToolResult
from pollux.core.tools import ToolSpec
from pollux.engine.model import ModelRequest
from pollux.providers.encoding import is_minted, merged, sent_name, to_json

NAME = "gemini"
TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")

# What the service documents for calls that another model made: without it, Gemini 3 refuses them as unsigned.
_UNSIGNED = "skip_thought_signature_validator"
_MODES = {"auto": "AUTO", "none": "NONE", "any": "ANY"}


def encode_message(message: Message) -> bytes:
    """One message as a content; empty where there is nothing to send."""
    if message.role == "notice":
        return b""
    if message.native is not None and message.native.provider == NAME:
        return message.native.body.encode()
    parts: list[dict[str, JSON]] = []
    for part in message.parts:
        if (encoded := _part(part)) is not None:
            parts.append(encoded)
    if not parts:
        return b""
    if message.role == "assistant":
        _mark_unsigned(parts)
    return to_json({"role": "model" if message.role == "assistant" else "user", "parts": parts})


def encode_tools(tools: Sequence[ToolSpec]) -> bytes:
    """The declarations as one tool of the request. Schemas are passed as they are."""
    declarations = [
        {
            "name": sent_name(tool.name, TOOL_NAME),
            "description": tool.description,
            "parametersJsonSchema": tool.input_schema,
        }
        for tool in tools
    ]
    return to_json({"functionDeclarations": declarations})


def encode_request(request: ModelRequest, tools: bytes) -> bytes:
    """The whole body. `tools` is what encode_tools gave, or empty; `extra` is laid over everything else."""
    return _body(request, tools, merged(_settings(request), request.extra))


def encode_count(request: ModelRequest, tools: bytes) -> bytes:
    """The body of countTokens: instructions and tools count too, so the whole request goes in."""
    model = request.model if "/" in request.model else f"models/{request.model}"
    rest = merged({"model": model} | _settings(request), request.extra)
    return b'{"generateContentRequest":' + _body(request, tools, rest) + b"}"


def _body(request: ModelRequest, tools: bytes, rest: dict[str, JSON]) -> bytes:
    if "contents" in rest:
        raise ModelError("extra must not hold `contents`: the thread is what is said", kind="bad_request")
    more_tools = cast("Sequence[JSON]", rest.pop("tools", ()))
    declared = b",".join(filter(None, (tools, *map(to_json, more_tools))))
    body = b'{"contents":[' + request.turns.encoded(NAME, encode_message) + b"]"
    if declared:
        body += b',"tools":[' + declared + b"]"
    if rest:
        body += b"," + to_json(rest)[1:-1]
    return body + b"}"


def _settings(request: ModelRequest) -> dict[str, JSON]:
    settings: dict[str, JSON] = {}
    if request.system:
        settings["systemInstruction"] = {"parts": [{"text": request.system}]}
    if generation := _generation(request):
        settings["generationConfig"] = generation
    if request.tools and request.tool_mode != "auto":
        settings["toolConfig"] = {"functionCallingConfig": {"mode": _MODES[request.tool_mode]}}
    return settings


def _generation(request: ModelRequest) -> dict[str, JSON]:
    generation: dict[str, JSON] = {}
    if request.max_output_tokens is not None:
        generation["maxOutputTokens"] = request.max_output_tokens
    if request.temperature is not None:
        generation["temperature"] = request.temperature
    if request.output_schema is not None:
        generation["responseMimeType"] = "application/json"
        generation["responseJsonSchema"] = request.output_schema
    if thinking := _thinking(request):
        generation["thinkingConfig"] = thinking
    return generation


def _thinking(request: ModelRequest) -> Mapping[str, JSON] | None:
    if request.thinking == "default" or (family := _family(request.model)) is None:
        return None
    if request.thinking == "shown":
        return {"includeThoughts": True}
    is_pro = "pro" in request.model
    if family >= (3, 0):
        # Gemini 3 always thinks; this is the least that each kind accepts.
        return {"thinkingLevel": "LOW" if is_pro else "MINIMAL"}
    return {"thinkingBudget": 128 if is_pro else 0}


def _family(model: str) -> tuple[int, int] | None:
    """The generation of a thinking model; None for those that refuse any setting of thinking."""
    if match := re.search(r"gemini-(\d+)(?:\.(\d+))?", model):
        family = int(match[1]), int(match[2] or 0)
        return family if family >= (2, 5) else None
    # Names without a number are aliases of the newest.
    return (3, 0) if model.startswith("gemini-") else None


def _part(part: Part) -> dict[str, JSON] | None:
    match part:
        case Text(text=text):
            return {"text": text}
        case Thought():
            return None
        case Blob(mime=mime, data=data):
            return {"inlineData": {"mimeType": mime, "data": b64encode(data).decode("ascii")}}
        case FileRef(mime=mime, uri=uri):
            return {"fileData": {"mimeType": mime, "fileUri": uri}}
        case ToolCall():
            return {"functionCall": _named(part.id, part.name) | {"args": part.args}}
        case ToolResult():
            result = part.result
            response = cast("JSON", result) if isinstance(result, Mapping) else {"result": result}
            return {"functionResponse": _named(part.call_id, part.name) | {"response": response}}
        case _:
            assert_never(part)


def _named(call_id: str, name: str) -> dict[str, JSON]:
    named: dict[str, JSON] = {"name": sent_name(name, TOOL_NAME)}
    return named if is_minted(call_id) else {"id": call_id} | named


def _mark_unsigned(parts: list[dict[str, JSON]]) -> None:
    # The first call of a turn stands for all of them.
    for part in parts:
        if "functionCall" in part:
            part["thoughtSignature"] = _UNSIGNED
            return
