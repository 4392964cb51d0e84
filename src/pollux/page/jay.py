"""A site's actions as Jay's pages call them, `/_jay/actions/{name}`: Jay's envelope, Jay's codes, Jay's statuses.

A page calls its own server here, as it would without us, so no policy is asked and nobody approves. Only what a model
calls passes the gate, and that never comes this way.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Protocol, cast

from pollux.asgi.bodies import LARGE_BODY, parsed
from pollux.asgi.errors import rendered
from pollux.core.errors import PolluxError, ValidationError
from pollux.core.messages import JSON
from pollux.engine.logs import log_of
from pollux.tools.actions import ActionError, ActionMetadata, ActionRegistry, Caller, Handler, action, query
from pollux.tools.actions.controls import Control
from pollux.tools.actions.registry import INTERNAL, INVALID_INPUT, NOT_FOUND

logger = log_of(__name__)

WHOLE: Final = "_input"
"""The member of a query that holds the input as JSON, where it is more than a few plain values."""
INVALID_JSON: Final = "INVALID_JSON"
NOT_ALLOWED: Final = "METHOD_NOT_ALLOWED"
REFUSED: Final = 422
"""What a handler says itself. All other codes are of those that serve it."""
STATUSES: Final = {NOT_FOUND: 404, NOT_ALLOWED: 405, INVALID_JSON: 400, INVALID_INPUT: 400}

DESCRIPTIONS: Final = "geminiAgent.getToolDescriptions"
"""What Jay's chat asks first: words for the tools that it makes of a page's controls."""

Verb = Literal["sendMessage", "submitToolResults"]
RawInput = bytes | Mapping[str, str]
"""The body of a POST, or the members of a query."""


class Agent(Protocol):
    """Whoever talks with the model for a page, as its chat asks for it."""

    async def __call__(self, which: Verb, input: dict[str, JSON]) -> dict[str, JSON]: ...


class JayActions:
    """Answers for every action of a registry, and for those of the agent, which it registers."""

    def __init__(self, registry: ActionRegistry, controls: Sequence[Control] = ()) -> None:
        """`controls` are what contracts say of a page's. Raises ValidationError for an action of the agent's name."""
        self._registry = registry
        self._controls: JSON = [{"refName": one.name, "description": one.description} for one in controls]
        for handler, metadata in _OWN:
            if registry.get(handler.name) is not handler:
                registry.register(handler, metadata)

    async def answer(
        self, name: str, method: str, raw_input: RawInput, *, caller: Caller, agent: Agent
    ) -> tuple[int, dict[str, JSON]]:
        """The status and the body. Whatever goes wrong is among them."""
        try:
            # The agent's own actions have short names, too, where the site has no others of these.
            name = name if self._registry.get(name) is not None else _SHORT.get(name, name)
            handler = self._registry.get(name)
            if handler is None:
                raise ActionError(NOT_FOUND, "there is no such action", is_own=False)
            _check_method(handler, method)
            metadata = self._registry.get_metadata(name)
            if len(raw_input) < LARGE_BODY:
                input = _read(raw_input, handler, metadata)
            else:
                # Everybody else would wait while it is looked through.
                input = await asyncio.to_thread(_read, raw_input, handler, metadata)
            if name == DESCRIPTIONS:
                return 200, {"success": True, "data": self._controls}
            if name in _VERBS:
                return 200, {"success": True, "data": await agent(_VERBS[name], _object(input))}
            return 200, {"success": True, "data": await self._registry.execute(name, input, caller)}
        except ActionError as problem:
            status = REFUSED if problem.is_own else STATUSES.get(problem.code, 500)
            return _refused(status, problem.code, str(problem), is_own=problem.is_own)
        except PolluxError as problem:
            return _failed(name, problem)
        except Exception as problem:  # The top, for the agent: what an action raises has become an ActionError.
            logger.exception("the agent failed for a page's chat")
            return _broken(name, problem)

    def allowed(self, name: str) -> tuple[str, ...]:
        """The methods by which an action is called; none where there is no such action."""
        handler = self._registry.get(name) or self._registry.get(_SHORT.get(name, name))
        return _allowed(handler) if handler is not None else ()


def _allowed(handler: Handler[..., Any]) -> tuple[str, ...]:
    # A link or an image can make any visitor's browser GET: what changes something is not done by that.
    return ("POST",) if handler.side_effect else ("POST", "GET")


def _check_method(handler: Handler[..., Any], method: str) -> None:
    allowed = _allowed(handler)
    if method not in allowed:
        expected = " or ".join(allowed)
        raise ActionError(NOT_ALLOWED, f"{handler.name} expects {expected}, found {method[:20]}", is_own=False)


def _read(raw: RawInput, handler: Handler[..., Any], metadata: ActionMetadata | None) -> JSON:
    if isinstance(raw, bytes):
        return _parsed(raw, INVALID_JSON) if raw.strip() else {}
    if whole := raw.get(WHOLE):
        return _parsed(whole.encode("utf-8", "surrogatepass"), INVALID_INPUT)
    if any("\0" in text for text in (*raw, *raw.values())):
        raise ActionError(INVALID_INPUT, "a text holds a NUL character", is_own=False)
    schema = metadata.input_schema if metadata is not None else handler.tool.spec.input_schema
    members = cast("Mapping[str, Any]", schema.get("properties", {}))
    named = {member: member if metadata is not None else handler.parameter(member) for member in raw}
    return {name: _as_meant(text, members.get(named[name])) for name, text in raw.items() if name != WHOLE}


def _parsed(raw: bytes, code: str) -> JSON:
    try:
        return parsed(raw)
    except ValidationError as problem:
        what = "the body" if code == INVALID_JSON else WHOLE
        raise ActionError(code, str(problem).replace("the body", what), is_own=False) from None


def _as_meant(text: str, schema: object) -> JSON:
    """What a text of a query stands for. Jay's client writes numbers and truth values there as they are."""
    wanted = _kinds(schema)
    if "string" in wanted:
        return text
    try:
        value: JSON = json.loads(text)
    except (ValueError, RecursionError):
        return text
    match value:
        case bool():
            found = {"boolean"}
        case int() | float():
            found = {"number", "integer"}
        case None:
            found = {"null"}
        case _:
            found = set[str]()
    # What does not fit stays as it came, and the schema says what was expected.
    return value if found & wanted else text


