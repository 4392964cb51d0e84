"""Name a fault of the workspace emulator, parse it, and choose which request gets it.

A fault is chosen by header (`x-emulator-fault: 429;retry=2`), or by a rule: from a scenario file, or added while the
emulator runs (`[{"match": {"method", "path", "contains"}, "fault", "times", "after"}]`). The first rule that fits
and is not used up wins.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from pollux.core.frozen import frozen
from pollux.emulator.faults import Fault, UnknownFault
from pollux.emulator.jsons import is_list, is_object

KINDS: dict[str, str] = {
    "slow": "the effect happens, the answer comes `seconds` later (default 2)",
    "lost": "the effect happens, the connection ends without an answer",
    "lost-before": "the connection ends before the effect",
    "half": "the effect happens, the answer breaks off in the middle",
    "html": "status 200 with an HTML page, as a captive portal has it",
    "400": "a request that is not taken; the token endpoint says invalid_grant",
    "401": "a token that is not valid (any more)",
    "403": "a token without the scope",
    "403-rate": "too many requests, the older way of saying so",
    "404": "nothing there",
    "429": "too many requests; `retry=S` for a Retry-After header",
    "500": "an internal error",
    "502": "a bad gateway",
    "503": "not available; `retry=S` for a Retry-After header",
    "504": "a gateway that waited too long",
    "invalid-grant": "the token endpoint says that the refresh token was revoked",
}
"""Those that are a status or a page leave the effect out, unless `effect=yes` says otherwise."""


@frozen(kw_only=True)
class Rule:
    """One rule: which requests, how many of them to leave alone first, how many to spoil."""

    fault: Fault
    method: str = ""
    path: str = ""
    contains: str = ""
    times: int | None = None
    after: int = 0

    def matches(self, *, verb: str, id: str, path: str, text: str) -> bool:
        """Is the rule about this request? Its `method` is a verb, or the end of a name in Google's documents."""
        wanted = self.method
        return (
            (not wanted or wanted.upper() == verb or id == wanted or id.endswith(f".{wanted}"))
            and (not self.path or self.path in path or re.search(self.path, path) is not None)
            and (not self.contains or self.contains in text)
        )


@dataclass
class FaultBook:
    """Chooses the fault of each request; counts how often each rule fitted."""

    rules: list[Rule] = field(default_factory=list[Rule])
    seen: Counter[str] = field(default_factory=Counter[str])

    def choose(self, *, header: str | None, verb: str, id: str, path: str, text: str) -> Fault | None:
        """The fault for this request, if any. Raises UnknownFault."""
        if header:
            fault = parse(header)
            return self._spend(f"header {header}", fault, times=fault.number("times", 0) or None, after=0)
        for at, rule in enumerate(self.rules):
            fits = rule.matches(verb=verb, id=id, path=path, text=text)
            if fits and (found := self._spend(f"rule {at}", rule.fault, times=rule.times, after=rule.after)):
                return found
        return None

    def clear(self) -> None:
        """No rules any more, nothing counted."""
        self.rules.clear()
        self.seen.clear()

    def _spend(self, key: str, fault: Fault, *, times: int | None, after: int) -> Fault | None:
        self.seen[key] += 1
        spent = self.seen[key] - after
        return fault if spent > 0 and (times is None or spent <= times) else None


def parse(text: str) -> Fault:
    """`slow;seconds=2`. Raises UnknownFault."""
    kind, *rest = [piece.strip() for piece in text.split(";")]
    if kind not in KINDS:
        raise UnknownFault(f"unknown fault {kind!r}; known are {', '.join(KINDS)}")
    return Fault(kind, {key.strip(): value.strip() for key, _, value in (piece.partition("=") for piece in rest)})


def seconds(fault: Fault) -> float:
    """How long a slow answer takes; a minute at most."""
    text = fault.options.get("seconds", "")
    return min(float(text), 60.0) if re.fullmatch(r"\d{1,4}(\.\d{1,6})?", text) else 2.0


def read_rules(scenario: object) -> list[Rule]:
    """The rules of a scenario. Raises UnknownFault, also for what is no list of rules."""
    if scenario is None:
        return []
    if not is_list(scenario):
        raise UnknownFault('expected a list of rules: [{"match": {"path": …}, "fault": …}]')
    return [_rule(entry) for entry in scenario]


def shown(rule: Rule) -> dict[str, Any]:
    """As `GET /_emulator/faults` lists it."""
    match = {"method": rule.method, "path": rule.path, "contains": rule.contains}
    text = ";".join([rule.fault.kind, *(f"{key}={value}" for key, value in rule.fault.options.items())])
    return {
        "match": {key: value for key, value in match.items() if value},
        "fault": text,
        "times": rule.times,
        "after": rule.after,
    }


def _rule(entry: object) -> Rule:
    if not is_object(entry) or not is_object(entry.get("match", {})):
        raise UnknownFault('expected a rule like {"match": {"path": …}, "fault": …}')
    match: dict[str, Any] = entry.get("match", {})
    for name in (entry.keys() - {"match", "fault", "times", "after"}) | (match.keys() - {"method", "path", "contains"}):
        raise UnknownFault(f"a rule has match (method, path, contains), fault, times, after; found {name!r}")
    fault = parse(str(entry.get("fault", "")))
    times, after = entry.get("times"), entry.get("after")
    rule = Rule(
        fault=fault,
        method=str(match.get("method", "")),
        path=str(match.get("path", "")),
        contains=str(match.get("contains", "")),
        times=times if isinstance(times, int) else fault.number("times", 0) or None,
        after=after if isinstance(after, int) else fault.number("after", 0),
    )
    try:
        re.compile(rule.path)
    except re.error as error:
        raise UnknownFault(f"path is a piece of a path or a regular expression, found {rule.path!r}: {error}") from None
    return rule
