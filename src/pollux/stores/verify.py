"""Is the audit chain whole? And if not: what was done to it, and where.

    update        fields differ from the entry's own hash, which is still sealed: changed in place
    delete        a number is missing inside the chain
    replace       an entry stands there that its neighbours, or a signed head, do not know
    reorder       an entry is genuine, but under another number
    truncate      the last entries are gone, while the database remembers having given their numbers
    roll back     a head was signed for a longer chain, or for another entry, than the database now holds
    drop trigger  what refuses changes of the table is gone or altered
    lost heads    the file of signed heads is missing, cannot be read, or holds none, although there are entries; or
                  lines were taken out of it
    restored      the heads are not those that the store had, and nobody has adopted it
    forge         entries hang together, but were never sealed with the key; or a head bears a wrong signature

What cannot be told: an entry replaced under its old hash looks like one that was updated; whoever also resets the
database's memory of the numbers it gave turns "truncate" into "roll back"; entries removed after the last signed head
(a crash between commit and head leaves at most one commit there) are noticed only by that memory; and whoever has the
key can do anything.
"""

import hmac
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from pollux.core.frozen import frozen
from pollux.engine.ports import AuditPart, AuditReport
from pollux.stores.audit import GENESIS, Kept, Tip, hash_of, seal_of
from pollux.stores.head_lines import NO_HEADS, Read
from pollux.stores.lineage import MAY_BE_WHOLE, ROOT, Lineage

Signed = dict[int, set[str]]
"""The hashes that heads were signed for, by number: more than one only after a roll back."""


@frozen
class Evidence:
    """What speaks about a chain from outside it."""

    heads: Read = NO_HEADS
    highest: int | None = None
    """The highest number that was ever given, where the store remembers."""
    lost_triggers: Sequence[str] = ()
    lineage: Lineage = ROOT
    restored: str = ""
    """Why the store is in doubt, if it is."""


def verify(read: Callable[[], Iterable[Kept]], key: bytes, evidence: Evidence) -> AuditReport:
    """Check every entry against its hash, its seal, its neighbour and the heads."""
    signed: Signed = {}
    for head in evidence.heads.heads:
        if evidence.lineage.holds(head):
            signed.setdefault(head.seq, set()).add(head.hash)
    tip = Tip()
    is_sound = True
    for kept in read():
        is_sound = is_sound and _is_next(kept, tip, key, signed)
        tip = Tip(tip.seq + 1, kept.entry.hash)
    problems = list(_around(evidence))
    if not is_sound:
        # Only now is the whole chain held in memory: to tell what happened one must look both ways.
        problems += _named(sorted(read(), key=lambda kept: kept.entry.seq), key, signed)
    last = _last(read, tip, is_sound)
    problems += _at_the_end(last, evidence, signed)
    if not problems and last and evidence.restored not in MAY_BE_WHOLE:
        problems.append(f"restored: {evidence.restored}")
    return AuditReport(not problems, tip.seq, tip.hash, tuple(problems))


def walked(rows: Iterable[Kept], tip: Tip, key: bytes) -> Tip | None:
    """Where the chain is after these entries. None where one of them does not fit."""
    for kept in rows:
        if not _is_next(kept, tip, key, {}):
            return None
        tip = Tip(kept.entry.seq, kept.entry.hash)
    return tip


def is_end(tip: Tip, evidence: Evidence) -> bool:
    """Whether nothing speaks against this being the last entry."""
    signed = {head.seq: {head.hash} for head in evidence.heads.heads if evidence.lineage.holds(head)}
    known = signed.get(tip.seq, {tip.hash})
    return known == {tip.hash} and not (
        evidence.restored not in MAY_BE_WHOLE or [*_around(evidence)] or [*_at_the_end(tip.seq, evidence, signed)]
    )


def part_of(rows: Sequence[Kept], begin: Tip, limit: int, key: bytes, evidence: Callable[[], Evidence]) -> AuditPart:
    """What these entries say: up to `limit` after the first, which is the one before them."""
    before, after = (rows[:1], rows[1:]) if begin.seq else ((), rows)
    tip = walked(after, begin, key)
    if tip is None or (
        begin.seq and [(kept.entry.seq, kept.entry.hash) for kept in before] != [(begin.seq, begin.hash)]
    ):
        return AuditPart(begin.seq, begin.hash, is_sound=False)
    if len(after) == limit:
        return AuditPart(tip.seq, tip.hash)
    return AuditPart(tip.seq, tip.hash, is_sound=is_end(tip, evidence()), is_last=True)


def _is_next(kept: Kept, tip: Tip, key: bytes, signed: Signed) -> bool:
    entry = kept.entry
    return (
        entry.seq == tip.seq + 1
        and entry.previous == tip.hash
        and hash_of(entry) == entry.hash
        and _is_sealed(kept, key)
        and _is_signed_alone(kept, signed)
    )


def _is_sealed(kept: Kept, key: bytes) -> bool:
    # Whoever has the file can put anything there, also what is no text.
    return hmac.compare_digest(str(kept.seal).encode(), seal_of(str(kept.entry.hash), key).encode())


def _is_signed_alone(kept: Kept, signed: Signed) -> bool:
    """Whether no head was ever signed for another entry of this number."""
    return signed.get(kept.entry.seq, {kept.entry.hash}) == {kept.entry.hash}


