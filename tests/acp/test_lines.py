"""Lines out of bytes, however they are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollux.acp.lines import Lines, LineTooLong

pieces = st.lists(st.binary(max_size=20).map(lambda data: data.replace(b"a", b"\n")), max_size=20)


@given(pieces)
def test_lines_are_the_same_however_the_bytes_arrive(cut: list[bytes]):
    lines = Lines(1000)
    found = [line for piece in cut for line in lines.feed(piece)]
    assert [*found, lines.rest()] == b"".join(cut).split(b"\n")


@given(st.lists(st.binary(max_size=8), max_size=20))
def test_no_line_is_longer_than_the_limit_and_nothing_more_is_kept(cut: list[bytes]):
    lines = Lines(10)
    try:
        for piece in cut:
            assert all(len(line) <= 10 for line in lines.feed(piece))
            assert len(lines.rest()) <= 10
    except LineTooLong:
        assert any(len(line) > 10 for line in b"".join(cut).split(b"\n"))


def test_a_line_without_an_end_is_refused_before_it_ends():
    lines = Lines(10)
    lines.feed(b"x" * 10)
    with pytest.raises(LineTooLong):
        lines.feed(b"x")


def test_a_line_that_arrives_whole_and_too_long_is_refused():
    with pytest.raises(LineTooLong):
        Lines(10).feed(b"x" * 11 + b"\n")
