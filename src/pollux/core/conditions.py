"""Conditions of a rule on arguments: a path into the parsed value, an operator, and what to compare with.

Text is never searched as a whole. A value that cannot be compared, because it has another type or is too long, makes
the condition undecided: a rule that denies or asks then applies, a rule that allows does not. So does a path that meets
another shape than it names, such as a list or a text where it expects an object.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from types import EllipsisType
from typing import Final, Literal, cast, get_args
from unicodedata import normalize

from pollux.core.canonical import require_few_marks
from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.kept import Kept
from pollux.core.messages import JSON

Operator = Literal[
    "equals",
    "one_of",
    "prefix",
    "glob",
    "address",
    "host",
    "file",
    "above",
    "at_least",
    "below",
    "at_most",
    "matches",
]
OPERATORS: Final = get_args(Operator)
NUMERIC: Final = ("above", "at_least", "below", "at_most")
LONGEST: Final = 64 * 1024
"""Characters of a text that is compared with a pattern. A longer one is undecided."""
MOST_VALUES: Final = 1_000
"""Values that one path may lead to. More are undecided."""
LONGEST_NAME: Final = 1_000
"""Characters of an address or a host that is compared. No real one comes near it; a longer one is undecided."""

Match = Callable[[str, str], bool]
"""Whether a pattern is found in a text, in linear time."""

_STEP: Final = re.compile(r'\[\*\]|\[(\d+)\]|\.?(\*\*|\*|[^.\[\]"*]+|"(?:[^"\\]|\\.)*")')
_PUNYCODE: Final = re.compile(r"(?<![a-z0-9-])xn--[a-z0-9-]{1,59}(?![a-z0-9-])")
"""A label has 63 characters at most. To spell out a longer one takes quadratic time, and no host has it."""
_IGNORED: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
"""Characters that programs pass over in names, and nobody sees."""
_MAY_CHANGE: Final = re.compile("[\u0300-\U0010ffff]")
"""Letters that a second time may change. Those below, once they are in one form, stay as they are."""
MOST_LABELS: Final = 1_000
"""Labels of punycode in one text. Each takes as long as a thousand letters, and no real list of hosts has so many."""
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_ODD: Final = re.compile(r'[ ,;:<>()\[\]"\\/?#%]')
_EMBEDDING: Final = (bytes(10), bytes(8) + b"\xff\xff\0\0", b"\0\x64\xff\x9b")
"""How IPv6 addresses begin that stand for one of IPv4."""
_NUMERIC: Final = re.compile(r"(.*\.)?(\d+|0x[0-9a-f]*)", re.IGNORECASE)
"""A host that programs take for an IPv4 address, in whatever way it is written."""


@frozen
class Condition:
    """One condition: `path` leads to values of the arguments, `operator` compares each of them with `value`."""

    path: str
    operator: Operator
    value: JSON

    def __post_init__(self) -> None:
        if self.operator not in OPERATORS:
            raise ValidationError(
                f"expected the operator of a condition to be one of {', '.join(OPERATORS)}, found {self.operator!r}"
            )
        steps(self.path)
        if self.operator == "one_of":
            # Hashable, like every rule: what is stored comes back as a list.
            given = cast("object", self.value)
            items = tuple(cast("Iterable[JSON]", given)) if isinstance(given, list | tuple) else ()
            object.__setattr__(self, "value", items)
        _require_comparable(self)

    def holds(self, args: Mapping[str, JSON], *, allows: bool, match: Match) -> bool:
        """Whether it applies: for a rule that allows, to all values and at least one; for any other, to one."""
        found = list(_first(MOST_VALUES + 1, values_at(steps(self.path), args)))
        answers = (_compared(self, value, match, allows) for value in found[:MOST_VALUES])
        if allows:
            return 0 < len(found) <= MOST_VALUES and all(answer is True for answer in answers)
        return len(found) > MOST_VALUES or any(answer is not False for answer in answers)


def condition_of(written: Mapping[str, JSON]) -> Condition:
    """A condition as people write it: { path = "amount", above = 100 }. Raises ValidationError."""
    operators = [key for key in written if key != "path"]
    path = written.get("path")
    if not isinstance(path, str) or len(operators) != 1 or operators[0] not in OPERATORS:
        found = ", ".join(map(repr, list(written)[:8])) or "nothing"
        raise ValidationError(f"expected a path and one of {', '.join(OPERATORS)} in a condition, found {found}")
    return Condition(path, cast("Operator", operators[0]), written[operators[0]])


Step = str | int | EllipsisType | None


@lru_cache(maxsize=1_000)
def steps(path: str) -> tuple[Step, ...]:
    """The path step by step: a key, a place in a list, None for every one, or `...` for any depth.

    Raises ValidationError.
    """
    found: list[Step] = []
    at = 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None or (at == 0 and path[0] == "."):
            raise ValidationError(
                f"expected a path into the arguments, such as amount, to[*] or items[0].price, found {path[:80]!r}"
            )
        index, key = step.groups()
        if index is not None:
            found.append(int(index))
        elif key is None or key == "*":
            found.append(None)
        elif key == "**":
            found.append(...)
        else:
            found.append(re.sub(r"\\(.)", r"\1", key[1:-1]) if key.startswith('"') else key)
        at = step.end()
    if not found:
        raise ValidationError("expected a path into the arguments, such as amount or to[*], found an empty one")
    if found.count(...) > 1 or found[-1] is ...:
        raise ValidationError(f"expected one ** with a name behind it in a path, as in **.to, found {path[:80]!r}")
    return tuple(found)


def values_at(path: tuple[Step, ...], value: JSON) -> Iterator[JSON | EllipsisType]:
    """The values that a path leads to, and `...` where it meets another shape than it names.

    One value where a list is meant counts as a list of one. Null is nothing.
    """
    if not path:
        yield value
        return
    step, rest = path[0], path[1:]
    if step is ...:
        if value is not None and not isinstance(value, Mapping | list | tuple):
            yield ...
        yield from _values_below(rest, value)
    elif isinstance(value, Mapping) and not isinstance(step, int):
        members = cast("Mapping[str, JSON]", value)
        for each in members.values() if step is None else [members[step]] if step in members else ():
            yield from values_at(rest, each)
    elif isinstance(value, list | tuple) and not isinstance(step, str):
        items = cast("list[JSON]", value)
        for each in items if step is None else items[step : step + 1]:
            yield from values_at(rest, each)
    elif step is None and value is not None:
        yield from values_at(rest, value)
    elif value is not None:
        yield ...


def _values_below(path: tuple[Step, ...], value: JSON) -> Iterator[JSON | EllipsisType]:
    """The values at any depth. What does not have the first step is passed by: the next level may have it."""
    step = path[0]
    fits_text, fits_number = isinstance(value, Mapping), isinstance(value, list | tuple)
    if step is None or (fits_text if isinstance(step, str) else fits_number):
        yield from values_at(path, value)
    for below in _children(value):
        # Nothing but a value by itself, which has no step: there may be thousands.
        if step is None or not isinstance(below, str | int | float):
            yield from _values_below(path, below)


def _children(value: JSON) -> Iterable[JSON]:
    if isinstance(value, list | tuple):
        return cast("list[JSON]", value)
    return cast("Mapping[str, JSON]", value).values() if isinstance(value, Mapping) else ()


def folded(text: str) -> str:
    """A text as it is compared where a difference must not help: Unicode form, case, IDNA spelling and what is not seen
    are removed.

    Raises ValidationError for more marks on one letter than can be put in order in linear time, and for more labels of
    punycode than `MOST_LABELS`.
    """
    found = _folded[text]
    if isinstance(found, ValidationError):
        raise ValidationError(str(found))
    return found


def _folded_once(text: str) -> str | ValidationError:
    lowered = text.lower()
    if text.isascii() and "xn--" not in lowered:
        return lowered
    try:
        return _without_spellings(text)
    except ValidationError as problem:
        return problem


def _without_spellings(text: str) -> str:
    plain = _in_one_form(text).replace("\u3002", ".")
    if plain.count("xn--") > MOST_LABELS:
        raise ValidationError(f"expected at most {MOST_LABELS:,} labels of punycode in one text")
    if "xn--" not in plain and _MAY_CHANGE.search(plain) is None:
        return plain
    return _in_one_form(_PUNYCODE.sub(_spelled_out, plain))


def _in_one_form(text: str) -> str:
    # Marks are counted after the letters between them that nobody sees are gone: normalising meets them side by side.
    seen = _IGNORED.sub("", text)
    require_few_marks(seen)
    return _IGNORED.sub("", normalize("NFKC", seen).casefold())


_folded = Kept(_folded_once)


def _spelled_out(label: re.Match[str]) -> str:
    try:
        return label[0][4:].encode().decode("punycode")
    except UnicodeError:
        return label[0]


def _is_foldable(text: str) -> bool:
    return not isinstance(_folded[text], ValidationError)


def _require_comparable(condition: Condition) -> None:
    value, operator = condition.value, condition.operator
    if operator in NUMERIC:
        is_right, expected = _is_number(value), "a number"
    elif operator == "one_of":
        items = cast("tuple[JSON, ...]", value)
        is_right, expected = bool(items) and all(map(_is_scalar, items)), "a list of texts, numbers or true and false"
    elif operator == "equals":
        is_right, expected = _is_scalar(value), "a text, a number, or true or false"
    else:
        is_right, expected = isinstance(value, str) and bool(value), "a text"
    if not is_right:
        raise ValidationError(f"expected {operator} of the condition on {condition.path!r} to be {expected}")


def _compared(condition: Condition, value: JSON | EllipsisType, match: Match, allows: bool) -> bool | None:
    """True, False, or None where this value cannot be compared."""
    if value is ...:
        return None
    expected = condition.value
    match condition.operator:
        case "equals":
            return _is_same(value, expected)
        case "one_of":
            answers = {_is_same(value, each) for each in cast("tuple[JSON, ...]", expected)}
            return True if True in answers else None if None in answers else False
        case "above" | "at_least" | "below" | "at_most":
            return _is_on_side(condition.operator, value, cast("float", expected)) if _is_number(value) else None
        case _:
            if not isinstance(value, str) or len(value) > LONGEST:
                return None
            return _text_fits(condition.operator, value, cast("str", expected), match, allows)


def _text_fits(operator: Operator, value: str, expected: str, match: Match, allows: bool) -> bool | None:
    match operator:
        case "prefix":
            return normalize("NFC", value).startswith(normalize("NFC", expected))
        case "glob":
            return fnmatchcase(normalize("NFC", value), normalize("NFC", expected))
        case "address" | "host" | "file" if not _is_foldable(value):
            return None
        case "address" | "host":
            name = address_in(value) if operator == "address" else _host(value)
            # Folding joins what are different names to a resolver: enough to deny, too little to allow.
            if (
                name is None
                or len(name) > LONGEST_NAME
                or (allows and not all(map(_is_plain_label, re.split("[.@]", name))))
            ):
                return None
            before, at, host = folded(name).rpartition("@")
            plain = _plain_host(host)
            return None if plain is None else fnmatchcase(f"{before}{at}{plain}", _pattern_of(expected))
        case "file":
            path, pattern = (_plain_path(normalize("NFC", each)) for each in (value, expected))
            if path.startswith(("..", "~")) or value != value.strip() or "\\" in value or "://" in value:
                return None
            # On some disks another case is the same file.
            return fnmatchcase(path, pattern) or (not allows and fnmatchcase(folded(path), folded(pattern)))
        case _:
            return match(expected, value)


@lru_cache(maxsize=1_000)
def _pattern_of(expected: str) -> str:
    # As a URL has it, `[::1]` would be a class of characters that fits no host.
    bare = expected[1:-1] if expected.startswith("[") and ":" in expected and expected.endswith("]") else expected
    return _plain_host(folded(bare)) or expected


def _is_plain_label(label: str) -> bool:
    """Whether a part of a name means to a resolver what it means folded."""
    lowered = label.lower()
    if lowered.startswith("xn--"):
        lowered = _PUNYCODE.sub(_spelled_out, lowered)
        written = f"xn--{lowered.encode('punycode').decode()}"
        return not lowered.isascii() and lowered == folded(lowered) and written == label.lower()
    return lowered == folded(label)


def address_in(value: str) -> str | None:
    """The address of `Bob <bob@example.com>`. None for several, and for what parsers read differently."""
    return _addresses[value]


def _address_once(value: str) -> str | None:
    name, bracket, rest = value.strip().partition("<")
    bare = rest.removesuffix(">").strip() if bracket else name.strip()
    is_odd = (bracket and not rest.endswith(">")) or any(letter in name for letter in "@,;:\\" if bracket)
    if is_odd or len(bare) > LONGEST_NAME or _has_odd_letters(bare):
        return None
    return bare if folded(bare).count("@") == 1 else None


_addresses = Kept(_address_once)


def _has_odd_letters(name: str) -> bool:
    """Letters that end a name for some readers, also where folding makes them of others."""
    both = name + folded(name)
    return _ODD.search(both) is not None or not both.isprintable()


def _plain_path(text: str) -> str:
    """A path without `.`, `//` and, as far as they lead nowhere, `..`."""
    root, steps = "/" if text.startswith("/") else "", list[str]()
    for step in text.split("/"):
        if step == ".." and (root or steps) and steps[-1:] != [".."]:
            del steps[-1:]
        elif step not in ("", "."):
            steps.append(step)
    return root + "/".join(steps) or "."


def _host(value: str) -> str | None:
    """The host of a URL or of `host:port`. None where programs disagree which one it is."""
    is_url = _SCHEME.match(value.strip())
    rest = value.strip()[is_url.end() :] if is_url else value.strip()
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if "\\" in rest:
        return None
    if authority.startswith("["):
        host, bracket, port = authority[1:].partition("]")
        is_port = bool(bracket) and (not port or port.startswith(":"))
        port = port[1:]
        is_odd = any(letter not in "0123456789abcdefABCDEF:." for letter in host)
    else:
        host, colon, port = authority.partition(":")
        # The beginning of a URL in another way to write it: `https:example.com`.
        is_port = bool(is_url or not colon or port)
        is_odd = len(host) > LONGEST_NAME or _has_odd_letters(host) or "@" in folded(host)
    if not host or is_odd or not is_port or (port and not (port.isascii() and port.isdigit())):
        return None
    return host if _plain_host(folded(host)) else None


@lru_cache(maxsize=1_000)
def _plain_host(host: str) -> str | None:
    """One way to write it. None for an address in an unusual way; a pattern stays as it is."""
    from ipaddress import IPv6Address, ip_address  # Most rules never need it, and every start would pay for it.

    host = host.rstrip(".")
    try:
        # To find out that a name is no address takes longer than all else here.
        address = ip_address(host) if ":" in host or host[:1].isdigit() else None
    except ValueError:
        address = None
    if address is None:
        is_pattern = any(letter in "*?[" for letter in host)
        return None if not is_pattern and _NUMERIC.fullmatch(host) else host
    if isinstance(address, IPv6Address) and address.packed.startswith(_EMBEDDING) and int(address) > 1:
        # An address of the other kind within it: who connects goes there.
        return str(address.ipv4_mapped) if address.ipv4_mapped else None
    return str(address)


def _is_same(value: JSON, expected: JSON) -> bool | None:
    if isinstance(value, str) and isinstance(expected, str):
        return normalize("NFC", value) == normalize("NFC", expected)
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected if isinstance(value, bool) and isinstance(expected, bool) else None
    if _is_number(value) and _is_number(expected):
        return bool(value == expected)
    # 5 and "5" may mean the same to a tool: which it is cannot be told here.
    return None


def _is_on_side(operator: Operator, value: float, bound: float) -> bool:
    match operator:
        case "above":
            return value > bound
        case "at_least":
            return value >= bound
        case "below":
            return value < bound
        case _:
            return value <= bound


def _is_number(value: JSON) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_scalar(value: JSON) -> bool:
    return isinstance(value, str | int | float | bool)


def _first(most: int, values: Iterator[JSON | EllipsisType]) -> Iterator[JSON | EllipsisType]:
    for _, value in zip(range(most), values, strict=False):
        yield value
