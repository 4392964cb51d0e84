"""One parser for addresses: one mailbox, one canonical form, or a refusal that says why."""

import sys
import time
import unicodedata

import idna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tools.google.addresses import BAD, GOOD

from pollux.core.errors import PolluxError, ValidationError
from pollux.tools.google.address import MAX_LENGTH, Address, parse, parse_all

LETTERS = "abBüßıéаеорбагсѕαοηあ中한אا0-_.+'"
TRICKS = [
    "@",
    "@example.com",
    "xn--",
    "\n",
    "\0",
    "=?utf-8?q?",
    "?=",
    " ",
    ",",
    "<",
    '"',
    "\u200b",
    "\u202e",
    "\ud800",
    "%",
]
ANY = st.text(max_size=300) | st.lists(st.sampled_from([*LETTERS, *TRICKS]), max_size=40).map("".join)
PLAIN = st.text(LETTERS, min_size=1, max_size=12)
LIKELY = st.builds("{}@{}.{}".format, PLAIN, PLAIN, st.sampled_from(["com", "рф", "jp", "test", "de", "中国"]))


def is_dropped(char: str) -> bool:
    try:
        return idna.uts46_remap(char) == ""
    except idna.IDNAError:
        return False


def test_the_corpus_is_as_large_as_promised():
    assert len({written for written, _ in [*GOOD, *BAD]}) == len(GOOD) + len(BAD) >= 300
    assert len(GOOD) >= 70


@pytest.mark.parametrize(("written", "canonical"), GOOD)
def test_a_good_address_has_one_canonical_form(written: str, canonical: str):
    assert str(parse(written)) == canonical
    assert parse(canonical) == parse(written)


@pytest.mark.parametrize(("written", "reason"), BAD)
def test_what_is_not_one_plain_address_is_refused_and_the_reason_said(written: str, reason: str):
    with pytest.raises(ValidationError, match=r"^cc: expected one address such as bob@example.com; ") as refused:
        parse(written, name="cc")
    assert reason in str(refused.value)


@pytest.mark.parametrize("written", [None, 5, b"bob@example.com", ["bob@example.com"], {"email": "bob@example.com"}])
def test_what_is_not_text_is_refused(written: object):
    with pytest.raises(ValidationError, match="found"):
        parse(written)


@pytest.mark.parametrize(
    "written", ["hunter2", "hunter2@", "@hunter2", "hunter2@@x.co", "<hunter2@x.co>", "hünter2@x.co"]
)
def test_a_refusal_does_not_repeat_what_was_given(written: str):
    with pytest.raises(ValidationError) as refused:
        parse(written)
    assert "nter2" not in str(refused.value)


@pytest.mark.slow
def test_no_character_that_idna_drops_hides_in_a_domain():
    dropped = [chr(code) for code in range(0x80, 0x110000) if is_dropped(chr(code))]
    assert len(dropped) > 250
    for char in dropped:
        with pytest.raises(ValidationError, match="invisible"):
            parse(f"bob@exam{char}ple.com")


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "email_validator", None)
    with pytest.raises(PolluxError, match=r"pip install 'pollux\[google\]'"):
        parse("bob@example.com")


def test_an_international_domain_is_shown_in_both_of_its_forms():
    assert parse("Bob@MÜNCHEN.de").shown == "bob@münchen.de (xn--mnchen-3ya.de)"
    assert parse("bob@example.com").shown == "bob@example.com"


def test_addresses_are_equal_when_the_mailbox_is():
    assert parse("BOB@münchen.de") == parse("bob@XN--mnchen-3ya.DE") == Address("bob", "xn--mnchen-3ya.de")
    assert len({parse("a.b@example.com"), parse("ab@example.com"), parse("a.b+c@example.com")}) == 3


def test_one_address_is_taken_as_a_list_of_one_and_nobody_stands_in_it_twice():
    assert parse_all("Bob@example.com", name="to", limit=5) == ["bob@example.com"]
    assert parse_all(["b@x.co", "B@x.co", "a@x.co"], name="to", limit=5) == ["b@x.co", "a@x.co"]
    assert parse_all(None, name="to", limit=5) == parse_all("", name="to", limit=5) == []
    with pytest.raises(ValidationError, match="to: expected at most 1 addresses, found 2"):
        parse_all(["a@x.co", "b@x.co"], name="to", limit=1)
    with pytest.raises(ValidationError, match="found nothing"):
        parse_all([""], name="to", limit=5)


@settings(deadline=None, max_examples=1_000)
@given(ANY | LIKELY)
def test_any_text_is_one_canonical_address_or_refused(text: str):
    try:
        address = str(parse(text))
    except ValidationError:
        return
    assert str(parse(address)) == address
    assert address.isascii() and address.isprintable() and address == address.lower() and len(address) <= MAX_LENGTH
    assert address.count("@") == 1 and not set(address) & set(' ,;:<>()[]"\\%!')


@settings(deadline=None, max_examples=300)
@given(LIKELY)
def test_neither_case_nor_composition_makes_another_mailbox(text: str):
    try:
        address = parse(text)
    except ValidationError:
        return
    local, _, domain = text.partition("@")
    assert parse(local.upper() + "@" + domain) == address
    assert parse(local + "@" + unicodedata.normalize("NFD", domain)) == address


@pytest.mark.parametrize("piece", ["a", "@", ".", "ü", "xn--", "\u0301\u0323", '"', "(", "<", "a.", "=?", " "])
def test_a_long_text_is_refused_at_once(piece: str):
    began = time.process_time()
    with pytest.raises(ValidationError):
        parse(piece * 200_000)
    assert time.process_time() - began < 5
