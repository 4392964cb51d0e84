"""What is remembered about texts, and for how long."""

import pytest

from pollux.core.kept import MOST_KEPT, OVERHEAD, Kept


def test_a_text_is_worked_out_once_while_there_is_room():
    asked: list[str] = []
    length = Kept[int](lambda text: asked.append(text) or len(text))
    assert [length["abc"], length["abc"], length[""]] == [3, 3, 0]
    assert asked == ["abc", ""]


def test_texts_that_together_are_too_long_are_forgotten():
    asked: list[str] = []
    kept = Kept[str](lambda text: asked.append(text[:1]) or text[:1])
    half = MOST_KEPT // 2 - OVERHEAD
    for letter in "aab":
        assert kept[letter * half] == letter
    assert asked == ["a", "b"]
    assert kept["c"] == "c"
    # All are forgotten but the newest.
    for text in ("c", "a" * half, "b" * half):
        assert kept[text] == text[:1]
    assert asked == ["a", "b", "c", "a", "b"]
    # One that is too long by itself is answered as well, and does not stay long.
    assert kept["d" * (2 * MOST_KEPT)] == "d"


def test_nothing_is_remembered_of_a_text_that_cannot_be_worked_out():
    def fails(text: str) -> str:
        raise ValueError(text)

    kept = Kept(fails)
    for _ in range(2):
        with pytest.raises(ValueError, match="a"):
            _ = kept["a"]
