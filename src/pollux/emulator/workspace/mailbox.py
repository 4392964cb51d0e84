"""One account's mail: drafts, what was sent, what arrived. Plain state and the rules that Gmail keeps about it.

Law: nothing here waits, so a draft becomes a sent mail in one step that nobody can see half of.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime

from pollux.core.frozen import frozen
from pollux.emulator.workspace import mime
from pollux.emulator.workspace.made import Made
from pollux.emulator.workspace.refusal import invalid, not_found

_KEPT = 10_000
_KEPT_BYTES = 64 * 1024 * 1024


@frozen
class Mail:
    """One message of a mailbox. `given` is what the caller handed in, before anything was filled in."""

    id: str
    thread: str
    labels: tuple[str, ...]
    raw: bytes
    given: bytes
    time: float
    history: int

    def header(self, name: str) -> str:
        """One header, readable; empty when there is none."""
        return mime.header(mime.parse(mime.head(self.raw)), name)


class Mailbox:
    """The mail of one address."""

    def __init__(self, address: str, made: Made) -> None:
        self.address = address
        self.drafts: dict[str, str] = {}
        self.mails: dict[str, Mail] = {}
        self._made = made

    @property
    def history(self) -> int:
        """The newest change."""
        return max((mail.history for mail in self.mails.values()), default=1)

    def newest_first(self) -> Iterator[Mail]:
        """Every mail, drafts among them."""
        return reversed(self.mails.values())

    def mail(self, id: str) -> Mail:
        """One mail. Raises Refusal (404)."""
        if id not in self.mails:
            raise not_found() if re.fullmatch(r"[0-9a-f]{1,16}", id) else invalid("Invalid id value")
        return self.mails[id]

    def thread(self, id: str) -> list[Mail]:
        """The mails of a thread, oldest first. Raises Refusal (404)."""
        if not (found := [mail for mail in self.mails.values() if mail.thread == id]):
            raise not_found()
        return found

    def draft(self, id: str) -> Mail:
        """A draft's mail. Raises Refusal (404)."""
        if id not in self.drafts:
            raise not_found()
        return self.mails[self.drafts[id]]

    def keep_draft(self, raw: bytes, *, thread: str, now: float, id: str | None = None) -> str:
        """Write a draft, or write one anew; its mail has a new id each time. Raises Refusal."""
        if id is not None:
            thread = thread or self.draft(id).thread
        mail = self._mail(raw, raw, thread=thread, labels=("DRAFT",), now=now)
        if id is not None:
            del self.mails[self.drafts[id]]
        draft = id or f"r{int(self._made.hex(raw), 16)}"
        self.drafts[draft] = mail.id
        self._add(mail)
        return draft

    def drop_draft(self, id: str) -> None:
        """Delete a draft, for good. Raises Refusal (404)."""
        self.draft(id)
        del self.mails[self.drafts.pop(id)]

    def outgoing(self, raw: bytes, *, thread: str, now: float) -> Mail:
        """The mail that would be sent: sender, date and identity filled in by the service. Raises Refusal."""
        whole = mime.split(raw)
        sender = mime.addresses(mime.parse(raw), "from")
        if [one.lower() for one in sender or ()] != [self.address]:
            whole = whole.without("From").under("From", self.address)
        if not whole.has("Date"):
            whole = whole.under("Date", format_datetime(datetime.fromtimestamp(now, UTC)))
        if not whole.has("MIME-Version"):
            whole = whole.under("MIME-Version", "1.0")
        # The service names a mail itself, whatever name it came with.
        name = f"<CA{self._made.hex(raw)}{self._made.hex(raw)}@mail.gmail.com>"
        whole = whole.without("Message-ID", "Return-Path", "Received").under("Message-ID", name)
        mine = ("SENT",) if self.address not in _recipients(raw) else ("UNREAD", "SENT", "INBOX")
        return self._mail(whole.raw, raw, thread=thread, labels=mine, now=now)

    def send(self, mail: Mail, *, draft: str | None = None) -> None:
        """Keep what was sent; the draft it was is gone in the same step."""
        if draft is not None:
            self.drop_draft(draft)
        self._add(mail)

    def receive(self, sent: Mail) -> None:
        """Take in somebody else's mail, without its secret recipients."""
        raw = mime.split(sent.raw).without("Bcc").raw
        mail = self._mail(raw, raw, thread="", labels=("UNREAD", "INBOX"), now=sent.time)
        self._add(replace(mail, thread=self._thread_of(raw) or mail.thread))

    def _mail(self, raw: bytes, given: bytes, *, thread: str, labels: tuple[str, ...], now: float) -> Mail:
        if thread and not any(mail.thread == thread for mail in self.mails.values()):
            raise not_found()
        id = self._made.hex(raw)
        # A mail joins the thread that was asked for only if it is an answer in it; else it begins its own.
        joined = thread if thread and (labels == ("DRAFT",) or self._answers(raw, thread)) else ""
        return Mail(id, joined or id, labels, raw, given, now, self._made.count())

    def _answers(self, raw: bytes, thread: str) -> bool:
        message = mime.parse(mime.head(raw))
        others = [mail for mail in self.mails.values() if mail.thread == thread and "DRAFT" not in mail.labels]
        if not others:
            return True
        subjects = {_bare(mail.header("Subject")) for mail in others}
        refers = bool(mime.header(message, "In-Reply-To") or mime.header(message, "References"))
        return refers and _bare(mime.header(message, "Subject")) in subjects

    def _thread_of(self, raw: bytes) -> str:
        message = mime.parse(mime.head(raw))
        named = f"{mime.header(message, 'In-Reply-To')} {mime.header(message, 'References')}".split()
        return next((mail.thread for mail in self.mails.values() if mail.header("Message-ID") in named), "")

    def _add(self, mail: Mail) -> None:
        self.mails[mail.id] = mail
        if len(self.mails) > _KEPT or sum(len(one.raw) for one in self.mails.values()) > _KEPT_BYTES:
            self._forget()

    def _forget(self) -> None:
        """Drop the older half: a server left running must not grow without end."""
        for id in list(self.mails)[: len(self.mails) // 2]:
            del self.mails[id]
        self.drafts = {draft: id for draft, id in self.drafts.items() if id in self.mails}


def _recipients(raw: bytes) -> set[str]:
    message = mime.parse(mime.head(raw))
    return {address.lower() for name in ("to", "cc", "bcc") for address in mime.addresses(message, name) or ()}


def _bare(subject: str) -> str:
    return re.sub(r"^(\s*(re|fwd?|aw|wg)\s*:)+", "", subject, flags=re.IGNORECASE).strip().lower()
