"""Conditions on arguments: typed paths and operators, undecided where a value cannot be compared."""

import re
from typing import Any

import pytest

from pollux.core.canonical import MOST_MARKS
from pollux.core.conditions import LONGEST, LONGEST_NAME, MOST_LABELS, MOST_VALUES, Condition, condition_of, folded
from pollux.core.errors import ValidationError


def found(pattern: str, text: str) -> bool:
    return re.search(pattern, text) is not None


def answer(path: str, operator: Any, value: Any, args: dict[str, Any]) -> str:
    """`holds`, `not`, or `undecided`: then a rule that denies applies, and one that allows does not."""
    condition = Condition(path, operator, value)
    allows, denies = (condition.holds(args, allows=each, match=found) for each in (True, False))
    return {(True, True): "holds", (False, False): "not", (False, True): "undecided"}[allows, denies]


MARKED = "a" + "\u0301\u200b" * (MOST_MARKS + 1)
"""It cannot be brought into one form."""
TABLE: list[tuple[str, str, Any, dict[str, Any], str]] = [
    ("a", "equals", "x", {"a": "x"}, "holds"),
    ("a", "equals", "é", {"a": "e\u0301"}, "holds"),
    ("a", "equals", "x", {"a": "y"}, "not"),
    ("a", "equals", "x", {"b": "x"}, "not"),
    ("a", "equals", 5, {"a": 5.0}, "holds"),
    ("a", "equals", 5, {"a": "5"}, "undecided"),
    ("a", "equals", True, {"a": True}, "holds"),
    ("a", "equals", True, {"a": 1}, "undecided"),
    ("a", "equals", 1, {"a": True}, "undecided"),
    ("a", "equals", "x", {"a": None}, "undecided"),
    ("a", "one_of", ["x", "y"], {"a": "y"}, "holds"),
    ("a", "one_of", ["x", "y"], {"a": "z"}, "not"),
    ("a", "one_of", ["x", 1], {"a": ["x"]}, "undecided"),
    ("a.b", "equals", "x", {"a": {"b": "x"}}, "holds"),
    ("a.b", "equals", "x", {"a.b": "x"}, "not"),
    ('"a.b"', "equals", "x", {"a.b": "x"}, "holds"),
    ('"a\\"b"[0]', "equals", "x", {'a"b': ["x"]}, "holds"),
    ("**.to", "equals", "x", {"to": "x"}, "holds"),
    ("**.to", "equals", "x", {"a": [{"b": {"to": "x"}}]}, "holds"),
    ("**.to", "equals", "x", {"to": "x", "a": {"to": "y"}}, "undecided"),
    ("**.to", "equals", "x", {"a": "to", "b": ["x"]}, "not"),
    ("a.**.to", "equals", "x", {"to": "x"}, "not"),
    ("to[*]", "equals", "x", {"to": ["x", "x"]}, "holds"),
    ("to[*]", "equals", "x", {"to": ["x", "y"]}, "undecided"),
    ("to[*]", "equals", "x", {"to": "x"}, "holds"),
    ("to[*]", "equals", "x", {"to": []}, "not"),
    ("to[*]", "equals", "x", {"to": None}, "not"),
    ("to[1]", "equals", "x", {"to": ["y", "x"]}, "holds"),
    ("to[1]", "equals", "x", {"to": ["y"]}, "not"),
    ("to[1]", "equals", "x", {"to": "yx"}, "undecided"),
    ("to[0]", "equals", "x", {"to": "x"}, "undecided"),
    ("to[0]", "equals", "x", {"to": {"0": "x"}}, "undecided"),
    ("to.email", "equals", "x", {"to": [{"email": "x"}]}, "undecided"),
    ("to[*].email", "equals", "x", {"to": {"email": "x"}}, "undecided"),
    ("order.amount", "above", 100, {"order": [{"amount": 1000}]}, "undecided"),
    ("order.amount", "above", 100, {"order": '{"amount": 1000}'}, "undecided"),
    ("order.amount", "above", 100, {"order": None}, "not"),
    ("order.amount", "above", 100, {"order": {}}, "not"),
    ("order.**.amount", "above", 100, {"order": '{"amount": 1000}'}, "undecided"),
    ("order.**.amount", "above", 100, {"order": [{"of": "x", "amount": 1}]}, "not"),
    ("**.order.amount", "above", 100, {"a": {"order": "1000"}}, "undecided"),
    ("**[0]", "equals", "x", {"a": ["x"], "b": "y"}, "holds"),
    ("*", "equals", "x", {"a": "x", "b": "x"}, "holds"),
    ("a.*.c", "equals", "x", {"a": {"b": {"c": "x"}}}, "holds"),
    ("to[*]", "equals", "x", {"to": ["x"] * (MOST_VALUES + 1)}, "undecided"),
    ("a", "above", 10, {"a": 11}, "holds"),
    ("a", "above", 10, {"a": 10}, "not"),
    ("a", "at_least", 10, {"a": 10}, "holds"),
    ("a", "below", 10, {"a": 9.5}, "holds"),
    ("a", "below", 10, {"a": 10}, "not"),
    ("a", "at_most", 10, {"a": 10}, "holds"),
    ("a", "at_most", 10, {"a": 11}, "not"),
    ("a", "above", 10, {"a": "11"}, "undecided"),
    ("a", "above", 10, {"a": True}, "undecided"),
    ("a", "prefix", "src/", {"a": "src/x"}, "holds"),
    ("a", "prefix", "src/", {"a": "lib/x"}, "not"),
    ("a", "prefix", "a.b", {"a": "axb"}, "not"),
    ("a", "prefix", "b", {"a": "ab"}, "not"),
    ("a", "glob", "*.md", {"a": "x.md"}, "holds"),
    ("a", "glob", "*.md", {"a": 3}, "undecided"),
    ("a", "glob", "*", {"a": "x" * (LONGEST + 1)}, "undecided"),
    ("a", "address", "*@example.com", {"a": "Bob <BOB@Example.COM>"}, "holds"),
    ("a", "address", "*@example.com", {"a": "bob@example.com.evil.test"}, "not"),
    ("a", "address", "*@bücher.example", {"a": "b@xn--bcher-kva.example"}, "holds"),
    ("a", "address", "*@example.com", {"a": "eve@evil.test, bob@example.com"}, "undecided"),
    ("a", "address", "*@example.com", {"a": "eve@evil.test;bob@example.com"}, "undecided"),
    ("a", "address", "*@example.com", {"a": "eve@evil.test, Bob <bob@example.com>"}, "undecided"),
    ("a", "address", "*@example.com", {"a": "eve@evil.test <bob@example.com>"}, "undecided"),
    ("a", "address", "*@example.com", {"a": "<eve@evil.test> <bob@example.com>"}, "undecided"),
    ("a", "address", "*@example.com", {"a": "Bob <bob@example.com> eve@evil.test"}, "undecided"),
    ("a", "address", "*@example.com", {"a": "eve@evil.test\r\nbob@example.com"}, "undecided"),
    ("a", "address", "*@example.com", {"a": '"eve@evil.test"@example.com'}, "undecided"),
    ("a", "address", "*@example.com", {"a": "eve@evil.test(@example.com"}, "undecided"),
    ("a", "address", "*@example.com", {"a": "bob"}, "undecided"),
    ("a", "address", "*@example.com", {"a": "bob@example.com."}, "holds"),
    ("a", "address", "*@example.com", {"a": "bob@example。com"}, "undecided"),
    ("a", "address", "*@good.com", {"a": "eve@evil.com，bob＠good.com"}, "undecided"),
    ("a", "address", "*@good.com", {"a": "eve@xn--good-.com"}, "undecided"),
    ("a", "address", "*@good.com", {"a": "eve@host.123"}, "undecided"),
    ("a", "host", "*.example.com", {"a": "https://api.EXAMPLE.com./x?y=.evil.test"}, "holds"),
    ("a", "host", "example.com", {"a": "example.com:8080"}, "holds"),
    ("a", "host", "::1", {"a": "http://[::1]:80/"}, "holds"),
    ("a", "host", "[::1]", {"a": "http://[::1]:80/"}, "holds"),
    ("a", "address", "*@example.com", {"a": "b" * LONGEST_NAME + "@example.com"}, "undecided"),
    ("a", "host", "*.example.com", {"a": "https://" + "b." * LONGEST_NAME + "example.com/"}, "undecided"),
    ("a", "host", "example.com", {"a": "https://example.com@evil.test/"}, "undecided"),
    ("a", "host", "example.com", {"a": "https://evil.test\\@example.com"}, "undecided"),
    ("a", "host", "example.com", {"a": "https://example.com\t.evil.test"}, "undecided"),
    ("a", "host", "example.com", {"a": ""}, "undecided"),
    ("a", "host", "example.com", {"a": "//example.com/"}, "undecided"),
    ("a", "host", "example.com", {"a": "evil.test/?u=https://example.com"}, "not"),
    ("a", "host", "example.com", {"a": "evil.test#://example.com"}, "not"),
    ("a", "host", "example.com", {"a": "https:example.com"}, "undecided"),
    ("a", "host", "example.com", {"a": "https:/example.com"}, "undecided"),
    ("a", "host", "example.com", {"a": "https:///example.com"}, "undecided"),
    ("a", "host", "example.com", {"a": "https://%65xample.com/"}, "undecided"),
    ("a", "host", "example.com", {"a": "https://exam\u00adple.com/"}, "undecided"),
    ("a", "host", "example.com", {"a": "https://example.com:8o/"}, "undecided"),
    ("a", "host", "example.com", {"a": "https://example.com:８０/"}, "undecided"),
    ("a", "host", "example.com", {"a": "https://example.com:/x"}, "holds"),
    ("a", "host", "::1", {"a": "http://[::1]:x0/"}, "undecided"),
    ("a", "host", "[ab]", {"a": "https://a/"}, "holds"),
    ("a", "host", "*.de", {"a": "https://xn--strae-oqa.de/"}, "undecided"),
    ("a", "host", "*.de", {"a": "https://xn---tda.de/"}, "undecided"),
    ("a", "host", "*", {"a": MARKED}, "undecided"),
    ("a", "address", "*", {"a": MARKED}, "undecided"),
    ("a", "file", "*", {"a": MARKED}, "undecided"),
    ("a", "equals", True, {"a": 1}, "undecided"),
    ("a", "equals", 1, {"a": True}, "undecided"),
    ("a", "host", "example.com", {"a": "https://ｅxample。com/"}, "undecided"),
    ("a", "host", "bücher.example", {"a": "https://XN--BCHER-KVA.example/"}, "holds"),
    ("a", "host", "exa\u034fmple.com", {"a": "https://example.com/"}, "holds"),
    ("a", "host", "example.com", {"a": "https://exa\u034fmple.com/"}, "undecided"),
    ("a", "host", "good.com", {"a": "https://xn--good-.com/"}, "undecided"),
    ("a", "host", "*.com", {"a": f"https://xn--{('ü' * 80).encode('punycode').decode()}.com/"}, "undecided"),
    ("a", "host", "strasse.de", {"a": "https://straße.de/"}, "undecided"),
    ("a", "host", "*.good.com", {"a": "https://evil.com／.good.com/"}, "undecided"),
    ("a", "host", "*.good.com", {"a": "https://evil.com＠.good.com/"}, "undecided"),
    ("a", "host", "127.0.0.1", {"a": "http://[::127.0.0.1]/"}, "undecided"),
    ("a", "host", "127.0.0.1", {"a": "http://[64:ff9b::7f00:1]/"}, "undecided"),
    ("a", "host", "127.0.0.1", {"a": "http://[::ffff:0:127.0.0.1]/"}, "undecided"),
    ("a", "host", "127.0.0.1", {"a": "http://[fe80::1%25lo]/"}, "undecided"),
    ("a", "host", "127.0.0.1", {"a": "http://127.0.0.1:80/"}, "holds"),
    ("a", "host", "127.*", {"a": "http://127.0.0.1/"}, "holds"),
    ("a", "host", "127.*", {"a": "http://2130706433/"}, "undecided"),
    ("a", "host", "127.*", {"a": "http://0x7f.1/"}, "undecided"),
    ("a", "host", "127.*", {"a": "http://127.1/"}, "undecided"),
    ("a", "host", "127.*", {"a": "http://0177.0.0.1/"}, "undecided"),
    ("a", "host", "127.*", {"a": "http://[::ffff:127.0.0.1]/"}, "holds"),
    ("a", "host", "::1", {"a": "http://[0:0:0:0:0:0:0:1]/"}, "holds"),
    ("a", "host", "0::1", {"a": "[::1]"}, "holds"),
    ("a", "host", "::1", {"a": "http://[::1]x/"}, "undecided"),
    ("a", "host", "::1", {"a": "http://[::1/"}, "undecided"),
    ("a", "file", "docs/*", {"a": "docs/./a/../b"}, "holds"),
    ("a", "file", "docs/*", {"a": "docs/../src/b"}, "not"),
    ("a", "file", "docs/*", {"a": "../docs/b"}, "undecided"),
    ("a", "file", "docs/*", {"a": "~/docs/b"}, "undecided"),
    ("a", "file", "docs/*", {"a": "Docs/b"}, "undecided"),
    ("a", "file", "/etc/*", {"a": " /etc/passwd"}, "undecided"),
    ("a", "file", "/etc/*", {"a": "file:///etc/passwd"}, "undecided"),
    ("a", "file", "/etc/*", {"a": "\\etc\\passwd"}, "undecided"),
    ("a", "file", "/etc/*", {"a": "/et\u034fc/x"}, "undecided"),
    ("a", "file", "/srv/*", {"a": "//srv/../srv//b"}, "holds"),
    ("a", "file", ".", {"a": "a/.."}, "holds"),
    ("a", "file", "/etc/*", {"a": "/../etc/passwd"}, "holds"),
    ("a", "matches", "^[a-c]+$", {"a": "abc"}, "holds"),
    ("a", "matches", "^[a-c]+$", {"a": "abcd"}, "not"),
]


