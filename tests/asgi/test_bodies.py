"""Bytes in, clean JSON values out, or a ValidationError: nothing else comes of whatever is sent."""

import json
import math
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import Struct
from starlette.types import Message, Receive
from tests.http.junk import BODIES, VALUES, nested

from pollux.asgi.bodies import DEEPEST, LARGEST_BODY, LARGEST_FIELDS, MOST_VALUES, fields_of, parsed, read_body, shaped
from pollux.asgi.errors import HttpError
from pollux.core.errors import ValidationError

CLEAN = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | CLEAN,
    lambda inner: st.lists(inner) | st.dictionaries(CLEAN, inner),
    max_leaves=30,
)


class Shape(Struct, forbid_unknown_fields=True):
    name: str
    count: int = 0


def is_clean(value: Any) -> bool:
    match value:
        case str():
            return "\0" not in value and not any(0xD800 <= ord(char) <= 0xDFFF for char in value)
        case float():
            return math.isfinite(value)
        case dict():
            return all(is_clean(name) and is_clean(member) for name, member in value.items())  # pyright: ignore[reportUnknownVariableType]
        case list():
            return all(map(is_clean, value))  # pyright: ignore[reportUnknownArgumentType]
        case _:
            return True


def clean_or_refused(body: bytes) -> None:
    with suppress(ValidationError):
        assert is_clean(parsed(body))


@given(st.binary())
@example(b"[" * 100_000)
@example(b'{"a":' * 100_000)
@example(b"1" * 100_000)
def test_whatever_the_bytes_are_a_clean_value_or_a_refusal_comes_of_them(body: bytes):
    clean_or_refused(body)


@given(st.text(alphabet='{}[]",:\\u0dD8é 1e-+.NaIinfty\0\n', max_size=40))
def test_whatever_looks_like_json_gives_a_clean_value_or_a_refusal(text: str):
    clean_or_refused(text.encode())


@pytest.mark.parametrize("body", [*BODIES.values(), *VALUES.values()], ids=[*BODIES, *VALUES])
def test_known_junk_gives_a_clean_value_or_a_refusal(body: bytes):
    clean_or_refused(body)


@given(VALUE)
def test_what_json_makes_comes_back(value: Any):
    for is_ascii in (True, False):
        assert parsed(json.dumps(value, ensure_ascii=is_ascii).encode()) == value


@pytest.mark.parametrize(
    "body",
    [
        rb'"\ud800"', rb'{"\udfff": 1}', b'"\\u0000"', b'{"a\\u0000": 1}', b"NaN", b"[Infinity]", b"-Infinity",
        b"1e999", b"-1e999", b'{"a": 1, "a": 1}', rb'{"a": 1, "\u0061": 1}', b"\xef\xbb\xbf1", b"\xff", b"", b" ",
        b"1 2", b"'a'", b"01", '"é"'.encode("latin-1"), "1".encode("utf-16"), b"9" * 5000,
    ],
)  # fmt: skip
def test_what_another_reader_would_read_differently_is_refused(body: bytes):
    with pytest.raises(ValidationError):
        parsed(body)


def test_values_may_nest_so_deep_and_no_deeper():
    assert parsed(nested(DEEPEST)) is not None
    for depth in (DEEPEST + 1, 1000, 100_000):
        with pytest.raises(ValidationError, match=f"deeper than {DEEPEST}"):
            parsed(nested(depth))
        with pytest.raises(ValidationError, match=f"deeper than {DEEPEST}"):
            parsed(nested(depth, opening=b'{"a":', closing=b"}", core=b"0"))


@pytest.mark.slow
@given(VALUE)
def test_a_value_has_the_shape_or_is_refused(value: Any):
    with suppress(ValidationError):
        assert isinstance(shaped(value, Shape), Shape)


def test_many_values_are_refused_and_as_many_signs_within_texts_are_not():
    texts = json.dumps({"text": ',[{":\\"' * 60_000, "more": ["a,b"] * 1_000}).encode()
    assert parsed(texts)["more"][0] == "a,b"
    for many in (b"[" + b"0," * MOST_VALUES + b"0]", b"[" + b"[]," * MOST_VALUES + b"0]", b"[" * 900_000):
        with pytest.raises(ValidationError, match="more than 100000 values"):
            parsed(many)


