"""Read the bytes of a request for a message into an Ask, or refuse them in Anthropic's words."""

import json
import re
from dataclasses import dataclass
from typing import Any

import msgspec

from pollux.emulator import tokens
from pollux.emulator.anthropic import history, settings
from pollux.emulator.anthropic.catalogue import MODELS
from pollux.emulator.anthropic.errors import bad_request, unknown_model
from pollux.emulator.anthropic.history import Turn
from pollux.emulator.gemini.catalogue import base_name
from pollux.emulator.jsons import compact, is_list, is_object, objects, strings, too_deep
from pollux.emulator.model import Ask, Attachment, Mode, Result, Tool
from pollux.emulator.schemas import problem
from pollux.emulator.seal import digest

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_VERSIONS = ("2023-01-01", "2023-06-01", settings.NEW_VERSION)
_MODES: dict[str, Mode] = {"auto": "auto", "any": "any", "tool": "any", "none": "none"}


@dataclass(frozen=True)
class Talk:
    """A request, read: what is asked, how the answer is wanted, and the fingerprint of all that it follows."""

    ask: Ask
    stream: bool
    prefix: bytes


def check_version(version: str | None) -> str:
    """The version the client speaks. Raises Refusal."""
    if not version:
        raise bad_request("anthropic-version: header is required")
    if version not in _VERSIONS:
        raise bad_request(f'anthropic-version: "{version}" is not a valid version')
    return version


def read(raw: bytes, *, version: str, betas: frozenset[str], counting: bool = False) -> Talk:
    """What is asked. Counting needs no limit. Raises Refusal."""
    body = _decode(raw)
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise bad_request("model: Field required")
    name = base_name(model)
    facts = MODELS.get(name)
    if facts is None:
        raise unknown_model(name)
    settings.check(body, facts, model=name, version=version, betas=betas, counting=counting)
    turns = history.read_turns(body.get("messages"))
    head = [body.get("system"), body.get("tools")]
    history.check_pairs(turns)
    history.check_thoughts(turns, head, binds=facts.binds, drops=settings.drops_moved(body))
    if turns[-1].role == "assistant" and not facts.prefill:
        raise bad_request("This model does not support assistant message prefill.")
    thinking = body.get("thinking")
    if is_object(thinking) and thinking["type"] == "enabled":
        history.check_begins_in_thought(turns)
    ask = _ask(body, turns, model=model, fingerprint=digest("anthropic", raw), thoughts=settings.thoughts(body, facts))
    return Talk(ask, stream=body.get("stream") is True, prefix=history.prefix(head, turns))


def _decode(raw: bytes) -> dict[str, Any]:
    try:
        body: Any = msgspec.json.decode(raw)
    except (ValueError, RecursionError) as error:
        raise bad_request("The request body is not valid JSON") from error
    if not is_object(body) or too_deep(body):
        raise bad_request("Input should be a valid dictionary or object to extract fields from")
    return body


def _ask(body: dict[str, Any], turns: list[Turn], *, model: str, fingerprint: bytes, thoughts: Any) -> Ask:
    spoken = [
        at for at, turn in enumerate(turns) if turn.role == "user" and (turn.of("text") or not turn.of("tool_result"))
    ]
    at = spoken[-1] if spoken else 0
    choice = body.get("tool_choice")
    mode = _MODES[choice["type"]] if is_object(choice) else "auto"
    named = is_object(choice) and choice.get("type") == "tool"
    config = body.get("output_config")
    wanted = config.get("format") if is_object(config) else None
    return Ask(
        model=model,
        prompt=_text(turns[at]),
        earlier=tuple(_text(turns[one]) for one in spoken[:-1]),
        tools=_tools(body.get("tools")),
        rounds=_rounds(turns[at:]),
        mode=mode,
        allowed=frozenset([str(choice.get("name"))]) if is_object(choice) and named else frozenset(),
        schema=wanted["schema"] if is_object(wanted) else None,
        json_only=is_object(wanted),
        attachments=tuple(_attachments(turns[at])),
        thoughts=thoughts,
        max_tokens=body.get("max_tokens"),
        stops=tuple(strings(body.get("stop_sequences"))),
        text_tokens=_weigh(body, turns),
        digest=fingerprint,
    )


def _text(turn: Turn) -> str:
    return "\n".join(block["text"] for block in turn.of("text"))


def _rounds(turns: list[Turn]) -> tuple[tuple[Result, ...], ...]:
    rounds: list[tuple[Result, ...]] = []
    names: dict[str, str] = {}
    for turn in turns:
        names |= {block["id"]: block["name"] for block in turn.of("tool_use")}
        # A turn may answer the calls before it and ask anew; what was answered there is over.
        results = turn.of("tool_result") if turn is not turns[0] else []
        if results:
            rounds.append(tuple(Result(names[one["tool_use_id"]], _result(one.get("content"))) for one in results))
    return tuple(rounds)


def _result(content: object) -> Any:
    text = content if isinstance(content, str) else "\n".join(str(one.get("text", "")) for one in objects(content))
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return {"result": text}
    return value if is_object(value) else {"result": value}


def _attachments(turn: Turn) -> list[Attachment]:
    found: list[Attachment] = []
    for block in (*turn.of("image"), *turn.of("document")):
        source = block["source"]
        data = source.get("data")
        size = len(data) * 3 // 4 if isinstance(data, str) else 0
        found.append(Attachment(str(source.get("media_type") or "application/octet-stream"), size))
    return found


def _tools(given: object) -> tuple[Tool, ...]:
    if given is not None and not is_list(given):
        raise bad_request("tools: Input should be a valid list")
    found: list[Tool] = []
    for at, tool in enumerate(objects(given)):
        if tool.get("type", "custom") != "custom":
            continue
        name = tool.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise bad_request(f"tools.{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        schema: Any = tool.get("input_schema")
        if not is_object(schema) or schema.get("type") != "object":
            raise bad_request(f"tools.{at}.custom.input_schema.type: Field required")
        if trouble := problem(schema):
            raise bad_request(f"tools.{at}.custom.input_schema: JSON schema is invalid: {trouble}")
        found.append(Tool(name, str(tool.get("description") or ""), schema))
    if len({tool.name for tool in found}) < len(found):
        raise bad_request("tools: Tool names must be unique.")
    return tuple(found)


def _weigh(body: dict[str, Any], turns: list[Turn]) -> int:
    said = sum(tokens.count(compact(_weighed(block))) for turn in turns for block in turn.blocks)
    return said + tokens.count(compact(body.get("system") or "")) + tokens.count(compact(body.get("tools") or ""))


def _weighed(block: dict[str, Any]) -> object:
    return block.get("text") or block.get("input") or block.get("content") or block["type"]
