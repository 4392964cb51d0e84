"""Mail as bytes: take headers out and put some in, with every other byte left as it was; read them for people."""

import base64
import binascii
import re
from email.errors import HeaderParseError, InvalidHeaderDefect
from email.header import decode_header, make_header
from email.headerregistry import HeaderRegistry
from email.message import Message
from email.parser import BytesParser
from typing import Any

from pollux.core.frozen import frozen

_ADDRESS = re.compile(r"[^\s@<>,;:\"()\[\]]+@[^\s@<>,;:\"()]+\.?[^\s@<>,;:\"()]*")

_HEADERS = HeaderRegistry()


@frozen
class Mime:
    """A mail: its header fields in order, each with its folded lines, and its body."""

    fields: tuple[tuple[str, bytes], ...]
    body: bytes

    def has(self, name: str) -> bool:
        """Is there such a header?"""
        return any(field == name.lower() for field, _ in self.fields)

    def without(self, *names: str) -> "Mime":
        """The same mail without these headers."""
        gone = {name.lower() for name in names}
        return Mime(tuple(field for field in self.fields if field[0] not in gone), self.body)

    def under(self, name: str, value: str) -> "Mime":
        """The same mail with one more header, first of all."""
        return Mime(((name.lower(), f"{name}: {value}\r\n".encode()), *self.fields), self.body)

    @property
    def raw(self) -> bytes:
        """Its bytes."""
        return b"".join(field for _, field in self.fields) + b"\r\n" + self.body


def split(raw: bytes) -> Mime:
    """Read a mail."""
    fields: list[tuple[str, bytes]] = []
    rest = raw
    while rest:
        line, end, rest_after = rest.partition(b"\n")
        if not line.strip(b"\r"):
            return Mime(tuple(fields), rest_after)
        if line[:1] in b" \t" and fields:
            fields[-1] = (fields[-1][0], fields[-1][1] + line + end)
        elif b":" in line:
            name = line.partition(b":")[0].decode("latin-1").strip().lower()
            fields.append((name, line + (end or b"\r\n")))
        else:
            return Mime(tuple(fields), rest)
        rest = rest_after
    return Mime(tuple(fields), b"")


def decode_raw(text: str) -> bytes | None:
    """The bytes of base64 for URLs, with or without padding; None when it is none."""
    if not re.fullmatch(r"[A-Za-z0-9_\-+/\s]*={0,2}\s*", text):
        return None
    plain = re.sub(r"[\s=]", "", text).replace("+", "-").replace("/", "_")
    try:
        return base64.urlsafe_b64decode(plain + "=" * (-len(plain) % 4))
    except binascii.Error:
        return None


def encode_raw(raw: bytes) -> str:
    """Base64 for URLs, padded as Gmail pads it."""
    return base64.urlsafe_b64encode(raw).decode()


def parse(raw: bytes) -> Message:
    """A mail as the standard library reads it."""
    return BytesParser().parsebytes(raw)


def readable(value: object) -> str:
    """A header's value unfolded and decoded."""
    text = re.sub(r"\r?\n[ \t]*", " ", str(value)).strip()
    try:
        return str(make_header(decode_header(text)))
    except (HeaderParseError, LookupError, UnicodeError, ValueError):
        return text


def head(raw: bytes) -> bytes:
    """The headers alone, so that asking for one does not read ten megabytes of body."""
    return Mime(split(raw).fields, b"").raw


def header(message: Message, name: str) -> str:
    """A header of a parsed mail, readable; empty when there is none."""
    value = message.get(name)
    return "" if value is None else readable(value)


def addresses(message: Message, name: str) -> tuple[str, ...] | None:
    """The addresses of a header; None when one of them is none."""
    found: list[str] = []
    for value in message.get_all(name, []):
        text = re.sub(r"\r?\n[ \t]*", " ", str(value)).strip()
        try:
            parsed: Any = _HEADERS("to", text)
            found += [str(address.addr_spec) for address in parsed.addresses]
        # The standard library's parser stumbles over some of what is no address, each time in its own way.
        except (HeaderParseError, ValueError, IndexError, AttributeError, TypeError):
            return None
        # Old spellings are forgiven. What is wrong is not: it might name somebody whom nobody would notice.
        if text and any(isinstance(defect, InvalidHeaderDefect) for defect in parsed.defects):
            return None
    return tuple(found) if all(_ADDRESS.fullmatch(address) for address in found) else None


def text_of(message: Message) -> str:
    """The words of a mail: its plain text if it has any, else its HTML as it stands."""
    parts = [part for part in message.walk() if not part.is_multipart()]
    plain = [part for part in parts if part.get_content_type() == "text/plain"]
    html = [part for part in parts if part.get_content_type() == "text/html"]
    return "\n".join(text(part) for part in plain or html)


def text(part: Message) -> str:
    """A part's words; what is no text is told by its size."""
    if part.get_content_maintype() != "text":
        return f"({len(content(part))} bytes)"
    return content(part).decode(_charset(part), "replace")


def parts(message: Message) -> list[Message]:
    """What a multipart mail is made of."""
    below: Any = message.get_payload()
    return list(below) if message.is_multipart() else []


def content(part: Message) -> bytes:
    """A part's bytes, decoded from how they travelled."""
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _charset(part: Message) -> str:
    name = part.get_content_charset() or "utf-8"
    try:
        "".encode(name)
    except LookupError:
        return "utf-8"
    return name
