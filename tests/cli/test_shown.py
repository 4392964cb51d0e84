"""Text from outside cannot move the cursor, hide or reorder words."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from pollux.cli.shown import shown


def test_what_could_deceive_a_reader_is_written_out():
    assert shown("a\x1b[2Jb\u202ec\x7f\u200bd") == "a\\x1b[2Jb\\u202ec\\x7f\\u200bd"


def test_letters_and_marks_that_nobody_sees_are_written_out():
    blanks = "\u034f\u115f\u1160\u2800\u3164\uffa0\ufe00\U000e0100"
    assert shown(f"rm{blanks}x\u2764\ufe0f").count("\\") == len(blanks)


def test_lines_may_be_kept_or_written_out():
    assert (shown("a\nb"), shown("a\nb", lines=False)) == ("a\nb", "a\\x0ab")


@given(st.text())
def test_no_control_or_format_character_survives(text: str):
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs") for char in shown(text, lines=False))
