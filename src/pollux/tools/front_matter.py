"""The head of a Markdown file: fields in YAML between two lines of `---`. All values are text, lists or mappings.

Strict about what YAML can hide (anchors, depth), lenient about what people write: a value with a colon in it, which
YAML does not take without quotes, is read as the text it plainly is.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final, cast

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.engine.untrusted import load_yaml

LARGEST_HEAD: Final = 64 << 10
_HEAD: Final = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_FIELD: Final = re.compile(r"(\s*)([\w-]+):[ \t]+(\S.*)")
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_FIRST_LINE: Final = 2


@frozen
class FrontMatter:
    """The fields of a file, the line on which each stands, and the text that follows them."""

    fields: dict[str, Any]
    lines: dict[str, int]
    body: str


def read_front_matter(text: str, *, name: str) -> FrontMatter:
    """Read a file's text. Raises ValidationError with `name`, the line and what was expected."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    match = _HEAD.match(text)
    if match is None:
        found = "no second line of `---`" if text.startswith("---") else "something else"
        raise ValidationError(
            f"{name}, line 1: expected fields such as `name: …` and `description: …` between two lines of `---`,"
            f" found {found}"
        )
    head = match[1]
    if len(head) > LARGEST_HEAD:
        raise ValidationError(f"{name}, line 1: expected at most {LARGEST_HEAD >> 10} KB of fields, found more")
    if odd := _CONTROL.search(head):
        line = head.count("\n", 0, odd.start()) + _FIRST_LINE
        raise ValidationError(f"{name}, line {line}: expected text, found the control character U+{ord(odd[0]):04X}")
    return FrontMatter(_fields(head, name=name), _lines(head), text[match.end() :].strip())


def _fields(head: str, *, name: str) -> dict[str, Any]:
    import yaml  # Only here: most programs have no skills, and the import is slow.

    try:
        try:
            fields = _load(head)
        except yaml.YAMLError as problem:
            fields = _load("\n".join(_quoted(head.split("\n"))), instead_of=problem)
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = mark.line + _FIRST_LINE if mark is not None else 1
        reason = getattr(problem, "problem", None) or "it cannot be read"
        raise ValidationError(
            f"{name}, line {line}: expected YAML such as `description: What it is for`, but {reason}. Put the value in"
            " quotes, or correct it"
        ) from None
    except (RecursionError, ValueError) as problem:
        raise ValidationError(f"{name}, line 1: expected plain fields, but {problem}") from None
    if not isinstance(fields, dict):
        raise ValidationError(f"{name}, line {_FIRST_LINE}: expected fields such as `name: …`, found none")
    return cast("dict[str, Any]", fields)


def _load(head: str, *, instead_of: Exception | None = None) -> object:
    """Every scalar is text: `name: 007` and `version: 1.10` stay what they were. Raises YAMLError and ValueError."""
    import yaml

    try:
        return load_yaml(head, loader=yaml.BaseLoader)
    except yaml.YAMLError as problem:
        # What is wrong with the text as it was written is worth telling; what is wrong with ours is not.
        raise instead_of or problem from None


def _quoted(lines: list[str]) -> Iterator[str]:
    """The same lines with plain values in quotes, together with the lines that continue them."""
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        field = _FIELD.fullmatch(line)
        if field is None:
            yield line
            continue
        indent, key, value = field.groups()
        more: list[str] = []
        while at < len(lines) and (not lines[at].strip() or _indent(lines[at]) > len(indent)):
            more.append(lines[at])
            at += 1
        if _is_marked(value):
            yield from (line, *more)
        else:
            yield f"{indent}{key}: {json.dumps(' '.join(part.strip() for part in (value, *more) if part.strip()))}"


def _is_marked(value: str) -> bool:
    """Whether the value is in a form of YAML's own: quoted, a block, a list or a mapping."""
    return value[0] in "|>[{" or (len(value) > 1 and value[0] in "\"'" and value.rstrip()[-1] == value[0])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _lines(head: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for number, line in enumerate(head.split("\n"), start=_FIRST_LINE):
        if key := re.match(r"([\w-]+)\s*:", line):
            found.setdefault(key[1], number)
    return found