@pytest.mark.parametrize(("path", "operator", "value", "args", "expected"), TABLE)
def test_a_condition_holds_or_not_or_is_undecided(
    path: str, operator: str, value: Any, args: dict[str, Any], expected: str
):
    assert answer(path, operator, value, args) == expected


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({}, "expected a path and one of equals, one_of"),
        ({"path": "a"}, "in a condition, found 'path'"),
        ({"path": 1, "equals": 1}, "expected a path and one of"),
        ({"path": "a", "equals": 1, "above": 1}, "expected a path and one of"),
        ({"path": "a", "is": 1}, "expected a path and one of"),
        ({"path": "", "equals": 1}, "expected a path into the arguments"),
        ({"path": "a.**", "equals": 1}, "expected one ** with a name behind it in a path, as in **.to, found 'a.**'"),
        ({"path": "**.a.**.b", "equals": 1}, "expected one **"),
        ({"path": ".a", "equals": 1}, "such as amount, to[*] or items[0].price, found '.a'"),
        ({"path": "a[", "equals": 1}, "expected a path into the arguments"),
        ({"path": "a", "above": "1"}, "expected above of the condition on 'a' to be a number"),
        ({"path": "a", "above": True}, "to be a number"),
        ({"path": "a", "one_of": []}, "to be a list of texts, numbers or true and false"),
        ({"path": "a", "one_of": "abc"}, "to be a list of texts"),
        ({"path": "a", "equals": [1]}, "to be a text, a number, or true or false"),
        ({"path": "a", "glob": ""}, "to be a text"),
    ],
)
def test_a_condition_that_means_nothing_is_refused(written: dict[str, Any], said: str):
    with pytest.raises(ValidationError) as refused:
        condition_of(written)
    assert said in str(refused.value)


