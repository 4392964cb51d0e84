"""What a property's name means, and what the prompt has to offer for it."""

import re
from typing import Any

from pollux.emulator.planner import moments
from pollux.emulator.planner.clues import Clues, split_words, stem, topic

_KINDS: dict[str, str] = {
    "cc": "cc",
    "bcc": "bcc",
    "email": "to recipient recipients email emails mail attendee attendees address reply",
    "path": "path file filename filepath directory dir folder",
    "url": "url link uri href website",
    "place": "city cities location place country town where destination origin region",
    "command": "command cmd code script shell",
    "query": "query q search term terms pattern keyword keywords question",
    "subject": "subject title heading topic",
    "body": "body message content contents text description note notes html",
    "zone": "zone timezone tz",
    "date": "date day start end when time due deadline begin",
    "name": "name person user who customer",
    "old": "old",
    "new": "new",
}
_NAMES = {kind: frozenset(names.split()) for kind, names in _KINDS.items()}
_FORMATS = {"email": "email", "idn-email": "email", "uri": "url", "url": "url", "date": "date", "date-time": "date"}
_MATTER = re.compile(r"\b(?:the|my|our|a|an)\s+([\w -]+?)(?=$|[.,;!?]|\s+(?:to|saying|for|with|and|by|at|on)\b)")
_APPOINTMENT = re.compile(r"\b(?:event|meeting|appointment)\b", re.IGNORECASE)
_QUESTION = "search for|look up|look for|find|about|for|search"
_DENIALS = ("not", "no", "without", "never", "non", "don't", "dont", "disable")

FANS_OUT = frozenset({"path", "place", "url", "email"})


def of(name: str, schema: dict[str, Any]) -> str:
    """The kind of text a property wants, by its format or its name."""
    if schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]
    words = split_words(name)
    for kind, names in _NAMES.items():
        if words and (words[-1] in names or name.lower() in names):
            return kind
    for kind, names in _NAMES.items():
        if names & set(words):
            return kind
    return "other"


def one(kind: str, clues: Clues, *, at: int) -> str | None:
    """The prompt's at-th text of this kind."""
    found = _found(kind, clues)
    return found[at] if at < len(found) else None


def every(name: str, schema: dict[str, Any], clues: Clues) -> list[str]:
    """Every text the prompt has for a property."""
    kind = of(name, schema)
    found = _found(kind, clues)
    if found or kind in ("email", "cc", "bcc", "path", "url", "date", "zone"):
        return found
    return list(clues.quoted)


def speaks_of(name: str, clues: Clues) -> bool:
    """Does the prompt mention this property?"""
    wanted = [stem(word) for word in split_words(name) if len(word) > 1]
    return bool(wanted) and all(word in clues.words for word in wanted)


def offers(name: str, schema: dict[str, Any], clues: Clues) -> bool:
    """Does the prompt hold something that can only be meant for such a property?"""
    return of(name, schema) in ("path", "url", "email", "cc", "bcc", "zone") and bool(every(name, schema, clues))


def denies(name: str, clues: Clues) -> bool:
    """Does it mention the property only to say no to it?"""
    words = re.findall(r"[\w']+", clues.text.lower())
    wanted = stem(split_words(name)[0]) if split_words(name) else ""
    return any(
        stem(word) == wanted and set(words[max(0, at - 2) : at]) & set(_DENIALS) for at, word in enumerate(words)
    )


def fallback(kind: str, name: str, clues: Clues) -> str:
    """Something sensible when the prompt has nothing to offer."""
    match kind:
        case "email" | "cc" | "bcc":
            return "someone@example.com"
        case "path":
            return "." if {"directory", "dir", "folder"} & set(split_words(name + " " + clues.text)) else "notes.txt"
        case "url":
            return "https://example.com/"
        case "place":
            return "Paris"
        case "date":
            is_end = bool({"end", "due", "deadline"} & set(split_words(name)))
            return moments.later(moments.soon()) if is_end else moments.soon()
        case "zone":
            return "UTC"
        case "query" | "command":
            return clues.text.strip() or "demo"
        case "subject":
            return _matter(clues)
        case "body":
            matter = _matter(clues)
            return f"Here is the {matter[:1].lower()}{matter[1:]}." if matter != "Hello" else clues.text.strip()
        case _:
            return "demo"


def _found(kind: str, clues: Clues) -> list[str]:
    match kind:
        case "email":
            return [*clues.emails] or [f"{name.lower()}@example.com" for name in clues.names]
        case "cc" | "bcc":
            return [*clues.copies.get(kind, ())]
        case "path":
            return [*clues.paths] or [*clues.code]
        case "url":
            return [*clues.urls]
        case "place":
            return [*clues.places] or [*clues.quoted]
        case "command":
            return [*clues.code] or [*clues.quoted] or _after(clues, "run|execute|command")
        case "query":
            return (
                [*clues.quoted] or [*clues.code] or _after(clues, "search for|look up|look for|find|about|for|search")
            )
        case "date":
            return [*clues.dates, *(moments.later(date) for date in clues.dates[-1:])]
        case "zone":
            return [*clues.zones]
        case "subject":
            named = topic(clues.text)
            # One quotation is what to say, except where something is made that only needs a name.
            is_quoted = len(clues.quoted) > 1 or (clues.quoted and _APPOINTMENT.search(clues.text))
            return [named] if named else (list(clues.quoted[:1]) if is_quoted else [_matter(clues)])
        case "body":
            return (
                [clues.saying] if clues.saying else list(clues.quoted[-1:]) or _after(clues, "that|write|note|remember")
            )
        case "old":
            return [*clues.quoted[:1]]
        case "new":
            return [*clues.quoted[1:2]]
        case "name":
            return [*clues.quoted] or [*clues.names]
        case _:
            return [*clues.quoted] or [*clues.code]


def _after(clues: Clues, pattern: str) -> list[str]:
    found = clues.after(pattern)
    return [found] if found else []


def _matter(clues: Clues) -> str:
    """`email Bob the report` is about the report."""
    found = re.search(
        r"\b(?:the|my|our|a|an)\s+([\w -]+?)(?=$|[.,;!?]|\s+(?:to|saying|for|with|and|by|at|on)\b)", clues.text
    )
    if found and found[1].strip().lower() not in ("email", "mail", "message", "note"):
        matter = found[1].strip()
        return matter[:1].upper() + matter[1:]
    return "Hello"
