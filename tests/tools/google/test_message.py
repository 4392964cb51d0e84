"""Messages: the headers that were meant, each once, and read back as they were approved."""

import email
from email import policy
from email.header import decode_header, make_header
from email.message import EmailMessage

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tools.google.addresses import GOOD
from tests.tools.google.injections import LINES

from pollux.core.errors import ValidationError
from pollux.tools.define import Args
from pollux.tools.google import mail
from pollux.tools.google.message import build

MAIL: Args = {"to": ["bob@example.com"], "subject": "Report", "body": "It is ready.\n"}
HEAD = {"To", "Subject", "MIME-Version", "Content-Type"}
MARKS = {"X-Pollux-Action": "f00d", "In-Reply-To": "<a@example.com>", "References": "<a@example.com> <b@example.com>"}


def read(raw: bytes) -> EmailMessage:
    found = email.message_from_bytes(raw, policy=policy.default)
    assert isinstance(found, EmailMessage)
    return found


def names(raw: bytes) -> list[str]:
    """As a plain reader of lines finds them, rather than the parser that checked them."""
    head = raw.split(b"\r\n\r\n")[0].decode("ascii")
    return sorted(part.partition(":")[0] for part in head.split("\r\n") if part[0] not in " \t")


def test_a_message_is_what_was_given():
    raw = build({**MAIL, "cc": ["c@x.co", "d@x.co"], "bcc": ["e@x.co"], "subject": "Überblick"}, marks=MARKS)
    found = read(raw)
    assert names(raw) == sorted([*HEAD, "Cc", "Bcc", "Content-Transfer-Encoding", *MARKS])
    assert (found["To"], found["Cc"], found["Bcc"]) == ("bob@example.com", "c@x.co, d@x.co", "e@x.co")
    assert (found["Subject"], found.get_content()) == ("Überblick", "It is ready.\r\n")
    assert {name: found[name] for name in MARKS} == MARKS


def test_html_goes_beside_the_text_and_readers_may_choose():
    found = read(build({**MAIL, "html": "<b>It is ready: ✓</b>"}, marks={}))
    assert found.get_content_type() == "multipart/alternative"
    parts = [(part.get_content_type(), part.get_content().strip()) for part in found.iter_parts()]
    assert parts == [("text/plain", "It is ready."), ("text/html", "<b>It is ready: ✓</b>")]


def test_the_same_arguments_are_the_same_bytes():
    args: Args = {**MAIL, "html": "<b>It is ready.</b>"}
    assert build(args, marks=MARKS) == build(dict(args), marks=dict(MARKS))


def test_no_line_is_longer_than_mail_allows():
    long = "a" * 64 + "@" + ".".join(["b" * 60] * 3) + ".com"
    args: Args = {
        "to": [long] * 50,
        "subject": "ü" * 400,
        "body": "é" * 5_000 + "\n" + "x" * 5_000,
        "html": "y" * 5_000,
    }
    raw = build(args, marks={"References": " ".join([f"<{'r' * 200}@example.com>"] * 30)})
    assert raw.isascii() and max(map(len, raw.split(b"\r\n"))) <= 998
    assert raw.count(b"\n") == raw.count(b"\r\n") == raw.count(b"\r")


@pytest.mark.parametrize(
    "subject", ["x" * 69, "x" * 70, "x" * 998, "a " * 498 + "b", "ü" * 499, "=?", "?=", "a =? b", "👩‍👩‍👧" * 30]
)
def test_a_subject_of_any_length_is_read_back(subject: str):
    assert read(build({**MAIL, "subject": subject}, marks={}))["Subject"] == subject


@pytest.mark.parametrize(
    "body", ["", "\n", "a", "a\n", "a\n\n\n", ".\n", "From here\n", "--=_x\n", "a \nb\t\n", "é" * 1_500, "=\n=3D"]
)
def test_a_body_of_any_kind_is_read_back(body: str):
    content = read(build({**MAIL, "body": body}, marks={})).get_content().replace("\r\n", "\n")
    assert content == (body if body.endswith("\n") else body + "\n")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Pollux-Action", "a\r\nBcc: eve@example.net"),
        ("X-Pollux-Action", "a\nb"),
        ("X-Pollux-Action", ""),
        ("X-Pollux-Action", "é"),
        ("References", "<a@x> =?utf-8?q?=0ABcc?="),
        ("References", "<a@x>" * 5_000),
        ("In-Reply-To", "<a@x>  <b@x>"),
        ("In-Reply-To", " <a@x>"),
        ("In-Reply-To", "<a@x\0>"),
        ("Bcc", "eve@example.net"),
        ("From", "eve@example.net"),
        ("Content-Type", "text/html"),
        ("X-Pollux-Action: x\r\nBcc", "eve@example.net"),
    ],
)
def test_a_mark_is_one_of_ours_and_plain(name: str, value: str):
    with pytest.raises(ValidationError, match="expected"):
        build(MAIL, marks={name: value})


@pytest.mark.parametrize(
    "args",
    [
        {**MAIL, "to": ["bob@example.com\r\nBcc: eve@example.net"]},
        {**MAIL, "to": ["bob@example.com, eve@example.net"]},
        {**MAIL, "to": ["Bob <bob@example.com>"]},
        {**MAIL, "to": ["bob@exämple.com"]},
        {**MAIL, "subject": " Hi"},
        {**MAIL, "subject": "=?utf-8?q?Hi?="},
        {**MAIL, "subject": "Hi\r\nBcc: eve@example.net"},
        {**MAIL, "subject": "=?utf-8?q?Hi=0ABcc:_eve\r\nX: y"},
        {**MAIL, "subject": "=?utf-8?q?Hi=0ABcc:_eve?="},
        {**MAIL, "body": "a\rb"},
    ],
)
def test_what_nobody_prepared_is_not_built_either(args: Args):
    with pytest.raises(ValidationError, match=r"would not arrive as it was given|subject: expected"):
        build(args, marks={})


def test_a_message_beyond_what_gmail_takes_is_refused():
    with pytest.raises(ValidationError, match="at most 5,000,000 bytes"):
        build({**MAIL, "body": "x" * 5_000_001}, marks={})


WORDS = st.text(max_size=80) | st.sampled_from([text for text in LINES if len(text) < 200])
PEOPLE = st.lists(st.sampled_from([written for written, _ in GOOD]), max_size=5)


@pytest.mark.slow
@settings(deadline=None, max_examples=500)
@given(
    st.fixed_dictionaries({"to": PEOPLE, "cc": PEOPLE, "bcc": PEOPLE, "subject": WORDS, "body": WORDS, "html": WORDS})
)
def test_no_accepted_arguments_make_a_header_that_was_not_meant(args: Args):
    try:
        prepared = mail.prepare(args)
    except ValidationError:
        return
    raw = build(prepared, marks=MARKS)
    expected = HEAD - {"To"} | {field.capitalize() for field in ("to", "cc", "bcc") if field in prepared} | MARKS.keys()
    expected |= set() if "html" in prepared else {"Content-Transfer-Encoding"}
    assert names(raw) == sorted(expected)
    found = email.message_from_bytes(raw)
    listed = ", ".join(str(found[field] or "") for field in ("to", "cc", "bcc")).replace(",", " ").split()
    assert frozenset(listed) == mail.subjects(prepared)
    assert make_header(decode_header(found["Subject"])) == prepared["subject"]
