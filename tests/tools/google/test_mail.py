"""gmail_send: canonical arguments or a refusal before anyone is asked, everybody it reaches, and a glance at it."""

import json
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.tools.google.addresses import BAD
from tests.tools.google.injections import LINES, TAILS, THREADS

from pollux.core.canonical import digest
from pollux.core.errors import ValidationError
from pollux.core.tools import ToolSpec
from pollux.engine.gate import Toolbox
from pollux.tools.define import Args, FunctionTool
from pollux.tools.google import mail
from pollux.tools.google.message import build

MAIL: Args = {"to": ["bob@example.com"], "subject": "Report", "body": "It is ready.\n"}
SPEC = ToolSpec(mail.NAME, mail.DESCRIPTION, mail.SCHEMA, side_effect=True)
TOOLBOX = Toolbox([FunctionTool(SPEC, lambda context, args: None, prepare=mail.prepare)])
HEAD = ["Content-Transfer-Encoding", "Content-Type", "MIME-Version", "Subject", "To"]


def prepared(**args: object) -> Args:
    return TOOLBOX.prepare(mail.NAME, {**MAIL, **args})


def test_one_text_is_a_list_of_one_and_what_is_empty_is_left_away():
    plain = prepared()
    assert plain == MAIL
    same = [
        prepared(to="bob@example.com"),
        prepared(to=" BOB@Example.com "),
        prepared(cc=[], bcc="", html="", replyTo=""),
        prepared(subject=" Report ", body="It is ready.\r\n"),
        prepared(subject="=?utf-8?q?Report?="),
        prepared(to=["bob@example.com", "Bob@example.com"], cc=["bob@EXAMPLE.com"], bcc="bob@example.com"),
    ]
    assert {digest(each) for each in same} == {digest(plain)}


def test_who_is_named_twice_stays_where_they_are_named_first():
    args = prepared(to=["a@x.co", "b@x.co"], cc=["B@x.co", "c@x.co"], bcc=["C@x.co", "a@X.co", "d@x.co"])
    assert (args["to"], args["cc"], args["bcc"]) == (["a@x.co", "b@x.co"], ["c@x.co"], ["d@x.co"])
    assert mail.subjects(args) == {"a@x.co", "b@x.co", "c@x.co", "d@x.co"}


def test_copies_alone_are_enough_and_nobody_at_all_is_not():
    assert mail.subjects(prepared(to=[], bcc="x@x.co")) == {"x@x.co"}
    with pytest.raises(ValidationError, match="expected somebody in to, cc or bcc, found nobody"):
        prepared(to=[])


def test_the_number_of_recipients_is_bounded_over_all_lists():
    many = [f"p{number}@example.com" for number in range(60)]
    assert len(mail.subjects(prepared(to=many, cc=many, bcc=[f"q{number}@example.com" for number in range(40)]))) == 100
    with pytest.raises(ValidationError, match="at most 100 recipients in all, found 101"):
        prepared(to=many, cc=[f"q{number}@example.com" for number in range(41)])


def test_texts_are_bounded():
    assert prepared(body="x" * 500_000, html="y" * 500_000)
    with pytest.raises(ValidationError, match="body: expected at most 500,000 characters"):
        prepared(body="x" * 500_001)
    with pytest.raises(ValidationError, match="html: expected at most 500,000 bytes"):
        prepared(html="é" * 250_001)
    with pytest.raises(ValidationError, match="subject: expected at most 998 bytes"):
        prepared(subject="x" * 999)


def test_what_the_tool_does_not_know_is_refused():
    with pytest.raises(ValidationError, match="member that is not expected"):
        prepared(**{"from": "eve@example.net"})
    with pytest.raises(ValidationError, match="found 1 others"):
        mail.prepare({**MAIL, "from": "eve@example.net"})


@pytest.mark.parametrize("written", [address for address, _ in BAD if address.strip()])
def test_a_bad_address_is_refused_in_every_list(written: str):
    for field in ("to", "cc", "bcc"):
        with pytest.raises(ValidationError):
            mail.prepare({**MAIL, field: ["ada@example.com", written]})


@pytest.mark.parametrize("given", [{"a": 1}, 5, True, [["bob@example.com"]], [5], [None], {"email": "bob@example.com"}])
def test_what_is_no_list_of_texts_is_refused(given: object):
    with pytest.raises(ValidationError):
        prepared(to=given)


def test_the_corpus_of_injections_is_as_large_as_promised():
    assert len(set(LINES)) + len(set(TAILS)) + len(set(THREADS)) == len(LINES) + len(TAILS) + len(THREADS) >= 150


@pytest.mark.parametrize("text", LINES)
def test_an_injection_into_the_subject_is_refused_or_makes_no_header(text: str):
    try:
        args = mail.prepare({**MAIL, "subject": text})
    except ValidationError:
        return
    head = build(args, marks={}).split(b"\r\n\r\n")[0].decode("ascii").split("\r\n")
    assert sorted(line.partition(":")[0] for line in head if not line.startswith(" ")) == HEAD
    assert mail.subjects(args) == {"bob@example.com"}
    assert str(args["subject"])[:100] in mail.preview(args)


def test_nearly_all_injections_are_refused_and_plain_texts_that_look_like_some_are_not():
    accepted: list[str] = []
    for text in LINES:
        try:
            accepted.append(str(mail.prepare({**MAIL, "subject": text})["subject"]))
        except ValidationError:
            continue
    assert {"Hi Bcc: eve@example.net", "Bcc: eve@example.net", "Привет, мир"} <= set(accepted)
    assert len(LINES) - len(accepted) >= 95
    assert not [text for text in accepted if not text.replace("\u200d", "").isprintable()]


