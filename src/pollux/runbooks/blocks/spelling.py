"""Words of a shell that say a name in another spelling than it has: `$'\\x6aob'`, `@(job|task)`."""

import re
import shlex
from typing import Final

_ANSI: Final = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_LETTERS: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "v": "\v",
}
_EXTENDED: Final = re.compile(r"([@!+?*])\(([^()]*)\)")
_HAS_EXTENDED: Final = re.compile(r"extglob|\b[kz]sh\b")

MOST_NESTED: Final = 8
"""Extended patterns within one another."""


def spelled_out(script: str, *, interpreter: str = "sh") -> str:
    """The script, and behind it once more with these words as a plain reader understands them, if it has any.

    Both are read: a quote that opens elsewhere than it seems to makes only the second one another script.
    """
    plain = _ANSI.sub(lambda found: shlex.quote(_ESCAPE.sub(_character, found[1])), script)
    if "extglob" in script or _HAS_EXTENDED.search(interpreter):
        for _ in range(MOST_NESTED):
            plain = _EXTENDED.sub(_pattern, plain)
    return script if plain == script else f"{script}\n{plain}"


def _character(found: re.Match[str]) -> str:
    *codes, octal, control, letter = found.groups()
    for digits in codes:
        if digits:
            return _of(int(digits, 16))
    if octal:
        return _of(int(octal, 8) & 0xFF)
    return _of(ord(control) & 0x1F) if control else _LETTERS.get(letter, letter)


def _of(code: int) -> str:
    # The text ends at a NUL, and what is no character names no file.
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else ""


def _pattern(found: re.Match[str]) -> str:
    """What the files may be called: one of these, or anything where something is only excluded or repeated."""
    is_list = found[1] == "@" and "{" not in found[2]
    return "{" + found[2].replace("|", ",") + ",}" if is_list else "{*,}"
