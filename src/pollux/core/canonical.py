"""One byte form for every JSON value: RFC 8785, strings in NFC. What is shown, hashed and executed is read from it.

A value that has no such form (NaN, lone surrogates, keys that are not text or collide after NFC, integers beyond 2^53)
is refused rather than mended. So is one beyond the bounds of a call: before anybody is asked, and without repeating it.
A schema may say otherwise: `maxLength` of a member, or of one around it, takes the place of the bound for a text.
"""

import hashlib
import hmac
import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, cast
from unicodedata import combining, normalize

from pollux.core.errors import ValidationError
from pollux.core.kept import Kept
from pollux.core.messages import JSON

MAX_DEPTH = 100
MOST_MARKS = 100
"""On one letter. Unicode calls text with more than 30 unsafe for streams; no language comes near it."""
_DECOMPOSED = str.maketrans(dict.fromkeys("\u0f73\u0f75\u0f81\uff9e\uff9f", "\u0301"))
"""No marks themselves, but normalising makes marks of them."""
_MAY_BE_MARK = re.compile("[\u0300-\U0010ffff]")
_IS_MARK = bytes([0] + [1] * 255)
"""Of each combining class, whether it is one of marks."""
_SAFE = 2**53 - 1
_EXPONENTIAL = 1e21
_MARK = "\ud800"
"""Around a number that the encoder would write in another way. No text has it: it is half a letter."""
_BASIC_PLANE = "\uffff"
_sorting = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
_encoder = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)

LONGEST_TEXT: Final = 64 << 10
"""Characters of one text, where the schema does not say otherwise."""
LARGEST_CALL: Final = 1 << 20
"""Characters of all texts and names together, without those that the schema gives a length, and one for every value."""

SHORT: Final = 200
"""Characters of a text that is sooner checked again than remembered."""
MOST_VALUES: Final = 20_000
LONGEST_EVER: Final = 16 << 20
"""Characters of one text, whatever the schema says."""

Schema = Mapping[str, JSON]
_Path = tuple[()] | tuple[Any, str | int]
"""Where a value is: the path of what it is in, and its name or place there."""
_NO_SCHEMA: Final[Schema] = {}
_SMALL: Final = frozenset({int, float, bool, type(None)})
"""Kinds of values that take no room worth counting."""


def canonical(value: JSON) -> bytes:
    """The one byte form of a JSON value. Raises ValidationError where there is none."""
    if _is_simple(value):
        return _sorting.encode(value).encode()
    written = _encoder.encode(_normal(value, 0, is_form=True))
    if _MARK in written:
        written = written.replace(f'"{_MARK}', "").replace(f'{_MARK}"', "")
    return written.encode()


def digest(value: JSON) -> str:
    """SHA-256 of the canonical form, in hex."""
    global _last
    form = canonical(value)
    made = hashlib.sha256(form).hexdigest()
    _last = (made, form)
    return made


def form_of(made: str, value: JSON) -> bytes:
    """The canonical form of what this digest was made of, or else of the value. A large one takes long to make."""
    known, form = _last
    return form if known == made else canonical(value)


_last: tuple[str, bytes] = ("none yet", b"")
"""The last form of all, by its own digest: nobody could put another one there."""


def keyed_digest(key: bytes, value: JSON) -> str:
    """HMAC-SHA-256 of the canonical form: short inputs cannot be guessed back from it without the key."""
    return hmac.new(key, canonical(value), hashlib.sha256).hexdigest()


def normal(value: JSON) -> JSON:
    """The same value with every string in NFC, ready to be stored, shown and executed as one thing.

    Raises ValidationError where there is no such value, for the same reasons as `canonical`.
    """
    return value if _is_simple(value) else _normal(value, 0)


def _is_simple(value: object) -> bool:
    """Whether it is a flat object of ASCII text, small integers, booleans and nulls, as most arguments are.

    For these the standard library's encoder writes the very form of RFC 8785, several times faster.
    """
    if type(value) is not dict:
        return False
    for key, item in cast("dict[object, object]", value).items():
        if type(key) is not str or not key.isascii():
            return False
        match item:
            case str():
                if type(item) is not str or not item.isascii():
                    return False
            case int():
                if type(item) not in (int, bool) or not -_SAFE <= item <= _SAFE:
                    return False
            case None:
                pass
            case _:
                return False
    return True


