"""What a function is, as words that read the same in every process: its place, its code, and what it holds.

What it holds counts as it stands: plain values, containers, other functions, and objects by their class and their own
state. Nothing of an object is called. Of what is at work (connections, locks, loggers) only the class counts, and of
our own objects too, unless they are tools; nor is there an end to what counts beyond `MOST_HELD` values.
"""

import hashlib
import os
import re
import sys
from array import array
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from operator import attrgetter, itemgetter, methodcaller
from pathlib import PurePath
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final, cast
from uuid import UUID
from weakref import ref
from zoneinfo import ZoneInfo

OURS = "pollux."
MOST_HELD: Final = 10_000
"""So many values are looked at, of all that one tool holds."""
MOST_APART: Final = 200
"""So many of one member of a set."""
DEEPEST: Final = 40
LONGEST: Final = 200
_LIBRARY: Final = f"{os.path.dirname(os.__file__)}/"
_PACKAGES: Final = tuple(f"{_LIBRARY}{name}/" for name in ("site-packages", "dist-packages"))
AT_WORK: Final = frozenset(
    ("_io _thread asyncio concurrent contextvars importlib io logging multiprocessing os queue random sched selectors")
    .split()
    + "signal socket sqlite3 ssl subprocess sys tempfile threading unittest weakref".split()
)  # fmt: skip
"""Modules whose objects change while they are used, or are others in every process."""

Namespace = dict[str, Any]
_FIRST: Final[dict[int, tuple["ref[Any]", str, list["ref[FunctionType]"]]]] = {}
"""What this process has met, by its address: a word for it, and a function of each module."""


