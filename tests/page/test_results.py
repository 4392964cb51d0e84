"""Results of page calls: of those that wait, each once, in bounds."""

from typing import Any

import pytest

from pollux.core.errors import ValidationError
from pollux.page.results import LARGEST, Answer, answers

PENDING = ("c1", "c2")


def test_results_of_calls_that_wait_are_taken_as_what_they_say():
    given = [
        {"callId": "c2", "result": '{"clicked":true}'},
        {"callId": "c1", "result": "no such ref", "isError": True},
    ]
    assert answers(given, pending=PENDING) == (Answer("c2", {"clicked": True}), Answer("c1", "no such ref", True))
    assert answers([], pending=PENDING) == ()


@pytest.mark.parametrize(
    "text", ["", "NaN", "{", '{"n": 1e999}', "\ud800", "[" * 100_000, '{"a":99999999999999999999}']
)
def test_a_text_that_is_no_clean_json_is_text(text: str):
    (answer,) = answers([{"callId": "c1", "result": text}], pending=PENDING)
    assert str(answer.result).startswith(text[:LARGEST])


def test_a_long_result_is_cut_and_says_so():
    (answer,) = answers([{"callId": "c1", "result": "x" * (LARGEST + 5)}], pending=PENDING)
    assert answer.result == "x" * LARGEST + "… (5 more characters cut)"


def test_a_value_that_is_no_text_is_taken_too():
    assert answers([{"callId": "c1", "result": {"a": [1]}, "isError": None}], pending=PENDING)[0].result == {"a": [1]}


REFUSED: list[tuple[Any, str]] = [
    (None, "expected `results` to be a list"),
    ({}, "expected `results` to be a list"),
    (["c1"], r"expected results\[0\]"),
    ([{"callId": "c1"}], r"expected results\[0\]"),
    ([{"callId": 1, "result": ""}], r"expected results\[0\]"),
    ([{"callId": "c1", "result": "", "isError": "yes"}], r"expected results\[0\]"),
    ([{"callId": "c3", "result": "paid"}], r"results\[0\] answers a call that does not wait"),
    ([{"callId": "c1", "result": ""}, {"callId": "c1", "result": ""}], r"results\[1\] answers a call that another"),
]


@pytest.mark.parametrize(("results", "said"), REFUSED)
def test_nothing_else_is_believed(results: Any, said: str):
    with pytest.raises(ValidationError, match=said):
        answers(results, pending=PENDING)


def test_what_is_private_in_a_result_goes_no_further():
    (answer,) = answers(
        [{"callId": "a", "result": '{"password": "hunter2", "fields": [{"type": "password", "value": "x1"}]}'}],
        pending={"a"},
    )
    assert answer.result == {"password": "[private]", "fields": [{"type": "password", "value": "[private]"}]}
