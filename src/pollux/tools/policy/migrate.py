"""Rewrite rules that search the whole JSON of arguments, line by line, so that everything else in a file stays.

A rule that was rewritten is never more permissive than it was: one that denies applies wherever it applied, one that
allows applies nowhere else. A rule for which that cannot be said stays, with advice for the person who wrote it.
"""

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final, cast

from pollux.core.conditions import Condition
from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.engine.untrusted import load_toml
from pollux.tools.policy.patterns import allowing, denying, named

_HEADER: Final = re.compile(
    r"\s*\[\[\s*(rules|profiles\s*\.\s*([A-Za-z0-9_-]+|\"[^\"\\]+\")\s*\.\s*rules)\s*\]\]\s*(#.*)?"
)
_TABLE: Final = re.compile(r"\s*\[")
_NOT: Final = re.compile(r"\[!([A-Za-z0-9_]+)\]\*")


@frozen
class Migrated:
    """The new text, what was rewritten, and what stays as it is with the reason and what to write instead."""

    text: str
    rewritten: tuple[str, ...]
    left: tuple[str, ...]


def migrate(text: str, *, name: str) -> Migrated:
    """The text with its old rules rewritten. Raises ValidationError for what is no TOML."""
    document = _parsed(text, name=name)
    lines = text.splitlines(keepends=True)
    rewritten: list[str] = []
    left: list[str] = []
    for where, keys, rule in _rules(document):
        for key, change in (("args", _conditions), ("door", _interface)):
            if key not in rule:
                continue
            written = change(rule)
            if isinstance(written, str):
                left.append(f"{where}: {written}")
            elif (changed := _replaced(lines, document, keys, key, written)) is None:
                left.append(f"{where}: `{key}` is not on a line of its own. Write {_toml(written)} in its place")
            else:
                lines, document = changed
                rewritten.append(f"{where}: {key} is {_toml(written)}")
    return Migrated("".join(lines), tuple(rewritten), tuple(left))


def _rules(document: dict[str, Any]) -> Iterator[tuple[str, tuple[str | int, ...], dict[str, Any]]]:
    """Each rule that is a table, where it stands in words and in the document."""
    profiles = document.get("profiles", {})
    places: list[tuple[str, tuple[str | int, ...], object]] = [("", ("rules",), document.get("rules"))]
    if isinstance(profiles, dict):
        for profile, table in cast("dict[str, Any]", profiles).items():
            if isinstance(table, dict):
                rules = cast("dict[str, Any]", table).get("rules")
                places.append((f" of [profiles.{profile}]", ("profiles", profile, "rules"), rules))
    for owner, keys, rules in places:
        for n, rule in enumerate(cast("list[Any]", rules) if isinstance(rules, list) else []):
            if isinstance(rule, dict):
                yield f"rule {n + 1}{owner}", (*keys, n), cast("dict[str, Any]", rule)


def _conditions(rule: dict[str, Any]) -> dict[str, Any] | str:
    """What to write for `args`; a text that says why not."""
    pattern, decision = rule["args"], rule.get("decision")
    if not isinstance(pattern, str):
        return "`args` is no text"
    advice = _advice(pattern)
    if "where" in rule:
        return f"it has `where` already. {advice}"
    match decision:
        case "allow":
            found = allowing(pattern)
        case "deny":
            found = denying(pattern)
        case _:
            # One that asks and applies more often than before could stand before one that denies.
            return f"a rule that asks must apply neither more nor less than before. {advice}"
    if found is None:
        return f"{_why(pattern, str(decision))}. {advice}"
    return {"where": [_written(found)]}


def _why(pattern: str, decision: str) -> str:
    about = named(pattern)
    if about is None:
        return f"{pattern[:80]!r} names no one argument of text"
    if decision == "deny" and "." in about.body:
        return f"{pattern[:80]!r} also finds what stands in other arguments"
    return f"{pattern[:80]!r} is more than literal text, and JSON writes some texts in another way"


