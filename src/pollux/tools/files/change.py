"""Change one place in a text: found exactly once, or not at all. Pure."""

from itertools import takewhile
from typing import Final, Literal

from pollux.core.errors import ToolError

MAX_GLANCE_LINES: Final = 20


def change_once(text: str, old: str, new: str) -> str:
    """The text with `new` for `old`. Raises ToolError unless `old` is there exactly once."""
    old, new = _ended_like(text, old), _ended_like(text, new)
    first = text.find(old)
    if first < 0:
        raise ToolError("`old` is not in the file. Read the file and quote the place exactly, white space included")
    if not _is_once(text, old):
        count = max(2, text.count(old))
        raise ToolError(f"`old` is in the file {count} times. Quote more of what stands around it, until it is unique")
    return text[:first] + new + text[first + len(old) :]


def outcome(text: str | None, old: str, new: str) -> Literal["done", "not_done", "unknown"]:
    """Whether an interrupted change happened. A text that could be the one before and the one after tells nothing."""
    if text is None or not new:
        # What was taken out leaves no trace that could be looked for.
        return "unknown"
    old, new = _ended_like(text, old), _ended_like(text, new)
    could_be_before = _is_once(text, old)
    could_be_after = new in text
    if could_be_before == could_be_after:
        return "unknown"
    return "done" if could_be_after else "not_done"


def glance(old: str, new: str) -> str:
    """The change for the person who decides: lines that go, lines that come."""
    before, after = _lines(old), _lines(new)
    if before[-1:] == after[-1:] == [""] or (not before and after[-1:] == [""]):
        before, after = before[:-1], after[:-1]
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    return "\n".join([*_marked("- ", before[same:]), *_marked("+ ", after[same:])])


def _lines(text: str) -> list[str]:
    # Some programs end lines elsewhere, too. Where others do not, a change of that would be shown as none.
    return text.split("\n") if text else []


def _marked(mark: str, lines: list[str]) -> list[str]:
    shown = [mark + line for line in lines[:MAX_GLANCE_LINES]]
    left = len(lines) - MAX_GLANCE_LINES
    return [*shown, f"{mark}… {left} more lines"] if left > 0 else shown


def _ended_like(text: str, part: str) -> str:
    """The part with the text's line ends. Models write \\n, whatever they have read."""
    ends = text.count("\r\n")
    return part.replace("\r\n", "\n").replace("\n", "\r\n") if ends and ends == text.count("\n") else part


def _is_once(text: str, part: str) -> bool:
    # Looked for again from the next character on, so that occurrences which overlap count as two.
    first = text.find(part)
    return first >= 0 and text.find(part, first + 1) < 0
