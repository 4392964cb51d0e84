"""Tools for the servers, in the form of a registry: one record says what a tool is, and `execute(ctx, args)` does it.

The record may be a ToolDefinition, or a plain mapping with the same members in camelCase. Either becomes a tool like
every other: checked when it is made, judged by the policy, and repeated only if it says what that would mean.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import MISSING, field, fields
from typing import Any, Final, cast

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.core.tools import Approval, Reconciled, Repeat, ToolContext
from pollux.tools.define import Args, FunctionTool
from pollux.tools.typed.options import check, check_name
from pollux.tools.typed.schema import given
from pollux.tools.typed.tools import define_tool


@frozen(kw_only=True)
class ToolExecutionContext:
    """Who is asking, and for which action: what `execute` is given beside the arguments."""

    uid: str
    origin: str
    runId: str
    actionId: str
    threadId: str = ""
    deadline: float | None = None
    """When the run must be over, in seconds since 1970; None if it need not."""
    attempt: int = 1
    """Which attempt at the action this is. Later ones follow a crash."""
    noted: JSON = None
    """What an attempt at this action noted last."""
    note: Callable[[JSON], Awaitable[None]] | None = field(default=None, repr=False, compare=False)
    """Writes down how far the tool came: safe on disk when it returns."""

    @property
    def key(self) -> str:
        """The same for every attempt at this action: pass it to what takes an idempotency key."""
        return self.actionId


@frozen(kw_only=True)
class ToolDefinition:
    """A tool in one record. Raises ValidationError for what cannot be one.

    Its functions get the arguments as a dict of JSON values, as the schema describes them.
    """

    name: str
    description: str
    input_schema: Mapping[str, JSON]
    """JSON Schema of an object. Unless it says otherwise, arguments that it does not name are refused."""
    side_effect: bool
    """Whether it changes anything outside."""
    default_approval: Approval | None = None
    """Whether a person must agree where no rule speaks. As `side_effect` has it, if not given."""
    execute: Callable[[ToolExecutionContext, Args], Awaitable[Any] | Any]
    """Does it. May be async; if it is not, it runs in a thread."""
    repeat: Repeat | None = None
    """What a second execution would mean. `once` for side effects, if not given; others are repeatable."""
    prepare: Callable[[Args], Args] | None = None
    """Puts the arguments into their final form, or raises ValidationError, before anybody is asked. Must be pure."""
    subjects: Callable[[Args], str | Iterable[str]] | None = None
    """Who or what is acted upon: what a person may allow for good."""
    preview: Callable[[Args], str] | None = None
    """One glance for the person who decides."""
    reconcile: Callable[[ToolExecutionContext, Args], Reconciled | Awaitable[Reconciled]] | None = None
    """Looks whether an interrupted attempt happened. What makes a tool `checkable`."""
    timeout: float | None = None
    """After how many seconds it is given up."""

    def __post_init__(self) -> None:
        _check({name: getattr(self, name) for name in _MEMBERS}, _MEMBERS)
        if self.default_approval is None:
            object.__setattr__(self, "default_approval", "required" if self.side_effect else "not_required")


_REQUIRED: Final = tuple(each.name for each in fields(ToolDefinition) if each.default is MISSING)
_MEMBERS: Final = {each.name: each.name for each in fields(ToolDefinition)}
"""Each member, and how it is spelt in a ToolDefinition."""
_IN_CAMEL_CASE: Final = {
    **_MEMBERS,
    "input_schema": "inputSchema",
    "side_effect": "sideEffect",
    "default_approval": "defaultApproval",
}
_OPTIONS: Final = tuple(name for name in _MEMBERS if name not in ("name", "description", "input_schema", "execute"))


def as_tool(definition: object) -> FunctionTool:
    """The tool of a ToolDefinition, or of a mapping in its form. Raises ValidationError for what is neither."""
    if isinstance(definition, Mapping):
        definition = _read(cast("Mapping[object, object]", definition))
    if not isinstance(definition, ToolDefinition):
        raise ValidationError(f"expected a ToolDefinition or a mapping, found {type(definition).__name__}")
    options: dict[str, Any] = {name: getattr(definition, name) for name in _OPTIONS}
    if definition.reconcile is not None:
        options["reconcile"] = _in_context(definition.reconcile)
    action = _in_context(definition.execute)
    return define_tool(definition.name, definition.description, definition.input_schema, action, **options)


def _in_context(function: Callable[[ToolExecutionContext, Args], Any]) -> Callable[[ToolContext, Args], Any]:
    """The author's function, given its own kind of context. Async if it is: then it needs no thread."""

    async def later(context: ToolContext, args: Args) -> Any:
        return await function(_seen(context), args)

    def now(context: ToolContext, args: Args) -> Any:
        return function(_seen(context), args)

    return later if inspect.iscoroutinefunction(function) else now


def _seen(context: ToolContext) -> ToolExecutionContext:
    return ToolExecutionContext(
        uid=context.user,
        origin=context.origin,
        runId=context.run_id,
        actionId=context.action_id,
        threadId=context.thread_id,
        deadline=context.deadline,
        attempt=context.attempt,
        noted=context.noted,
        note=context.note,
    )


def _read(mapping: Mapping[object, object]) -> ToolDefinition:
    spelt = _IN_CAMEL_CASE
    called = f"tool {mapping['name']}" if isinstance(mapping.get("name"), str) else "a tool"
    for key in mapping:
        if key not in spelt.values():
            raise ValidationError(f"{called}: there is no member {key!r}. The members are: {', '.join(spelt.values())}")
    missing = [spelt[name] for name in _REQUIRED if spelt[name] not in mapping]
    if missing:
        needed = ", ".join(spelt[name] for name in _REQUIRED)
        raise ValidationError(f"{called}: {', '.join(missing)} missing. A tool needs: {needed}")
    members: dict[str, Any] = {name: mapping[key] for name, key in spelt.items() if key in mapping}
    _check(members, spelt)
    return ToolDefinition(**members)


def _check(members: Mapping[str, Any], spelt: Mapping[str, str]) -> None:
    """Raises ValidationError for a member that does not fit, in its author's spelling."""
    name = check_name(members["name"])
    try:
        _check_description(members["description"])
        given(members["input_schema"])
        _check_execute(members["execute"])
        check({option: members[option] for option in _OPTIONS if option in members})
    except ValidationError as problem:
        # Where a member is at fault, its name is the first word.
        member, space, said = str(problem).partition(" ")
        raise ValidationError(f"tool {name}: {spelt.get(member, member)}{space}{said}") from None


def _check_description(description: object) -> None:
    if not isinstance(description, str) or not description.strip():
        raise ValidationError("description must be text that tells a model what the tool is for")


def _check_execute(execute: object) -> None:
    if not callable(execute):
        raise ValidationError(f"execute must be a function of (ctx, args), found {type(execute).__name__}")
    try:
        signature = inspect.signature(execute)
    except (TypeError, ValueError):
        return  # Some that are not written in Python do not tell.
    try:
        signature.bind("ctx", "args")
    except TypeError as problem:
        raise ValidationError(f"execute must take (ctx, args), but {signature} does not: {problem}") from None
