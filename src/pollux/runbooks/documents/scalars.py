"""What an unquoted word of YAML means: the 1.2 core schema as Atuin reads it.

In it `no`, `on` and `yes` are text, dates are text, and so is `0777`; only `true` and `false` are truth.
"""

import math
import re
from typing import Final

from pollux.core.errors import ValidationError
from pollux.runbooks.documents.nodes import whole_number

_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_TRUTH: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INFINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_INTEGER: Final = re.compile(r"([-+]?)(?:0x([0-9a-fA-F]+)|0o([0-7]+)|0b([01]+)|([0-9]+))")
_LEADING_ZERO: Final = re.compile(r"[-+]?0[0-9]+")
_FLOAT: Final = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
# What YAML 1.1 takes for something else than text: quoted when we write it, for the sake of other readers.
_AMBIGUOUS: Final = frozenset("y yes n no on off true false null ~".split())


def resolve(word: str, *, line: int) -> str | int | float | bool | None:
    """The value of an unquoted word. Raises ValidationError for a number that has no form in JSON."""
    if word in _NULLS:
        return None
    if (truth := _TRUTH.get(word)) is not None:
        return truth
    if _LEADING_ZERO.fullmatch(word):
        return word
    if found := _INTEGER.fullmatch(word):
        sign, *forms = found.groups()
        digits, base = next((digits, base) for digits, base in zip(forms, (16, 8, 2, 10), strict=True) if digits)
        return whole_number(("-" if sign == "-" else "") + digits, base, line=line)
    if _INFINITE.fullmatch(word):
        raise ValidationError(f"expected a finite number on line {line}, found {word}. Put it in quotes if it is text")
    if len(word) <= 400 and _FLOAT.fullmatch(word) and math.isfinite(number := float(word)):
        return number
    return word


def is_ambiguous(text: str) -> bool:
    """Whether the text, written without quotes, would be read as something else by us or by another reader."""
    if text.lower() in _AMBIGUOUS or _INFINITE.fullmatch(text):
        return True
    return bool(_INTEGER.fullmatch(text) or _FLOAT.fullmatch(text)) or text in _NULLS
