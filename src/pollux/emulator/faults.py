"""Name a fault, parse it, and choose which request gets it.

A fault is chosen by header (`x-emulator-fault: 429;retry=2`), by model suffix (`gemini-3.8-flash--429-retry2`) or by a
scenario (`[{"match": {"model", "contains"}, "fault", "times"}]`), in that order. Law: this module only chooses;
`spoil` changes what is said and `transport` how it travels.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pollux.emulator.jsons import is_object, objects

HEADER = "x-emulator-fault"

STATUSES = frozenset({"400", "401", "403", "404", "429", "500", "502", "503", "504"})
KINDS: dict[str, str] = {
    **{status: f"HTTP status {status}" for status in sorted(STATUSES)},
    "html": "status 502 with an HTML body",
    "reset": "TCP reset before any header",
    "reset-mid": "TCP reset after `after` chunks",
    "half": "the stream ends cleanly without a finish reason",
    "truncated": "the body is cut in the middle of a chunk",
    "slow": "`every` milliseconds before each chunk",
    "idle": "silence after `after` chunks",
    "silent": "the request is accepted and never answered",
    "split-utf8": "characters split across writes",
    "stream-error": "an error object inside a 200 stream, after `after` chunks",
    "bad-json": "a data line that is not JSON, after `after` chunks",
    "lf": "lines end in LF",
    "cr": "lines end in CR",
    "crlf": "lines end in CR LF, as the real service has them",
    "comments": "SSE comments between events",
    "events": "`event:` and `id:` lines before each data line",
    "multi-line": "each event's JSON over several data lines",
    "malformed-call": "finish reason MALFORMED_FUNCTION_CALL",
    "unexpected-call": "finish reason UNEXPECTED_TOOL_CALL",
    "too-many-calls": "finish reason TOO_MANY_TOOL_CALLS",
    "safety": "finish reason SAFETY",
    "recitation": "finish reason RECITATION",
    "max-tokens": "finish reason MAX_TOKENS, the answer cut short",
    "unknown-reason": "finish reason SOMETHING_NEW",
    "block": "promptFeedback.blockReason and no candidates",
    "empty": "a candidate without parts",
    "no-candidates": "candidates: []",
    "unknown-part": "an unknown part and unknown fields",
    "huge": "one text of `size` bytes",
    "no-id": "calls without ids",
    "duplicate-ids": "all calls with one id",
    "split-calls": "one chunk per call",
}
_OPTIONS = ("retry", "times", "after", "every", "size", "quota")


class UnknownFault(ValueError):
    """A fault nobody wrote. The text lists those there are."""


@dataclass(frozen=True)
class Fault:
    """A kind and its options; a number that was not given is its default."""

    kind: str
    options: Mapping[str, str] = field(default_factory=dict[str, str])

    def number(self, name: str, default: int) -> int:
        """An option as a whole number."""
        text = self.options.get(name, "")
        return int(text) if text.isdecimal() else default


@dataclass(frozen=True)
class Rule:
    """One entry of a scenario."""

    fault: Fault
    model: str | None = None
    contains: str | None = None
    times: int | None = None

    def matches(self, *, model: str, text: str) -> bool:
        """Is this the request the rule waits for?"""
        return (self.model is None or self.model == model) and (self.contains is None or self.contains in text)


@dataclass
class FaultBook:
    """Chooses the fault of each request and counts `times`."""

    rules: tuple[Rule, ...] = ()
    used: Counter[str] = field(default_factory=Counter[str])

    def choose(self, *, header: str | None, model: str, text: str) -> Fault | None:
        """The fault for this request, if any is left. Raises UnknownFault."""
        if header:
            return self._spend(f"header {header}", fault := parse(header), fault.number("times", 0) or None)
        if "--" in model:
            return self._spend(f"model {model}", fault := from_suffix(model), fault.number("times", 0) or None)
        for at, rule in enumerate(self.rules if model else ()):
            if rule.matches(model=model, text=text) and (found := self._spend(f"rule {at}", rule.fault, rule.times)):
                return found
        return None

    def _spend(self, key: str, fault: Fault, times: int | None) -> Fault | None:
        if times is not None and self.used[key] >= times:
            return None
        self.used[key] += 1
        return fault


def parse(text: str) -> Fault:
    """`429;retry=2;times=1`. Raises UnknownFault."""
    kind, *rest = [piece.strip() for piece in text.split(";")]
    options = dict(piece.split("=", 1) for piece in rest if "=" in piece)
    return Fault(_known(kind), {key.strip(): value.strip() for key, value in options.items()})


def from_suffix(model: str) -> Fault:
    """`gemini-3.8-flash--429-retry2-times1`. Raises UnknownFault."""
    suffix = model.split("--", 1)[1]
    kind = max((kind for kind in KINDS if suffix == kind or suffix.startswith(kind + "-")), key=len, default=suffix)
    options = re.findall(rf"-({'|'.join(_OPTIONS)})([^-]+)", suffix[len(kind) :])
    return Fault(_known(kind), dict(options))


def read_rules(scenario: object) -> tuple[Rule, ...]:
    """A scenario's rules. Raises UnknownFault."""
    return tuple(_rule(entry) for entry in objects(scenario))


def _rule(entry: dict[str, Any]) -> Rule:
    match: dict[str, Any] = entry["match"] if is_object(entry.get("match")) else {}
    fault = parse(str(entry.get("fault", "")))
    times = entry.get("times")
    return Rule(
        fault=fault,
        model=match.get("model"),
        contains=match.get("contains"),
        times=times if isinstance(times, int) else fault.number("times", 0) or None,
    )


def _known(kind: str) -> str:
    if kind not in KINDS:
        raise UnknownFault(f"unknown fault {kind!r}; known are {', '.join(KINDS)}")
    return kind
