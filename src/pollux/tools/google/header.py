"""Text that goes into a message, with one parser for what stands on one line and one for what has many.

A line holds no control character in any encoding: RFC 2047 words are decoded, as often as they are nested, and what
comes out is looked at again. What is left holds no such word, so that no reader of the header can find another text in
it than the person who approved it. Python's own `email` would decode one while it writes, newline and all.
"""

import binascii
import re
import unicodedata
from typing import Final

from pollux.core.canonical import require_few_marks
from pollux.core.errors import ValidationError

MAX_NESTING = 4
MOST_LINES: Final = 20_000
"""Each line is looked at by itself when a mail is put together: half a million empty ones take a second."""
MAX_MARKS = 30
"""On one letter, as in Unicode's stream-safe format. To order more takes Python the square of their number."""
# Joiners are spelling in Persian and in emoji. Other format characters reorder or hide what is around them.
_JOINERS = frozenset("\u200c\u200d")
# Fillers that are letters or symbols by category and nothing to the eye.
_BLANKS = frozenset("\u115f\u1160\u2800\u3164\uffa0\u034f\u17b4\u17b5\u180b\u180c\u180d\u180f")
_WORD = re.compile(r"=\?([^?\s]{1,40})\?([bq])\?([^?\s]*)\?=", re.IGNORECASE)
_BETWEEN = re.compile(r"(?<=\?=) +(?==\?)")
# Others have escapes of their own (UTF-7) or are no encodings of text at all (unicode_escape).
_CHARSETS = frozenset(
    "ascii us-ascii utf-8 utf8 iso-8859-1 iso-8859-2 iso-8859-5 iso-8859-7 iso-8859-9 iso-8859-15 latin-1 windows-1250 "
    "windows-1251 windows-1252 windows-1253 windows-1254 koi8-r big5 gb2312 gbk gb18030 euc-jp euc-kr shift_jis".split()
)


def line(text: object, *, name: str, limit: int) -> str:
    """One line in NFC without its outer spaces. Raises ValidationError."""
    plain = _checked(text, name=name)
    for _ in range(MAX_NESTING):
        if not ("=?" in plain and "?=" in plain):
            break
        plain = _checked(_decoded(plain, name=name), name=name)
    if "=?" in plain and "?=" in plain:
        raise ValidationError(f"{name}: expected plain text, found an encoded word that cannot be read")
    return _bounded(plain.strip(), name=name, limit=limit)


def lines(text: object, *, name: str, limit: int) -> str:
    """Text of many lines in NFC, each ended by a line feed alone. Raises ValidationError."""
    if not isinstance(text, str):
        raise ValidationError(f"{name}: expected text, found {type(text).__name__}")
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    if plain.count("\n") > MOST_LINES:
        raise ValidationError(f"{name}: expected at most {MOST_LINES:,} lines, found more")
    # Each once: a body may be a megabyte of the same few.
    if any(unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" for char in set(plain)):
        raise ValidationError(f"{name}: expected text, found a control character; leave it away")
    return _bounded(_composed(plain, name=name), name=name, limit=limit)


def is_invisible(char: str) -> bool:
    """Whether a character does something to the text around it, or is there without being seen."""
    if char.isascii():
        return not char.isprintable()
    if char in _BLANKS or "\ufe00" <= char <= "\ufe0d" or "\U000e0100" <= char <= "\U000e01ef":
        return True
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") and char not in _JOINERS


def _checked(text: object, *, name: str) -> str:
    if not isinstance(text, str):
        raise ValidationError(f"{name}: expected text, found {type(text).__name__}")
    if any(is_invisible(char) for char in set(text)):
        raise ValidationError(f"{name}: expected one line of text, found a control or invisible character in it")
    return _composed(text, name=name)


def _composed(text: str, *, name: str) -> str:
    """NFC."""
    if text.isascii():
        return text
    try:
        require_few_marks(text, most=MAX_MARKS)
    except ValidationError as problem:
        raise ValidationError(f"{name}: {problem}") from None
    return unicodedata.normalize("NFC", text)


def _bounded(text: str, *, name: str, limit: int) -> str:
    size = len(text.encode())
    if size > limit:
        raise ValidationError(f"{name}: expected at most {limit:,} bytes, found {size:,}")
    return text


def _decoded(text: str, *, name: str) -> str:
    """The text as a reader of mail would show it."""

    def word(found: re.Match[str]) -> str:
        charset, encoding, content = found[1].partition("*")[0].lower(), found[2].lower(), found[3]
        try:
            if charset not in _CHARSETS or not content.isascii():
                raise ValueError(charset)
            coded = content.encode()
            plain = (
                binascii.a2b_base64(coded, strict_mode=True) if encoding == "b" else binascii.a2b_qp(coded, header=True)
            )
            return plain.decode(charset)
        except ValueError:  # Also what binascii and the codecs raise.
            raise ValidationError(f"{name}: expected plain text, found an encoded word that cannot be read") from None

    # Between two words, spaces separate and are not part of the text.
    return _WORD.sub(word, _BETWEEN.sub("", text))
