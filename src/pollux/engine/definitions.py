"""What makes a tool the tool that a person consented to: its name, its words, its schemas, and the code behind it.

A question and a grant are for one definition. Another function under the same name is another tool, and is asked about.
Tools of our own are known by what they say of themselves: their code comes with the program that asks.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any, Protocol, cast, runtime_checkable

from pollux.core.tools import Tool

OURS = "pollux."
DEEPEST = 6
"""How many functions around one another are looked through: decorators, and what turns a function into a tool."""


@runtime_checkable
class Coded(Protocol):
    """A tool that tells which functions it consists of."""

    def functions(self) -> Iterable[object]:
        """What prepares, describes, runs and looks up a call."""
        ...


def definition_hash(tool: Tool) -> str:
    """The tool's definition as one hash: equal for the same tool after a restart, and on every host."""
    spec = tool.spec
    definition = {
        "name": spec.name,
        "description": spec.description,
        "schema": spec.schema_hash,
        "approval": spec.default_approval,
        "repeat": spec.repeat,
        "code": [list(_fingerprint(function)) for function in functions_of(tool)],
    }
    if place := getattr(tool, "place", ""):
        definition["place"] = place
    return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()


def functions_of(tool: Tool) -> Iterable[object]:
    """The functions that a tool consists of: those it names, or its methods and the functions that it holds."""
    if isinstance(tool, Coded):
        return tool.functions()
    kinds = (kind for kind in type(tool).__mro__ if not kind.__module__.startswith((OURS, "builtins", "typing")))
    methods = (each for kind in kinds for _, each in sorted(vars(kind).items()) if isinstance(each, FunctionType))
    held = (each for _, each in sorted(getattr(tool, "__dict__", {}).items()) if callable(each))
    return *methods, *held


def _fingerprint(value: object, depth: int = DEEPEST) -> Iterator[str]:
    """The functions behind a value, each by its place and its code."""
    if depth == 0 or value is None:
        return
    match value:
        case partial():
            yield from _fingerprint(value.func, depth - 1)
        case MethodType():
            yield from _fingerprint(value.__func__, depth)
        case FunctionType():
            yield f"{_module_of(value)}:{value.__qualname__}:{_code_of(value)}"
            yield from _beside(value, depth)
            for cell in value.__closure__ or ():
                if callable(held := _held(cell)):
                    yield from _fingerprint(held, depth - 1)
            if (wrapped := getattr(value, "__wrapped__", None)) is not None:
                yield from _fingerprint(wrapped, depth - 1)
        case type() | BuiltinFunctionType():
            yield f"{value.__module__}:{value.__qualname__}"
        case _:
            kind = type(value)
            yield f"{kind.__module__}:{kind.__qualname__}"
            yield from _fingerprint(vars(kind).get("__call__"), depth - 1)


def _beside(function: FunctionType, depth: int) -> Iterator[str]:
    """What a function's code takes from its own module: defaults, and the functions that it calls there."""
    if function.__module__.startswith(OURS):
        return
    named = sorted((function.__kwdefaults__ or {}).items())
    defaults = (*((str(at), each) for at, each in enumerate(function.__defaults__ or ())), *named)
    yield from (f"{name}={each!r}" for name, each in defaults if isinstance(each, str | bytes | int | float | None))
    for name in sorted(_names_in(function.__code__)):
        called = function.__globals__.get(name)
        if isinstance(called, FunctionType) and called is not function and called.__module__ == function.__module__:
            yield from _fingerprint(called, depth - 1)


def _names_in(code: CodeType) -> set[str]:
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*map(_names_in, inner))


def _module_of(function: FunctionType) -> str:
    """The module's own name, also where it is the program that was started."""
    if function.__module__ != "__main__":
        return function.__module__
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec.name if spec else "__main__"


def _held(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _code_of(function: Callable[..., Any]) -> str:
    if function.__module__.startswith(OURS):
        return ""
    return _digest(function.__code__)  # type: ignore[attr-defined]


def _digest(code: CodeType) -> str:
    parts = (code.co_code.hex(), repr(code.co_names), repr(code.co_varnames), *map(_constant, code.co_consts))
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _constant(value: object) -> str:
    if isinstance(value, CodeType):
        return _digest(value)
    # A set's order changes from one process to the next.
    return repr(sorted(map(repr, cast("frozenset[object]", value)))) if isinstance(value, frozenset) else repr(value)
