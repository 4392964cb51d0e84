"""What templates see of a scene: trees and rows that can be read and nothing else, and that note what was read.

MiniJinja calls methods of the Python values it is given, so plain dictionaries could be changed by a template. These
have no methods. Each access to a block's output is noted, and so are the outputs behind a variable: that is where a
rendered text came from.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

PRINTED: Final = 2 << 20
"""How many characters of a value are put into text before it is given up."""


class Unusable(ValueError):
    """A value that has no form as text, or one that is too large."""


class _Nothing:
    """Stands where MiniJinja finds an attribute and a template finds nothing."""

    def __bool__(self) -> bool:
        return False


class Absent:
    """Stands for an output that is not there: no words, no truth, and the filter `default` fills it in."""

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return ""


ABSENT: Final = Absent()


class Log:
    """What was read while one template was rendered."""

    def __init__(self) -> None:
        self.sources: set[str] = set()
        self.lacking: set[str] = set()
        """Where the outputs of agents and of blocks that failed are. What they lack has no words; elsewhere nothing
        prints as `none`."""
        self.miss: tuple[str, str, tuple[str, ...]] | None = None
        """The last thing that was looked for in vain: where, what, and what there is instead."""


class Tree:
    """Values by name."""

    __slots__ = ("_log", "_noted", "_path", "_values")

    items = _Nothing()  # By this name MiniJinja knows a mapping.

    def __init__(
        self, values: Mapping[str, Any], log: Log, path: str, noted: Callable[[str], None] | None = None
    ) -> None:
        self._values = values
        self._log = log
        self._path = path
        self._noted = noted

    def __getitem__(self, key: object) -> Any:
        name = self._name(key)
        if name is None:
            self._log.miss = (self._path, str(key), tuple(self._values))
            raise KeyError(key)
        if self._noted is not None:
            self._noted(name)
        return wrapped(self._values[name], self._log, _within(self._path, name))

    def _name(self, key: object) -> str | None:
        return key if isinstance(key, str) and key in self._values else None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: object) -> bool:
        return self._name(key) is not None

    def __repr__(self) -> str:
        return printed(self)


class Output(Tree):
    """A block's output. Its keys are found in both spellings: `exit_code` and `exitCode`."""

    __slots__ = ()

    def _name(self, key: object) -> str | None:
        if not isinstance(key, str):
            return None
        return next((name for name in (key, snake(key), camel(key)) if name in self._values), None)

    def __getitem__(self, key: object) -> Any:
        value = super().__getitem__(key)
        return ABSENT if value is None and self._path in self._log.lacking else value


class Row:
    """Values in order."""

    __slots__ = ("_items", "_log", "_path")

    def __init__(self, items: Sequence[Any], log: Log, path: str) -> None:
        self._items = items
        self._log = log
        self._path = path

    def __getitem__(self, index: int) -> Any:
        return wrapped(self._items[index], self._log, f"{self._path}[{index}]")

    def __iter__(self) -> Iterator[Any]:
        for index in range(len(self._items)):
            yield self[index]

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return printed(self)


def wrapped(value: Any, log: Log, path: str) -> Any:
    """The value, if it has parts so that only they can be read."""
    if isinstance(value, dict):
        return Tree(cast("dict[str, Any]", value), log, path)
    if isinstance(value, list):
        return Row(cast("list[Any]", value), log, path)
    return value


def shown(value: Any) -> Any:
    """A value as it is printed: truth and nothing in small letters, parts as JSON."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "none"
        case _Nothing():
            raise Unusable("`items` is undefined there")
        case Absent():
            return ""
        case Tree() | Row() | dict() | list() | tuple():
            return printed(value)
        case _:
            return value


def printed(value: Any) -> str:
    """A value with parts as JSON. Raises Unusable, before all of it was put together."""
    import json

    return json.dumps(_bare(value, [PRINTED]), ensure_ascii=False)


def _bare(value: Any, left: list[int]) -> Any:
    left[0] -= len(value) if isinstance(value, str) else 1
    if left[0] < 0:
        raise Unusable(f"a value of more than {PRINTED:,} characters cannot be printed")
    match value:
        case Tree():
            return {key: _bare(value[key], left) for key in value}
        case dict():
            told = cast("dict[Any, Any]", value)
            return {str(key): _bare(item, left) for key, item in told.items()}
        case Row() | list() | tuple():
            return [_bare(item, left) for item in cast("Sequence[Any]", value)]
        case str() | int() | float() | None:
            return value
        case Absent():
            return None
        case _:
            return str(value)


def _within(path: str, name: str) -> str:
    return f"{path}.{name}" if name.isidentifier() else f"{path}[{name!r}]"


def snake(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def camel(name: str) -> str:
    return re.sub("_([a-z])", lambda letter: letter[1].upper(), name)
