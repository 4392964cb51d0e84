"""What a prompt wants of a page, clause by clause: fill, choose, press, search, ask, order."""

import re
from dataclasses import dataclass
from typing import Literal

from pollux.emulator.planner.clues import stem
from pollux.emulator.planner.pages.outline import stems

Kind = Literal["mine", "fill", "choose", "tick", "untick", "each", "search", "ask", "order", "press"]

_VERBS = (
    "add|put|place|remove|delete|fill|enter|type|write|set|choose|select|pick|tick|check|untick|uncheck|accept|show|find"
    "|search|list|look|filter|go|open|click|press|visit|buy|order|pay|purchase|stop|do not|don't|but|without|tell|what"
)
_CLAUSE = re.compile(rf"(?:\s*(?:[,;.]|\band\b|\bthen\b))+\s+(?=(?:please\s+|also\s+)?(?:{_VERBS})\b)", re.IGNORECASE)
_STOP = re.compile(r"(?:but\s+)?(?:stop|wait|do not|don't|without|never)\b", re.IGNORECASE)
_POLITE = re.compile(r"^(?:(?:please|now|also|and|can you|could you)\s+)+", re.IGNORECASE)
_ARTICLE = r"(?:the|a|an|my|your|this|that|its|some|every|all)\s+"
_COUNTS = {
    word: at for at, word in enumerate("no one two three four five six seven eight nine ten eleven twelve".split())
} | {"a": 1, "an": 1, "another": 1, "the": 1, "couple": 2, "dozen": 12}
_COUNT = re.compile(r"(?:(?:a\s+)?(couple|dozen)\s+(?:of\s+)?|(\d{1,2})\s*(?:x|×)?\s+|(\w+)\s+)(?=\S)", re.IGNORECASE)
_LIMIT = re.compile(
    r"\s*\b(?:under|below|up to|less than|cheaper than|at most|for less than|within|no more than)\s*[£$€]?\s*"
    r"(\d+(?:\.\d+)?)\s*(?:pounds|euros?|dollars|quid|£|€)?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Wanted:
    """So many of something."""

    count: int
    what: str

    @property
    def words(self) -> frozenset[str]:
        """Its words, stemmed."""
        return stems(self.what)


@dataclass(frozen=True)
class Wish:
    """One clause. `what` is what it is about; `into` where it goes, `value` what is written."""

    kind: Kind
    text: str
    what: str = ""
    into: str = ""
    value: str = ""
    verb: str = ""
    each: tuple[Wanted, ...] = ()
    limit: float | None = None

    @property
    def is_guess(self) -> bool:
        """Whether it is one only if the page has a button for it."""
        return self.kind == "press" and bool(self.verb)


@dataclass(frozen=True)
class Wishes:
    """Everything asked for, in order, and whether it said where to stop."""

    every: tuple[Wish, ...]
    stops: str = ""


def read(prompt: str) -> Wishes:
    """The clauses of a prompt."""
    stops, found = "", list[Wish]()
    for clause in _CLAUSE.split(prompt.strip()):
        text = clause.strip(" .!\n")
        if _STOP.match(text):
            stops = text
        elif wish := _wish(_POLITE.sub("", text)):
            found.append(wish)
    return Wishes(tuple(found), stops)


def _wish(text: str) -> Wish | None:
    for kind, pattern in _FORMS:
        if found := re.fullmatch(pattern, text, re.IGNORECASE | re.DOTALL):
            return _of(kind, text, {name: value.strip() for name, value in found.groupdict("").items()})
    return None


_QUOTE = r"[\"“'‘](?P<value>[^\"”’]+)[\"”'’]"
_FORMS: tuple[tuple[Kind, str], ...] = (
    ("mine", r"(?:fill|enter|put|type|complete|write)\b(?: in| out)?.*\b(?:my|our)\s+"
             r"(?P<what>(?:[\w-]+ ){0,3}(?:address|details|name|data)).*"),
    ("fill", rf"(?:fill|enter|type|write|put|set)(?: in)?\s+{_QUOTE}\s+(?:in|into|as|for|to|at)\s+(?P<what>.+)"),
    ("fill", rf"(?:fill|set|change)(?: in)?\s+(?P<what>.+?)\s+(?:with|to|as)\s+(?:{_QUOTE})"),
    ("fill", r"(?:fill|set|change)(?: in)?\s+(?P<what>.+?)\s+(?:with|to|as)\s+(?P<value>.+)"),
    ("fill", r"(?:enter|type|write)\s+(?P<value>.+?)\s+(?:in|into|as|for)\s+(?P<what>.+)"),
    ("order", r"(?:(?:place|submit|send|make|confirm|complete)\s+(?:the |my |an |this )?(?:order|purchase)"
              r"|(?:buy|order|purchase|pay)\b(?:\s+(?:for\s+)?(?:it|this|that|them|everything|now|the cart|my cart))*)"
              r"(?:\s+(?:now|please|for me))*"),
    ("choose", rf"(?:choose|select|pick)\s+(?:{_QUOTE})(?:\s+(?:in|for|as|from|under)\s+(?P<what>.+))?"),
    ("choose", r"(?:choose|select|pick)\s+(?P<value>.+?)(?:\s+(?:in|for|as|from|under)\s+(?P<what>.+))?"),
    ("untick", r"(?:untick|uncheck|switch off|turn off|disable)\s+(?P<what>.+)"),
    ("tick", r"(?:tick|check(?! out)|accept|switch on|turn on|enable)\s+(?P<what>.+)"),
    ("each", r"(?P<verb>add|put|place|remove|delete|take)\s+(?P<each>.+?)\s+"
             r"(?:to|into|in|from|out of|on)\s+(?P<into>(?:the |my |your )?[\w ]+)"),
    ("search", r"(?:show|find|search|filter|look|list|browse)\b(?:\s+(?:me|us|for|up|through|by))*\s+(?P<what>.+)"),
    ("ask", r"(?:what|which|how|is|are|do|does|did|where|when|tell me)\b(?P<what>.+)"),
    ("press", r"(?:go|open|click|press|visit|tap|follow|check out|continue|show)\b(?:\s+(?:on|to|into|the|my|me))*"
              r"\s*(?P<what>.*)"),
    ("each", r"(?P<verb>remove|delete|like|archive|star|close|add|buy|order)\s+(?P<each>.+)"),
    # Any other verb may be what a button is called.
    ("press", r"(?P<what>(?P<verb>\w+)\s+\w.*)"),
)  # fmt: skip


def _of(kind: Kind, text: str, found: dict[str, str]) -> Wish:
    limit = _LIMIT.search(found.get("what", ""))
    what = _LIMIT.sub("", found.get("what", ""))
    return Wish(
        kind,
        text,
        what=_bare(what.rstrip("?")),
        into=_bare(found.get("into", "")),
        value=found.get("value", "").strip("\"“”'"),
        verb=found.get("verb", ""),
        each=tuple(map(_wanted, re.split(r"\s*(?:,|\band\b|&)\s+", found["each"]))) if found.get("each") else (),
        limit=float(limit[1]) if limit else None,
    )


def _wanted(text: str) -> Wanted:
    counted = _COUNT.match(text)
    word = next((group.lower() for group in counted.groups() if group), "") if counted else ""
    if counted and (word.isdigit() or word in _COUNTS):
        return Wanted(int(word) if word.isdigit() else _COUNTS[word], _bare(text[counted.end() :]))
    return Wanted(1, _bare(text))


def _bare(text: str) -> str:
    return re.sub(rf"^(?:{_ARTICLE})+", "", text.strip(" .?!"), flags=re.IGNORECASE).strip(" \"“”'")


def singular(text: str) -> str:
    """`tea pots` as a search wants it: the words of one."""
    return " ".join(word[:-1] if len(word) > 3 and re.search(r"[^s]s$", word) else word for word in text.split())


def verb_stem(verb: str) -> str:
    """The verb as a button would say it."""
    return stem({"put": "add", "place": "add", "take": "remove"}.get(verb.lower(), verb.lower()))
