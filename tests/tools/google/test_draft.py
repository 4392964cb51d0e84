"""Whether a draft still says what was approved."""

from email import message_from_bytes
from typing import Any

import pytest

from pollux.core.messages import JSON
from pollux.tools.google import message
from pollux.tools.google.draft import MARK, Draft, noted, says_the_same

ARGS: dict[str, JSON] = {
    "to": ["bob@example.com", "ann@example.com"],
    "cc": ["eve@example.com"],
    "bcc": ["zoe@example.com"],
    "subject": "Grüße aus Köln, und noch viel mehr Text, damit die Zeile gefaltet werden muss, ja wirklich",
    "body": "Hallo,\n\nbis später.\n",
    "html": "<p>Hallo</p>",
}
BUILT = message.build(ARGS, marks={MARK: "m"})


def test_a_draft_says_the_same_with_what_gmail_adds_to_it():
    added = (
        b"Message-ID: <x@mail.gmail.com>\r\nDate: Mon, 16 Nov 2026 10:00:00 +0000\r\nFrom: Ada <ada@example.com>\r\n"
    )
    more = b"Received: from x\r\nX-Gm-Message-State: y\r\nIn-Reply-To: <a@b>\r\nReferences: <a@b>\r\n"
    assert says_the_same(BUILT, added + more + BUILT)
    assert says_the_same(BUILT, BUILT.replace(b"\r\n", b"\n"))


@pytest.mark.parametrize(
    "args",
    [
        {"to": ["bob@example.com"]},
        {"to": ["bob@example.com", "ann@example.com", "mallory@example.com"]},
        {"cc": []},
        {"cc": ["mallory@example.com"]},
        {"bcc": ["zoe@example.com", "mallory@example.com"]},
        {"subject": "Other"},
        {"body": "Hallo,\n\nbis später!\n"},
        {"html": "<p>Hallo <a href='https://evil.example'>hier</a></p>"},
        {"html": ""},
    ],
)
def test_a_draft_that_differs_in_anything_approved_does_not_say_the_same(args: dict[str, JSON]):
    assert not says_the_same(BUILT, message.build(ARGS | args, marks={MARK: "m"}))


@pytest.mark.parametrize(
    "added", [b"Reply-To: mallory@example.com\r\n", b"Bcc: mallory@example.com\r\n", b"Sender: m@example.com\r\n"]
)
def test_a_draft_with_a_header_of_somebody_else_does_not_say_the_same(added: bytes):
    assert not says_the_same(BUILT, added + BUILT)


def test_a_draft_with_an_attachment_or_another_mark_does_not_say_the_same():
    mail: Any = message_from_bytes(BUILT)
    mail.attach(message_from_bytes(b"Content-Type: application/pdf\r\nContent-Transfer-Encoding: base64\r\n\r\nQUJD"))
    assert not says_the_same(BUILT, mail.as_bytes())
    assert not says_the_same(BUILT, BUILT.replace(b"X-Pollux-Action: m", b"X-Pollux-Action: n"))


@pytest.mark.parametrize(
    "raw", [b"", b"\xff\xfe", b"Content-Type: text/plain; charset=klingon\r\n\r\nx", b"To: <<<>>>\n\n"]
)
def test_a_draft_that_cannot_be_read_does_not_say_the_same(raw: bytes):
    assert not says_the_same(BUILT, raw)


def test_a_note_is_read_as_it_was_written():
    draft = Draft("r1", "m1", 12.5)
    assert (noted(draft.as_note()), noted(None)) == (draft, None)
