"""Read the bytes of a Gemini request into an Ask, or refuse them the way the real service does."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import msgspec

from pollux.emulator import tokens
from pollux.emulator.gemini import fields, history, rules
from pollux.emulator.gemini.errors import Refusal
from pollux.emulator.jsons import compact, too_deep
from pollux.emulator.model import Ask, Attachment, Call, Mode, Result, Tool
from pollux.emulator.schemas import from_openapi, with_plain_types
from pollux.emulator.seal import digest, from_base64

_MODES: dict[str, Mode] = {"ANY": "any", "NONE": "none"}
_IMAGE_TOKENS = 258
_SEARCHES = frozenset({"googleSearch", "googleSearchRetrieval"})
_TAGGED = re.compile(r"\s*<([A-Za-z][\w-]*)>.*</\1>\s*", re.DOTALL)


@dataclass(frozen=True)
class Target:
    """What the path of a request names."""

    version: str
    model: str
    method: str
    resource: str | None = None

    @property
    def vertex(self) -> bool:
        """Was it Vertex's long path?"""
        return self.resource is not None


def decode(raw: bytes) -> Any:
    """The body as JSON. Raises Refusal for anything else."""
    try:
        value: Any = msgspec.json.decode(raw if raw.strip() else b"{}")
    except (ValueError, RecursionError) as error:
        shown = raw[:40].decode("utf-8", "replace")
        raise Refusal(400, f"Invalid JSON payload received. Unexpected token.\n{shown}\n^") from error
    if too_deep(value):
        raise Refusal(400, "Invalid JSON payload received. Message too deep. Max recursion depth reached.")
    return value


def read_ask(raw: bytes, target: Target) -> Ask:
    """What is asked of the model. Raises Refusal."""
    request = fields.read("GenerateContentRequest", decode(raw))
    rules.check(request)
    contents: list[dict[str, Any]] = request["contents"]
    history.check(contents, model=target.model, vertex=target.vertex)
    turns = history.merge_model_turns(contents)
    at = history.prompt_position(turns)
    config: dict[str, Any] = request.get("generationConfig", {})
    calling: dict[str, Any] = request.get("toolConfig", {}).get("functionCallingConfig", {})
    text_tokens, media_tokens = weigh(request)
    return Ask(
        model=target.model,
        prompt=_asked(turns[at]) or _text(request.get("systemInstruction", {})),
        system=_text(request.get("systemInstruction", {})),
        earlier=tuple(text for turn in turns[:at] if turn.get("role") != "model" and (text := _text(turn))),
        tools=_tools(request.get("tools", [])),
        rounds=_rounds(turns[at:]),
        made=_made(turns[at:]),
        mode=_MODES.get(calling.get("mode", "AUTO"), "auto"),
        allowed=frozenset(calling.get("allowedFunctionNames", [])),
        schema=_output_schema(config),
        json_only=config.get("responseMimeType") == "application/json",
        attachments=_attachments(turns[at]),
        thoughts=_thoughts(config.get("thinkingConfig", {})),
        max_tokens=config.get("maxOutputTokens"),
        stops=tuple(config.get("stopSequences", [])),
        text_tokens=text_tokens,
        media_tokens=media_tokens,
        can_search=any(not _SEARCHES.isdisjoint(tool) for tool in request.get("tools", [])),
        tells_search=bool(request.get("toolConfig", {}).get("includeServerSideToolInvocations")),
        digest=digest("gemini", target.model, raw),
    )


def read_count(raw: bytes) -> tuple[int, int]:
    """What countTokens is asked to weigh: tokens of text, tokens of media. Raises Refusal."""
    request = fields.read("CountTokensRequest", decode(raw))
    inner: dict[str, Any] = request.get("generateContentRequest", request)
    rules.check(inner)
    return weigh(inner)


def weigh(request: dict[str, Any]) -> tuple[int, int]:
    """Tokens of text and tokens of media in a request."""
    text = media = 0
    for content in [request.get("systemInstruction", {}), *request.get("contents", [])]:
        for part in content.get("parts", []):
            if "inlineData" in part or "fileData" in part:
                media += _IMAGE_TOKENS
            else:
                text += tokens.count(part.get("text", "") or compact({k: v for k, v in part.items() if k in _WEIGHED}))
    for tool in request.get("tools", []):
        text += tokens.count(compact(tool))
    return text, media


_WEIGHED = ("functionCall", "functionResponse")


def _text(content: dict[str, Any]) -> str:
    parts: list[dict[str, Any]] = content.get("parts", [])
    return "\n".join(part["text"] for part in parts if "text" in part and not part.get("thought"))


def _asked(turn: dict[str, Any]) -> str:
    """The words of a person. A part that is one tagged block (`<session_context>…`) is material beside them."""
    parts: list[dict[str, Any]] = turn.get("parts", [])
    spoken = [part for part in parts if not _TAGGED.fullmatch(part.get("text", ""))]
    text = _text({"parts": spoken})
    text = text if text.strip() else _text(turn)
    return text if text.strip() else ""


def _tools(declared: list[dict[str, Any]]) -> tuple[Tool, ...]:
    return tuple(
        Tool(
            name=one["name"],
            description=one.get("description", ""),
            schema=one.get("parametersJsonSchema") or from_openapi(one.get("parameters", {})),
        )
        for tool in declared
        for one in tool.get("functionDeclarations", [])
    )


def _rounds(turns: list[dict[str, Any]]) -> tuple[tuple[Result, ...], ...]:
    found = (history.responses(turn) for turn in turns if turn.get("role") != "model")
    return tuple(tuple(Result(one["name"], one.get("response", {})) for one in turn) for turn in found if turn)


def _made(turns: list[dict[str, Any]]) -> tuple[tuple[Call, ...], ...]:
    """The calls of each round, in the order of their results."""
    pairs = [(history.calls(asked), history.responses(answered)) for asked, answered in pairwise(turns)]
    return tuple(tuple(_answered(calls, results)) for calls, results in pairs if results)


def _answered(calls: list[dict[str, Any]], results: list[dict[str, Any]]) -> Iterator[Call]:
    left = list(calls)
    for result in results:
        # By its id where it has one; history has checked that the names agree.
        same = [call for call in left if call["name"] == result["name"]]
        call = next((one for one in same if one.get("id") and one.get("id") == result.get("id")), same[0])
        left.remove(call)
        yield Call(call["name"], call.get("args", {}), call.get("id"))


def _output_schema(config: dict[str, Any]) -> dict[str, Any] | None:
    if "responseJsonSchema" in config:
        return with_plain_types(config["responseJsonSchema"])
    return from_openapi(config["responseSchema"]) if "responseSchema" in config else None


def _attachments(turn: dict[str, Any]) -> tuple[Attachment, ...]:
    found: list[Attachment] = []
    for part in turn.get("parts", []):
        if "inlineData" in part:
            found.append(Attachment(part["inlineData"]["mimeType"], _size(part["inlineData"].get("data", ""))))
        elif "fileData" in part:
            found.append(Attachment(part["fileData"].get("mimeType", "application/octet-stream"), 0))
    return tuple(found)


def _size(data: str) -> int:
    try:
        return len(from_base64(data))
    except ValueError as error:
        raise Refusal(400, "Invalid value at 'inline_data.data' (TYPE_BYTES), Base64 decoding failed.") from error


def _thoughts(config: dict[str, Any]) -> Literal["off", "hidden", "shown"]:
    if config.get("includeThoughts"):
        return "shown"
    return "off" if config.get("thinkingBudget") == 0 else "hidden"
