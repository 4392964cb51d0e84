"""Read a function's signature: what a model must give, and where the context goes."""

import functools
import inspect
from collections.abc import Callable, Mapping
from inspect import Parameter
from types import FunctionType
from typing import Annotated, Any, Final, get_args, get_origin

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.tools import ToolContext
from pollux.tools.typed.constraints import described, is_field, union_members
from pollux.tools.typed.records import NO_DEFAULT, Member, Names, evaluated, unknown_name

VARIADIC: Final = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}


@frozen
class Place:
    """Where the context goes, and what kind the function asks for."""

    name: str
    type: type[ToolContext]


@frozen
class Signature:
    """The parameters of a function without its context."""

    parameters: tuple[Parameter, ...]
    context: Place | None
    positional: tuple[Parameter, ...]
    """Those that take no keyword, the context among them."""

    @property
    def is_open(self) -> bool:
        """Whether it takes any keyword."""
        return any(parameter.kind is Parameter.VAR_KEYWORD for parameter in self.parameters)

    def bind(self, values: Mapping[str, Any], context: ToolContext) -> tuple[list[Any], dict[str, Any]]:
        """How to call the function with these values."""
        given = dict(values)
        if self.context is not None:
            given[self.context.name] = context
        return [given.pop(parameter.name, parameter.default) for parameter in self.positional], given


def plain_function(function: Any) -> Callable[..., Any]:
    """What can be made a tool. Raises ValidationError that says how to write it instead."""
    function = function.__func__ if isinstance(function, staticmethod) else function
    called = getattr(function, "__qualname__", type(function).__name__)
    if isinstance(function, classmethod):
        raise ValidationError(f"{called} has no class yet; make the tool of the bound method: tool(TheClass.method)")
    if hasattr(function, "spec"):
        raise ValidationError(f"{called} is a tool already")
    if isinstance(function, type) or not callable(function):
        raise ValidationError(f"a tool is made of a function, found {called}; write @tool above a function")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ValidationError(
            f"{called} yields its results; return them as a list, so that the model gets them at once"
        )
    within = called.rpartition(".")[0]
    if within and not within.endswith("<locals>") and inspect.isfunction(function) and _is_of_object(function):
        raise ValidationError(f"{called} is a method without its object; make the tool of a bound one: tool(it.method)")
    return function


def read(function: Callable[..., Any], names: Names) -> Signature:
    """The signature, with its annotations evaluated. Raises ValidationError."""
    inner = written(function)
    try:
        found = inspect.signature(function).parameters.values()
        parameters = [_evaluated(parameter, inner, names) for parameter in found if not _is_given(function, parameter)]
    except NameError as problem:
        raise ValidationError(unknown_name(problem)) from None
    except (TypeError, ValueError):
        raise ValidationError("its signature cannot be read; wrap it in a function of your own") from None
    places = [(parameter, kind) for parameter in parameters if (kind := context_type(parameter.annotation))]
    if len(places) > 1:
        raise ValidationError(f"{places[1][0].name}: one context is enough; remove this parameter")
    contexts = {parameter.name for parameter, _ in places}
    rest = tuple(parameter for parameter in parameters if parameter.name not in contexts)
    positional = tuple(parameter for parameter in parameters if parameter.kind is Parameter.POSITIONAL_ONLY)
    return Signature(rest, Place(places[0][0].name, places[0][1]) if places else None, positional)


def members(signature: Signature, descriptions: Mapping[str, str]) -> tuple[Member, ...]:
    """What a model must give. Raises ValidationError for a parameter that cannot be described to it."""
    found: list[Member] = []
    for parameter in signature.parameters:
        name = parameter.name
        if parameter.kind in VARIADIC:
            sign = VARIADIC[parameter.kind]
            raise ValidationError(f"{sign}{name} cannot be described; name each parameter, or give input_schema=")
        if parameter.annotation is Parameter.empty:
            raise ValidationError(f"{name} has no type hint; write `{name}: str`, say, or give input_schema=")
        if is_field(parameter.default):
            raise ValidationError(f"{name}: write Annotated[…, Field(…)] instead of a Field as the default")
        hint = described(parameter.annotation, descriptions.get(name, ""))
        found.append(Member(name, hint, parameter.default is NO_DEFAULT, parameter.default))
    return tuple(found)


def written(function: Any) -> Any:
    """The function as somebody wrote it, inside partials, decorators and callable objects."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif inspect.isroutine(function):
            return getattr(function, "__func__", function)
        else:
            function = type(function).__call__


def enclosed(function: Any) -> dict[str, Any]:
    """What a function brings from the functions around it."""
    function = written(function)
    code = getattr(function, "__code__", None)
    cells = getattr(function, "__closure__", None) or ()
    found: dict[str, Any] = {}
    for name, cell in zip(code.co_freevars if code else (), cells, strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            pass  # Not yet filled: the function is inside of what it names.
    return found


def context_type(annotation: Any) -> type[ToolContext] | None:
    """Which context an annotation asks for; None where it asks for something else."""
    if get_origin(annotation) is Annotated:
        return context_type(get_args(annotation)[0])
    for member in union_members(annotation):
        if found := context_type(member):
            return found
    return annotation if isinstance(annotation, type) and issubclass(annotation, ToolContext) else None


def _is_of_object(function: FunctionType) -> bool:
    return function.__code__.co_varnames[:1] in (("self",), ("cls",))


def _evaluated(parameter: Parameter, function: Any, near: Names) -> Parameter:
    if parameter.annotation is Parameter.empty:
        return parameter
    far = getattr(function, "__globals__", {})
    return parameter.replace(annotation=evaluated(parameter.annotation, near=near, far=far))


def _is_given(function: Any, parameter: Parameter) -> bool:
    # What a partial has filled in is nobody else's business: it may be a key.
    return isinstance(function, functools.partial) and parameter.name in function.keywords
