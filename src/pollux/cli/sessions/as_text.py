"""A session for people: as Markdown for a file, and as indented lines for a terminal."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from pollux.cli.kept import Teller
from pollux.cli.sessions.as_json import SessionCopy
from pollux.core.messages import Blob, FileRef, Message, Part, Role, Text, Thought, ToolCall, ToolResult

LONGEST: Final = 2_000
_WHO: Final[dict[Role, str]] = {"user": "User", "assistant": "Assistant", "tool": "Tools", "notice": "Notice"}


def markdown(copy: SessionCopy) -> str:
    """The whole session as Markdown."""
    about = [f"Session `{copy.session_id}`", copy.project and f"of `{copy.project}`"]
    if copy.start_time:
        about.append(f"begun {copy.start_time}, last updated {copy.last_updated}")
    blocks = [f"# {' '.join(copy.title.split()) or 'Untitled session'}", ", ".join(word for word in about if word)]
    for message in copy.messages:
        blocks.append(f"## {_WHO[message.role]}")
        blocks += [block for part in message.parts if (block := _markdown_part(part))]
    return "\n\n".join(blocks) + "\n"


def readable(copy: SessionCopy, teller: Teller) -> Iterator[str]:
    """The session as lines. What was said is indented, so that no text can pass for another's."""
    yield teller.line(" ".join(copy.title.split())) or "(untitled)"
    yield f"session {teller.line(copy.session_id)}, {len(copy.messages)} messages"
    if copy.project:
        yield f"directory {teller.line(copy.project)}"
    if copy.start_time:
        yield f"begun {teller.line(copy.start_time)}, last updated {teller.line(copy.last_updated)}"
    for number, message in enumerate(copy.messages, start=1):
        yield ""
        yield f"[{number}] {_WHO[message.role].lower()}{' (pinned)' if message.pinned else ''}"
        yield from _indented(message, teller)


def _indented(message: Message, teller: Teller) -> Iterator[str]:
    for part in message.parts:
        text = _cut(_described(part))
        yield from (f"    {line}".rstrip() for line in teller.block(text).splitlines())


def _described(part: Part) -> str:
    match part:
        case Text(text=text):
            return text
        case Thought(text=text):
            return f"(thought) {text}"
        case ToolCall(name=name, args=args):
            return f"calls {name} {_json(args)}"
        case ToolResult(name=name, result=result):
            said = result if isinstance(result, str) else _json(result)
            return f"{name} {'failed' if part.is_error else 'returned'} {said}"
        case _:
            return _attached(part)


def _markdown_part(part: Part) -> str:
    match part:
        case Text(text=text):
            return text.strip("\n")
        case Thought(text=text):
            return "\n".join(f"> {line}".rstrip() for line in text.splitlines())
        case ToolCall(name=name, args=args):
            return f"Calls `{name}`:\n\n{_fenced(_json(args, indent=2), 'json')}"
        case ToolResult(name=name, result=result):
            word = "failed" if part.is_error else "returned"
            is_text = isinstance(result, str)
            body = _fenced(result, "text") if is_text else _fenced(_json(result, indent=2), "json")
            return f"`{name}` {word}:\n\n{body}"
        case _:
            return f"*{_attached(part)}*"


def _attached(part: Blob | FileRef) -> str:
    if isinstance(part, FileRef):
        return f"[{part.mime} at {part.uri}]"
    return f"[{part.name or 'a file'}: {part.mime}, {len(part.data):,} bytes]"


def _fenced(text: str, language: str) -> str:
    # Longer than any fence in the text, which could otherwise end the block.
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n… ({len(text) - LONGEST:,} more characters; --json has them all)"