def _kinds(schema: object) -> set[object]:
    """The types that a schema speaks of at its top."""
    if not isinstance(schema, Mapping):
        return set()
    known = cast("Mapping[str, Any]", schema)
    kinds: object = known.get("type")
    parts = (*known.get("anyOf", ()), *known.get("oneOf", ()))
    return {*(cast("list[object]", kinds) if isinstance(kinds, list) else [kinds])}.union(*map(_kinds, parts))


def _object(input: JSON) -> dict[str, JSON]:
    if not isinstance(input, dict):
        raise ActionError(INVALID_INPUT, f"expected an object, found {type(input).__name__}", is_own=False)
    return cast("dict[str, JSON]", input)


def _failed(name: str, problem: PolluxError) -> tuple[int, dict[str, JSON]]:
    """What the agent refused, with the status that its own door would give it."""
    status, _, body = rendered(problem, name)
    if status == 500:
        return _broken(name, problem)
    told = body["error"]
    code = INVALID_INPUT if told["code"] == ValidationError.code else told["code"]
    return _refused(status, code, told["message"], is_own=code != INVALID_INPUT)


def _broken(name: str, problem: Exception) -> tuple[int, dict[str, JSON]]:
    return _refused(500, INTERNAL, f"{name} failed ({type(problem).__name__})", is_own=False)


def _refused(status: int, code: str, message: str, *, is_own: bool) -> tuple[int, dict[str, JSON]]:
    return status, {"success": False, "error": {"code": code, "message": message, "isActionError": is_own}}


# The agent's own actions: named and described like all others, never offered to a model, and done by the agent.


@action("geminiAgent.sendMessage")
def _send_message(input: dict[str, Any]) -> Any:
    raise _elsewhere("geminiAgent.sendMessage")


@action("geminiAgent.submitToolResults")
def _submit_tool_results(input: dict[str, Any]) -> Any:
    raise _elsewhere("geminiAgent.submitToolResults")


@query(DESCRIPTIONS)
def _get_tool_descriptions() -> Any:
    raise _elsewhere(DESCRIPTIONS)


def _elsewhere(name: str) -> ActionError:
    return ActionError("NOT_HERE", f"{name} is for a page's chat: it is called at /_jay/actions/{name}", is_own=False)


def _objects(**members: JSON) -> dict[str, JSON]:
    return {"type": "array", "items": {"type": "object", "properties": members}}


_SEEN: Final[dict[str, JSON]] = {
    "history": _objects(role={"type": "string"}, parts={"type": "array", "items": {"type": "object"}}),
    "toolDefinitions": _objects(
        name={"type": "string"},
        description={"type": "string"},
        inputSchema={"type": "object"},
        category={"type": "string"},
    ),
    "pageState": {"type": "object"},
}
_RESULTS: Final = _objects(callId={"type": "string"}, result={"type": "string"}, isError={"type": "boolean"})
_GIVES: Final[dict[str, JSON]] = {
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "message": {"type": "string"},
        "calls": _objects(
            id={"type": "string"}, name={"type": "string"}, args={"type": "object"}, category={"type": "string"}
        ),
        "history": {"type": "array", "items": {"type": "object"}},
    },
    "required": ["type", "history"],
}


def _takes(first: str, schema: JSON) -> dict[str, JSON]:
    return {"type": "object", "properties": {first: schema, **_SEEN}, "required": [first, *_SEEN]}


_OWN: Final[tuple[tuple[Handler[..., Any], ActionMetadata | None], ...]] = (
    (_get_tool_descriptions, None),
    (
        _send_message,
        ActionMetadata(
            "sendMessage",
            "Say something to the agent of this page. Gives its answer, or the calls that the page shall make.",
            _takes("message", {"type": "string"}),
            _GIVES,
        ),
    ),
    (
        _submit_tool_results,
        ActionMetadata(
            "submitToolResults",
            "Tell the agent of this page what its calls gave. Gives its answer, or more calls.",
            _takes("results", _RESULTS),
            _GIVES,
        ),
    ),
)
_VERBS: Final[Mapping[str, Verb]] = {
    _send_message.name: "sendMessage",
    _submit_tool_results.name: "submitToolResults",
}
_SHORT: Final[Mapping[str, str]] = {name.partition(".")[2]: name for name in (*_VERBS, DESCRIPTIONS)}
"""Under the names that a plugin's manifest gives them, the path has them as well: /_jay/actions/sendMessage."""