def _advice(pattern: str) -> str:
    about = named(pattern)
    if about is None:
        condition: dict[str, Any] = {"path": "ARGUMENT", "matches": pattern}
        return f"If one argument is meant, write: {_toml({'where': [condition]})}"
    meant = Condition(f"**.{about.key}", "matches", about.regex)
    return f"If only {about.key!r} is meant, write: {_toml({'where': [_written(meant)]})}"


def _interface(rule: dict[str, Any]) -> dict[str, Any] | str:
    door = rule["door"]
    if not isinstance(door, str) or "interface" in rule or "interface_not" in rule:
        return "`door` is the former name of `interface`. Put both into one list"
    if found := _NOT.fullmatch(door):
        return {"interface_not": [f"{letter}*" for letter in dict.fromkeys(found[1])]}
    return {"interface": [door]}


def _written(condition: Condition) -> dict[str, Any]:
    return {"path": condition.path, condition.operator: condition.value}


def _replaced(
    lines: list[str], document: dict[str, Any], keys: tuple[str | int, ...], key: str, written: dict[str, Any]
) -> tuple[list[str], dict[str, Any]] | None:
    """The lines and the document with one key in another form. None where it is not on a line of its own."""
    wanted = deepcopy(document)
    rule: Any = wanted
    for step in keys:
        rule = rule[step]
    old = rule.pop(key)
    rule.update(written)
    for at in _lines_of(lines, keys):
        found = re.match(rf"(\s*)(?:{key}|\"{key}\"|'{key}')\s*=", lines[at])
        if found is None:
            continue
        rest = lines[at][len(found[1]) :].rstrip("\r\n")
        end = lines[at][len(found[1]) + len(rest) :]
        comment = _comment(rest, key, old)
        if comment is None:
            return None
        new = [*lines[:at], f"{found[1]}{_toml(written)}{comment}{end}", *lines[at + 1 :]]
        # A line that only looks like the one that was meant, in a text of several lines, would change something else.
        return (new, wanted) if _same("".join(new), wanted) else None
    return None


def _lines_of(lines: list[str], keys: tuple[str | int, ...]) -> Iterator[int]:
    """The lines between the header of a rule and the next table."""
    section, count, is_in = ".".join(map(str, keys[:-1])), 0, False
    for at, line in enumerate(lines):
        if found := _HEADER.fullmatch(line.rstrip("\r\n")):
            is_section = re.sub(r"[\s\"]", "", found[1]) == re.sub(r"[\s\"]", "", section)
            is_in = is_section and count == keys[-1]
            count += is_section
        elif _TABLE.match(line):
            is_in = False
        elif is_in:
            yield at


def _comment(rest: str, key: str, old: object) -> str | None:
    """What stands behind the value, with the blanks before it. None where the value does not end on the line."""
    for at in [*(n for n, letter in enumerate(rest) if letter == "#"), len(rest)]:
        try:
            if load_toml(rest[:at]) == {key: old}:
                value = rest[:at].rstrip()
                return rest[len(value) :]
        except ValueError:
            continue
    return None


def _same(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return load_toml(text) == wanted
    except ValueError:
        return False


def _parsed(text: str, *, name: str) -> dict[str, Any]:
    try:
        return load_toml(text)
    except ValueError as problem:
        raise ValidationError(f"{name} is not valid TOML: {problem}. Correct it", code="usage") from None


def _toml(table: dict[str, Any]) -> str:
    return ", ".join(f"{key} = {_value(value)}" for key, value in table.items())


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case list():
            return f"[{', '.join(map(_value, cast('list[object]', value)))}]"
        case dict():
            return f"{{ {_toml(cast('dict[str, Any]', value))} }}"
        case _:
            return _text(str(value))


def _text(text: str) -> str:
    """As people write patterns, in single quotes, where that can be."""
    if "'" not in text and "\\" in text and text.isprintable():
        return f"'{text}'"
    escaped = "".join(
        f"\\{letter}" if letter in '"\\' else letter if letter.isprintable() else f"\\U{ord(letter):08X}"
        for letter in text
    )
    return f'"{escaped}"'
