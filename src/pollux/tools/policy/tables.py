"""One table of a policy file, read strictly: a misspelt key could leave open what a rule was written to close."""

from collections.abc import Collection, Mapping
from typing import Any, Final, cast

from pollux.core.conditions import Condition, condition_of
from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.policy import Mode

SHELL: Final = "shell"
"""The tool that command prefixes speak of."""


@frozen
class Written:
    """A table as it was written, and where. Asked for a key that is not there, it answers None."""

    table: Mapping[str, object]
    where: str
    """For errors: rule 2 in team.toml."""
    name: str
    """For decisions: team.toml#2."""

    def check_keys(self, known: Collection[str]) -> None:
        for key in self.table:
            if key not in known:
                listed = ", ".join(sorted(known))
                raise ValidationError(f"{self.where} holds {shown(key)}, which means nothing there. Known: {listed}")

    def has(self, *keys: str) -> bool:
        return any(key in self.table for key in keys)

    def text(self, key: str) -> str | None:
        value = self.table.get(key)
        if value is None or (isinstance(value, str) and value):
            return value
        raise self.refusal(key, "text in quotes")

    def texts(self, key: str) -> tuple[str, ...] | None:
        """Where a list is asked for, one text is taken as a list of one."""
        if key not in self.table:
            return None
        value = self.table[key]
        items = cast("list[object]", value) if isinstance(value, list) else [value]
        texts = tuple(item for item in items if isinstance(item, str) and item)
        if not texts or len(texts) < len(items):
            raise self.refusal(key, "a text, or a list of texts with at least one")
        return texts

    def flag(self, key: str) -> bool | None:
        value = self.table.get(key)
        if value is None or isinstance(value, bool):
            return value
        raise self.refusal(key, "true or false")

    def number(self, key: str, *, within: range | None = None) -> int | None:
        value = self.table.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or (within is not None and value not in within):
            raise self.refusal(key, "a whole number" + (f" from {within[0]} to {within[-1]}" if within else ""))
        return value

    def one_of(self, key: str, known: Collection[str]) -> str:
        value = self.table.get(key)
        if not isinstance(value, str) or value not in known:
            raise self.refusal(key, f"one of {', '.join(known)}")
        return value

    def regex(self, key: str) -> str | None:
        pattern = self.text(key)
        if pattern is not None:
            self.check_regex(key, pattern)
        return pattern

    def check_regex(self, key: str, pattern: str) -> None:
        from pollux.engine.patterns import require_pattern

        try:
            require_pattern(pattern)
        except ValidationError as problem:
            raise self.refusal(key, f"a regular expression ({problem})") from None

    def conditions(self, key: str) -> tuple[Condition, ...] | None:
        """Conditions on arguments, each such as { path = "amount", above = 100 }."""
        value = self.table.get(key)
        if value is None:
            return None
        found: list[Condition] = []
        for item in cast("list[object]", value) if isinstance(value, list) else [value]:
            if not isinstance(item, dict):
                raise self.refusal(key, 'a list such as [{ path = "amount", above = 100 }]')
            try:
                found.append(condition_of(cast("dict[str, Any]", item)))
            except ValidationError as problem:
                raise ValidationError(f"{key} of {self.where}: {problem}") from None
            if found[-1].operator == "matches":
                self.check_regex(key, str(found[-1].value))
        return tuple(found)

    def table_of(self, key: str) -> "Written | None":
        value = self.table.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.refusal(key, "a table")
        return Written(cast("dict[str, object]", value), f"{key} of {self.where}", self.name)

    def refusal(self, key: str, expected: str, *, then: str = "") -> ValidationError:
        """The error that says what the key should have held, what it holds, and what to do `then`."""
        found = shown(self.table[key]) if key in self.table else "nothing"
        text = f"{key} of {self.where} must be {expected}, found {found}"
        return ValidationError(f"{text}. {then}" if then else text)


def tables_of(document: Mapping[str, object], key: str, *, path: str) -> tuple[Written, ...]:
    """The tables written as [[key]], numbered from 1."""
    entries = document.get(key, [])
    if not isinstance(entries, list):
        raise ValidationError(f"{key} in {path} must be a list of [[{key}]] tables, found {shown(entries)}")
    found: list[Written] = []
    for n, entry in enumerate(cast("list[object]", entries), start=1):
        where = f"{key.removesuffix('s')} {n} in {path}"
        if not isinstance(entry, dict):
            raise ValidationError(f"{where} must be a table, found {shown(entry)}")
        found.append(Written(cast("dict[str, object]", entry), where, f"{path.rpartition('/')[2]}#{n}"))
    return tuple(found)


def command_patterns(entry: Written, key: str, decision: Mode) -> tuple[str, ...] | None:
    """Patterns for the subjects of commands that begin with one of these prefixes."""
    prefixes = entry.texts(key)
    if prefixes is None:
        return None
    # Only here: what knows of programs costs more to import than all the rest, and few policies name a command.
    from pollux.tools.shell.judge import prefix_patterns

    try:
        return tuple(dict.fromkeys(pattern for prefix in prefixes for pattern in prefix_patterns(prefix, decision)))
    except ValidationError as problem:
        raise ValidationError(f"{key} of {entry.where}: {problem}") from None


def shown(value: object) -> str:
    """A value in the words of a person who writes policies, cut where it is long."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return repr(value if len(value) <= 80 else value[:80] + "…")
        case int() | float():
            return str(value) if abs(value) < 1_000_000 else "a number"
        case list():
            return "a list" if value else "an empty list"
        case dict():
            return "a table"
        case _:
            return "a date or time"