def _normal(value: JSON, depth: int, *, is_form: bool = False) -> JSON:
    """The normal value; for its form, with numbers and names as the encoder has to find them."""
    match value:
        case str():
            return value if value.isascii() else _text(value)
        case bool() | None:
            return value
        case int():
            _is_safe(value)
            return value
        case float():
            if not -_SAFE <= value <= _SAFE:
                _is_number(value)
            return _written(value) if is_form else value
        case list() | tuple():
            _is_shallow(depth, is_empty=not value)
            items = cast("Sequence[JSON]", value)
            if set(map(type, items)) == {str}:
                return [text if text.isascii() else _text(text) for text in cast("Sequence[str]", items)]
            return [_normal(item, depth + 1, is_form=is_form) for item in items]
        case Mapping():
            _is_shallow(depth, is_empty=not value)
            found: dict[str, JSON] = {}
            for key, item in cast("Mapping[object, JSON]", value).items():
                found[_key(key, found)] = _normal(item, depth + 1, is_form=is_form)
            return _in_order(found) if is_form and len(found) > 1 else found
        case _:
            raise ValidationError(f"expected a JSON value, found {type(value).__name__}")


def _in_order(members: dict[str, JSON]) -> dict[str, JSON]:
    # RFC 8785 sorts by UTF-16 code units, which differs from code points above the basic plane.
    is_basic = all(name.isascii() or max(name) <= _BASIC_PLANE for name in members)
    return {name: members[name] for name in sorted(members, key=None if is_basic else _utf16)}


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be")


def _is_shallow(depth: int, *, is_empty: bool) -> None:
    # Asked once of all that is inside, and not of each: there may be thousands.
    if depth >= MAX_DEPTH and not is_empty:
        raise ValidationError(f"expected JSON nested at most {MAX_DEPTH} deep")


def _key(key: object, known: Mapping[str, JSON]) -> str:
    if not isinstance(key, str):
        raise ValidationError(f"expected text as an object key, found {type(key).__name__}")
    name = _text(key)
    if name in known:
        raise ValidationError("expected object keys that stay distinct after Unicode normalisation")
    return name


def _text(value: str) -> str:
    if value.isascii():
        return value
    return _checked(value) if len(value) < SHORT else _checked_once[value]


def _checked(value: str) -> str:
    # Nothing here goes through the letters in Python: a call may hold a million, and every other request waits.
    if _MAY_BE_MARK.search(value) is None:
        # Below the first mark every letter is in NFC.
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValidationError("expected Unicode text, found a lone surrogate") from None
    require_few_marks(value)
    return normalize("NFC", value)


# A long text is prepared, hashed and written down in turn.
_checked_once = Kept(_checked)


def require_few_marks(value: str, *, most: int = MOST_MARKS) -> None:
    """Raises ValidationError for text that takes quadratic time to normalise: very many marks on one letter."""
    # Of more in a row, one stands at one of these places.
    some = value[most :: most + 1].translate(_DECOMPOSED)
    if not any(map(combining, some)):
        return
    if any(chr(code) in value for code in _DECOMPOSED):
        value = value.translate(_DECOMPOSED)
    if b"\1" * (most + 1) in bytes(map(combining, value)).translate(_IS_MARK):
        raise ValidationError(f"expected at most {most} combining marks on one letter, found more")


def _is_safe(value: float) -> None:
    if not -_SAFE <= value <= _SAFE:
        raise ValidationError("expected an integer within 2^53; pass larger ones as text")


def _is_number(value: float) -> None:
    if not math.isfinite(value):
        raise ValidationError("expected a finite number")
    if abs(value) < _EXPONENTIAL:
        # Beyond 2^53 it would be written without an exponent, and read back as an integer that has no form.
        _is_safe(value)


def _written(value: float) -> JSON:
    """The number as the encoder has to find it. Python and ECMAScript agree on the shortest digits."""
    size = abs(value)
    if size < _EXPONENTIAL and value.is_integer():
        return int(value)
    if not 1e-9 <= size < 1e-4:
        return value
    # Here they differ in the layout: Python writes 1.5e-05 and 1.5e-07.
    digits, _, power = float.__repr__(size).partition("e-0")
    shown = f"{digits}e-{power}" if size < 1e-6 else f"0.{'0' * (int(power) - 1)}{digits.replace('.', '')}"
    return f"{_MARK}{'-' if value < 0 else ''}{shown}{_MARK}"


# How much a call may carry.


