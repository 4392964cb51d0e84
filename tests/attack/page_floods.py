"""Requests of a page that are as large and as awkward as a request may be."""

from collections.abc import Mapping
from typing import Any

from tests.attack.schema_bombs import tool

ABOUT = 1_000_000
"""Bytes: a request may have a few more."""
SMALL = {"type": "object", "properties": {"v": {"enum": [str(n) for n in range(100)]}}}


def _nested(levels: int, width: int) -> Any:
    return {f"k{n}": _nested(levels - 1, 1) for n in range(width)} if levels else 1


FLOODS: Mapping[str, Mapping[str, Any]] = {
    "ten thousand tools": {"toolDefinitions": [{"name": f"t{n}"} for n in range(10_000)]},
    "a thousand tools": {"toolDefinitions": [tool(SMALL, f"t{n}") for n in range(1_000)]},
    "a thousand tools with patterns": {
        "toolDefinitions": [
            tool({"type": "object", "properties": {"v": {"pattern": rf"\p{{L}}{{1,300}}{n}"}}}, f"t{n}")
            for n in range(1_000)
        ]
    },
    "names that are one after all": {
        "toolDefinitions": [tool({}, "a" + "." * (n % 400 + 1) + " " * n) for n in range(900)]
    },
    "names of the server's own": {"toolDefinitions": [tool({}, "action_" + "-_"[n % 2] * n) for n in range(400)]},
    "one description": {"toolDefinitions": [tool({}, description="x" * (ABOUT - 300))]},
    "one schema": {"toolDefinitions": [tool({"type": "object", "enum": ["x"] * 200_000})]},
    "half a million numbers": {"pageState": [0] * 490_000},
    "a quarter of a million lists": {"pageState": [[]] * 240_000},
    "members": {"pageState": {f"k{n}": n for n in range(60_000)}},
    "names that nearly speak of a secret": {"pageState": {"-a" * 90 + f"-{n}-passwor": "x" for n in range(4_800)}},
    "names in another alphabet": {"pageState": {"-а" * 60 + f"-{n}-парол": "x" for n in range(2_000)}},
    "fields": {
        "pageState": [{"name": f"n{n}", "value": "x", "type": "password", "ref": f"e{n}"} for n in range(14_000)]
    },
    "sixty levels": {"pageState": [_nested(58, 1) for _ in range(1_500)]},
    "interactions": {"pageState": {"interactions": [{"refName": f"r{n}", "items": [{}] * 8} for n in range(15_000)]}},
    "an outline": {"pageState": {"outline": [f"e{n} button" for n in range(60_000)]}},
    "marks on one letter": {"pageState": {"text": "e" + "\u0301" * 490_000}},
    "signs that nobody sees": {"pageState": {"text": "\u202e\u200b" * 160_000}},
    "tags": {"pageState": {"text": "<" * (ABOUT - 300)}},
    "long numbers": {"pageState": [10**4_000] * 200},
    "a hundred thousand messages": {"history": [{"role": "user"}] * 40_000},
    "messages without a seal": {"history": [{"role": "user", "parts": [{"text": "x" * 2_400}]}] * 400},
}
"""Members of a request beside its message."""
