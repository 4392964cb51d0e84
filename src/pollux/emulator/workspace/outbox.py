"""The outbox: what left through the emulator, for a person to look at. HTML in a mail is shown as its source."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from html import escape
from typing import Any

from pollux.emulator.answer import Answer
from pollux.emulator.jsons import objects
from pollux.emulator.workspace import mime, times
from pollux.emulator.workspace.ledger import Entry
from pollux.emulator.workspace.mailbox import Mail
from pollux.emulator.workspace.page import page

_SHOWN = 500
_LONGEST = 100_000
_WORDS = {
    "gmail.users.drafts.send": "mail",
    "gmail.users.messages.send": "mail",
    "calendar.events.insert": "event",
    "calendar.events.patch": "event changed",
    "calendar.events.delete": "event deleted",
}


def index(entries: list[Entry]) -> Answer:
    """Everything that left, newest first."""
    rows = "".join(_row(entry) for entry in reversed(entries[-_SHOWN:]))
    body = f'<ol class="rows">{rows}</ol>' if rows else "<p>Nothing was sent yet.</p>"
    return page("Outbox", body)


def one_mail(mail: Mail, entry: Entry) -> Answer:
    """One mail as its recipients and its sender have it."""
    message = mime.parse(mail.raw)
    known = ("From", "To", "Cc", "Bcc", "Subject", "Date")
    head = [(name, mime.header(message, name)) for name in known if mime.header(message, name)]
    facts = [*head, ("Message", mail.id), ("Thread", mail.thread), ("SHA-256 as given", entry.sha256)]
    source = mail.raw.decode("utf-8", "replace")
    parts = [part for part in message.walk() if not part.is_multipart()]
    bodies = "".join(_body(part.get_content_type(), part.get_filename() or "", mime.text(part)) for part in parts)
    whole = f'<details class="box"><summary>Source</summary><pre>{escape(source[:_LONGEST])}</pre></details>'
    return page(mime.header(message, "Subject") or "(no subject)", _facts(facts) + bodies + whole)


def one_event(event: Mapping[str, Any], entry: Entry, account: str) -> Answer:
    """One event of a calendar."""
    attendees = ", ".join(str(one.get("email", "")) for one in objects(event.get("attendees")))
    ends = [(name.title(), _time(event[name])) for name in ("start", "end")]
    facts = [
        ("Calendar", account),
        ("Status", str(event.get("status", ""))),
        *ends,
        ("Attendees", attendees or "nobody else"),
        ("Location", str(event.get("location", ""))),
        ("Event", str(event.get("id", ""))),
        ("SHA-256 as given", entry.sha256),
    ]
    words = _body("description", "", str(event["description"])) if event.get("description") else ""
    return page(str(event.get("summary", "")) or "(no title)", _facts(facts) + words)


def none(id: str) -> Answer:
    """There is no such thing (any more)."""
    return page("Not in the outbox", f"<p>Nothing here is called <code>{escape(id)}</code>.</p>", status=404)


def start(url: str, accounts: Iterable[str]) -> Answer:
    """The first page: how to point Pollux here, and where to look."""
    known = "".join(f"<li>{escape(account)}</li>" for account in accounts)
    names = ("POLLUX_GMAIL_BASE_URL", "POLLUX_CALENDAR_BASE_URL", "POLLUX_GOOGLE_OAUTH_BASE_URL")
    lines = [*(f"export {name}={url}" for name in names)]
    lines += ["export POLLUX_GOOGLE_CLIENT_ID=demo", "export POLLUX_GOOGLE_CLIENT_SECRET=demo"]
    body = (
        "<p>Google's OAuth, Gmail and Calendar, as far as Pollux needs them, on this machine. "
        "Point Pollux here with these settings:</p>"
        f'<div class="box"><pre>{escape(chr(10).join(lines))}</pre></div>'
        '<p>Then look at the <a href="/outbox">outbox</a>, the <a href="/_emulator/ledger">ledger</a>, '
        'the <a href="/_emulator/requests">requests</a> and the <a href="/_emulator/faults">faults</a>.</p>'
        f"<h2>Accounts</h2>{f'<ul>{known}</ul>' if known else '<p>Nobody has connected yet.</p>'}"
    )
    return page("Gmail and Calendar, here", body)


def _row(entry: Entry) -> str:
    seen = ", ".join((*entry.to, *entry.cc))
    people = " · ".join([*([seen] if seen else []), *(f"Bcc {one}" for one in entry.bcc)]) or "nobody else"
    return (
        f'<li><div class="row"><a href="/outbox/{escape(entry.id)}">{escape(entry.subject) or "(no subject)"}</a>'
        f'<span class="badge">{_WORDS.get(entry.method, entry.method)}</span></div>'
        f'<div class="row dim"><span>{escape(people)}</span><time>{_at(entry.time)}</time></div></li>'
    )


def _facts(facts: list[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<dt>{escape(k)}</dt><dd>{escape(v)}</dd>' for k, v in facts if v)}</dl>"


def _body(kind: str, name: str, text: str) -> str:
    label = f"{kind} {name}".strip()
    return f'<p class="dim">{escape(label)}</p><div class="box"><pre>{escape(text[:_LONGEST])}</pre></div>'


def _time(value: Mapping[str, str]) -> str:
    """In the zone it was given in: that is how whoever made it thinks of it."""
    if "dateTime" not in value:
        return value["date"]
    zone = value["timeZone"]
    return f"{times.read(value, which='start').shown(zone)['dateTime'].replace('T', ' ')} ({zone})"


def _at(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
