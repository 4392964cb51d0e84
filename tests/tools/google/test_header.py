"""Lines and texts: no control character gets through in any encoding, and what does is read back as it was shown."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tools.google.injections import LINES

from pollux.core.errors import ValidationError
from pollux.tools.google.header import is_invisible, line, lines

PIECES = [
    "=?",
    "?=",
    "utf-8",
    "?q?",
    "?b?",
    "=0A",
    "=3D=3F",
    "SGkK",
    "Hi",
    " ",
    "é",
    "\n",
    "\0",
    "\u202e",
    "\u0301",
    "_",
    "?",
    "=",
]
ANY = st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=20).map("".join) | st.sampled_from(LINES)


def subject(text: object) -> str:
    return line(text, name="subject", limit=998)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("Report", "Report"),
        ("  Report  ", "Report"),
        ("", ""),
        ("Cafe\u0301", "Café"),
        ("a  b", "a  b"),
        ("1 < 2 = 3? Yes!", "1 < 2 = 3? Yes!"),
        ("What =? is this", "What =? is this"),
        ("👩‍👩‍👧 می‌خواهم", "👩‍👩‍👧 می‌خواهم"),
        ("=?utf-8?q?Caf=C3=A9_au_lait?=", "Café au lait"),
        ("=?UTF-8?B?Q2Fmw6k=?=", "Café"),
        ("=?iso-8859-1?q?Caf=E9?=", "Café"),
        ("Re: =?utf-8?q?a?= =?utf-8?q?b?= c", "Re: ab c"),
        ("=?utf-8?b?PT91dGYtOD9xP0hpPz0=?=", "Hi"),
    ],
)
def test_a_line_is_read_as_a_mail_reader_would_show_it(given: str, read: str):
    assert subject(given) == read


@pytest.mark.parametrize(
    "given", ["a\nb", "a\tb", "a\0", "a\u2028b", "a\x85b", "a\x7f", "a\u202eb", "a\u200bb", "a\ud800"]
)
def test_a_line_holds_nothing_that_cannot_be_seen(given: str):
    with pytest.raises(ValidationError, match="subject: expected one line of text, found a control or invisible"):
        subject(given)


@pytest.mark.parametrize("given", ["=?utf-8?q?a=0Ab?=", "=?utf-8?b?YQpi?=", "=?utf-8?b?PT91dGYtOD9xP2E9MEFiPz0=?="])
def test_nor_does_it_once_decoded(given: str):
    with pytest.raises(ValidationError, match="control or invisible"):
        subject(given)


@pytest.mark.parametrize(
    "given", ["=?utf-7?q?a+AAo-?=", "=?none?q?a?=", "=?utf-8?q?=FF?=", "=?utf-8?b?a?=", "=?utf-8?q?a b?="]
)
def test_an_encoded_word_that_cannot_be_read_is_refused(given: str):
    with pytest.raises(ValidationError, match="cannot be read"):
        subject(given)


def test_the_limit_is_of_bytes():
    assert line("é" * 499, name="title", limit=998)
    with pytest.raises(ValidationError, match="title: expected at most 998 bytes, found 1,000"):
        line("é" * 500, name="title", limit=998)


@pytest.mark.parametrize("given", [None, 5, ["a"], b"a"])
def test_what_is_not_text_is_refused(given: object):
    with pytest.raises(ValidationError, match="expected text"):
        subject(given)
    with pytest.raises(ValidationError, match="expected text"):
        lines(given, name="body", limit=10)


def test_a_text_has_one_kind_of_line_end_and_keeps_its_tabs():
    assert lines("a\r\nb\rc\n\td\n", name="body", limit=100) == "a\nb\nc\n\td\n"
    assert lines("Cafe\u0301 \u202e", name="body", limit=100) == "Café \u202e"


def test_a_text_of_very_many_lines_is_refused_before_each_is_looked_at():
    with pytest.raises(ValidationError, match="body: expected at most 20,000 lines"):
        lines("\n" * 500_000, name="body", limit=500_000)
    assert lines("a\n" * 20_000, name="body", limit=500_000).count("\n") == 20_000


@pytest.mark.parametrize("given", ["a\0", "a\x1b[2K", "a\x0c", "a\x85", "a\ud800"])
def test_a_text_holds_no_other_control_characters(given: str):
    with pytest.raises(ValidationError, match="body: expected text, found a control character"):
        lines(given, name="body", limit=100)


def test_a_letter_with_hundreds_of_marks_is_refused_before_it_is_put_in_order():
    with pytest.raises(ValidationError, match="at most 30 combining marks on one letter"):
        lines("a" + "\u0301\u0323" * 200_000, name="body", limit=10_000_000)
    assert lines("e\u0301\u0323" * 100, name="body", limit=10_000)


@settings(deadline=None, max_examples=1_000)
@given(ANY)
def test_any_text_is_one_visible_line_or_refused(text: str):
    try:
        found = subject(text)
    except ValidationError:
        return
    assert subject(found) == found
    assert not any(map(is_invisible, found)) and len(found.splitlines()) <= 1 and not ("=?" in found and "?=" in found)
