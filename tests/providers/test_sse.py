"""Server-sent events, however they are cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollux.core.errors import ModelError
from pollux.providers.sse import SseParser


def read(*pieces: bytes) -> list[bytes]:
    parser = SseParser()
    return [data for piece in pieces for data in parser.feed(piece)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
def test_every_line_ending_is_read(end: bytes):
    assert read(b"data: one" + end * 2 + b"data: two" + end * 2) == [b"one", b"two"]


def test_several_data_lines_are_one_event():
    assert read(b"data: {\ndata:  1\ndata:}\n\n") == [b"{\n 1\n}"]


def test_comments_and_other_fields_are_skipped():
    assert read(b": hello\n\nevent: message\nid: 1\nretry: 5\ndata: x\n\n:\n\n") == [b"x"]


def test_an_event_without_an_empty_line_is_kept_for_the_end():
    parser = SseParser()
    assert parser.feed(b"data: one\n\ndata: two\n") == [b"one"]
    assert parser.finish() == b"two"
    assert parser.finish() is None


def test_extra_empty_lines_mean_nothing():
    assert read(b"\n\n\ndata: a\n\n\n\ndata: b\n\n\n") == [b"a", b"b"]


@pytest.mark.parametrize("before", [b"", b"data: 1"])
def test_an_event_larger_than_the_limit_is_an_error(before: bytes):
    parser = SseParser(limit=10)
    parser.feed(before)
    with pytest.raises(ModelError, match="more than 10 bytes") as caught:
        parser.feed(b"data: 123456789012")
    assert caught.value.kind == "protocol"


@given(
    texts=st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1)),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    comment=st.booleans(),
    cuts=st.lists(st.integers(0, 400)),
)
def test_where_the_bytes_are_cut_makes_no_difference(texts: list[str], end: str, comment: bool, cuts: list[int]):
    whole = "".join((f": c{end}" if comment else "") + f"data: {text}{end}{end}" for text in texts).encode()
    edges = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    pieces = [whole[start:stop] for start, stop in pairwise(edges)]
    assert read(*pieces) == [text.encode() for text in texts]


def test_a_large_event_in_small_pieces_takes_linear_time():
    parser = SseParser()
    parser.feed(b"data: ")
    for _ in range(20_000):
        assert parser.feed(b"x" * 512) == []
    (data,) = parser.feed(b"\n\n")
    assert len(data) == 20_000 * 512
