"""What a prompt mentions: quoted strings, addresses, paths, numbers, places, names.

Law: reading is pure, but for what day it is; each list keeps the order of the prompt. Nothing here knows about tools.
"""

import re
from dataclasses import dataclass

from pollux.emulator.planner import moments

_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|«([^»]+)»|(?<![\w])\'([^\']+)\'(?![\w])')
_CODE = re.compile(r"`([^`]+)`")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_URL = re.compile(r"https?://[^\s\"'`<>)]+")
_NUMBER = re.compile(r"(?<![\w.@/-])-?\d+(?:\.\d+)?(?![\w@/]|\.\d|-\d)")
_PATH = re.compile(
    r"(?<![\w@:/.])(?:~?\.{0,2}/[\w./-]*[\w/]|\.{1,2}(?=\s|$)|[\w.-]+/[\w./-]*|[\w-]+\.[A-Za-z]\w{0,5})(?![\w@])"
)
_PLACED_PATH = re.compile(r"\b(?:file|directory|folder|dir|path)\s+(?:called |named )?([\w./~-]+)", re.IGNORECASE)
_PLACE = re.compile(r"\b(?:in|at|for|of|near|from|to)\s+((?:[A-Z][\w'’-]*)(?:\s+[A-Z][\w'’-]*)*)")
_MORE = re.compile(r"\s*(?:,\s*and|,|and|or|&)\s+(?:(?:in|at|for|of|to)\s+)?((?:[A-Z][\w'’-]*)(?:\s+[A-Z][\w'’-]*)*)")
_NAME = re.compile(
    r"\b(?:[Ee]mail|[Mm]ail|[Tt]o|[Ii]nvite|[Ww]ith|[Mm]essage|[Tt]ell|[Nn]otify|[Cc]c)\s+([A-Z][\w'’-]*)"
)
_ADDRESS = r"(?:[\w.+-]+@[\w-]+(?:\.[\w-]+)+|[A-Z]\w*)"
_COPY = re.compile(rf"\b((?i:b?cc))\b\s*(?::|to\b)?\s*({_ADDRESS}(?:(?:,|\s+and)\s+{_ADDRESS})*)")
_ENDING = re.compile(r"\s+(?:in|into|to|from|under|inside|at)\s+\S*[./]\S*$")
_SAYING = re.compile(
    r"\b(?:saying|that says|which says|with (?:the )?(?:text|body|message|content)s?)\s*:?\s+", re.IGNORECASE
)
_LABEL = re.compile(r"\b(?:subject|title|titled|called|named|about)\s*:?\s+", re.IGNORECASE)
# What a person asks is short; what follows is material, and looking for names in it costs time.
LONGEST = 4_000
_STOP_NAMES = frozenset(
    {"The", "A", "An", "I", "It", "This", "That", "My", "Your", "Please", "Me", "Him", "Her", "Them"}
)


@dataclass(frozen=True)
class Clues:
    """Everything found in one piece of a prompt."""

    text: str
    quoted: tuple[str, ...]
    code: tuple[str, ...]
    emails: tuple[str, ...]
    urls: tuple[str, ...]
    dates: tuple[str, ...]
    zones: tuple[str, ...]
    numbers: tuple[int | float, ...]
    paths: tuple[str, ...]
    places: tuple[str, ...]
    names: tuple[str, ...]
    copies: dict[str, tuple[str, ...]]
    saying: str | None

    @property
    def words(self) -> frozenset[str]:
        """Every word, stemmed."""
        return frozenset(stem(word) for word in split_words(self.text))

    def after(self, pattern: str) -> str | None:
        """What follows these words, up to the end of the clause."""
        found = re.search(rf"\b(?:{pattern})\b\s*:?\s+(.+)", self.text, re.IGNORECASE | re.DOTALL)
        return _clause(found[1]) if found else None


