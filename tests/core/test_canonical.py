"""One byte form for every JSON value, held against the reference implementation of RFC 8785."""

import hashlib
import hmac
import json
import struct
import sys
from enum import IntEnum
from typing import Any
from unicodedata import combining, normalize

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.builders import Tale

from pollux.core.canonical import MAX_DEPTH, canonical, digest, form_of, keyed_digest, normal
from pollux.core.errors import ValidationError
from pollux.core.run import Approval, approval_id

SAFE = 2**53 - 1


def _has_a_form(number: float) -> bool:
    return not (number.is_integer() and SAFE < abs(number) < 1e21)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.floats(allow_nan=False, allow_infinity=False).filter(_has_a_form)
scalars = st.none() | st.booleans() | st.integers(-SAFE, SAFE) | numbers | texts


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = texts.map(lambda text: normalize("NFC", text))
    return st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4)


values = st.recursive(scalars, _objects, max_leaves=12)
arguments = st.dictionaries(texts.map(lambda text: normalize("NFC", text)), values, max_size=4)


@given(values)
def test_the_form_is_that_of_the_reference_implementation(value: Any):
    assert canonical(value) == rfc8785.dumps(normal(value))


@given(numbers)
def test_numbers_are_written_as_the_reference_implementation_writes_them(number: float):
    assert canonical(number) == rfc8785.dumps(number)


@given(values)
def test_what_is_read_back_has_the_same_form(value: Any):
    form = canonical(value)

    assert canonical(json.loads(form)) == form
    assert canonical(normal(value)) == form


# From RFC 8785, appendix B.
VECTORS = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("41b3de4355555556", "333333333.3333334"),
    ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]


@pytest.mark.parametrize(("bits", "expected"), VECTORS)
def test_numbers_are_written_as_the_standard_has_them(bits: str, expected: str):
    (number,) = struct.unpack(">d", bytes.fromhex(bits))

    assert canonical(number).decode() == expected


FORMS: list[tuple[Any, str]] = [
    (None, "null"),
    (True, "true"),
    (False, "false"),
    (1, "1"),
    (1.0, "1"),
    (-0.0, "0"),
    (1e2, "100"),
    (1.5, "1.5"),
    ("\u20ac$\x0f\nA'B\"\\/", '"\u20ac$\\u000f\\nA\'B\\"\\\\/"'),
    ((1, 2), "[1,2]"),
    ([], "[]"),
    ({}, "{}"),
    ({"b": 1, "a": [{}]}, '{"a":[{}],"b":1}'),
    # By UTF-16 code units the emoji sorts before the ligature, by code points after it.
    ({"\ufb01": 1, "\U0001f600": 2}, '{"\U0001f600":2,"\ufb01":1}'),
    ("e\u0301", '"\u00e9"'),
    ({"e\u0301": "e\u0301"}, '{"\u00e9":"\u00e9"}'),
    ({"a": "e\u0301"}, '{"a":"\u00e9"}'),
    (["\x1f !"], '["\\u001f !"]'),
    ({"a": SAFE, "b": -SAFE}, '{"a":9007199254740991,"b":-9007199254740991}'),
]


@pytest.mark.parametrize(("value", "expected"), FORMS)
def test_a_value_has_this_form(value: Any, expected: str):
    assert canonical(value).decode() == expected


def test_a_number_of_another_class_is_written_as_the_number_it_is():
    class Size(IntEnum):
        SMALL = 1

    class Loud(float):
        def __repr__(self) -> str:
            return "LOUD"

    class Shouted(int):
        def __str__(self) -> str:
            return "SHOUTED"

    assert canonical([Size.SMALL, Loud(2.5), Shouted(3)]) == b"[1,2.5,3]"


def _nested(depth: int, *, innermost: int = 0) -> Any:
    """Objects and lists in turn; with 1 the innermost is a list."""
    value: Any = 1
    for level in range(depth):
        value = [value] if (level + innermost) % 2 else {"a": value}
    return value


