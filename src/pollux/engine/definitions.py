"""What makes a tool the tool that a person consented to: its name, its words, its schemas, and the code behind it.

A question and a grant are for one definition. Another function under the same name is another tool, and is asked about.
Of a function counts all the code of its module: what it calls there may be found in ways that its code does not name.
Tools of our own are known by what they say of themselves: their code comes with the program that asks.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final, Protocol, cast, runtime_checkable

from pollux.core.tools import Tool

OURS = "pollux."
STANDARD: Final = ("builtins", "typing")
"""Modules whose classes stand behind every tool's."""
MOST_VALUES: Final = 100_000
"""So many values of a module are looked through for functions."""
DEEPEST = 6
"""How many functions around one another are looked through: decorators, and what turns a function into a tool."""


Namespace = dict[str, Any]


@runtime_checkable
class Coded(Protocol):
    """A tool that tells which functions it consists of."""

    def functions(self) -> Iterable[object]:
        """What prepares, describes, runs and looks up a call."""
        ...


def definition_hash(tool: Tool) -> str:
    """The tool's definition as one hash: equal for the same tool after a restart, and on every host."""
    spec = tool.spec
    modules: dict[int, Namespace] = {}
    code = [list(_fingerprint(function, modules)) for function in functions_of(tool)]
    code += [[_of_module(namespace)] for namespace in modules.values()]
    definition = {
        "name": spec.name,
        "description": spec.description,
        "schema": spec.schema_hash,
        "approval": spec.default_approval,
        "repeat": spec.repeat,
        "code": code,
    }
    if place := getattr(tool, "place", ""):
        definition["place"] = place
    return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()


def functions_of(tool: Tool) -> Iterable[object]:
    """The functions that a tool consists of: those it names, or its methods and the functions that it holds."""
    if isinstance(tool, Coded):
        return tool.functions()
    kinds = (kind for kind in type(tool).__mro__ if not _is_beneath(kind.__module__))
    methods = (each for kind in kinds for _, each in sorted(vars(kind).items()) if isinstance(each, FunctionType))
    held = (each for _, each in sorted(getattr(tool, "__dict__", {}).items()) if callable(each))
    return *methods, *held


def _is_beneath(module: str) -> bool:
    return module.startswith(OURS) or module in STANDARD


def _fingerprint(value: object, modules: dict[int, Namespace], depth: int = DEEPEST) -> Iterator[str]:
    """The functions behind a value, each by its place and its code. Their modules are noted in `modules`."""
    if depth == 0 or value is None:
        return
    match value:
        case partial():
            yield from _fingerprint(value.func, modules, depth - 1)
        case MethodType():
            yield from _fingerprint(value.__func__, modules, depth)
        case FunctionType():
            yield f"{_module_of(value)}:{value.__qualname__}:{_code_of(value)}"
            if not value.__module__.startswith(OURS):
                modules[id(value.__globals__)] = value.__globals__
                yield from _defaults_of(value)
            for cell in value.__closure__ or ():
                if callable(held := _held(cell)):
                    yield from _fingerprint(held, modules, depth - 1)
            if (wrapped := getattr(value, "__wrapped__", None)) is not None:
                yield from _fingerprint(wrapped, modules, depth - 1)
        case type() | BuiltinFunctionType():
            yield f"{value.__module__}:{value.__qualname__}"
        case _:
            kind = type(value)
            yield f"{kind.__module__}:{kind.__qualname__}"
            yield from _fingerprint(vars(kind).get("__call__"), modules, depth - 1)


def _defaults_of(function: FunctionType) -> Iterator[str]:
    named = sorted((function.__kwdefaults__ or {}).items())
    defaults = (*((str(at), each) for at, each in enumerate(function.__defaults__ or ())), *named)
    yield from (f"{name}={each!r}" for name, each in defaults if _is_plain(each))


def _is_plain(value: object) -> bool:
    """Whether it reads the same in every process."""
    if isinstance(value, tuple):
        return all(map(_is_plain, cast("tuple[object, ...]", value)))
    return isinstance(value, str | bytes | int | float | None)


def _of_module(namespace: Namespace) -> str:
    """The code of a whole module, as its loader has it. Where that is not what runs, or there is none: what runs."""
    functions = list(_functions_in(namespace))
    code = _code_of_module(namespace)
    if code is not None:
        known = set(_digests(code))
        own = (each.__code__ for each in functions if each.__code__.co_filename == code.co_filename)
        if all(_digest(each) in known for each in own):
            return _digest(code)
    return hashlib.sha256("\n".join(sorted(map(_as_it_runs, functions))).encode()).hexdigest()


def _code_of_module(namespace: Namespace) -> CodeType | None:
    spec, loader = namespace.get("__spec__"), namespace.get("__loader__")
    get_code = getattr(loader, "get_code", None)
    if get_code is None:
        return None
    try:
        return get_code(spec.name if spec else namespace["__name__"])
    except (ImportError, OSError, SyntaxError, ValueError, EOFError):
        return None


def _functions_in(namespace: Namespace) -> Iterator[FunctionType]:
    """Every function of a module that is reached from its names: in classes, tables, wrappers and closures."""
    waiting, met = list(namespace.values()), set[int]()
    while waiting and len(met) < MOST_VALUES:
        value = waiting.pop()
        if id(value) in met:
            continue
        met.add(id(value))
        if isinstance(value, FunctionType) and value.__globals__ is namespace:
            yield value
        waiting += _within(value, namespace)


def _within(value: Any, namespace: Namespace) -> Iterable[Any]:
    match value:
        case FunctionType():
            return [*map(_held, value.__closure__ or ()), vars(value).get("__wrapped__")]
        case type():
            return list(vars(value).values()) if value.__module__ == namespace.get("__name__") else ()
        case staticmethod() | classmethod() | MethodType():
            return [cast("Any", value).__func__]
        case property():
            return [value.fget, value.fset, value.fdel]
        case partial():
            return [value.func, *value.args, *value.keywords.values()]
        case dict():
            return list(cast("Namespace", value).values())
        case list() | tuple() | set() | frozenset():
            return list(cast("Iterable[Any]", value))
        case ModuleType():
            return ()
        case _:
            # What caches a function, for one.
            return [getattr(value, "__dict__", {}).get("__wrapped__")]


def _as_it_runs(function: FunctionType) -> str:
    held = [repr(value) for value in map(_held, function.__closure__ or ()) if _is_plain(value)]
    return "\n".join((function.__qualname__, _digest(function.__code__), *_defaults_of(function), *held))


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


def _digests(code: CodeType) -> Iterator[str]:
    """This code's, and that of all the code within it."""
    yield _digest(code)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _digests(inner)


def _digest(code: CodeType) -> str:
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags)
    parts = (code.co_code.hex(), *map(repr, names), *map(_constant, code.co_consts))
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _constant(value: object) -> str:
    if isinstance(value, CodeType):
        return _digest(value)
    # A set's order changes from one process to the next.
    return repr(sorted(map(repr, cast("frozenset[object]", value)))) if isinstance(value, frozenset) else repr(value)
