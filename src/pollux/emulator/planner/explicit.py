"""The explicit form, for tests and demos: `call NAME {json}`, as often as wanted; `then call` begins the next round."""

import json
import re
from dataclasses import dataclass
from typing import Any

from pollux.emulator.jsons import is_object

_CALL = re.compile(r"\b(then\s+)?call\s+([A-Za-z_][\w.:-]*)\s*(?=\{)", re.IGNORECASE)


@dataclass(frozen=True)
class Wanted:
    """A call spelt out in the prompt."""

    name: str
    args: dict[str, Any]


def rounds(prompt: str) -> list[list[Wanted]]:
    """The calls of each round, in order; empty when nothing is spelt out."""
    found: list[list[Wanted]] = []
    at = 0
    while match := _CALL.search(prompt, at):
        args, at = _arguments(prompt, match.end())
        if args is None:
            continue
        if match[1] or not found:
            found.append([])
        found[-1].append(Wanted(match[2], args))
    return found


def _arguments(prompt: str, start: int) -> tuple[dict[str, Any] | None, int]:
    try:
        value, end = json.JSONDecoder().raw_decode(prompt, start)
    except (ValueError, RecursionError):
        return None, start
    return (value if is_object(value) else None), end
