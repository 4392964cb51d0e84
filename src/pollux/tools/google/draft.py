"""A draft of ours: how it is marked, how it is noted in the journal, and whether it still says what was approved."""

import hashlib
import re
from typing import TYPE_CHECKING, Any, Final, cast

from pollux.core.frozen import frozen
from pollux.core.messages import JSON

if TYPE_CHECKING:
    from email.message import EmailMessage, Message

MARK: Final = "X-Pollux-Action"
"""The header by which a draft or a mail is known to be ours. Recipients see it: it must tell them nothing."""

_APPROVED: Final = ("to", "cc", "bcc", "subject")
# What Gmail and the way of a reply add. Anything else that is there, somebody has put there.
_HARMLESS: Final = re.compile(
    r"to|cc|bcc|subject|from|date|message-id|in-reply-to|references|received|mime-version|content-.*|x-g.*|"
    + MARK.lower()
)


@frozen
class Draft:
    """A draft and the message in it. Gmail gives a changed draft a new message: the same one is the same mail."""

    id: str
    message: str
    made_at: float = 0.0
    account: str | None = None

    def as_note(self) -> JSON:
        return {"draft": self.id, "message": self.message, "at": self.made_at, "account": self.account}


def noted(note: JSON) -> Draft | None:
    """The draft that an earlier attempt noted, if any."""
    if not isinstance(note, dict):
        return None
    found = cast("dict[str, Any]", note)
    return Draft(str(found["draft"]), str(found.get("message", "")), float(found.get("at", 0.0)), found.get("account"))


def mark_of(key: str) -> str:
    """What stands in the mark: opaque to others, and the same for every attempt at an action."""
    return hashlib.sha256(f"pollux action {key}".encode()).hexdigest()[:40]


def says_the_same(ours: bytes, found: bytes) -> bool:
    """Whether a draft as Gmail keeps it is the mail that we would build: recipients, subject, texts, nothing added."""
    from email import message_from_bytes, policy

    built, kept = (message_from_bytes(raw, policy=policy.default) for raw in (ours, found))
    try:
        return (
            all(_HARMLESS.fullmatch(name.lower()) for name in kept.keys())  # noqa: SIM118  A message iterates otherwise.
            and all(_values(built, name) == _values(kept, name) for name in (*_APPROVED, MARK))
            and _texts(built) == _texts(kept)
        )
    except (LookupError, ValueError, TypeError, AttributeError):
        # The parser stumbles over some of what people can write: what cannot be read is not what we wrote.
        return False


def _values(mail: "EmailMessage", name: str) -> list[str]:
    return sorted(address for value in mail.get_all(name, []) for address in _addresses(value))


def _addresses(value: Any) -> list[str]:
    """The addresses of a header that has any, with their names; else its text."""
    listed: object = getattr(value, "addresses", None)
    return [str(value)] if listed is None else [str(address) for address in cast("tuple[object, ...]", listed)]


def _texts(mail: "EmailMessage") -> list[tuple[str, str]]:
    """Every part with its kind: an attachment counts as one, whatever it is."""
    parts: list[tuple[str, str]] = []
    for part in mail.walk():
        if not part.is_multipart():
            parts.append((part.get_content_type(), _text_of(part)))
    return parts


def _text_of(part: "Message") -> str:
    content: Any = cast("EmailMessage", part).get_content()
    text = content if isinstance(content, str) else repr(content)
    # Mail ends its lines in a way of its own, and may add one at the end.
    return "\n".join(text.splitlines()).rstrip("\n")
