"""Prepared arguments as the bytes of one RFC 5322 message.

The head is written here, a line at a time, because what Python's `email` does to long addresses and to spaces between
encoded words is not what was approved; the body and its MIME parts are `email`'s. Then the bytes are parsed again: the
message goes out only if it has exactly the headers that were meant, each once, with the recipients, the subject and the
texts that were approved. There is no From: Gmail fills in the account's own. Bcc is a header here, and Gmail takes it
off what it delivers.
"""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from hashlib import sha256
from typing import cast

from pollux.core.errors import ValidationError
from pollux.tools.define import Args
from pollux.tools.google import header

MAX_SIZE = 5_000_000
"""Of all the bytes: what Gmail takes in a plain JSON request."""
MAX_SUBJECT = 998
MAX_MARK = 8_000
_LINE = 78
# 45 bytes are 60 characters of base64; with =?utf-8?b? and ?= that is within the 75 of RFC 2047.
_WORD = 45
_RECIPIENTS = {"to": "To", "cc": "Cc", "bcc": "Bcc"}
_MARK_NAME = re.compile(r"X-Pollux-[A-Za-z-]{1,40}|In-Reply-To|References")
_MARK = re.compile(r"[!-~]+(?: [!-~]+)*")
_WRITTEN = policy.SMTP.clone(cte_type="7bit")


def build(args: Args, *, marks: Mapping[str, str]) -> bytes:
    """The message, with `marks` as headers of our own: X-Pollux-…, In-Reply-To, References.

    Raises ValidationError for a mark that is not plain ASCII on one line, and for what would not be read back as given.
    """
    headers = dict(_headers(args, marks))
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    written = head.encode("ascii", "replace") + _content(args).as_bytes()
    if len(written) > MAX_SIZE:
        raise ValidationError(f"expected a message of at most {MAX_SIZE:,} bytes, found {len(written):,}")
    if not _reads_back(written, args, marks):
        raise ValidationError("the message would not arrive as it was given; leave away what is unusual in its subject")
    return written


def recipients(args: Args) -> tuple[str, ...]:
    """Everybody whom prepared arguments address, in order."""
    return tuple(address for field in _RECIPIENTS for address in texts(args.get(field)))


def texts(value: object) -> tuple[str, ...]:
    """The texts of a prepared list. What is missing has none."""
    return tuple(str(item) for item in cast("list[object]", value)) if isinstance(value, list) else ()


def _headers(args: Args, marks: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for field, name in _RECIPIENTS.items():
        if addresses := texts(args.get(field)):
            yield name, ",\r\n ".join(addresses)
    # Coded, a line break would be no header here; some reader on the way could still make one of it.
    yield "Subject", _encoded(header.line(args["subject"], name="subject", limit=MAX_SUBJECT))
    for name, value in marks.items():
        if not _MARK_NAME.fullmatch(name):
            raise ValidationError("expected a header of our own, such as X-Pollux-Action; found another's name")
        if not _MARK.fullmatch(value) or len(value) > MAX_MARK or "=?" in value:
            raise ValidationError(f"{name}: expected plain ASCII on one line of at most {MAX_MARK:,} characters")
        yield name, value.replace(" ", "\r\n ")


def _encoded(subject: str) -> str:
    """As it is if that is plain and short; else as encoded words throughout, so that no space gets lost in between."""
    if subject.isascii() and "=?" not in subject and len(subject) <= _LINE - len("Subject: "):
        return subject
    words: list[bytes] = [b""]
    for char in subject:
        coded = char.encode()
        if len(words[-1]) + len(coded) > _WORD:
            words.append(b"")
        words[-1] += coded
    return "\r\n ".join(f"=?utf-8?b?{b64encode(word).decode()}?=" for word in words)


def _content(args: Args) -> EmailMessage:
    message = EmailMessage(_WRITTEN)
    message.set_content(str(args["body"]))
    if html := args.get("html"):
        message.add_alternative(str(html), subtype="html")
        # Drawn from the texts, so that the same arguments are the same bytes and no text can hold it.
        message.set_boundary(f"=_{sha256(repr((args['body'], html)).encode()).hexdigest()[:32]}")
    if message["MIME-Version"] is None:
        message["MIME-Version"] = "1.0"
    return message


def _reads_back(written: bytes, args: Args, marks: Mapping[str, str]) -> bool:
    """Whether another reading of these bytes finds what was meant, and nothing else."""
    found = BytesParser(policy=policy.default).parsebytes(written)
    expected = {name for field, name in _RECIPIENTS.items() if args.get(field)}
    expected |= {"Subject", "MIME-Version", "Content-Type", *marks}
    if not args.get("html"):
        expected.add("Content-Transfer-Encoding")
    names = found.keys()
    if len(names) != len(expected) or set(names) != expected or found.defects:
        return False
    # The parser unfolds: what it gives for a mark is the mark.
    fits = found["Subject"] == args["subject"] and all(found[name] == value for name, value in marks.items())
    return fits and _same_recipients(found, args) and _texts_of(found) == _expected_texts(args)


def _same_recipients(found: EmailMessage, args: Args) -> bool:
    for field, name in _RECIPIENTS.items():
        given = found[name].addresses if name in found else ()
        if tuple(address.addr_spec for address in given) != texts(args.get(field)):
            return False
        if any(address.display_name for address in given):
            return False
    return True


def _texts_of(found: EmailMessage) -> list[tuple[str, str]]:
    parts = found.iter_parts() if found.is_multipart() else iter([found])
    return [(part.get_content_type(), part.get_content().replace("\r\n", "\n")) for part in parts]


def _expected_texts(args: Args) -> list[tuple[str, str]]:
    given = [("text/plain", str(args["body"])), ("text/html", str(args.get("html") or ""))]
    # A part ends with a line break, whether its text did or not.
    return [(kind, text if text.endswith("\n") else text + "\n") for kind, text in given if text or kind != "text/html"]
