"""Make an action of a function: `@action` for what changes something, `@query` for what only looks.

A handler is written like a tool. It takes the members of its input as keyword arguments, or the whole of it as one
argument called `input`; a parameter annotated ToolContext gets the context, with the caller's identity. What the
`.jay-action` file calls `pageSize` may be called `page_size` in Python.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter
from pathlib import Path
from typing import Any, Final, Generic, ParamSpec, TypeVar, Unpack, cast, overload

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.core.tools import Reconciled, ToolContext
from pollux.engine import schemas
from pollux.engine.definitions import functions_of
from pollux.tools.actions.names import snake_case
from pollux.tools.define import Args
from pollux.tools.typed import docstring, signature
from pollux.tools.typed.options import Options, check_name
from pollux.tools.typed.signature import Signature
from pollux.tools.typed.tools import TypedTool, define_tool, tool

WHOLE: Final = "input"
"""The name of a parameter that takes the input as it is."""
_FREE: Final = (Any, dict, Mapping, object, Parameter.empty)

P = ParamSpec("P")
R = TypeVar("R")


class Handler(Generic[P, R]):
    """An action's function. Called directly, it is still that function."""

    def __init__(self, name: str, made: TypedTool[P, R], found: Signature) -> None:
        self.name = name
        self.tool = made
        self.takes_whole = _takes_whole(found)
        self._check = schemas.validator(made.spec.input_schema)
        self._parameters = frozenset(parameter.name for parameter in found.parameters)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.tool(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<{'action' if self.side_effect else 'query'} {self.name}>"

    @property
    def side_effect(self) -> bool:
        """Whether it changes anything."""
        return self.tool.spec.side_effect

    @property
    def place(self) -> tuple[Path, int]:
        """Where the function is written."""
        code = getattr(signature.written(self.tool), "__code__", None)
        return (Path(code.co_filename), code.co_firstlineno) if code else (Path("unknown"), 1)

    def parameter(self, member: str) -> str:
        """Which parameter takes a member of the input."""
        if self.takes_whole or member in self._parameters:
            return member
        spelt = snake_case(member)
        return spelt if spelt in self._parameters else member

    def prepare(self, input: Args, members: Iterable[str] = ()) -> Args:
        """The input with the function's own defaults filled in, under the names of these members where they have one.

        Raises ValidationError for what the function does not take.
        """
        args = self._named(input)
        if len(args) < len(input):
            raise ValidationError("two of the arguments mean the same one")
        schemas.check(self._check, args)
        names = {self.parameter(member): member for member in (*members, *input)}
        return {names.get(parameter, parameter): value for parameter, value in self.tool.prepare(args).items()}

    def subjects(self, input: Args) -> frozenset[str]:
        """Who or what is acted upon."""
        return self.tool.subjects(self._named(input))

    def preview(self, input: Args) -> str:
        """One glance for the person who decides: the action's name first."""
        shown = self.tool.preview(self._named(input))
        return shown if shown.startswith(f"{self.name}(") else f"{self.name}: {shown}"

    async def run(self, context: ToolContext, input: Args) -> Any:
        """Do it. Raises whatever the function raises."""
        return await self.tool.run(context, self._named(input))

    async def reconcile(self, context: ToolContext, input: Args) -> Reconciled:
        """Look whether an interrupted attempt happened."""
        return await self.tool.reconcile(context, self._named(input))

    def functions(self) -> tuple[object, ...]:
        """What it consists of: with another one of them it is another action."""
        return tuple(functions_of(self.tool))

    def _named(self, input: Args) -> Args:
        return {self.parameter(member): value for member, value in input.items()}


@overload
def action(function: Callable[P, R], /) -> Handler[P, R]: ...
@overload
def action(name: str | None = None, /, **options: Unpack[Options]) -> Callable[[Callable[P, R]], Handler[P, R]]: ...
def action(function: Any = None, /, **options: Unpack[Options]) -> Any:
    """Make an action of a function, as `@action`, `@action("cart.add")` or `@action("cart.add", repeat="keyed")`.

    It has a side effect unless it says `side_effect=False`; its options are those of a tool. Raises ValidationError
    for a function that cannot be one.
    """
    return _decorated(function, {"side_effect": True, **options})


@overload
def query(function: Callable[P, R], /) -> Handler[P, R]: ...
@overload
def query(name: str | None = None, /, **options: Unpack[Options]) -> Callable[[Callable[P, R]], Handler[P, R]]: ...
def query(function: Any = None, /, **options: Unpack[Options]) -> Any:
    """Make an action of a function that only looks: it runs without a question. Raises ValidationError."""
    if options.get("side_effect"):
        raise ValidationError("a query has no side effect; write @action")
    return _decorated(function, options)


def _decorated(given: object, options: Options) -> Any:
    if given is not None and not isinstance(given, str):
        return _handler(cast("Callable[..., Any]", given), None, options)

    def decorate(function: Callable[..., Any]) -> Handler[..., Any]:
        return _handler(function, given, options)

    return decorate


def _handler(function: Callable[..., Any], name: str | None, options: Options) -> Handler[..., Any]:
    called = name if name is not None else getattr(function, "__name__", "")
    try:
        check_name(called)
        inner = signature.plain_function(function)
        found = signature.read(inner, signature.enclosed(inner))
        said = docstring.read(inspect.getdoc(inner)).summary or f"The action {called}."
        make = _of_whole if _takes_whole(found) else _of_members
        return Handler(called, make(inner, found, called, said, options), found)
    except ValidationError as problem:
        raise ValidationError(f"action {called}: {str(problem).removeprefix(f'tool {called}: ')}") from None


def _of_whole(
    function: Callable[..., Any], found: Signature, name: str, said: str, options: Options
) -> TypedTool[..., Any]:
    hint = next(parameter for parameter in found.parameters if parameter.name == WHOLE).annotation
    origin = getattr(hint, "__origin__", hint)
    is_free = any(origin is each for each in _FREE) or not isinstance(hint, type)
    schema: Any = {"type": "object"} if is_free else hint
    return define_tool(name, said, schema, function, **options)


def _of_members(
    function: Callable[..., Any], found: Signature, name: str, said: str, options: Options
) -> TypedTool[..., Any]:
    hinted = [parameter for parameter in found.parameters if parameter.kind not in signature.VARIADIC]
    if not found.is_open and all(parameter.annotation is not Parameter.empty for parameter in hinted):
        return tool(function, name=name, description=said, **options)
    schema: dict[str, JSON] = {
        "type": "object",
        "properties": {parameter.name: {} for parameter in hinted},
        "required": [parameter.name for parameter in hinted if parameter.default is Parameter.empty],
        "additionalProperties": found.is_open,
    }
    return tool(function, name=name, description=said, input_schema=schema, **options)


def _takes_whole(found: Signature) -> bool:
    return [parameter.name for parameter in found.parameters] == [WHOLE]