def read(text: str) -> Clues:
    """Look once, find everything."""
    text = text[:LONGEST]
    bare = _CODE.sub(" ", _QUOTED.sub(" ", text))
    no_links = _URL.sub(" ", _EMAIL.sub(" ", bare))
    straight = _COPY.sub(" ", text)
    return Clues(
        text=text,
        quoted=tuple(next(group for group in found.groups() if group) for found in _QUOTED.finditer(text)),
        code=tuple(_CODE.findall(text)),
        emails=tuple(_EMAIL.findall(straight)),
        urls=tuple(url.rstrip(".,;?!") for url in _URL.findall(text)),
        dates=moments.read(text),
        zones=moments.zones(text),
        numbers=tuple(_number(found) for found in _NUMBER.findall(moments.without(no_links))),
        paths=_paths(moments.without(no_links), text),
        places=_places(no_links),
        names=_listed(_NAME, _COPY.sub(" ", bare)),
        copies={found[1].lower(): _people(found[2]) for found in _COPY.finditer(text)},
        saying=_saying(text),
    )


def split_saying(text: str) -> tuple[str, str]:
    """The request, and the words it wants passed on: those never name a tool."""
    found = _SAYING.search(text)
    return (text[: found.start()], text[found.start() :]) if found else (text, "")


def without_quotes(text: str) -> str:
    """The prompt's own words only."""
    return _CODE.sub(" ", _QUOTED.sub(" ", text))


def topic(text: str) -> str | None:
    """What `subject X`, `titled X` or `about X` names."""
    found = _LABEL.search(text)
    if not found:
        return None
    rest = text[found.end() :]
    quoted = _QUOTED.match(rest)
    return (
        next(group for group in quoted.groups() if group)
        if quoted
        else _clause(re.split(r"\s(?:on|with|at|to|from|for|by|saying)\s", split_saying(rest)[0])[0]) or None
    )


def split_words(text: str) -> list[str]:
    """Words in lower case; camelCase and snake_case come apart."""
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text)
    return re.findall(r"[a-z]+|\d+|[+*/-]", apart.lower())


def stem(word: str) -> str:
    """`files`, `sending`, `added`: near enough to `file`, `send`, `add`."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            bare = word[: -len(ending)]
            return bare.rstrip("e") if len(bare) > 3 else bare
    return word.rstrip("e") if len(word) > 3 else word


def stems(text: str) -> frozenset[str]:
    """The stems of a list of words."""
    return frozenset(stem(word) for word in text.split())


def _clause(text: str) -> str:
    text = _ENDING.sub("", text.strip().rstrip(".!?") if not text.rstrip().endswith("/") else text.strip())
    return re.split(r"(?<=\w)[.!?](?:\s|$)|\n", text.strip(), maxsplit=1)[0].strip(" .!?\"'“”")


def _saying(text: str) -> str | None:
    found = _SAYING.search(text)
    if not found:
        return None
    rest = text[found.end() :].strip()
    quoted = _QUOTED.match(rest)
    return next(group for group in quoted.groups() if group) if quoted else rest.rstrip(".") or None


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _paths(bare: str, text: str) -> tuple[str, ...]:
    found = [path.rstrip(".") if len(path) > 2 else path for path in _PATH.findall(bare)]
    named = [path.rstrip(".,") for path in _PLACED_PATH.findall(bare) if path.lower() not in _NOT_PATHS]
    quoted = [one for group in _QUOTED.findall(text) for one in group if re.fullmatch(r"[\w./~-]*[./][\w./~-]+", one)]
    return tuple(dict.fromkeys([path for path in [*found, *named, *quoted] if path]))


_NOT_PATHS = frozenset(
    {"and", "with", "in", "at", "to", "for", "the", "a", "of", "from", "called", "named", "please", "then", "is"}
)


def _places(text: str) -> tuple[str, ...]:
    return _listed(_PLACE, text)


def _people(text: str) -> tuple[str, ...]:
    """Addresses, or names made into addresses."""
    names = re.findall(r"\b[A-Z]\w*", text)
    return tuple(_EMAIL.findall(text)) or tuple(f"{name.lower()}@example.com" for name in names)


def _listed(first_of: re.Pattern[str], text: str) -> tuple[str, ...]:
    """What the pattern finds, and what a comma or an `and` adds to it."""
    found: list[str] = []
    for first in first_of.finditer(text):
        found.append(first[1])
        at = first.end()
        while more := _MORE.match(text, at):
            found.append(more[1])
            at = more.end()
    return tuple(dict.fromkeys(place for place in found if place not in _STOP_NAMES))