@pytest.mark.parametrize("tail", TAILS)
def test_an_injection_after_an_address_is_refused_or_nothing_but_space(tail: str):
    for field in ("to", "cc", "bcc"):
        given: Args = {**MAIL, "to": [], field: f"eve@example.com{tail}"}
        try:
            assert mail.subjects(mail.prepare(given)) == {"eve@example.com"}
            assert tail == " "
        except ValidationError:
            pass


@pytest.mark.parametrize("thread", [*THREADS, 18, ["18c2"]])
def test_a_thread_is_its_id_and_nothing_else(thread: object):
    with pytest.raises(ValidationError, match="replyTo: expected the id of a Gmail thread"):
        mail.prepare({**MAIL, "replyTo": thread})


def test_a_reply_names_its_thread():
    args = prepared(replyTo="18C2F1A0B3D4E5F6")
    assert args["replyTo"] == "18c2f1a0b3d4e5f6"
    assert "In reply to thread 18c2f1a0b3d4e5f6" in mail.preview(args)


def test_a_preview_shows_whom_it_reaches_and_how_it_begins():
    args = prepared(cc="x@münchen.de", bcc=["boss@example.org"], body="Hi Bob,\n\nit is ready.\n")
    assert mail.preview(args) == (
        "To: bob@example.com\nCc: x@münchen.de (xn--mnchen-3ya.de)\nBcc: boss@example.org\nSubject: Report\n\n"
        "Hi Bob,\n\nit is ready."
    )


def test_a_preview_of_many_shows_every_domain_before_a_second_address_of_one():
    friends = [f"p{number}@example.com" for number in range(90)]
    shown = mail.preview(prepared(to=[*friends, "eve@example.net"]))
    assert "eve@example.net" in shown and "more, at the same domains" in shown
    scattered = [f"p@d{number}.example.com" for number in range(100)]
    assert "+87 more, also at 87 other domains" in mail.preview(prepared(to=scattered))


@pytest.mark.parametrize(
    ("html", "host"),
    [
        ('<a href="https://evil.example/x">bank.example</a>', "evil.example"),
        ('<a href="https://bank.example@evil.example/">x</a>', "evil.example"),
        ('<a href="//evil.example">x</a>', "evil.example"),
        ('<a href="https:evil.example">x</a>', "evil.example"),
        ('<a href="https:\\\\evil.example">x</a>', "evil.example"),
        ('<a href="HTTPS://EVIL.example:8443/">x</a>', "evil.example:8443"),
        ('<a href="&#104;ttps://ev&#105;l.example">x</a>', "evil.example"),
        ('<a href="https&colon;//evil.example">x</a>', "evil.example"),
        ('<a href="ht\ntps://ev\til.example">x</a>', "evil.example"),
        ("<a href=https://evil.example>x</a>", "evil.example"),
        ("<img src='http://evil.example/p.gif'>", "evil.example"),
        ('<b style="background:url(https://evil.example/p)">', "evil.example"),
        ('<a href="https://аррӏе.example">x</a>', "аррӏе.example (xn--80ak6aa92e.example)"),
        ('<a href="https://xn--80ak6aa92e.example">x</a>', "аррӏе.example (xn--80ak6aa92e.example)"),
        ('<a href="https://evil\u200b.example">x</a>', "evil⟨U+200B⟩.example"),
    ],
)
def test_a_preview_says_where_links_really_lead(html: str, host: str):
    assert f"Links lead to: {host}\n" in mail.preview(prepared(html=html))


def test_a_preview_tells_when_html_says_other_words_than_the_text():
    same = mail.preview(prepared(html="<p>It is\n<b>ready</b>.</p>".replace("</b>.", ".</b>")))
    assert "An HTML version says the same." in same
    other = mail.preview(prepared(html="<p>Send the money &amp; hurry < now ></p>"))
    assert "Most readers will see an HTML version instead, with other words:\nSend the money & hurry < now >" in other


def test_a_preview_hides_nothing_behind_emptiness_or_invisible_characters():
    shown = mail.preview(prepared(body="Hi" + "\n" * 500 + "transfer" + " \u00a0\u3000" * 5_000 + "now\u202e\u200b"))
    assert "Hi\n\ntransfer  now⟨U+202E⟩⟨U+200B⟩" in shown


def test_a_preview_says_how_much_more_there_is():
    shown = mail.preview(prepared(body="line\n" * 100))
    assert shown.count("line\n") == 12 and "… +440 more characters" in shown


@pytest.mark.slow
@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=1_000), st.text(max_size=1_000) | st.text("<>/=\"'a:. h&;#x\n", max_size=500))
def test_a_preview_of_any_texts_is_bounded_and_names_the_recipients(body: str, html: str):
    try:
        args = prepared(body=body, html=html, to=[f"{'p' * 60}{number}@example.com" for number in range(50)])
    except ValidationError:
        return
    shown = mail.preview(args)
    assert len(shown) <= 2_000 and shown.startswith("To: ppp") and "\nSubject: Report" in shown
    assert "\u202e" not in shown and "\u200b" not in shown


@pytest.mark.parametrize(
    "piece",
    ["<", ">", "<a ", "/", "http:", "//", '="', "='", "&#", "\n", " ", "@", "https://a.b ", "<style>", "\u200b"],
)
def test_a_hostile_text_is_shown_in_time_proportional_to_its_length(piece: str):
    text = piece * (mail.MAX_TEXT // len(piece.encode()))
    began = time.process_time()
    assert len(mail.preview({**MAIL, "body": text, "html": text})) <= 2_000
    assert time.process_time() - began < 10


def test_the_schema_is_json_and_names_every_argument():
    properties = json.loads(json.dumps(mail.SCHEMA))["properties"]
    assert list(properties) == ["to", "cc", "bcc", "subject", "body", "html", "replyTo"]
    assert all(each["description"] for each in properties.values())
