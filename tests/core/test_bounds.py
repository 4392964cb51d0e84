"""How much a call may carry: bounded before anybody is asked, and the error never repeats the value."""

from typing import Any

import pytest

from pollux.core.canonical import LARGEST_CALL, LONGEST_EVER, LONGEST_TEXT, MOST_VALUES, require_bounded, require_few
from pollux.core.errors import ValidationError

LONG = "x" * (LONGEST_TEXT + 1)
MANY = {str(number): "x" * LONGEST_TEXT for number in range(16)}
ROOM: dict[str, Any] = {
    "properties": {
        "body": {"type": "string", "maxLength": 2 * LARGEST_CALL},
        "lines": {"items": {"maxLength": 2 * LARGEST_CALL}},
        "files": {"maxLength": 2 * LARGEST_CALL, "additionalProperties": {"type": "string"}},
        "short": {"maxLength": 3},
    },
    "additionalProperties": {"maxLength": LONGEST_TEXT + 1},
}


@pytest.mark.parametrize(
    ("args", "schema"),
    [
        ({"a": "x" * LONGEST_TEXT}, {}),
        ({"a": [1, None, True, {"b": "c"}]}, {}),
        # Where the schema gives a length, that one counts, for the text and for what it holds.
        ({"body": "x" * LARGEST_CALL}, ROOM),
        ({"lines": [LONG, LONG]}, ROOM),
        ({"files": {"a": LONG, "b": [LONG]}}, ROOM),
        ({"other": LONG}, ROOM),
        ({"a": "x"}, {"properties": []}),
    ],
)
def test_what_a_call_may_carry(args: Any, schema: Any):
    require_bounded(args, schema)


@pytest.mark.parametrize(
    ("args", "schema", "said"),
    [
        ({"a": LONG}, {}, "a: expected at most 65,536 characters, found 65,537"),
        ({"a": {"b": [0, LONG]}}, {}, "a.b[1]: expected at most 65,536 characters"),
        ({LONG: 1}, {}, "a name: expected at most 65,536 characters"),
        ({"short": "four"}, ROOM, "short: expected at most 3 characters, found 4"),
        ({"a": "\0"}, {}, "a: expected text without NUL"),
        ({"a\0": 1}, {}, "a name: expected text without NUL"),
        (MANY, {}, "the arguments are larger than 1,048,576 characters"),
        ({"a": [0] * LARGEST_CALL}, {}, "the arguments are larger"),
        ({"a": ["x" * 60_000] * 20}, {}, "the arguments are larger"),
        ({"a": [["x" * 1_000] * 40] * 40}, {}, "the arguments are larger"),
    ],
)
def test_what_no_call_may_carry(args: Any, schema: Any, said: str):
    with pytest.raises(ValidationError) as refused:
        require_bounded(args, schema)
    assert str(refused.value).startswith(said)
    assert len(str(refused.value)) < 200


def test_how_many_values_a_call_may_hold_is_known_before_they_are_gone_through():
    assert require_few({"a": [0] * (MOST_VALUES - 2)}) == MOST_VALUES
    many: list[dict[str, Any]] = [
        {"a": [0] * MOST_VALUES},
        {"a": [[0]] * 10_000},
        {str(n): {} for n in range(MOST_VALUES)},
    ]
    for args in many:
        with pytest.raises(ValidationError, match="more than 20,000 values"):
            require_few(args)
    with pytest.raises(ValidationError, match="a text of more than"):
        require_few({"a": ["x" * (LONGEST_EVER + 1)]})


@pytest.mark.parametrize("last", [0, True, None, 1.5, [], {}])
def test_each_value_counts_whatever_it_is(last: Any):
    texts = ["x" * 65_000] * 16
    # The arguments themselves, three values and their names, and what is in the lists.
    room = LARGEST_CALL - 16 * 65_001 - 7
    require_bounded({"a": texts, "b": [last] * room, "c": last}, {})
    with pytest.raises(ValidationError, match="the arguments are larger"):
        require_bounded({"a": texts, "b": [last] * (room + 1), "c": last}, {})