class Fingerprint:
    """A walk over what a tool consists of. Of each module that it meets, a function is kept in `modules`."""

    def __init__(self, around: frozenset[int] = frozenset(), most: int = MOST_HELD) -> None:
        self.modules: dict[int, FunctionType] = {}
        self._around = around
        """What of the author's is being walked over, with this inside it."""
        self._turned: set[int] = set()
        """Which of these it led back to."""
        self._left = most
        self._met: dict[int, tuple[int, object]] = {}
        """What was met, by its address: with its number, and kept so that nothing else has the address."""

    def first(self, value: Any, depth: int = DEEPEST) -> Iterator[str]:
        """The value as it was when this process first met it: what it holds may change while it works."""
        at = id(value)
        if type(value) is MethodType:
            # Another one at each look.
            yield from self.first(value.__func__, depth)
            yield from self.first(value.__self__, depth)
        elif at in self._around:
            self._turned.add(at)
            yield "within itself"
        elif known := _FIRST.get(at):
            _, word, functions = known
            self._note(function for each in functions if (function := each()) is not None)
            yield word
        else:
            inner = Fingerprint(self._around | {at})
            word = hashed(*inner.words(value, depth))
            self._turned |= inner._turned - {at}
            self._note(inner.modules.values())
            if inner._turned <= {at}:
                _remember(value, word, inner.modules.values())
            yield word

    def _note(self, functions: Iterable[FunctionType]) -> None:
        self.modules |= {id(each.__globals__): each for each in functions}

    def words(self, value: Any, depth: int = DEEPEST) -> Iterator[str]:
        """The value in words. Functions of other modules are noted on the way."""
        self._left -= 1
        if depth == 0 or self._left < 0:
            yield "and more"
        elif plain := _plain(value):
            yield plain
        # Equal tuples may be one or two, by how their module was loaded.
        elif (at := id(value)) in self._met and not issubclass(type(value), tuple):
            yield f"met {self._met[at][0]}"
        else:
            self._met[at] = len(self._met), value
            yield "("
            yield from self._inside(value, depth - 1)
            yield ")"

    def _inside(self, value: Any, depth: int) -> Iterator[str]:
        # By the type alone: to ask the object itself may run its code.
        kind = cast("type[Any]", type(value))
        if kind is FunctionType:
            yield from self._function(value, depth)
        elif kind is MethodType:
            yield from self._all(depth, value.__func__, value.__self__)
        elif kind in (BuiltinFunctionType, MethodWrapperType):
            yield f"built in {getattr(value, '__module__', None)}:{value.__qualname__}"
            if type(value.__self__) is not ModuleType:
                yield from self.words(value.__self__, depth)
        elif kind in _DESCRIBED:
            yield f"built in {place(value.__objclass__)}.{value.__name__}"
        elif kind is CodeType:
            yield digest(value)
        elif kind is ModuleType:
            yield f"module {value.__name__}"
        elif kind in (staticmethod, classmethod):
            yield from self.words(value.__func__, depth)
        elif kind is property:
            yield from self._all(depth, value.fget, value.fset, value.fdel)
        elif kind in (itemgetter, attrgetter, methodcaller):
            yield from self.words(value.__reduce__(), depth)
        elif issubclass(kind, type):
            yield from self._class(value, depth)
        else:
            yield from self._instance(value, kind, depth)

    def _all(self, depth: int, *values: object) -> Iterator[str]:
        for value in values:
            yield from self.words(value, depth)

    def _function(self, function: FunctionType, depth: int) -> Iterator[str]:
        cells = [held(cell) for cell in function.__closure__ or ()]
        if is_ours(function.__globals__.get("__name__")):
            yield place(function)
            # What our functions hold beside is what they work with, and changes with it.
            for each in filter(callable, cells):
                is_plumbing = type(each) is FunctionType and is_ours(each.__globals__.get("__name__"))
                yield from self.words(each, depth) if is_plumbing else self.first(each, depth)
        else:
            if not (is_standard := _is_standard(function.__globals__)):
                self._note([function])
            yield place(function) if is_standard else f"{place(function)}:{digest(function.__code__)}"
            yield from self._all(depth, function.__defaults__, function.__kwdefaults__, *cells)
        yield from self._names(vars(function), depth)

    def _class(self, kind: type[Any], depth: int) -> Iterator[str]:
        yield place(kind)
        if is_ours(kind.__module__) or _is_found(kind):
            return
        yield from self._all(depth, *kind.__bases__)
        for name, member in sorted(vars(kind).items()):
            if type(member) in (FunctionType, staticmethod, classmethod, property) or not name.startswith("__"):
                yield _plain(name)
                yield from self.words(member, depth)

    def _instance(self, value: Any, kind: type[Any], depth: int) -> Iterator[str]:
        yield place(kind)
        if is_ours(kind.__module__):
            # A tool of ours says which functions it consists of.
            if callable(functions := getattr(kind, "functions", None)):
                yield from self._all(depth, *cast("Iterable[object]", functions(value)))
            return
        if kind.__module__.partition(".")[0] in AT_WORK:
            return
        if not _is_found(kind):
            yield from self.words(kind, depth)
        yield from self._contents(value, kind, depth)
        call = next((vars(each)["__call__"] for each in kind.__mro__ if "__call__" in vars(each)), None)
        if type(call) is FunctionType:
            yield from self.words(call, depth)
        yield from self._names(_state(value, kind), depth)

    def _contents(self, value: Any, kind: type[Any], depth: int) -> Iterator[str]:
        if issubclass(kind, partial):
            yield from self._all(depth, value.func, value.args, value.keywords)
        elif issubclass(kind, dict):
            yield from self._items(list((_ITEMS_IN_ORDER if issubclass(kind, OrderedDict) else _ITEMS)(value)), depth)
            yield from self._all(depth, *([value.default_factory] if issubclass(kind, defaultdict) else []))
        elif kind is MappingProxyType:
            yield from self._items(dict(value).items(), depth)
        elif issubclass(kind, list | tuple | deque):
            yield from self._all(depth, *_sequence(value))
            yield from self._all(depth, *([vars(deque)["maxlen"].__get__(value)] if issubclass(kind, deque) else []))
        elif issubclass(kind, set | frozenset):
            yield from self._members(frozenset[Any](value), depth)
        elif reduce := next((reduce for base, reduce in _REDUCED.items() if issubclass(kind, base)), None):
            yield from self.words(reduce(value), depth)
        else:
            yield from (_plain(plainly(value)) for base, plainly in _PLAINLY.items() if issubclass(kind, base))

    def _names(self, names: Namespace, depth: int) -> Iterator[str]:
        """Attributes have no order that means something."""
        yield from self._items(sorted(names.items(), key=lambda item: _plain(item[0])), depth)

    def _items(self, items: Iterable[tuple[Any, Any]], depth: int) -> Iterator[str]:
        for key, value in items:
            yield _plain(key) or self._apart(key, depth)
            yield from self.words(value, depth)

    def _members(self, members: frozenset[Any], depth: int) -> Iterator[str]:
        yield f"{len(members)} of"
        if len(members) > self._left:
            yield "and more"
        else:
            yield from sorted([_plain(each) or self._apart(each, depth) for each in members])

    def _apart(self, value: object, depth: int) -> str:
        """Something that has no order among others, in one word: what else was met does not count."""
        inner = Fingerprint(self._around, MOST_APART)
        found = hashed(*inner.words(value, depth))
        self._turned |= inner._turned
        self._note(inner.modules.values())
        self._left -= MOST_APART - max(inner._left, 0)
        return found


def _remember(value: Any, word: str, functions: Iterable[FunctionType]) -> None:
    at = id(value)
    # What takes no note of its end is looked at each time.
    with suppress(TypeError):
        _FIRST[at] = ref(value, lambda _: _FIRST.pop(at, None)), word, list(map(ref, functions))


def is_ours(module: object) -> bool:
    """Whether a module is a part of Pollux: its code comes with the program that asks."""
    return isinstance(module, str) and module.startswith(OURS)


def _is_standard(namespace: Namespace) -> bool:
    """Whether a module is one of Python's own, and not another one of that name."""
    file: object = namespace.get("__file__")
    return isinstance(file, str) and file.startswith(_LIBRARY) and not file.startswith(_PACKAGES)


def place(named: Callable[..., Any]) -> str:
    """Where a function or a class is, also where that is the program that was started."""
    module: str = named.__module__
    if module == "__main__":
        spec = getattr(sys.modules.get("__main__"), "__spec__", None)
        module = spec.name if spec else module
    return f"{module}:{named.__qualname__}"


