"""Tools from typed functions: the schema comes from the signature, the descriptions from the docstring.

Arguments are checked and converted before anybody is asked, and what is shown for approval is what will run: defaults
are filled in. What the model reads of a failure is what the author meant for it: see `send_errors_to_model`.
"""

import asyncio
import inspect
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import field
from functools import update_wrapper
from inspect import Parameter
from types import FrameType
from typing import Any, Final, Generic, ParamSpec, TypeVar, Unpack, cast, get_origin, overload

from pollux.core.errors import AuthError, PolicyError, ToolError, ToolExecutionError, ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.core.tools import Reconciled, ToolContext, ToolSpec
from pollux.tools.define import Args, FunctionTool
from pollux.tools.threads import in_thread
from pollux.tools.typed import docstring, signature
from pollux.tools.typed.options import SPEC, Options, check, check_name
from pollux.tools.typed.records import Names
from pollux.tools.typed.schema import arguments_of, given, shape_of
from pollux.tools.typed.signature import Signature

MAX_ERROR: Final = 2_000

P = ParamSpec("P")
R = TypeVar("R")

Action = Callable[[Any], Any] | Callable[[Any, Any], Any]
"""What a defined tool does: with the parameters alone, or with the context too. It may be async."""


@frozen
class Body:
    """What runs: how arguments are read, and how the author's function is called with what was read."""

    function: Callable[..., Any]
    schema: Mapping[str, JSON]
    read: Callable[[Args], Any]
    call: Callable[[ToolContext, Any], Any]
    context_type: type[ToolContext] | None = None
    defaults: Mapping[str, JSON] = field(default_factory=dict[str, JSON])


@frozen
class Caller:
    """Where a tool was made, and what names mean there: quoted annotations may use them."""

    place: str
    names: Names

    def names_for(self, function: Callable[..., Any]) -> Names:
        """What the annotations of a function may mean, beside its module's globals."""
        inner = signature.written(function)
        # One that was written elsewhere never meant these names.
        is_inside = getattr(inner, "__qualname__", "").startswith(f"{self.place}.")
        return {**signature.enclosed(inner), **(self.names if is_inside else {})}


class TypedTool(FunctionTool, Generic[P, R]):
    """A tool made of an author's function. Called directly, it is still that function."""

    def __init__(self, spec: ToolSpec, body: Body, options: Options) -> None:
        super().__init__(spec, self._work_async if _is_async(body.function) else self._work)
        self.context_type = body.context_type
        """Which context the function asks for, if any."""
        self._body = body
        self._options = options
        update_wrapper(cast("Any", self), body.function, updated=())

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._body.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.spec.name}>"

    def prepare(self, args: Args) -> Args:
        missing = {name: deepcopy(value) for name, value in self._body.defaults.items() if name not in args}
        full = {**args, **missing} if missing else args
        self._body.read(full)
        author: Any = self._options.get("prepare")
        if author is None:
            return full
        prepared = author(full)
        if not isinstance(prepared, dict):
            raise self._broken("prepare", "a dict of arguments", prepared)
        self._body.read(cast("Args", prepared))
        return cast("Args", prepared)

    def subjects(self, args: Args) -> frozenset[str]:
        author: Any = self._options.get("subjects")
        found: Any = author(args) if author else ()
        try:
            named = frozenset[Any]([found] if isinstance(found, str) else found)
        except TypeError:
            raise self._broken("subjects", "text, or several texts", found) from None
        if not all(isinstance(subject, str) for subject in named):
            raise self._broken("subjects", "text, or several texts", found)
        return named

    def preview(self, args: Args) -> str:
        author: Any = self._options.get("preview")
        shown: Any = author(args) if author else super().preview(args)
        if not isinstance(shown, str):
            raise self._broken("preview", "text", shown)
        return shown

    async def run(self, context: ToolContext, args: Args) -> Any:
        wanted = self.context_type
        if wanted is not None and not isinstance(context, wanted):
            raise ToolExecutionError(f"{self.spec.name} needs a {wanted.__name__}; it must be run by an Agent")
        try:
            return await super().run(context, args)
        except (ToolExecutionError, ValidationError, AuthError, PolicyError):
            raise
        except Exception as problem:
            if not self._options.get("send_errors_to_model") or not self._is_harmless:
                raise
            raise ToolError((str(problem) or type(problem).__name__)[:MAX_ERROR]) from problem

    async def reconcile(self, context: ToolContext, args: Args) -> Reconciled:
        author = self._options.get("reconcile")
        if author is None:
            return Reconciled("unknown")
        found = author(context, args) if _is_async(author) else await in_thread(author, context, args)
        return await found if inspect.isawaitable(found) else found

    def functions(self) -> tuple[object, ...]:
        return self._body.function, *(
            self._options.get(name) for name in ("prepare", "subjects", "preview", "reconcile")
        )

    @property
    def _is_harmless(self) -> bool:
        # Of any other tool an exception does not say that nothing happened: the engine records that nobody knows.
        return not self.spec.side_effect or self.spec.repeat == "repeatable"

    def _work(self, context: ToolContext, args: Args) -> Any:
        return self._body.call(context, self._body.read(args))

    async def _work_async(self, context: ToolContext, args: Args) -> Any:
        # In a task of its own: what the function does to its task, it does not do to ours.
        try:
            return await asyncio.ensure_future(self._guarded(context, args))
        except asyncio.CancelledError:
            ours = asyncio.current_task()
            if ours is not None and ours.cancelling():
                raise
            raise RuntimeError("the function cancelled itself") from None

    async def _guarded(self, context: ToolContext, args: Args) -> Any:
        try:
            return await self._work(context, args)
        except GeneratorExit:
            # Whoever awaits would be closed by it rather than told.
            raise RuntimeError("the function raised GeneratorExit") from None

    def _broken(self, option: str, expected: str, found: object) -> ToolExecutionError:
        name = self.spec.name
        return ToolExecutionError(f"{option} of tool {name} must return {expected}, not {type(found).__name__}")


