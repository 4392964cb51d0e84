"""What of a question stands in a list: all of a small one, the beginnings of a large one, and never much."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pollux.wire.brief import CUT, LONGEST_TEXT, MOST_SHOWN, brief_of

texts = st.text(max_size=40) | st.integers(0, 40_000).map("x".__mul__)
values: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(texts, inner, max_size=30),
    max_leaves=200,
)


def size_of(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False))


@given(texts, st.lists(texts, max_size=50), st.dictionaries(st.text(max_size=9), values, max_size=9), texts)
def test_a_brief_is_small_or_whole_and_says_which(preview: str, subjects: list[str], args: dict[str, Any], prompt: str):
    brief = brief_of(preview=preview, subjects=subjects, args=args, prompt=prompt)
    whole = (preview, subjects, prompt, args)
    assert (tuple(brief[:4]) == whole) == (not brief.is_truncated)
    # JSON writes some characters as six, and each value with what stands around it.
    assert sum(map(size_of, brief[:4])) <= 6 * MOST_SHOWN
    if sum(map(size_of, whole)) * 9 < MOST_SHOWN:
        assert not brief.is_truncated


def test_a_long_text_hides_no_other():
    subjects = [f"reader{number}@example.com" for number in range(5_000)]
    args = {"body": "b" * 100_000, "to": subjects, "urgent": True}
    brief = brief_of(preview="p" * 100_000, subjects=subjects, args=args, prompt="q" * 100_000)
    for text in (brief.preview, brief.prompt, brief.args["body"]):
        assert len(text) == LONGEST_TEXT + 1 and text.endswith(CUT)
    assert 50 < len(brief.subjects) < 5_000 and 50 < len(brief.args["to"]) < 5_000


def test_what_no_longer_fits_is_left_out_whole():
    brief = brief_of(preview="", subjects=[], args={str(number): {"n": number} for number in range(10_000)})
    assert brief.is_truncated and 0 < len(brief.args) < 2_000
    assert brief_of(preview="", subjects=[], args={"n" * 20_000: 1}).args == {}
