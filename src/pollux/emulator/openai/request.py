"""Read the bytes of a chat request into an Ask, or refuse them in OpenAI's words."""

import json
import re
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from pollux.emulator import tokens
from pollux.emulator.gemini import catalogue
from pollux.emulator.jsons import compact, is_list, is_object, objects, strings, too_deep
from pollux.emulator.model import Ask, Attachment, Mode, Result, Tool
from pollux.emulator.openai.errors import bad_request, unknown_model
from pollux.emulator.schemas import problem
from pollux.emulator.seal import digest

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_FAMILIES = re.compile(
    r"(?:gpt-(?:3\.5|4|5|oss)|o[1-9]|chatgpt-|llama|qwen|mistral|gemma|phi|deepseek|ollama/|demo)[\w.:/-]*"
)


@dataclass(frozen=True)
class Chat:
    """A chat request, read: what is asked, and how the answer is wanted."""

    ask: Ask
    stream: bool
    usage: bool

    @property
    def model(self) -> str:
        """The model as it was named."""
        return self.ask.model


def read(raw: bytes) -> Chat:
    """What is asked. Raises Refusal."""
    body = _decode(raw)
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise bad_request("you must provide a model parameter")
    if not is_known(model):
        raise unknown_model(model)
    messages = _messages(body)
    ask = _ask(model, messages, digest("openai", raw))
    ask = replace(ask, tools=_tools(body), text_tokens=_weigh(messages, body), **_choice(body), **_limits(body))
    options = body.get("stream_options")
    return Chat(
        ask, stream=body.get("stream") is True, usage=is_object(options) and options.get("include_usage") is True
    )


def is_known(model: str) -> bool:
    """Would a service behind this face have the model? A fault suffix is not part of the name."""
    name = catalogue.base_name(model).removeprefix("models/")
    return catalogue.is_known(name) or _FAMILIES.fullmatch(name) is not None


def _decode(raw: bytes) -> dict[str, Any]:
    try:
        body: Any = msgspec.json.decode(raw)
    except (ValueError, RecursionError) as error:
        raise bad_request("We could not parse the JSON body of your request.") from error
    if not is_object(body) or too_deep(body):
        raise bad_request("We could not parse the JSON body of your request: an object is expected.")
    return body


def _messages(body: dict[str, Any]) -> list[dict[str, Any]]:
    given = body.get("messages")
    if not is_list(given) or not given:
        raise bad_request("Invalid 'messages': empty array. Expected an array with minimum length 1.", param="messages")
    waiting: list[str] = []
    for at, message in enumerate(given):
        if not is_object(message) or message.get("role") not in _ROLES:
            raise bad_request(f"Invalid value: 'messages[{at}].role'. Supported values are: {', '.join(_ROLES)}.")
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                raise bad_request(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceding message with"
                    " 'tool_calls'.",
                    param=f"messages.[{at}].role",
                )
            waiting.remove(message["tool_call_id"])
            continue
        _check_answered(waiting)
        waiting = [str(call.get("id")) for call in objects(message.get("tool_calls"))]
    _check_answered(waiting)
    return given


def _check_answered(waiting: list[str]) -> None:
    if waiting:
        raise bad_request(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
            f" 'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(waiting)}",
            param="messages",
        )


def _ask(model: str, messages: list[dict[str, Any]], fingerprint: bytes) -> Ask:
    users = [at for at, message in enumerate(messages) if message["role"] == "user"]
    at = users[-1] if users else 0
    prompt = _text(messages[at]) or "\n".join(_text(one) for one in messages if one["role"] in ("system", "developer"))
    return Ask(
        model=model,
        prompt=prompt,
        earlier=tuple(_text(messages[one]) for one in users[:-1]),
        rounds=_rounds(messages[at:]),
        attachments=tuple(_attachments(messages[at])),
        digest=fingerprint,
    )


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in objects(content) if isinstance(part.get("text"), str))


def _attachments(message: dict[str, Any]) -> list[Attachment]:
    found: list[Attachment] = []
    for part in objects(message.get("content")):
        image = part.get("image_url")
        url = image.get("url") if is_object(image) else None
        if isinstance(url, str) and (data := re.match(r"data:([\w/+.-]+);base64,", url)):
            found.append(Attachment(data[1], (len(url) - data.end()) * 3 // 4))
    return found


def _rounds(messages: list[dict[str, Any]]) -> tuple[tuple[Result, ...], ...]:
    rounds: list[tuple[Result, ...]] = []
    names: dict[str, str] = {}
    for message in messages:
        if message["role"] == "assistant" and (calls := objects(message.get("tool_calls"))):
            names = {str(call.get("id")): _call_name(call) for call in calls}
            rounds.append(())
        elif message["role"] == "tool" and rounds:
            result = Result(names.get(message["tool_call_id"], "tool"), _result(_text(message)))
            rounds[-1] = (*rounds[-1], result)
    return tuple(rounds)


def _call_name(call: dict[str, Any]) -> str:
    function = call.get("function")
    return str(function.get("name")) if is_object(function) else "tool"


def _result(text: str) -> Any:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return {"result": text}
    return value if is_object(value) else {"result": value}


def _tools(body: dict[str, Any]) -> tuple[Tool, ...]:
    found: list[Tool] = []
    for at, tool in enumerate(objects(body.get("tools"))):
        function = tool.get("function")
        name = function.get("name") if is_object(function) else None
        if not is_object(function) or not isinstance(name, str) or not _NAME.fullmatch(name):
            message = f"Invalid 'tools[{at}].function.name': string does not match pattern '^[a-zA-Z0-9_-]{{1,64}}$'."
            raise bad_request(message, param=f"tools[{at}].function.name")
        schema: Any = function.get("parameters") or {"type": "object", "properties": {}}
        if trouble := problem(schema):
            raise bad_request(
                f"Invalid schema for function '{name}': {trouble}", param=f"tools[{at}].function.parameters"
            )
        found.append(Tool(name, str(function.get("description") or ""), schema))
    return tuple(found)


def _choice(body: dict[str, Any]) -> dict[str, Any]:
    choice = body.get("tool_choice", "auto")
    modes: dict[str, Mode] = {"none": "none", "required": "any", "auto": "auto"}
    if isinstance(choice, str):
        if choice not in modes:
            raise bad_request(f"Invalid value: '{choice}'. Supported values are: 'none', 'auto', and 'required'.")
        return {"mode": modes[choice]}
    if is_object(choice) and is_object(function := choice.get("function")):
        return {"mode": "any", "allowed": frozenset([str(function.get("name"))])}
    return {}


def _limits(body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    if isinstance(limit, int):
        if limit < 1:
            raise bad_request("Invalid 'max_tokens': expected a value >= 1.", param="max_tokens")
        found["max_tokens"] = limit
    stop = body.get("stop")
    found["stops"] = tuple(strings(stop)) or ((stop,) if isinstance(stop, str) else ())
    wanted = body.get("response_format")
    if is_object(wanted) and wanted.get("type") in ("json_object", "json_schema"):
        found["json_only"] = True
        holder = wanted.get("json_schema")
        if is_object(holder):
            if trouble := problem(holder.get("schema", {})):
                raise bad_request(f"Invalid schema for response_format: {trouble}", param="response_format")
            found["schema"] = holder.get("schema", {})
    return found


def _weigh(messages: list[dict[str, Any]], body: dict[str, Any]) -> int:
    text = sum(tokens.count(_text(one)) + tokens.count(compact(one.get("tool_calls") or "")) for one in messages)
    return text + sum(tokens.count(compact(tool)) for tool in objects(body.get("tools")))