@overload
def tool(
    function: Callable[P, R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    input_schema: Mapping[str, JSON] | None = None,
    **options: Unpack[Options],
) -> TypedTool[P, R]: ...
@overload
def tool(
    function: None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    input_schema: Mapping[str, JSON] | None = None,
    **options: Unpack[Options],
) -> Callable[[Callable[P, R]], TypedTool[P, R]]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    input_schema: Mapping[str, JSON] | None = None,
    **options: Unpack[Options],
) -> Any:
    """Make a tool of a function, as `@tool` or `@tool(side_effect=True, …)`.

    Its parameters are what the model must give; one that is annotated ToolContext gets the context instead. With
    `input_schema` the arguments come as that schema describes them, unconverted. Raises ValidationError for a function
    that cannot be described to a model.
    """
    if function is not None:
        return _tool(function, name, description, input_schema, options, _caller(inspect.currentframe()))

    def decorate(decorated: Callable[..., Any]) -> TypedTool[..., Any]:
        return _tool(decorated, name, description, input_schema, options, _caller(inspect.currentframe()))

    return decorate


def define_tool(
    name: str,
    description: str,
    input_schema: Mapping[str, JSON] | type[Any],
    action: Action,
    **options: Unpack[Options],
) -> TypedTool[..., Any]:
    """Make a tool of a schema and an action, called as `action(params)` or `action(params, context)`.

    The schema is JSON Schema, and `params` then a dict; or it is a class (pydantic model, dataclass, TypedDict), and
    `params` one of these. Raises ValidationError for what cannot be a tool.
    """
    caller = _caller(inspect.currentframe())
    with _of_tool(name):
        function = signature.plain_function(action)
        check(options)
        if isinstance(input_schema, type) or get_origin(input_schema) is not None:
            shape = shape_of(input_schema, names=caller.names)
            schema, read = shape.schema, shape.convert
            if schema.get("type") != "object":
                raise ValidationError("input_schema must describe an object; use a class with named members")
        else:
            schema, read = given(input_schema), _as_given
        call, wanted = _called_as(function, caller)
        return _finished(name, description, Body(function, schema, read, call, wanted), options)


def _tool(
    function: Callable[..., Any],
    name: str | None,
    description: str | None,
    input_schema: object,
    options: Options,
    caller: Caller,
) -> TypedTool[..., Any]:
    inner = signature.plain_function(function)
    called = name if name is not None else getattr(signature.written(inner), "__name__", "")
    with _of_tool(called):
        check(options)
        said = docstring.read(_doc(inner))
        names = caller.names_for(inner)
        found = signature.read(inner, names)
        if input_schema is None:
            body = _described(inner, found, said.parameters, names)
        else:
            body = _undescribed(inner, found, given(input_schema))
        return _finished(called, said.summary if description is None else description, body, options)


