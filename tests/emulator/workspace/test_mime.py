"""Mail as bytes: every byte that is not asked for stays; odd headers are told apart, and never a stumble."""

import pytest

from pollux.emulator.workspace import mime

RAW = b"To: a@b.example,\r\n c@d.example\r\nSubject: Hi\r\n\r\nbody\r\n\r\nmore"


def test_a_folded_header_is_one_header():
    whole = mime.split(RAW)
    assert [name for name, _ in whole.fields] == ["to", "subject"] and whole.raw == RAW
    assert whole.without("TO").raw == b"Subject: Hi\r\n\r\nbody\r\n\r\nmore"
    assert mime.addresses(mime.parse(RAW), "to") == ("a@b.example", "c@d.example")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("a@b.example", ("a@b.example",)),
        ("Ann <a@b.example>, c@d.example", ("a@b.example", "c@d.example")),
        ('"Last, First" <a@b.example>', ("a@b.example",)),
        ("=?utf-8?q?Gr=C3=BC=C3=9Fe?= <a@b.example>", ("a@b.example",)),
        ("Dr. A. Bee <a@b.example>, ,c@d.example,", ("a@b.example", "c@d.example")),
        ("team: a@b.example, c@d.example;", ("a@b.example", "c@d.example")),
        ("", ()),
        ("nobody", None),
        ("a@b.example c@d.example", None),
        ("a@b.example; c@d.example", None),
        ("a@b.example <c@d.example>", None),
        ("<>", None),
        ("a@", None),
        ("@b.example", None),
        ("=?utf-8?q?a=40b.example?=", None),
    ],
)
def test_addresses_are_found_or_refused(value: str, found: tuple[str, ...] | None):
    assert mime.addresses(mime.parse(f"To: {value}\r\n\r\n".encode()), "to") == found


@pytest.mark.parametrize("value", ["=?nonsense?q?abc?=", "=?utf-8?b?YWJ?=", "=?utf-8?q?=FF?="])
def test_a_header_that_cannot_be_decoded_is_still_shown(value: str):
    assert mime.readable(value)
