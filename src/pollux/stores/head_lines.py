"""Lines of signed heads: what each of them says, and what they show together.

A line of the file beside the store also signs the line that it follows, so lines that are taken out of the middle leave
a gap. The first line follows none. Heads that are given away stand alone.
"""

import hmac
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from pollux.core.frozen import frozen
from pollux.core.ids import Instant
from pollux.stores.audit import Tip

LONGEST = 4096
"""No line has so many bytes."""
MOST_WASTE = 16 << 20
"""So many bytes in a row that are no head: the rest is not read."""
MOST_GAPS = 100
NO_LINE = ""
"""What the first line of a file follows."""


@frozen
class Line:
    """A head whose signature is right."""

    tip: Tip
    sig: str
    after: str | None
    """The signature of the line that it follows. None: it stands alone, or was written by an older version."""
    raw: bytes = b""


@frozen
class Read:
    """What a file holds: heads whose signature is right, and how many lines bear a wrong one."""

    heads: Sequence[Tip] = ()
    forged: int = 0
    is_missing: bool = False
    """There is no such file."""
    is_empty: bool = False
    """There is a file, but somebody has taken the heads out of it, or put others in their place."""
    unreadable: str = ""
    """Why what is there cannot be read."""
    gaps: Sequence[int] = ()
    """The entries whose heads do not follow the line before them."""
    last: Line | None = None


NO_HEADS = Read()


def read_lines(
    lines: Iterable[bytes], key: bytes, *, after: str | None, on_torn: Callable[[bytes], None] = lambda line: None
) -> Read:
    """What these lines say. `after` is the signature of the one before them; None where that is unknown.

    A line that is not whole is passed over: it is what a crash in the middle of a write leaves behind. One that
    was whole before and is garbled leaves a gap before the next.
    """
    heads: list[Tip] = []
    gaps: list[int] = []
    forged, waste, is_begun, is_linked, last = 0, 0, False, False, None
    for raw in lines:
        try:
            line = _checked(raw, key)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            on_torn(raw)
            waste += len(raw)
            if waste > MOST_WASTE:
                return Read(unreadable="it holds much that is no head")
            continue
        waste = 0
        if line is None:
            forged += 1
            continue
        if line.tip.seq:
            heads.append(line.tip)
            if not _follows(line, after, is_linked) and len(gaps) < MOST_GAPS:
                gaps.append(line.tip.seq)
        else:
            is_begun = True
        is_linked = is_linked or line.after is not None
        after, last = line.sig, line
    is_empty = not heads and (forged > 0 or not is_begun)
    return Read(heads, forged, is_empty=is_empty, gaps=gaps, last=last)


def head_line(tip: Tip, at: Instant, key: bytes, after: str | None) -> Line:
    """A head for the file beside the store, after the line with this signature; one that stands alone without."""
    sig = _signature(tip, key, after)
    named = {"lineage": tip.lineage} if tip.lineage else {}
    linked = {} if after is None else {"after": after}
    text = json.dumps({"seq": tip.seq, "hash": tip.hash, "at": at, **named, **linked, "sig": sig})
    return Line(tip, sig, after, f"{text}\n".encode())


def signed_line(tip: Tip, at: Instant, key: bytes) -> str:
    """A head as it is given away."""
    return head_line(tip, at, key, None).raw.decode().rstrip("\n")


def first_line(key: bytes) -> Line:
    """A line for the empty chain. By its name for the signature, older versions do not take it for a head."""
    begun = _signature(Tip(), key, None)
    text = json.dumps({"seq": 0, "hash": Tip().hash, "at": 0.0, "begun": begun})
    return Line(Tip(), begun, None, f"{text}\n".encode())


def _checked(raw: bytes, key: bytes) -> Line | None:
    """The line; None where its signature is wrong. Raises several errors where it is none."""
    members = cast("dict[str, Any]", json.loads(raw.decode("utf-8", errors="replace")))
    tip = Tip(int(members["seq"]), str(members["hash"]), str(members.get("lineage", "")))
    sig = str(members["sig" if tip.seq else "begun"])
    after = str(members["after"]) if "after" in members and tip.seq else None
    is_right = hmac.compare_digest(sig.encode("utf-8", "replace"), _signature(tip, key, after).encode())
    return Line(tip, sig, after, raw) if is_right else None


def _follows(line: Line, after: str | None, is_linked: bool) -> bool:
    if line.after is None:
        # Only older versions wrote such lines, and they came first.
        return not is_linked
    return after in (None, line.after)


def _signature(tip: Tip, key: bytes, after: str | None) -> str:
    named = f"{tip.lineage}:" if tip.lineage else ""
    # No name of a lineage holds this mark, nor does a number.
    linked = "" if after is None else f"{after}>"
    return hmac.digest(key, f"{linked}{named}{tip.seq}:{tip.hash}".encode(), "sha256").hex()