def test_a_number_of_endless_length_is_refused_and_digits_within_a_text_are_not():
    digits = "1" * 40_000
    assert parsed(json.dumps({"text": digits}).encode()) == {"text": digits}
    with pytest.raises(ValidationError, match="number is too long"):
        parsed(f'{{"text": "{digits}", "n": {digits}}}'.encode())


NEVER_CLOSED = [b'["' + b'\\"' * 500_000, b'[",' * 300_000, b'"\\' * 500_000, b"," * 400_000 + b'"\\']


@pytest.mark.parametrize("body", NEVER_CLOSED, ids=["escapes", "quotes", "both", "the end"])
def test_texts_that_are_never_closed_are_looked_through_once(body: bytes):
    began = time.thread_time()
    with pytest.raises(ValidationError):
        parsed(body)
    assert time.thread_time() - began < 1


def test_a_refusal_names_the_member():
    with pytest.raises(ValidationError, match=r"Expected `int`, got `str` - at `\$.count`"):
        shaped({"name": "a", "count": "1"}, Shape)
    with pytest.raises(ValidationError, match=r"unknown field\. Known: name"):
        shaped({"nmae": "a"}, Shape)


@given(st.lists(st.tuples(st.sampled_from(["name", "count", "x"]), st.text())))
def test_a_query_has_the_shape_or_is_refused(pairs: list[tuple[str, str]]):
    with suppress(ValidationError):
        assert is_clean(fields_of(urlencode(pairs, errors="surrogatepass").encode(), Shape, what="the query").name)


def test_numbers_in_a_query_are_read_from_text_and_a_name_counts_once():
    assert fields_of(b"name=a&count=3", Shape, what="the query") == Shape("a", 3)
    with pytest.raises(ValidationError, match="the form gives one name twice"):
        fields_of(b"name=a&name=a", Shape, what="the form")


def said(*messages: Message) -> Receive:
    """A client that sends these messages, and is not asked for more."""
    left = list(messages)

    async def receive() -> Message:
        return left.pop(0)

    return receive


def body_of(pieces: Iterable[bytes]) -> list[Message]:
    whole: list[Message] = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    return [*whole, {"type": "http.request", "body": b"", "more_body": False}]


async def test_a_body_is_read_whole_up_to_the_bound():
    assert await read_body(said(*body_of([b"ab", b"", b"c"])), "") == b"abc"
    assert len(await read_body(said(*body_of([b"x" * LARGEST_BODY])), str(LARGEST_BODY))) == LARGEST_BODY


@pytest.mark.parametrize("declared", ["", "0", "junk", "-1", "²", "9" * 5000, str(LARGEST_BODY + 1)])
async def test_a_body_above_the_bound_is_refused_whatever_it_says_of_itself(declared: str):
    with pytest.raises(HttpError) as caught:
        await read_body(said(*body_of([b"x" * LARGEST_BODY, b"x"])), declared)
    assert (caught.value.status, caught.value.code) == (413, "too_large")


async def test_whoever_asks_first_is_refused_before_anything_is_sent():
    with pytest.raises(HttpError, match="larger than"):
        await read_body(said(), str(LARGEST_BODY + 1), is_coming=False)


async def test_of_a_body_that_does_not_end_only_so_much_is_taken(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pollux.asgi.bodies.MOST_DISCARDED", 10)
    taken = 0

    async def receive() -> Message:
        nonlocal taken
        taken += 1
        return {"type": "http.request", "body": b"12345", "more_body": True}

    with pytest.raises(HttpError, match="larger than 20 bytes"):
        await read_body(receive, "", largest=20)
    assert taken == 5 + 2


async def test_a_client_that_leaves_in_the_middle_is_no_body():
    with pytest.raises(HttpError) as caught:
        await read_body(said(*body_of([b"{"])[:1], {"type": "http.disconnect"}), "9")
    assert (caught.value.status, caught.value.code) == (400, "disconnected")


def test_a_form_or_query_that_would_take_long_to_decode_is_refused_before_it_is_read():
    decoded = "%41" * (LARGEST_FIELDS // 3 - 3)
    assert fields_of(b"name=" + decoded.encode(), Shape, what="the form").name == "A" * (len(decoded) // 3)
    with pytest.raises(ValidationError, match="at most 16,384 bytes"):
        fields_of(b"name=" + b"%41" * LARGEST_FIELDS, Shape, what="the form")
