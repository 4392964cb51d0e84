"""Markdown as it streams: what has been printed stays, so nothing is moved, redrawn or fetched.

Words flow as they come. Only what may turn out to be a mark is held back: the beginning of a line, and `**bold**` until
it closes. What never closes is printed as it was written, `__init__` is a name, and links keep their address in sight.
"""

import re
from typing import Final

from pollux.cli.shown import shown

RESET: Final = "\x1b[0m"
BOLD: Final = "\x1b[1m"
DIM: Final = "\x1b[2m"
ITALIC: Final = "\x1b[3m"
STRUCK: Final = "\x1b[9m"
CODE: Final = "\x1b[36m"

LONGEST: Final = 1_000
"""How many characters are held back for a mark that may still close."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[^`\n]*\n")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+")
_BULLET = re.compile(r"([ \t]*)[-*+][ \t]+")
_QUOTE = re.compile(r" {0,3}>[ \t]?")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})\n")
_UNSETTLED = re.compile(r"[ \t]*(?:#{0,6}|>|[-*+_][-*+_ \t]*|`+[^`\n]*|~{1,2}|~{3,}[^\n]*)?")
"""The beginning of a line that may still become any of these."""

_SPECIAL = re.compile(r"[\\`*_~]")
_OPENING = re.compile(r"`|(?<![\w*])\*{1,3}(?![\s*])|(?<![\w_])_(?![\s_])|~~?(?![\s~])|\\\Z")
"""What may yet turn out to mark something; seen from the end of what has come, everything may."""
# A bound on each: a line of a hundred kilobytes may open one at every word.
_SPANS: Final = (
    (re.compile(r"(?P<tick>`+)(?!`)(?P<inner>[^\n]{1,1000}?)(?<!`)(?P=tick)(?!`)"), CODE),
    (re.compile(r"(?<!\w)\*{3}(?=[^\s*])(?P<inner>[^\n*]{1,1000})(?<=[^\s])\*{3}(?![\w*])"), BOLD + ITALIC),
    (re.compile(r"(?<!\w)\*\*(?=[^\s*])(?P<inner>[^\n]{1,1000}?)(?<=[^\s])\*\*(?![\w*])"), BOLD),
    (re.compile(r"~~(?=[^\s~])(?P<inner>[^\n]{1,1000}?)(?<=[^\s])~~(?!~)"), STRUCK),
    (re.compile(r"(?<![\w*])\*(?=[^\s*])(?P<inner>[^\n*]{1,1000})(?<=[^\s])\*(?![\w*])"), ITALIC),
    (re.compile(r"(?<![\w_])_(?=[^\s_])(?P<inner>[^\n_]{1,1000})(?<=[^\s])_(?![\w_])"), ITALIC),
)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


class Plain:
    """For those who want no colour: Markdown reads well as it is written."""

    def feed(self, text: str) -> str:
        """What can be printed now."""
        return shown(text)

    def finish(self) -> str:
        """What is left."""
        return ""

    @property
    def is_code(self) -> bool:
        """Whether what came last is code, whose lines are not to be broken."""
        return False


class Markdown:
    """Text in, styled text out, piece by piece."""

    def __init__(self) -> None:
        self._begin()

    def feed(self, text: str) -> str:
        """What can be printed now."""
        self._held += shown(text)
        return self._print(is_last=False)

    def finish(self) -> str:
        """What is left; the next text begins anew."""
        # A line that nobody ended is settled as if it had been.
        said = self._print(is_last=True) + (RESET if self._style or self._fence else "")
        self._begin()
        return said

    @property
    def is_code(self) -> bool:
        """Whether what came last is code, whose lines are not to be broken."""
        return bool(self._fence)

    def _begin(self) -> None:
        self._held = ""
        self._before = ""
        """The last character printed: whether a mark may open depends on it."""
        self._style = ""
        self._fence = ""
        self._at_start = True

    def _print(self, *, is_last: bool) -> str:
        said: list[str] = []
        while self._held:
            before = self._held, self._at_start
            said.append(self._begin_line(is_last) if self._at_start else self._go_on(is_last))
            if (self._held, self._at_start) == before:
                break
        return "".join(said)

    def _begin_line(self, is_last: bool) -> str:
        ended = self._held if "\n" in self._held else self._held + "\n" if is_last else None
        if ended is None and _UNSETTLED.fullmatch(self._held) and len(self._held) < LONGEST:
            return ""
        self._at_start = False
        self._before = ""
        found = _FENCE.match(ended or "")
        if found:
            return self._mark_fence(found[1], found.end())
        if self._fence:
            return ""
        if found := _RULE.match(ended or ""):
            return self._take(found.end() - 1, DIM)
        if found := _HEADING.match(self._held):
            self._held = self._held[found.end() :]
            self._style = BOLD
            return BOLD
        if found := _BULLET.match(self._held):
            self._held = self._held[found.end() :]
            return f"{found[1]}• "
        if found := _QUOTE.match(self._held):
            self._held = self._held[found.end() :]
            return f"{DIM}│{RESET} "
        return ""

    def _mark_fence(self, mark: str, end: int) -> str:
        """A fence opens a block of code, or ends the one it belongs to."""
        line = self._held[: end - 1]
        if not self._fence:
            self._fence = mark
            return self._take(len(line), DIM) + CODE
        if mark[0] == self._fence[0] and len(mark) >= len(self._fence) and line.strip() == mark:
            self._fence = ""
            return RESET + self._take(len(line), DIM)
        return ""

    def _go_on(self, is_last: bool) -> str:
        """The rest of a line, as far as it is settled."""
        end = self._held.find("\n")
        if end == 0:
            return self._end_line()
        line = self._held if end < 0 else self._held[:end]
        if self._fence:
            self._held = self._held[len(line) :]
            return line
        said, used = _inline(line, self._style, before=self._before, is_whole=end > 0 or is_last)
        self._before = line[used - 1] if used else self._before
        self._held = self._held[used:]
        return said

    def _end_line(self) -> str:
        self._held = self._held[1:]
        self._at_start = True
        ending, self._style = (RESET if self._style else ""), ""
        return f"{ending}\n"

    def _take(self, length: int, style: str) -> str:
        taken, self._held = self._held[:length], self._held[length:]
        return f"{style}{taken}{RESET}" if taken else ""


def _inline(line: str, style: str, *, before: str, is_whole: bool) -> tuple[str, int]:
    """The line with its marks as styles, and how much of it is settled."""
    said: list[str] = []
    # The character before is put in front for looking back, and never printed.
    text, at = before + line, len(before)
    while at < len(text):
        special = _SPECIAL.search(text, at)
        if special is None:
            said.append(text[at:])
            at = len(text)
            break
        said.append(text[at : special.start()])
        at = special.start()
        piece, end = _span(text, at, style)
        # What touches the end may go on: `**` may be the first half of `***`, and a span may still close.
        is_open = end == len(text) if piece else _OPENING.match(text, at) is not None
        if is_open and not is_whole and len(text) - at < LONGEST:
            break
        if not piece:
            end = _run_end(text, at)
            piece = text[at:end]
        said.append(piece)
        at = end
    return "".join(said), at - len(before)


def _span(text: str, at: int, style: str) -> tuple[str, int]:
    """What is marked here, styled, and where it ends; nothing where no mark closes."""
    if escaped := _ESCAPED.match(text, at):
        return escaped[1], escaped.end()
    for pattern, own in _SPANS:
        if found := pattern.match(text, at):
            inner = found["inner"]
            if own == CODE:
                said = inner[1:-1] if inner[0] == inner[-1] == " " and inner.strip() else inner
            else:
                said, _ = _inline(inner, style + own, before="", is_whole=True)
            return f"{own}{said}{RESET}{style}", found.end()
    return "", at


def _run_end(text: str, at: int) -> int:
    """Where a row of the same character ends."""
    end = at + 1
    while text.startswith(text[at], end):
        end += 1
    return end
