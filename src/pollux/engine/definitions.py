"""What makes a tool the tool that a person consented to: its name, its words, its schemas, and what is behind it.

A question and a grant are for one definition. Another function under the same name is another tool, and is asked about.
Of a function counts all the code of its module: what it calls there may be found in ways that its code does not name.
Tools of our own are known by what they say of themselves: their code comes with the program that asks.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final, Protocol, cast, runtime_checkable

from pollux.core.tools import Tool, ToolSpec
from pollux.engine.fingerprints import Fingerprint, Namespace, digest, digests, hashed, held, is_ours
from pollux.engine.logs import log_of

logger = log_of(__name__)

STANDARD: Final = ("builtins", "typing")
"""Modules whose classes stand behind every tool's."""
MOST_VALUES: Final = 100_000
"""So many values of a module are looked through for functions."""


@runtime_checkable
class Coded(Protocol):
    """A tool that tells what it consists of."""

    def functions(self) -> Iterable[object]:
        """What prepares, describes, runs and looks up a call, and values that make it another tool."""
        ...


def is_unasked(spec: ToolSpec) -> bool:
    """Whether it acts without a question, unless a rule asks."""
    return spec.side_effect and spec.default_approval == "not_required"


def defined(tool: Tool) -> str:
    """The definition of a tool that is registered. One that acts without a question is worth a warning."""
    if is_unasked(tool.spec):
        logger.warning("tool %s has a side effect and asks for no approval, unless a rule asks for it", tool.spec.name)
    return definition_hash(tool)


def definition_hash(tool: Tool) -> str:
    """The tool's definition as one hash: equal for the same tool after a restart, and on every host."""
    spec, found = tool.spec, Fingerprint()
    code = [list(found.first(each)) for each in functions_of(tool)]
    # Members of a set are met in another order in every process.
    code += [sorted(_of_module(each.__globals__) for each in found.modules.values())]
    definition = {
        "name": spec.name,
        "description": spec.description,
        "schema": spec.schema_hash,
        "approval": spec.default_approval,
        "repeat": spec.repeat,
        "code": code,
    }
    return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()


def functions_of(tool: Tool) -> Iterable[object]:
    """What a tool consists of: what it names, or its methods, the functions that it holds, and its own state."""
    kind: type[Any] = type(tool)
    named = tool.functions() if isinstance(tool, Coded) else ()
    # What a class of ours names is not all of one that somebody made of it.
    if named and is_ours(kind.functions.__module__) == is_ours(kind.__module__):
        return named
    kinds = (each for each in kind.__mro__ if not _is_beneath(each.__module__))
    methods = (each for kind in kinds for _, each in sorted(vars(kind).items()) if isinstance(each, FunctionType))
    callables = (each for _, each in sorted(getattr(tool, "__dict__", {}).items()) if callable(each))
    return *named, *methods, *callables, tool


def _is_beneath(module: str) -> bool:
    return is_ours(module) or module in STANDARD


def _of_module(namespace: Namespace) -> str:
    """The code of a whole module, as its loader has it. Where that is not what runs, or there is none: what runs."""
    functions = list(_functions_in(namespace))
    code = _code_of_module(namespace)
    if code is not None:
        known = set(digests(code))
        own = (each.__code__ for each in functions if each.__code__.co_filename == code.co_filename)
        if all(digest(each) in known for each in own):
            return digest(code)
    return hashed(*sorted(word for each in functions for word in Fingerprint().first(each)))


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
            return [*map(held, value.__closure__ or ()), vars(value).get("__wrapped__")]
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
