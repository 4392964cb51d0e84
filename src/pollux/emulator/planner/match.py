"""Which declared tools does a piece of prompt call for? Words against names and descriptions, with a few synonyms."""

import re
from dataclasses import dataclass

from pollux.emulator.model import Tool
from pollux.emulator.planner.clues import split_words, stem, stems, without_quotes

_SYNONYMS = {
    "email": "mail send gmail message",
    "mail": "email send gmail message",
    "send": "mail email gmail",
    "message": "mail email send",
    "run": "shell execute exec command bash",
    "execute": "shell run exec command bash",
    "read": "open cat get show view",
    "open": "read get view",
    "show": "read get list view display",
    "list": "ls show directory dir",
    "ls": "list directory",
    "write": "create save put",
    "save": "write create put",
    "create": "write make new add",
    "schedule": "calendar event meeting create",
    "meeting": "calendar event",
    "invite": "calendar event",
    "search": "find grep query lookup",
    "find": "search grep glob query lookup",
    "plus": "add sum",
    "sum": "add plus",
    "+": "add sum plus",
    "total": "add sum",
    "times": "multiply mul product",
    "*": "multiply mul",
    "minus": "subtract sub",
    "temperature": "weather",
    "forecast": "weather",
    "sunny": "weather",
    "replace": "edit substitute",
    "change": "replace edit set update",
    "set": "update change",
    "remove": "delete",
    "delete": "remove",
    "click": "press tap",
    "press": "click",
    "fill": "type enter set input",
    "type": "fill enter input",
    "fetch": "get download http",
    "get": "fetch read",
}
_DULL = stems(
    "the a an of in on to for and or is are was be it this that with by from at as i you me my your our we what how"
    " which who when where can could would please do does will shall if then use using tool call given demo not any all"
    " one into some there their its has have"
)


@dataclass(frozen=True)
class Match:
    """A tool and how well it fits."""

    tool: Tool
    score: int


def best(text: str, tools: tuple[Tool, ...]) -> Match | None:
    """The tool that fits best, if one fits at all. Earlier declared wins a tie."""
    ranked = sorted((_score(text, tool) for tool in tools), key=lambda match: -match.score)
    return ranked[0] if ranked and ranked[0].score >= 3 else None


def _score(text: str, tool: Tool) -> Match:
    if re.search(rf"(?<![\w-]){re.escape(tool.name)}(?![\w-])", text):
        return Match(tool, 100 + len(tool.name))
    said = [stem(word) for word in split_words(_plain_words(text))]
    spoken = [word for word in said if word not in _DULL and not word.isdecimal()]
    name_words = [stem(word) for word in split_words(tool.name)]
    described = {stem(word) for word in split_words(tool.description)} - _DULL - set(name_words)
    score = 0
    for at, word in enumerate(dict.fromkeys(spoken)):
        # The verb comes first, and decides between `read_file` and `write_file`.
        weight = 5 if at == 0 else 3
        if word in name_words:
            score += weight
        elif _MEANT.get(word, frozenset[str]()) & set(name_words):
            score += weight - 1
        elif word in described:
            score += 1
    if score and name_words[:1] == spoken[:1]:
        score += 2
    return Match(tool, score)


def _plain_words(text: str) -> str:
    """The prompt's own words: no quotes, addresses, links or paths, which may hold any word at all."""
    words = without_quotes(text).split()
    return " ".join(word for word in words if not re.search(r"[@/]|\w\.\w", word))


_MEANT = {stem(word): stems(others) for word, others in _SYNONYMS.items()}