def digests(code: CodeType) -> Iterator[str]:
    """This code's, and that of all the code within it."""
    yield digest(code)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from digests(inner)


def digest(code: CodeType) -> str:
    """What the code does, and nothing of where it is written."""
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    # Of what an error skips, and of which arguments are named, the instructions alone say nothing.
    form = (code.co_code.hex(), code.co_exceptiontable.hex(), *map(repr, counts))
    parts = (*form, *map(repr, names), *map(_constant, code.co_consts))
    return hashed(*parts)


def hashed(*words: str) -> str:
    """Several words in one."""
    return hashlib.sha256("\n".join(words).encode("utf-8", "surrogatepass")).hexdigest()


def _constant(value: object) -> str:
    if isinstance(value, CodeType):
        return digest(value)
    # A set's order changes from one process to the next.
    return repr(sorted(map(repr, cast("frozenset[object]", value)))) if isinstance(value, frozenset) else repr(value)


def held(cell: Any) -> object:
    """What a closure holds there, if anything."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _is_found(kind: type[Any]) -> bool:
    """Whether a class stands in a module: then its code does. One that a function made may hold what that had."""
    found: object = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, "__dict__", {}).get(name)
    return found is kind


def _state(value: Any, kind: type[Any]) -> Namespace:
    """What an object holds under names of its own."""
    state: Namespace = {}
    for each in kind.__mro__:
        for name, member in vars(each).items():
            is_shown = each.__module__ in _SLOTTED or each.__module__ not in sys.stdlib_module_names
            if type(member) is MemberDescriptorType and is_shown:
                try:
                    state[name] = member.__get__(value)
                except AttributeError:
                    continue
    try:
        return state | object.__getattribute__(value, "__dict__")
    except AttributeError:
        return state


def _sequence(value: Any) -> Iterator[Any]:
    bases: tuple[Any, ...] = (list, tuple, deque)
    return next(base for base in bases if issubclass(type(value), base)).__iter__(value)


_ITEMS: Final[Any] = vars(dict)["items"]
_ITEMS_IN_ORDER: Final[Any] = vars(OrderedDict)["items"]
_SLOTTED: Final = frozenset({"fractions", "ipaddress", "uuid"})
"""Modules whose values are in slots, also of an author's class made of theirs."""
_DESCRIBED: Final = (
    ClassMethodDescriptorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
"""Methods and attributes of classes that are built in: `str.upper`."""
_PLAINLY: Final[dict[type[Any], Callable[[Any], Any]]] = {
    str: str.__str__,
    bytes: bytes.__bytes__,
    bytearray: lambda value: bytearray.__getitem__(value, slice(None)),
    int: int.__int__,
    float: float.__float__,
    complex: complex.__complex__,
    PurePath: PurePath.__str__,
}
"""What such a value is, whatever a class of the author's says of it."""
_REDUCED: Final[dict[type[Any], Callable[[Any], Any]]] = {
    array: lambda value: (vars(array)["typecode"].__get__(value), vars(array)["tobytes"](value)),
    datetime: lambda value: cast("Any", datetime.__reduce_ex__(value, 4))[1],
    date: lambda value: cast("Any", date.__reduce__(value))[1],
    time: lambda value: cast("Any", time.__reduce_ex__(value, 4))[1],
    timedelta: lambda value: cast("Any", timedelta.__reduce__(value))[1],
    timezone: lambda value: vars(timezone)["__getinitargs__"](value),
    ZoneInfo: lambda value: vars(ZoneInfo)["key"].__get__(value),
    Decimal: Decimal.__str__,
    slice: lambda value: (value.start, value.stop, value.step),
}
"""What such a value is made of, by no code of the author's. The first that fits counts."""
_SPELT: Final[dict[type[Any], Callable[[Any], str]]] = {
    **dict.fromkeys((bool, type(None), type(...), type(NotImplemented), float, complex, range, timedelta), repr),
    **dict.fromkeys((Decimal, Fraction, UUID), str),
    **dict.fromkeys((IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network), str),
    date: date.isoformat,
    # Longer ones have no decimal form.
    int: hex,
    str: str,
    bytes: bytes.hex,
    bytearray: bytearray.hex,
    re.Pattern: lambda value: f"{value.flags} {value.pattern!r}",
}


def _plain(value: Any) -> str:
    """A value that says all of itself, in one word; empty for any other."""
    kind = cast("type[Any]", type(value))
    if spell := _SPELT.get(kind):
        return _short(f"{kind.__name__} {spell(value)}")
    if issubclass(kind, Enum):
        return _short(f"{place(kind)} {value._name_} {_plain(value._value_)}")
    return _short(f"{place(kind)} {value}") if _is_path(kind) else ""


def _is_path(kind: type[Any]) -> bool:
    """One that holds nothing else: an author's own may."""
    return issubclass(kind, PurePath) and kind.__module__.partition(".")[0] == "pathlib"


def _short(text: str) -> str:
    """A word of bearable length, in one line: no text can stand for several words."""
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text if len(text) <= LONGEST else hashed(text)