def require_few(args: Mapping[str, JSON], *, most: int = MOST_VALUES) -> int:
    """How many values there are. Raises ValidationError for more, and for text that is longer than any call may be.

    Looked at before anything else is done with arguments: each further step takes time for every value.
    """
    waiting: list[JSON] = [cast("JSON", args)]
    count = 0
    while waiting:
        value = waiting.pop()
        count += 1
        if isinstance(value, str) and len(value) > LONGEST_EVER:
            raise ValidationError(f"the arguments hold a text of more than {LONGEST_EVER:,} characters; send less")
        if isinstance(value, dict):
            inner = cast("dict[str, JSON]", value).values()
        elif isinstance(value, list):
            inner = cast("list[JSON]", value)
        else:
            continue
        # Before they are gone through, since they may be millions.
        if count + len(inner) + len(waiting) > most:
            raise ValidationError(f"the arguments hold more than {most:,} values; give fewer")
        waiting.extend(inner)
    return count


def require_bounded(args: Mapping[str, JSON], schema: Schema) -> None:
    """Raises ValidationError for arguments beyond the bounds, and for text with a NUL character."""
    size = 1
    waiting: list[tuple[JSON, Schema, int | None, _Path]] = [(args, schema, None, ())]
    while waiting:
        value, about, allowed, path = waiting.pop()
        allowed = _allowed(about, allowed)
        if isinstance(value, str):
            _require_text(value, allowed, path)
            size += len(value) if allowed is None else 0
        elif isinstance(value, list):
            items, members = _schema_of(about.get("items")), cast("list[JSON]", value)
            together = _size_of(members, _allowed(items, allowed))
            if together is None:
                waiting += [(item, items, allowed, (path, n)) for n, item in enumerate(members) if _is_large(item)]
            size += len(members) + (together or 0)
        else:
            named = cast("Mapping[str, JSON]", value)
            names = _size_of(named, None)
            if names is None:
                # One of them cannot pass, and is named by what is wrong with it.
                _require_text(next(name for name in named if _size_of([name], None) is None), None, ((), "a name"))
            together = None if about else _size_of(named.values(), allowed)
            if together is None:
                waiting += [
                    (member, _member(about, name), allowed, (path, name))
                    for name, member in named.items()
                    if _is_large(member)
                ]
            size += len(named) + (names or 0) + (together or 0)
        if size > LARGEST_CALL:
            raise ValidationError(f"the arguments are larger than {LARGEST_CALL:,} characters; send less in one call")


def _allowed(about: Schema, allowed: int | None) -> int | None:
    """How long a text may be by the schema: its own, or the one around it."""
    own = about.get("maxLength") if about else None
    return own if isinstance(own, int) else allowed


def _size_of(values: Collection[JSON], allowed: int | None) -> int | None:
    """What values of one kind count together: looked at one by one, thousands take long. None where they have to be."""
    kinds = set(map(type, values))
    if kinds <= _SMALL:
        return 0
    if kinds != {str}:
        return None
    texts = cast("Collection[str]", values)
    size, most = sum(map(len, texts)), LONGEST_TEXT if allowed is None else allowed
    if allowed is None and size > LARGEST_CALL:
        return size
    if size > LARGEST_CALL or max(map(len, texts)) > most or "\0" in "".join(texts):
        return None
    return size if allowed is None else 0


def _is_large(value: JSON) -> bool:
    """Whether it has a size of its own, or more inside."""
    return type(value) not in _SMALL and isinstance(value, str | list | Mapping)


def _spelled(path: _Path) -> str:
    """Spelled out for the one value that is refused."""
    steps: list[str] = []
    while path:
        path, step = path
        steps.append(f"[{step}]" if isinstance(step, int) else f".{step}")
    return "".join(reversed(steps)).removeprefix(".")


def _require_text(text: str, allowed: int | None, path: _Path) -> None:
    most = LONGEST_TEXT if allowed is None else allowed
    if len(text) > most:
        raise ValidationError(f"{_spelled(path)[:80]}: expected at most {most:,} characters, found {len(text):,}")
    if "\0" in text:
        raise ValidationError(f"{_spelled(path)[:80]}: expected text without NUL characters")


def _member(schema: Schema, name: str) -> Schema:
    known = _schema_of(schema.get("properties"))
    return _schema_of(known[name] if name in known else schema.get("additionalProperties"))


def _schema_of(value: Any) -> Schema:
    return cast("Schema", value) if isinstance(value, Mapping) else _NO_SCHEMA
