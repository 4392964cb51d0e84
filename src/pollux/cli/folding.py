"""Text in the rows of a terminal: what must not pass for ours is folded, what is only to be read is wrapped.

Folded, a text that is too long for its row goes on beneath it, further in. Wrapped, it breaks between words.
"""

import os
import re
import unicodedata
from typing import Final, TextIO

NARROWEST: Final = 16
_TOKENS = re.compile(r"\x1b\[[0-9;]*m|\n|[ \t]+|[^ \t\n\x1b]+|\x1b")


def columns_of(out: TextIO) -> int | None:
    """How wide the terminal is; None where it is none, and nothing wraps."""
    try:
        return os.get_terminal_size(out.fileno()).columns or 80
    except (OSError, ValueError):
        return None


def folded(text: str, columns: int | None) -> str:
    """The text with each row cut to the terminal's width.

    A terminal that wraps by itself would let arguments draw rows of their own, with enough blanks in them.
    """
    if columns is None:
        return text
    return "\n".join(line for row in text.split("\n") for line in _fold(row, max(columns, NARROWEST) - 1))


def _fold(row: str, width: int) -> list[str]:
    indent = " " * min(len(row) - len(row.lstrip(" ")) + 2, width // 2) + "| "
    lines: list[str] = []
    line, used = "", 0
    for char in row:
        cells = _cells(char)
        if used + cells > width:
            lines.append(line)
            line, used = indent, len(indent)
        line += char
        used += cells
    return [*lines, line]


class Wrapping:
    """Text as it streams, broken between words where the row is full. The last word is held back until it is whole."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._column = 0
        self._blank = ""
        self._word = ""
        self._width = 0

    def feed(self, text: str) -> str:
        """What can be printed now. Where nothing wraps, all of it."""
        columns = columns_of(self._out)
        if columns is None:
            return text
        said = [self._read(token, max(columns, NARROWEST)) for token in _TOKENS.findall(text)]
        return "".join(said)

    def finish(self) -> str:
        """What is left; the next text begins a row."""
        said = self._placed(columns_of(self._out) or 80) + self._blank
        self._blank, self._column = "", 0
        return said

    def _read(self, token: str, columns: int) -> str:
        if token == "\n":
            said = f"{self._placed(columns)}{self._blank}\n"
            self._blank, self._column = "", 0
            return said
        if token[0] in " \t":
            said = self._placed(columns)
            self._blank += token
            return said
        if token[0] == "\x1b":
            self._word += token
            return ""
        said = ""
        for char in token:
            cells = _cells(char)
            if cells == 2 or self._width + cells >= columns:
                # Where words are not set apart by blanks, every character may begin a row; and no word is waited for
                # that is longer than one.
                said += self._placed(columns)
            self._word += char
            self._width += cells
        return said

    def _placed(self, columns: int) -> str:
        """The word that is complete, in this row or on the next one."""
        if not self._word:
            return ""
        blank, fits = self._blank, self._column + len(self._blank) + self._width < columns
        said = f"{blank}{self._word}" if fits or not self._column else f"\n{self._word}"
        self._column = (self._column + len(blank) if fits or not self._column else 0) + self._width
        self._blank, self._word, self._width = "", "", 0
        return said


def _cells(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