REFUSED: dict[str, Any] = {
    "not a number": float("nan"),
    "infinity": float("inf"),
    "minus infinity": [-float("inf")],
    "a large integer": 2**53,
    "a large negative integer": -(2**53),
    "a large integer in an object": {"a": 2**53},
    "a large negative integer in an object": {"a": -(2**53)},
    "text with a lone surrogate in an object": {"a": "\udc00b"},
    "a float that reads as a large integer": 2.0**53,
    "another one": -1e20,
    "a lone surrogate": "\ud800",
    "a lone surrogate as a key": {"\udfff": 1},
    "a number as a key": {1: 1},
    "nothing as a key": {None: 1},
    "keys that collide": {"\u00e9": 1, "e\u0301": 2},
    "too deep": _nested(MAX_DEPTH + 1),
    "too deep, in a list": _nested(MAX_DEPTH + 1, innermost=1),
    "a depth bomb": _nested(100_000),
    "bytes": b"x",
    "a set": {1},
    "an object": object(),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_value_without_a_form_is_refused(case: str):
    with pytest.raises(ValidationError):
        canonical(REFUSED[case])


@pytest.mark.parametrize("case", REFUSED)
def test_a_value_that_cannot_be_normalised_is_refused(case: str):
    with pytest.raises(ValidationError):
        normal(REFUSED[case])


def test_a_value_may_be_nested_as_deep_as_the_limit():
    assert MAX_DEPTH == 100
    for innermost in (0, 1):
        value = _nested(MAX_DEPTH, innermost=innermost)
        assert json.loads(canonical(normal(value))) == value
    empty: Any = []
    for _ in range(MAX_DEPTH):
        empty = [empty]
    assert json.loads(canonical(normal(empty))) == empty


def test_normal_values_are_plain_lists_and_objects_with_text_in_nfc():
    assert normal({"e\u0301": ("e\u0301", 1, None, 1.5)}) == {"\u00e9": ["\u00e9", 1, None, 1.5]}
    assert normal({"a": "e\u0301"}) == {"a": "\u00e9"}


def test_a_digest_is_the_sha256_of_the_form():
    assert digest({"b": 1, "a": 2}) == hashlib.sha256(b'{"a":2,"b":1}').hexdigest()


def test_the_form_of_a_digest_is_what_it_was_made_of_whatever_became_of_the_value():
    args: dict[str, Any] = {"to": ["bob"]}
    made, form = digest(args), canonical(args)
    args["to"].append("eve")
    assert form_of(made, args) == form
    assert digest("another") != made
    assert form_of(made, args) == form_of("", args) == canonical(args)


def test_a_keyed_digest_depends_on_key_and_form_alone():
    assert keyed_digest(b"k", {"b": 1, "a": 2}) == hmac.new(b"k", b'{"a":2,"b":1}', "sha256").hexdigest()
    assert keyed_digest(b"k", 1) != keyed_digest(b"other", 1)
    assert keyed_digest(b"k", 1) == keyed_digest(b"k", 1.0)


@pytest.mark.slow
@settings(max_examples=max(500, settings().max_examples))
@given(arguments, st.data())
def test_what_is_shown_is_what_was_hashed_and_what_runs(args: dict[str, Any], data: st.DataObject):
    stored = canonical(normal(args))
    shown, executed = json.loads(stored), json.loads(stored)

    assert canonical(shown) == canonical(executed) == stored
    assert digest(shown) == digest(executed) == digest(args)

    other = data.draw(arguments)
    assert (digest(other) == digest(args)) == (canonical(other) == stored)


@given(arguments)
def test_an_approval_is_about_one_hash_of_arguments(args: dict[str, Any]):
    tale = Tale().claim().want("a").hold("a", args=args)
    action = tale.action("a")

    assert isinstance(action.approval, Approval)
    assert action.approval.id == approval_id(action.id)
    assert action.approval.args_hash == action.args_hash == digest(args)


def test_what_is_no_json_has_no_normal_form():
    with pytest.raises(ValidationError, match="found set"):
        normal({"a": {1, 2}})


def test_text_that_would_take_seconds_to_normalise_is_refused_at_once():
    assert normal("a" + "\u0301" * 100) == "\xe1" + "\u0301" * 99
    with pytest.raises(ValidationError, match="combining marks"):
        normal({"body": ["a" + "\u0301\u0323" * 100_000]})
    with pytest.raises(ValidationError, match="combining marks"):
        canonical("\u0323" * 101)


@pytest.mark.parametrize("mark", ["\u0301", "\u0f73", "\u0f75\u0301", "\u0f81", "\uff9e", "\uff9f\u0301"])
def test_marks_without_end_are_refused_however_they_are_written(mark: str):
    with pytest.raises(ValidationError, match="combining marks on one letter"):
        normal({"a": f"e{mark * 200}"})


def test_every_character_that_becomes_a_mark_is_known_for_one():
    def begins_with_a_mark(char: str) -> bool:
        return any(combining(normalize(form, char)[0]) for form in ("NFD", "NFKD"))

    hidden = {
        chr(code) for code in range(sys.maxunicode + 1) if not combining(chr(code)) and begins_with_a_mark(chr(code))
    }
    for char in hidden:
        with pytest.raises(ValidationError):
            normal({"a": char * 101})
