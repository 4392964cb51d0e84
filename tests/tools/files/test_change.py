"""One place in a text, changed once."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pollux.core.errors import ToolError
from pollux.tools.files.change import change_once, glance, outcome

SHORT = st.text(alphabet="ab\r\n", max_size=8)


@pytest.mark.parametrize(
    ("text", "old", "new", "changed"),
    [
        ("a b c", "b", "B", "a B c"),
        ("a b c", "b ", "", "a c"),
        ("x", "x", "xx", "xx"),
        ("one\r\ntwo\r\n", "one\ntwo", "1\n2", "1\r\n2\r\n"),
        ("one\r\ntwo\r\n", "one\r\ntwo", "1\n2", "1\r\n2\r\n"),
        ("one\r\ntwo\r\n", "two", "2\n3", "one\r\n2\r\n3\r\n"),
        ("one\ntwo\r\n", "one\n", "1\n", "1\ntwo\r\n"),
    ],
)
def test_the_one_place_is_changed(text: str, old: str, new: str, changed: str):
    assert change_once(text, old, new) == changed


@pytest.mark.parametrize(("text", "count"), [("a a", 2), ("a a a", 3)])
def test_more_than_one_place_is_refused_with_their_number(text: str, count: int):
    with pytest.raises(ToolError, match=f"{count} times. Quote more"):
        change_once(text, "a", "b")


def test_places_that_overlap_are_more_than_one():
    with pytest.raises(ToolError, match="2 times"):
        change_once("aaa", "aa", "b")


def test_a_place_that_is_not_there_is_refused():
    with pytest.raises(ToolError, match="not in the file"):
        change_once("text", "Text", "x")


@pytest.mark.parametrize(
    ("now", "old", "new", "found"),
    [
        ("a new c", "old", "new", "done"),
        ("a old c", "old", "new", "not_done"),
        ("an older word", "old", "older", "unknown"),
        ("an old word", "old", "older", "not_done"),
        ("old and new", "old", "new", "unknown"),
        ("neither", "old", "new", "unknown"),
        ("deleted", "old", "", "unknown"),
        ("still old", "old", "", "unknown"),
        ("1\r\n2\r\n", "one\ntwo", "1\n2", "done"),
        (None, "old", "new", "unknown"),
    ],
)
def test_an_interrupted_change_is_told_by_the_look_of_the_file(now: str | None, old: str, new: str, found: str):
    assert outcome(now, old, new) == found


@given(start=SHORT, old=SHORT, new=SHORT, end=SHORT)
def test_what_the_look_says_is_never_wrong(start: str, old: str, new: str, end: str):
    before = start + old + end
    assume(old and old != new)
    try:
        after = change_once(before, old, new)
    except ToolError:
        return
    assert outcome(before, old, new) != "done"
    assert outcome(after, old, new) != "not_done"


def test_a_glance_shows_what_goes_and_what_comes():
    assert glance("same\nold\n", "same\nnew\nmore\n") == "- old\n+ new\n+ more"
    assert glance("\n".join("x" * 25), "y").splitlines()[-2:] == ["- … 5 more lines", "+ y"]
