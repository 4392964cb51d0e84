"""Text from outside, made harmless for a terminal."""

import unicodedata

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def shown(text: str, *, lines: bool = True) -> str:
    """The text with everything that could move the cursor, hide or reorder words written out as an escape."""
    return "".join(char if _is_plain(char, lines=lines) else _escape(char) for char in text)


def _is_plain(char: str, *, lines: bool) -> bool:
    if char in "\n\t":
        return lines
    return unicodedata.category(char) not in _UNSAFE


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
