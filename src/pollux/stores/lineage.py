"""Is this the store that was here last, or an older state or a copy of it?

Two things outside the tables say so. The signed heads show how far the chain had grown. The place shows whether the
tables still lie where they were written last: a copy does not. The store notes its place beside its other marks.

A store that does not fit is restored until a person has adopted it: it can be read, and writes nothing. Adoption gives
the chain a new lineage. Heads of the former one count up to the entry where it was left; those after it belong to a
life that the store does not remember.
"""

import fcntl
import hmac
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from secrets import token_hex
from typing import Any, cast

from pollux.core.errors import UNREMEMBERED, StoreRestored
from pollux.core.frozen import frozen
from pollux.stores.audit import Tip
from pollux.stores.heads import Heads

MARKS = ("place", "restored", "adoptions")
"""The names under which a store keeps what is said here."""
EVER = float("inf")
PUT_BACK = "it was put back while this process had it open"
ELSEWHERE = "it does not lie where it was written last"
"""Of a copy. It may be whole all the same: its audit is verified like any other."""
MAY_BE_WHOLE = ("", ELSEWHERE, UNREMEMBERED)
"""What is no reason to think that the audit was changed."""
_GET_GENERATION = 0x80087601
"""FS_IOC_GETVERSION: a file system that gives an inode's number to another file changes its generation."""


@frozen
class Adoption:
    """A store went on from here, after this entry, under a name of its own."""

    lineage: str
    before: str
    seq: int
    hash: str
    left: Sequence[str]
    """Lineages that the heads know and the store does not: it was put back to before they began."""
    sig: str


@frozen
class Lineage:
    """Under which name the chain goes on, and how much of each former one is part of it."""

    name: str = ""
    shared: Mapping[str, float] = field(default_factory=lambda: {"": EVER})
    forged: int = 0

    def holds(self, tip: Tip) -> bool | None:
        """Whether a head speaks about this chain. None: it is of a lineage that this store never had."""
        end = self.shared.get(tip.lineage)
        return None if end is None else tip.seq <= end


ROOT = Lineage()


def lineage_of(text: str | None, key: bytes) -> Lineage:
    """What a store's adoptions make of it. One that nobody signed does not count."""
    name, shared, forged = "", {"": EVER}, 0
    for adoption in _read(text):
        if not hmac.compare_digest(adoption.sig, _signature(adoption, key)) or adoption.before != name:
            forged += 1
            continue
        name = adoption.lineage
        shared = {former: min(end, adoption.seq) for former, end in shared.items()}
        shared |= dict.fromkeys(adoption.left, 0) | {name: EVER}
    return Lineage(name, shared, forged)


def adopted(text: str | None, tip: Tip, key: bytes, heads: Heads | None) -> str:
    """The adoptions with one more, after this entry."""
    known = lineage_of(text, key)
    left = sorted({head.lineage for head in heads.read().heads} - known.shared.keys()) if heads else []
    unsigned = Adoption(f"lin_{token_hex(8)}", known.name, tip.seq, tip.hash, left, "")
    adoption = replace(unsigned, sig=_signature(unsigned, key))
    names = Adoption.__dataclass_fields__
    return json.dumps([{name: getattr(each, name) for name in names} for each in (*_read(text), adoption)])


def doubt(
    marks: Mapping[str, str],
    place: Mapping[str, str],
    *,
    heads: Heads | None,
    key: bytes,
    holds: Callable[[Tip], bool],
    has_entries: bool,
) -> str:
    """Why this is not the store that was here last; nothing where it is. Raises StoreError for unreadable heads."""
    if why := marks.get("restored"):
        return why
    noted: dict[str, str] = json.loads(marks["place"]) if "place" in marks else {}
    if any(noted.get(part, found) != found for part, found in place.items() if part != "heads"):
        return ELSEWHERE
    if heads is None:
        return ""
    if "heads" in noted and noted["heads"] != place.get("heads", ""):
        return "the file of its signed heads is missing or another one"
    lineage = lineage_of(marks.get("adoptions"), key)
    newest = heads.require_readable(heads.newest())
    if newest.is_empty and has_entries:
        return "the file of its signed heads holds none"
    for tip in newest.heads:
        fits = lineage.holds(tip)
        if fits is None:
            return "its signed heads know of an adoption that it does not remember"
        if fits and not holds(tip):
            return f"its signed heads reach entry {tip.seq}, which it does not hold"
    return ""


def refusal(why: str) -> StoreRestored:
    """What is said to everybody who wants to write."""
    if why == UNREMEMBERED:
        return StoreRestored(
            f"the store may have been restored from a backup or copied: {why}. Nothing runs until a host that has them"
            " opens it, or a person runs `pollux store trust` or `pollux store adopt`"
        )
    return StoreRestored(
        f"the store was restored from a backup or copied: {why}. Actions after that point may have been done already,"
        " so nothing runs. Look at them with `pollux store adopt --dry-run`, then run `pollux store adopt`"
    )


def place_of(file: int) -> str:
    """What tells an open file from every copy of it. It stays when the file is moved within its file system."""
    found = os.fstat(file)
    try:
        generation = fcntl.ioctl(file, _GET_GENERATION, bytes(8))[:4].hex()
    except OSError:
        # Not every file system has one. Where the system tells when a file was made, that does as well.
        generation = getattr(found, "st_birthtime", "")
    return f"{found.st_ino}.{generation}"


def _read(text: str | None) -> Sequence[Adoption]:
    found = cast("list[dict[str, Any]]", json.loads(text)) if text else []
    return [Adoption(**each) for each in found]


def _signature(adoption: Adoption, key: bytes) -> str:
    said = [adoption.lineage, adoption.before, adoption.seq, adoption.hash, *adoption.left]
    return hmac.digest(key, b"pollux.adoption:" + json.dumps(said).encode(), "sha256").hex()
