"""What a page looks like, in a line for each thing on it. Its own script makes them short; here they are held to it."""

from collections.abc import Mapping
from typing import Final, cast

from pollux.core.messages import JSON
from pollux.page.state import plain

LARGEST: Final = 16_000
"""Bytes of the whole, some 4,000 tokens."""
LONGEST: Final = 300


def outline_of(seen: JSON) -> str:
    """The lines of a page's state, as one text; empty where it has none."""
    given = cast("Mapping[str, JSON]", seen).get("outline") if isinstance(seen, dict) else None
    lines = cast("list[JSON]", given) if isinstance(given, list) else []
    kept: list[str] = []
    size = 0
    for line in lines:
        text = plain(str(line)[:LONGEST].rstrip())
        size += len(text.encode()) + 1
        if size > LARGEST:
            kept.append(f"… ({len(lines) - len(kept)} more lines)")
            break
        kept.append(text)
    return "\n".join(kept)
