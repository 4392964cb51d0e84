"""The page's state, made small enough to go with every call of a model, and safe to stand among instructions.

Arrays are cut after a few items, texts after two hundred characters, and each cut says how much there is and how to
read on. What is private stays out of it, and so does the chat itself. The text is always whole JSON, without a line
break or a sign that nobody sees inside a value.
"""

import json
import re
from collections.abc import Sequence
from itertools import islice
from typing import Final, cast

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.core.tools import ToolSpec
from pollux.page.private import visible

LARGEST: Final = 16_000
"""Bytes, some 4,000 tokens."""
LONGEST_KEY: Final = 80
APART: Final = frozenset({"interactions", "outline", "private", "asks"})
"""What the model is told in another form."""

READ: Final = ToolSpec(
    "read-page-state",
    "Read more of the page's state where it was cut. `path` and `start` as the cut says.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where to read, such as /viewState/products"},
            "start": {"type": "integer", "minimum": 0, "description": "How many to pass over"},
        },
        "required": ["path"],
        "additionalProperties": False,
    },
    where="page",
)
"""Of the page, and answered for it: the state came with the request (`read_more`)."""


@frozen
class _Bounds:
    items: int
    characters: int
    members: int
    depth: int


_TIGHTER: Final = (
    _Bounds(5, 200, 60, 8),
    _Bounds(5, 120, 40, 6),
    _Bounds(3, 80, 30, 5),
    _Bounds(2, 60, 20, 4),
    _Bounds(1, 40, 12, 3),
    _Bounds(0, 40, 8, 2),
    _Bounds(0, 20, 4, 1),
    _Bounds(0, 20, 0, 0),
)
_WIDER: Final = (_Bounds(50, 2_000, 200, 12), _Bounds(20, 1_000, 100, 10), *_TIGHTER)


def shown(state: JSON, *, largest: int = LARGEST) -> str:
    """The state as JSON text of at most so many bytes: the first bounds under which it fits."""
    return shown_of(visible(state), largest=largest)


def shown_of(seen: JSON, *, largest: int = LARGEST) -> str:
    """The same, of what is visible."""
    if isinstance(seen, dict):
        seen = {name: value for name, value in cast("dict[str, JSON]", seen).items() if name not in APART}
    return _fitted(seen, "", _TIGHTER, largest)


def read_more(state: JSON, path: str, *, start: int = 0, largest: int = LARGEST) -> str:
    """What lies at a path of the state, in wider bounds. Raises ValidationError for a path that leads nowhere."""
    value = visible(state)
    start = max(start, 0)
    names = path.removeprefix("/")
    steps = [step.replace("~1", "/").replace("~0", "~") for step in names.split("/")] if names else []
    for number, step in enumerate(steps):
        value = _entered(value, step, _pointer(steps[:number]) or "/")
    match value:
        case str() | list():
            value = cast("Sequence[JSON]", value)[start:]
        case dict():
            members = sorted(cast("dict[str, JSON]", value).items())
            value = dict(members[start:])
        case _:
            pass
    return _fitted(value, _pointer(steps), _WIDER, largest, start)


def text_of(value: JSON, *, indent: int | None = 1) -> str:
    """JSON that can stand among instructions: no value spans lines, looks like a tag, or hides a sign."""
    text = json.dumps(value, indent=indent, sort_keys=True, ensure_ascii=False)
    return "\n".join(map(plain, text.split("\n")))


def plain(line: str) -> str:
    """A line without a sign that nobody sees, or that could be taken for a tag."""
    return re.sub(r"[^ -;=-~]", lambda found: found[0] if _is_plain(found[0]) else _coded(found[0]), line)


def _fitted(value: JSON, path: str, bounds: Sequence[_Bounds], largest: int, start: int = 0) -> str:
    text = ""
    for bound in bounds:
        text = text_of(_cut(value, path, bound, 0, start))
        if len(text.encode()) <= largest:
            return text
    # Only a path can be so long.
    return text_of("…")


def _cut(value: JSON, path: str, bounds: _Bounds, depth: int, start: int = 0) -> JSON:
    match value:
        case str():
            cut = value[: bounds.characters]
            more = len(value) - len(cut)
            return cut + note(more, "characters", path, start + len(cut)) if more else value
        case dict():
            return _cut_object(cast("dict[str, JSON]", value), path, bounds, depth, start)
        case list():
            items = cast("list[JSON]", value)
            if depth >= bounds.depth and items:
                return note(len(items), "items", path, start)
            kept = [
                _cut(item, f"{path}/{start + number}", bounds, depth + 1)
                for number, item in enumerate(items[: bounds.items])
            ]
            more = len(items) - len(kept)
            return [*kept, note(more, "items", path, start + len(kept))] if more else kept
        case bool() | None:
            return value
        case int():
            return value if value.bit_length() < 200 else "a very long number"
        case float():
            return value if abs(value) < float("inf") else None
        case _:
            return None


def _cut_object(members: dict[str, JSON], path: str, bounds: _Bounds, depth: int, start: int) -> JSON:
    if depth >= bounds.depth and members:
        return note(len(members), "members", path, start)
    kept: dict[str, JSON] = {}
    # The same order whatever the page's: what did not change looks unchanged.
    for name, member in islice(sorted(members.items()), bounds.members):
        if len(name) > LONGEST_KEY:
            kept[f"{name[:LONGEST_KEY]}…"] = "(a member with a very long name)"
        else:
            kept[name] = _cut(member, f"{path}/{_escaped(name)}", bounds, depth + 1)
    if more := len(members) - min(len(members), bounds.members):
        kept["…"] = note(more, "members", path, start + bounds.members)
    return kept


def note(count: int, what: str, path: str, start: int) -> str:
    """What stands where something was cut: how much it is, and how to read on."""
    begin = f" start={start}" if start else ""
    return f"… ({count} more {what}: {READ.name} path={path or '/'}{begin})"


def _entered(value: JSON, step: str, path: str) -> JSON:
    if isinstance(value, dict) and step in value:
        return cast("dict[str, JSON]", value)[step]
    if isinstance(value, list) and re.fullmatch(r"[0-9]{1,7}", step) and int(step) < len(cast("list[JSON]", value)):
        return cast("list[JSON]", value)[int(step)]
    match value:
        case dict():
            there = "has the members " + ", ".join(islice(sorted(cast("dict[str, JSON]", value)), 10))
        case list():
            there = f"has {len(cast('list[JSON]', value))} items"
        case _:
            there = "has nothing inside"
    raise ValidationError(f"there is no {step[:LONGEST_KEY]!r} at {path[:400]}: it {there[:400]}")


def _pointer(steps: Sequence[str]) -> str:
    return "".join(f"/{_escaped(step)}" for step in steps)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _is_plain(character: str) -> bool:
    return character != "<" and character.isprintable()


def _coded(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