def _around(evidence: Evidence) -> Iterable[str]:
    for name in evidence.lost_triggers:
        yield f"drop trigger: {name} is gone or was altered"
    if evidence.heads.forged:
        yield f"forge: {_counted(evidence.heads.forged, 'head bears', 'heads bear')} a wrong signature"
    if evidence.heads.unreadable:
        yield f"lost heads: the file of signed heads cannot be read: {evidence.heads.unreadable}"
    for seq in evidence.heads.gaps:
        yield f"lost heads: lines of the file of signed heads are missing before that of entry {seq}"
    if evidence.lineage.forged:
        yield f"forge: {_counted(evidence.lineage.forged, 'adoption bears', 'adoptions bear')} a wrong signature"
    if any(evidence.lineage.holds(head) is None for head in evidence.heads.heads):
        yield "roll back: heads were signed after an adoption that the database does not remember"


def _last(read: Callable[[], Iterable[Kept]], tip: Tip, is_sound: bool) -> int:
    return tip.seq if is_sound else max((kept.entry.seq for kept in read()), default=0)


def _at_the_end(last: int, evidence: Evidence, signed: Signed) -> Iterable[str]:
    reached = max(signed, default=0)
    if evidence.heads.is_missing and last:
        yield f"lost heads: {_there_are(last)}, but the file of signed heads is missing"
    if evidence.heads.is_empty and last:
        yield f"lost heads: {_there_are(last)}, but the file of signed heads holds none"
    if evidence.highest is not None and evidence.highest > last:
        yield f"truncate: {_entries(last + 1, evidence.highest, 'is missing', 'are missing')} at the end"
    elif reached > last:
        yield f"roll back: a head was signed for entry {reached}, but the last one is {last}"


def _named(rows: Sequence[Kept], key: bytes, signed: Signed) -> list[str]:
    """Each flaw by its kind, neighbouring ones of a kind together."""
    places = _places(rows, key)
    flaws = [*_missing(rows)]
    flaws += [(kind, seq, seq) for kind, seq in _wrong(rows, places, key, signed)]
    flaws.sort(key=lambda flaw: (flaw[0], flaw[1]))
    merged: list[tuple[str, int, int]] = []
    for kind, first, last in flaws:
        if merged and merged[-1][0] == kind and merged[-1][2] + 1 == first:
            merged[-1] = (kind, merged[-1][1], last)
        else:
            merged.append((kind, first, last))
    return [f"{kind}: {_entries(first, last, *_SAID[kind])}" for kind, first, last in merged]


_SAID = {
    "update": ("changed after being written",) * 2,
    "delete": ("is missing", "are missing"),
    "replace": ("was put in the place of another", "were put in the place of others"),
    "reorder": ("was moved to another place", "were moved to other places"),
    "roll back": (
        "differs from what was signed: the database went on from an older copy",
        "differ from what was signed: the database went on from an older copy",
    ),
    "forge": ("was never sealed by this store", "were never sealed by this store"),
}
"""What is wrong with one entry, and with several."""


def _entries(first: int, last: int, of_one: str, of_several: str) -> str:
    return f"entry {first} {of_one}" if first == last else f"entries {first} to {last} {of_several}"


def _counted(count: int, of_one: str, of_several: str) -> str:
    return f"{count} {of_one if count == 1 else of_several}"


def _there_are(entries: int) -> str:
    return "there is 1 entry" if entries == 1 else f"there are {entries} entries"


def _missing(rows: Sequence[Kept]) -> Iterable[tuple[str, int, int]]:
    numbers = [0, *(kept.entry.seq for kept in rows)]
    for before, after in pairwise(numbers):
        if after > before + 1:
            yield "delete", before + 1, after - 1


def _places(rows: Sequence[Kept], key: bytes) -> dict[str, int]:
    """Where each sealed entry belongs, by following the links from the beginning, whatever numbers they bear."""
    following = {kept.entry.previous: kept.entry.hash for kept in rows if _is_sealed(kept, key)}
    places: dict[str, int] = {}
    here = following.get(GENESIS)
    while here is not None and here not in places:
        places[here] = len(places) + 1
        here = following.get(here)
    return places


def _wrong(rows: Sequence[Kept], places: dict[str, int], key: bytes, signed: Signed) -> Iterable[tuple[str, int]]:
    for index, kept in enumerate(rows):
        entry = kept.entry
        is_itself = hash_of(entry) == entry.hash
        if _is_sealed(kept, key):
            if not is_itself:
                place = places.get(entry.hash)
                is_moved = place is not None and hash_of(replace(entry, seq=place)) == entry.hash
                yield ("reorder" if is_moved else "update"), entry.seq
            elif not _is_signed_alone(kept, signed):
                yield "roll back", entry.seq
        elif is_itself and _is_linked(rows, index) and not _stands_alone(rows, index, key, signed):
            yield "forge", entry.seq
        else:
            yield "replace", entry.seq


def _is_linked(rows: Sequence[Kept], index: int) -> bool:
    """Whether the neighbours know this entry."""
    entry = rows[index].entry
    before = rows[index - 1].entry.hash if index else GENESIS
    return entry.previous == before and (index + 1 == len(rows) or rows[index + 1].entry.previous == entry.hash)


def _stands_alone(rows: Sequence[Kept], index: int, key: bytes, signed: Signed) -> bool:
    """Whether this is the last entry, in the place of one that was signed: there is no neighbour to ask."""
    is_last = index + 1 == len(rows)
    return is_last and rows[index].entry.seq in signed and (index == 0 or _is_sealed(rows[index - 1], key))
