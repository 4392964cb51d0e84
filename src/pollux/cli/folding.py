"""Rows that cannot pass for others: a text that is too long for its row goes on beneath it, further in."""

import os
import unicodedata
from typing import Final, TextIO

NARROWEST: Final = 16


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


def _cells(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
