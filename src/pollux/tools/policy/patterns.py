"""What a regular expression over the JSON of arguments says of one argument: its name, and what its text must be.

Searched for in the whole JSON, such a pattern is also found in text that stands in another argument. Here it becomes a
condition on the one that it names, or nothing where it names none or reaches beyond it.
"""

import re
from typing import Final
from unicodedata import is_normalized

from pollux.core.conditions import Condition
from pollux.core.frozen import frozen

_NUL: Final = r"(?:\\0(?!\d)|\\x00|\\u0000|\0)"
_HEAD: Final = re.compile(rf'(?:\^|\\?\{{|\[\{{,\]|,|{_NUL})*\\?"([A-Za-z0-9_.-]+)\\?":(?:\\s[*+?]|\s)*')
_PLAIN_HEAD: Final = re.compile(r'\\?"[A-Za-z0-9_.-]+\\?":(?:\\s\*)?')
_TAIL: Final = re.compile(rf'\\?"((?:\\?\}}|\[,\}}\]|,|\$|{_NUL})*)')
_PLAIN_TAILS: Final = ('"', '\\"', '"[,}]', '\\"[,}]')
_FLAG: Final = re.compile(r"(true|false)((?:\\b|\\?\}|\[,\}\]|,|\$)*)")
_QUOTE: Final = re.compile(r'\\?"')
_CLASS: Final = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")
_LITERAL: Final = re.compile(r"(?:[^\\.^$*+?{}\[\]|()\"\x00-\x1f]|\\[^A-Za-z0-9\"\\\x00-\x1f])+")
_HALF: Final = re.compile("[\ud800-\udfff\ufffd]")
_ESCAPES: Final = frozenset('bfnrtu"\\/0123456789abcdefABCDEF')
"""What may stand in JSON where a control character or a quote stood in the text."""


@frozen
class Named:
    """An argument, and the rest of the pattern: what is looked for at the beginning of its text, or all of it."""

    key: str
    body: str
    is_whole: bool
    is_plain: bool
    """Whether nothing else is said: not which argument stands before it or behind."""

    @property
    def regex(self) -> str:
        """The same over the argument's text alone."""
        return f"^(?:{self.body})$" if self.is_whole else f"^(?:{self.body})"


def named(pattern: str) -> Named | None:
    """The one argument of text that a pattern is about. None where it is about another kind, several or none."""
    head = _HEAD.match(pattern)
    if head is None or not (quote := _QUOTE.match(pattern, head.end())):
        return None
    key, body, tail, is_whole = head[1], pattern[quote.end() :], "", False
    bare = _CLASS.sub(lambda found: "x" * len(found[0]), body)
    if '"' in bare:
        end = bare.index('"')
        end -= bare[:end].endswith("\\")
        found = _TAIL.fullmatch(body, end)
        if found is None:
            return None
        body, tail, is_whole = body[:end], found[0], True
    is_plain = _PLAIN_HEAD.fullmatch(head[0]) is not None and tail in ("", *_PLAIN_TAILS)
    return Named(key, body, is_whole, is_plain)


def allowing(pattern: str) -> Condition | None:
    """A condition that holds at most where the pattern is found. None where that cannot be said."""
    head = _HEAD.match(pattern)
    if head and _PLAIN_HEAD.fullmatch(head[0]) and (flag := _FLAG.fullmatch(pattern, head.end())):
        return Condition(_step(head[1]), "equals", flag[1] == "true") if flag[2] in ("", "[,}]", "\\b") else None
    about = named(pattern)
    if about is None or not about.is_plain:
        return None
    opening, text = _parts(about, r'(?:\.|\[\^"\])[*+]\??')
    return None if text is None else _condition(_step(about.key), about, opening, text)


def denying(pattern: str) -> Condition | None:
    """A condition that holds at least where the pattern is found. None where that cannot be said."""
    head = _HEAD.match(pattern)
    if head and (flag := _FLAG.fullmatch(pattern, head.end())):
        return Condition(f"**.{_step(head[1])}", "equals", flag[1] == "true")
    about = named(pattern)
    if about is None:
        return None
    # `.` would go on into the next argument, where this condition does not look; and what follows must not be a part of
    # what JSON writes for a line's end or a quote.
    opening, text = _parts(about, r'\[\^"\]\*\??')
    if text is None or (opening and text[:1] in _ESCAPES and text):
        return None
    return _condition(f"**.{_step(about.key)}", about, opening, text)


def _parts(about: Named, anything: str) -> tuple[str, str | None]:
    """What stands for anything at the beginning, and the literal text behind it. None where it is not literal."""
    opening = re.compile(anything).match(about.body)
    rest = about.body[opening.end() :] if opening else about.body
    if not rest:
        # With a quote behind it, it would end at the first that the text holds.
        return (opening[0], "") if opening and not about.is_whole else ("", None)
    text = re.sub(r"\\(.)", r"\1", rest)
    is_literal = _LITERAL.fullmatch(rest) and is_normalized("NFC", text) and not _HALF.search(text)
    return opening[0] if opening else "", text if is_literal else None


def _condition(path: str, about: Named, opening: str, text: str) -> Condition:
    if opening:
        return Condition(path, "matches", about.regex)
    return Condition(path, "equals" if about.is_whole else "prefix", text)


def _step(key: str) -> str:
    return f'"{key}"' if "." in key else key