def _finished(name: str, description: object, body: Body, options: Options) -> TypedTool[..., Any]:
    check_name(name)
    if not isinstance(description, str) or not description.strip():
        raise ValidationError("it has no description, so that no model could use it; write a docstring, or give one")
    told: Mapping[str, Any] = {option: value for option, value in options.items() if option in SPEC}
    spec = ToolSpec(name, description.strip(), body.schema, **told)
    return TypedTool(spec, body, options)


def _described(function: Callable[..., Any], found: Signature, descriptions: Mapping[str, str], names: Names) -> Body:
    """A function whose hints say everything."""
    shape = arguments_of(signature.members(found, descriptions), names=names)
    properties: dict[str, dict[str, JSON]] = shape.schema["properties"]
    defaults = {name: member["default"] for name, member in properties.items() if "default" in member}
    return Body(function, shape.schema, shape.convert, _by_name(function, found), _wanted(found), defaults)


def _undescribed(function: Callable[..., Any], found: Signature, schema: Mapping[str, JSON]) -> Body:
    """A function whose arguments the author described apart: they must at least have the same names."""
    named = {parameter.name for parameter in found.parameters if parameter.kind not in signature.VARIADIC}
    needed = {p.name for p in found.parameters if p.name in named and p.default is Parameter.empty}
    properties: Mapping[str, JSON] = schema.get("properties", {})
    if unnamed := needed - properties.keys():
        raise ValidationError(f"input_schema says nothing of the parameter {min(unnamed)}; add it to its properties")
    if not found.is_open and (unknown := properties.keys() - named):
        raise ValidationError(f"input_schema names {min(unknown)}, but the function has no such parameter")

    def read(args: Args) -> Args:
        if not found.is_open and args.keys() - named:
            raise ValidationError(f"there is an argument that is not expected. Known: {', '.join(sorted(named))}")
        return args

    return Body(function, schema, read, _by_name(function, found), _wanted(found))


def _by_name(function: Callable[..., Any], found: Signature) -> Callable[[ToolContext, Any], Any]:
    def call(context: ToolContext, values: Mapping[str, Any]) -> Any:
        first, named = found.bind(values, context)
        return function(*first, **named)

    return call


def _wanted(found: Signature) -> type[ToolContext] | None:
    return found.context.type if found.context else None


def _called_as(action: Callable[..., Any], caller: Caller) -> tuple[Callable[[ToolContext, Any], Any], Any]:
    """How an action takes its parameters: alone, or with the context."""
    found = signature.read(action, caller.names_for(action))
    ordered = [p for p in found.parameters if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in found.parameters if p.default is Parameter.empty and p.kind not in signature.VARIADIC]
    takes_any = any(p.kind is Parameter.VAR_POSITIONAL for p in found.parameters)
    if found.context is not None and ordered and needed in ([], ordered[:1]):
        by_name = _by_name(action, found)
        return lambda context, params: by_name(context, {ordered[0].name: params}), found.context.type
    if found.context is None and (ordered or takes_any):
        if len(needed) <= 2 and (takes_any or needed == ordered[:2] != ordered[:1]):
            return lambda context, params: action(params, context), ToolContext
        if needed in ([], ordered[:1]):
            return lambda context, params: action(params), None
    raise ValidationError("its action must take (params) or (params, context)")


def _as_given(args: Args) -> Args:
    return args


def _doc(function: Any) -> str | None:
    is_object = not inspect.isroutine(function) and not hasattr(function, "func")
    return signature.written(function).__doc__ or (type(function).__doc__ if is_object else None)


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _caller(frame: FrameType | None) -> Caller:
    outer = frame.f_back if frame else None
    return Caller(outer.f_code.co_qualname, dict(outer.f_locals)) if outer else Caller("", {})


@contextmanager
def _of_tool(name: object) -> Generator[None]:
    try:
        yield
    except ValidationError as problem:
        raise ValidationError(f"tool {name}: {problem}") from None
