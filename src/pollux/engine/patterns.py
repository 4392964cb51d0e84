"""Regular expressions that match in linear time, whatever the pattern and the text say.

Python's `re` backtracks: one short pattern can hold the process for hours, and only a kill ends it. Here the engine is
Rust's: time grows with the size of the compiled pattern times the length of the text, never faster. The syntax is that
of JSON Schema's `pattern`: `\\w` and `\\d` are ASCII, `$` matches only at the end of the text, and there is no
lookaround and no backreference.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from pollux.core.errors import ValidationError

LONGEST: Final = 4_000
"""Characters of a pattern."""
LARGEST: Final = 128 << 10
"""Bytes of a compiled pattern: about 2,000 states, so that a text of 64 KiB takes half a second at worst."""

_NOT_LINEAR: Final = re.compile(r"\\[1-9]|\\k[<{']|\(\?P=|\(\?<?[=!]|\(\?>|\\.|\[(?:\\.|[^\]\\])*\]", re.DOTALL)
"""What needs backtracking; escapes and character classes are read over, as they may look like it."""


def is_match(pattern: str, text: str) -> bool:
    """Whether the pattern occurs anywhere in the text. Raises ValidationError for a pattern that is not supported."""
    return _compiled(pattern)(text if text.isascii() else _well_formed(text))


def require_pattern(pattern: str) -> None:
    """Raises ValidationError for a pattern that is not supported, saying why."""
    _compiled(pattern)


@lru_cache(512)
def _compiled(pattern: str) -> Callable[[str], bool]:
    import jsonschema_rs  # It takes longer to load than most programs that have no pattern run.

    shown = f"the pattern {pattern[:80]!r}"
    if len(pattern) > LONGEST:
        raise ValidationError(f"{shown}… has {len(pattern)} characters; use at most {LONGEST}")
    if beyond := _backtracking(pattern):
        raise ValidationError(
            f"{shown} uses {beyond!r}; lookaround, backreferences and atomic groups are not supported. "
            "Write it without, for example as two rules"
        )
    options = jsonschema_rs.RegexOptions(size_limit=LARGEST, dfa_size_limit=LARGEST)
    try:
        return jsonschema_rs.validator_for({"pattern": _well_formed(pattern)}, pattern_options=options).is_valid
    except (jsonschema_rs.ValidationError, ValueError):
        raise ValidationError(
            f"{shown} is not a regular expression, or its repetitions make it too large (a{{1,1000}} fits, "
            "(a{1,100}){1,100} does not)"
        ) from None


def _backtracking(pattern: str) -> str:
    for found in _NOT_LINEAR.finditer(pattern):
        if found[0][0] == "(" or re.match(r"\\[1-9k]", found[0]):
            return found[0]
    return ""


def _well_formed(text: str) -> str:
    """The text without lone surrogates, which no UTF-8 can hold: each becomes U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
