"""What an attempt has said: read from any place to any other it is the same text, in few pieces, kept once."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollux.engine import feed
from pollux.engine.feed import BLOCK, Delta, Kind, Said

PIECES = st.lists(st.tuples(st.sampled_from(["text", "thought"]), st.text(max_size=9)), max_size=30)


@given(PIECES, st.data())
def test_from_any_place_to_any_other_everything_is_there_in_order(pieces: list[tuple[Kind, str]], data: st.DataObject):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feed, "BLOCK", 16)
        said = Said(1, 2)
        for kind, text in pieces:
            said.add(kind, text)
            if data.draw(st.booleans()):
                # Looking joins what is there: it must not change what comes.
                said.between(0, said.length)
    marked: list[tuple[Kind, str]] = [(kind, character) for kind, text in pieces for character in text]
    assert said.length == len(marked)
    start = data.draw(st.integers(0, said.length))
    end = data.draw(st.integers(start, said.length))
    found = said.between(start, end)
    assert [(delta.kind, character) for delta in found for character in delta.text] == marked[start:end]
    assert _continues(found, marked[:start])


def test_a_delta_says_where_it_belongs():
    said = Said(3, 2)
    assert said.add("thought", "hm, ") == Delta(3, 2, 0, "thought", "hm, ")
    assert said.add("text", "one ") == Delta(3, 2, 0, "text", "one ")
    assert said.add("text", "two") == Delta(3, 2, 4, "text", "two")
    assert said.add("thought", "well") == Delta(3, 2, 4, "thought", "well")
    assert said.between(0, said.length) == [
        Delta(3, 2, 0, "thought", "hm, "),
        Delta(3, 2, 0, "text", "one two"),
        Delta(3, 2, 4, "thought", "well"),
    ]


def test_those_who_read_all_of_it_share_its_blocks():
    said = Said(1, 1)
    for _ in range(BLOCK):
        said.add("text", "many ")
    one, other = said.between(0, said.length), said.between(7, said.length)
    assert len(one) <= 6
    assert [mine.text is yours.text for mine, yours in zip(one, other, strict=True)][1:] == [True] * (len(one) - 1)


def _continues(found: Sequence[Delta], before: Sequence[tuple[Kind, str]]) -> bool:
    """Whether every offset follows from what came before it, of its kind."""
    lengths: dict[Kind, int] = {
        "text": sum(kind == "text" for kind, _ in before),
        "thought": sum(kind == "thought" for kind, _ in before),
    }
    for delta in found:
        if delta.offset != lengths[delta.kind]:
            return False
        lengths[delta.kind] += len(delta.text)
    return True
