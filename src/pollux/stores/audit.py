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
from typing import Any

import msgspec

from pollux.core.canonical import canonical
from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.engine.ports import GENESIS, AuditEntry, AuditFact

_HASHED = tuple(sorted(field.name for field in fields(AuditEntry) if field.name != "hash"))
_COPIED = tuple(field.name for field in fields(AuditFact) if field.name != "input")


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
        own = _hash(members)
        yield Kept(AuditEntry(**members, hash=own), seal_of(own, key))
        tip = Tip(tip.seq + 1, own, tip.lineage)


def entry_of(row: Iterable[Any]) -> AuditEntry:
    """The entry of a row, for those who read it. What no entry can hold is told as text: somebody else put it there."""
    return AuditEntry(*map(_told, row))


def hash_of(entry: AuditEntry) -> str:
    """What the entry's hash must be; nothing where it holds what no entry can, like a number without an end."""
    try:
        return _hash({name: getattr(entry, name) for name in _HASHED})
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


def _hash(members: dict[str, str | float | None]) -> str:
    text = b",".join([b'"%b":%b' % (name.encode(), _value(members[name])) for name in _HASHED])
    return hashlib.sha256(b"{" + text + b"}").hexdigest()


def _value(value: str | float | None) -> bytes:
    if not isinstance(value, str):
        return canonical(value)
    # As it stands: in NFC, where both give the same bytes, another text would have the same hash.
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        raise ValidationError("expected Unicode text, found a lone surrogate") from None