def test_an_operator_that_does_not_exist_is_refused():
    with pytest.raises(ValidationError, match="operator of a condition to be one of equals"):
        Condition("a", "contains", "x")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("ABC", "abc"),
        ("Straße", "strasse"),
        ("ＡＢ", "ab"),
        ("xn--bcher-kva", "bücher"),
        ("XN--BCHER-KVA", "bücher"),
        ("a" * 300 + "B", "a" * 300 + "b"),
        ("xn--99999999", "xn--99999999"),
        ("xn--" + "9" * 64_000, "xn--" + "9" * 64_000),
    ],
)
def test_folding_removes_case_width_and_idna_spelling(text: str, plain: str):
    assert folded(text) == plain


@pytest.mark.parametrize("mark", ["\u0301", "\u0301\u200b"])
def test_a_text_with_very_many_marks_on_one_letter_cannot_be_brought_into_one_form(mark: str):
    assert folded("a" + mark * MOST_MARKS)
    with pytest.raises(ValidationError, match="at most 100 combining marks"):
        folded("a" + mark * (MOST_MARKS + 1))


def test_folding_a_folded_text_changes_nothing():
    # Which the letters below the first mark are spared.
    once = {folded(f"{chr(code)}{chr(other)}") for code in range(0x300) for other in (0x41, 0xDF, 0x132, 0x1C4, code)}
    assert {text for text in once if folded(text) != text} == set()


def test_a_text_with_very_many_labels_of_punycode_cannot_be_brought_into_one_form():
    assert folded("xn--bcher-kva," * MOST_LABELS) == "bücher," * MOST_LABELS
    for _ in range(2):
        with pytest.raises(ValidationError, match="at most 1,000 labels"):
            folded("xn--bcher-kva," * (MOST_LABELS + 1))
