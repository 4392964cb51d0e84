"""What may be shown of a service's own words: no secret, nothing of what was said in the thread, and not too much.

Services like to quote the offending value back; an error text must stay safe to show and to log.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from pollux.core.messages import JSON, Blob, FileRef, Message, Text, Thought, ToolCall, ToolResult
from pollux.core.redact import Secret, redact
from pollux.engine.model import ModelRequest

_LONGEST = 400
_WINDOW = 16
_HIDDEN = "[…]"
_QUOTED = re.compile(r"(?<=\")[^\"]+(?=\")|(?<=')[^']+(?=')|(?<=`)[^`]+(?=`)")


def shown(words: str, secrets: Iterable[Secret], request: ModelRequest | None = None) -> str:
    """The words with secrets masked, quotations from the request cut out, on one line and not too long."""
    words = redact(" ".join(words.split()), secrets)[: 4 * _LONGEST]
    if request is not None:
        words = _without_quotations(words, list(_said(request)))
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"


def _without_quotations(words: str, said: list[str]) -> str:
    # Joined by a character that no error text holds, so that nothing matches across two texts.
    corpus = "\0".join(" ".join(text.split()) for text in said)
    hidden = [False] * len(words)
    for start in range(len(words) - _WINDOW + 1):
        if words[start : start + _WINDOW] in corpus:
            hidden[start : start + _WINDOW] = [True] * _WINDOW
    for quoted in _QUOTED.finditer(words):
        if quoted[0] in corpus:
            hidden[quoted.start() : quoted.end()] = [True] * len(quoted[0])
    for text in filter(None, corpus.split("\0")):
        if len(text) < _WINDOW and len(text) >= _WINDOW // 4:
            for match in re.finditer(rf"\b{re.escape(text)}\b", words):
                hidden[match.start() : match.end()] = [True] * len(text)
    return "".join(_masked(words, hidden))


def _masked(words: str, hidden: list[bool]) -> Iterator[str]:
    for position, (char, is_hidden) in enumerate(zip(words, hidden, strict=True)):
        if not is_hidden:
            yield char
        elif position == 0 or not hidden[position - 1]:
            yield _HIDDEN


def _said(request: ModelRequest) -> Iterator[str]:
    yield request.system
    for message in request.turns:
        yield from _texts(message)


def _texts(message: Message) -> Iterator[str]:
    for part in message.parts:
        match part:
            case Text(text=text) | Thought(text=text):
                yield text
            case ToolCall(args=args):
                yield from _leaves(args)
            case ToolResult(result=result):
                yield from _leaves(result)
            case FileRef(uri=uri):
                yield uri
            case Blob():
                pass


def _leaves(value: JSON) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for item in cast("Mapping[str, JSON]", value).values():
                yield from _leaves(item)
        case list() | tuple():
            for item in cast("list[JSON]", value):
                yield from _leaves(item)
        case _:
            pass
