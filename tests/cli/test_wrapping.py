"""Words in the rows of a terminal, however the text came."""

import io
from collections.abc import Iterator
from typing import TextIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollux.cli import folding
from pollux.cli.folding import Wrapping

COLUMNS = 20


@pytest.fixture(scope="module", autouse=True)
def narrow() -> Iterator[None]:
    def columns(out: TextIO) -> int:
        return COLUMNS

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folding, "columns_of", columns)
        yield


def wrapped(*pieces: str) -> str:
    wrapping = Wrapping(io.StringIO())
    return "".join(map(wrapping.feed, pieces)) + wrapping.finish()


def test_a_row_breaks_between_words_wherever_the_text_was_cut():
    assert wrapped("one two th", "ree four fi", "ve six\nseven") == "one two three four\nfive six\nseven"


def test_a_word_that_is_longer_than_a_row_is_not_waited_for():
    wrapping = Wrapping(io.StringIO())
    assert len(wrapping.feed("x" * 50)) >= 50 - COLUMNS


def test_text_without_blanks_is_shown_as_it_comes_and_colours_take_no_room():
    wrapping = Wrapping(io.StringIO())
    assert wrapping.feed("你好，世界") == "你好，世"
    assert wrapped("\x1b[1mone two three four\x1b[0m five") == "\x1b[1mone two three four\x1b[0m\nfive"


@given(st.lists(st.text("ab \n\x1b[0m漢", max_size=30)))
def test_nothing_is_lost_and_no_row_of_words_is_too_long(pieces: list[str]):
    said = wrapped(*pieces)
    assert "".join(said.split()) == "".join("".join(pieces).split())
