"""The audit chain: how a fact becomes an entry that cannot be changed without showing.

Every entry holds the hash of the one before it, and its own hash: SHA-256 over the RFC 8785 JSON of all other fields,
texts as they stand.
Anyone can check that much. Two things need the audit key: the seal of each entry, which shows that it was this store
that wrote it, and the heads (see heads.py), which show how far the chain had grown. Arguments are kept only as a keyed
digest, so that an entry says nothing about them once the content itself is erased.
"""

import hashlib
import hmac
from collections.abc import Iterable, Iterator
from dataclasses import fields
from math import isfinite
from operator import attrgetter, itemgetter
from typing import Any

import msgspec

from pollux.core.canonical import canonical
from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.engine.ports import GENESIS, AuditEntry, AuditFact

_HASHED = tuple(sorted(field.name for field in fields(AuditEntry) if field.name != "hash"))
_hashed_values = attrgetter(*_HASHED)
_COPIED = tuple(field.name for field in fields(AuditFact) if field.name != "input")
_FIELDS = tuple(field.name for field in fields(AuditEntry))


def _kinds(names: tuple[str, ...]) -> frozenset[tuple[type, ...]]:
    """The kinds of values that entries have: those that we write. Whoever has the file can put others there."""
    none = type(None)
    return frozenset(
        tuple({"seq": int, "at": float, "started_at": started, "ended_at": ended}.get(name, str) for name in names)
        for started in (float, none)
        for ended in (float, none)
    )


_ORDINARY = _kinds(_FIELDS)
_moments = itemgetter(*(_FIELDS.index(name) for name in ("at", "started_at", "ended_at")))


@frozen
class Kept:
    """An entry with its seal, as a store holds it."""

    entry: AuditEntry
    seal: str


@frozen
class Tip:
    """The end of a chain: the last number and the last hash."""

    seq: int = 0
    hash: str = GENESIS
    lineage: str = ""
    """Under which name a restored store went on; empty for one that never was."""


def chained(facts: Iterable[AuditFact], tip: Tip, key: bytes) -> Iterator[Kept]:
    """The entries for these facts, each linked to the one before and sealed."""
    for fact in facts:
        members = {name: getattr(fact, name) for name in _COPIED}
        members |= {"seq": tip.seq + 1, "previous": tip.hash, "input_hash": _input_hash(fact.input, key)}
        own = _hash(tuple([members[name] for name in _HASHED]))
        yield Kept(AuditEntry(**members, hash=own), seal_of(own, key))
        tip = Tip(tip.seq + 1, own, tip.lineage)


def entry_of(row: Iterable[Any]) -> AuditEntry:
    """The entry of a row, for those who read it. What no entry can hold is told as text: somebody else put it there."""
    values = tuple(row)
    if tuple(map(type, values)) in _ORDINARY and all(isfinite(moment) for moment in _moments(values) if moment):
        return AuditEntry(*values)
    return AuditEntry(*map(_told, values))


def hash_of(entry: AuditEntry) -> str:
    """What the entry's hash must be; nothing where it holds what no entry can, like a number without an end."""
    try:
        return _hash(_hashed_values(entry))
    except ValidationError:
        return ""


def seal_of(own: str, key: bytes) -> str:
    """The mark that only the holder of the key can put on a hash."""
    return hmac.digest(key, b"pollux.entry:" + own.encode(), "sha256").hex()


def digest_of(text: str, key: bytes) -> str:
    """What stands for a text where nobody without the key may work it out."""
    return hmac.digest(key, b"pollux.name:" + text.encode("utf-8", "replace"), "sha256").hex()


def _told(value: Any) -> Any:
    is_plain = value is None or isinstance(value, str | int) or (isinstance(value, float) and isfinite(value))
    return value if is_plain else str(value)


def _input_hash(arguments: bytes, key: bytes) -> str:
    return hmac.digest(key, arguments, "sha256").hex() if arguments else ""


_Form = msgspec.defstruct("_Form", [(name, Any) for name in _HASHED], gc=False)
_encode = msgspec.json.Encoder().encode
_PLAIN = _kinds(_HASHED)
_moments_and_seq = itemgetter(*(_HASHED.index(name) for name in ("at", "ended_at", "started_at", "seq")))
_LEAST, _MOST = 1e-4, 2**53
"""Between these two, the encoder writes a number that is no integer as RFC 8785 does."""


def _hash(values: tuple[Any, ...]) -> str:
    """Of the values by the names of their fields in order. One encoding of all for those that we write."""
    if tuple(map(type, values)) in _PLAIN:
        at, ended, started, seq = _moments_and_seq(values)
        if -_MOST < seq < _MOST and all(moment is None or _is_usual(moment) for moment in (at, ended, started)):
            try:
                return hashlib.sha256(_encode(_Form(*values))).hexdigest()
            except UnicodeEncodeError:
                raise _not_text() from None
    text = b",".join([b'"%b":%b' % (name.encode(), _value(value)) for name, value in zip(_HASHED, values, strict=True)])
    return hashlib.sha256(b"{" + text + b"}").hexdigest()


def _is_usual(number: float) -> bool:
    return _LEAST <= number < _MOST and not number.is_integer()


def _value(value: str | float | None) -> bytes:
    if not isinstance(value, str):
        return canonical(value)
    # As it stands: in NFC, where both give the same bytes, another text would have the same hash.
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        raise _not_text() from None


def _not_text() -> ValidationError:
    return ValidationError("expected Unicode text, found a lone surrogate")
