"""Text from outside, made harmless for a terminal."""

import unicodedata

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Marks and letters that nobody sees. Of the selectors of variants only those of emoji have a place in plain text."""


def shown(text: str, *, lines: bool = True) -> str:
    """The text with everything that could move the cursor, hide or reorder words written out as an escape."""
    return "".join(char if _is_plain(char, lines=lines) else _escape(char) for char in text)


def _is_plain(char: str, *, lines: bool) -> bool:
    if char in "\n\t":
        return lines
    if char in _BLANK or "\ufe00" <= char <= "\ufe0d" or "\U000e0100" <= char <= "\U000e01ef":
        return False
    return unicodedata.category(char) not in _UNSAFE


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
