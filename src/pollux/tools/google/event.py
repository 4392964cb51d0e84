"""calendar_event_create as the model and the policy see it, and the event as Google's API takes it."""

import re
from datetime import UTC, date, datetime
from typing import Any

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.tools.define import Args
from pollux.tools.google import address, glance, header, times
from pollux.tools.google.message import texts

NAME = "calendar_event_create"
DESCRIPTION = (
    "Create an event in the user's primary Google Calendar, at once, and invite its attendees. The user is asked first "
    "unless every attendee is one they always allow."
)
MAX_ATTENDEES = 100
"""Google takes 200; nobody can judge so many at a glance."""
MAX_LINE = 1_000
MAX_DESCRIPTION = 8_000
_ID = re.compile(r"[0-9a-v]{5,1024}")
_ADDRESS: JSON = {"type": "string", "maxLength": 1_000}
_WHEN = "such as 2027-03-01T14:00 (with timeZone), 2027-03-01T14:00:00+01:00, or 2027-03-01 for whole days"

SCHEMA: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "description": "one line of plain text"},
        "start": {"type": "string", "description": f"when it begins, {_WHEN}"},
        "end": {"type": "string", "description": "when it ends, likewise; for whole days the day after the last"},
        "timeZone": {"type": "string", "description": "an IANA name such as Europe/Berlin"},
        "attendees": {
            "anyOf": [{"type": "array", "items": _ADDRESS, "maxItems": MAX_ATTENDEES}, _ADDRESS],
            "description": "whom to invite: plain addresses such as bob@example.com; one may be given as text",
        },
        "location": {"type": "string", "description": "one line of plain text"},
        "description": {"type": "string", "description": "plain text, of many lines if need be"},
        "notify": {
            "enum": ["all", "none"],
            "description": "whether Google sends invitations; all is usual when there are attendees",
        },
    },
    "required": ["title", "start", "end"],
    "additionalProperties": False,
}
_NAMES = frozenset({"title", "start", "end", "timeZone", "attendees", "location", "description", "notify"})


def prepare(args: Args, *, today: date | None = None) -> Args:
    """The arguments in the one form that is shown, hashed and sent. Raises ValidationError.

    Empty options are left away; `notify` is always there, so that it is shown and cannot change afterwards.
    """
    unknown = args.keys() - _NAMES
    if unknown:
        raise ValidationError(f"expected only {', '.join(sorted(_NAMES))}, found {len(unknown)} others")
    title = header.line(args.get("title", ""), name="title", limit=MAX_LINE)
    if not title:
        raise ValidationError("title: expected one line of text, found nothing")
    today = today or datetime.now(UTC).date()
    span = times.span(args.get("start"), args.get("end"), args.get("timeZone"), today=today)
    attendees = address.parse_all(args.get("attendees"), name="attendees", limit=MAX_ATTENDEES)
    optional: Args = {
        "timeZone": span.zone,
        "attendees": list[JSON](attendees),
        "location": header.line(args.get("location") or "", name="location", limit=MAX_LINE),
        "description": header.lines(args.get("description") or "", name="description", limit=MAX_DESCRIPTION),
    }
    given = {name: value for name, value in optional.items() if value}
    return {"title": title, "start": span.start, "end": span.end, **given, "notify": _notify(args, attendees)}


def subjects(args: Args) -> frozenset[str]:
    """Everybody who is invited. An event without attendees has nobody, and no grant covers it."""
    return frozenset(texts(args.get("attendees")))


def preview(args: Args) -> str:
    """One glance: what, when, with whom, and whether they hear of it."""
    attendees = texts(args.get("attendees"))
    description = str(args.get("description", ""))
    told = "They get an invitation by mail." if args["notify"] == "all" else "They are not told."
    head = [
        f"Event: {glance.excerpt(str(args['title']), limit=300)}",
        f"When: {times.told(_span(args))}",
        glance.people("Attendees", attendees) or "No attendees",
        told if attendees else "",
        f"Where: {glance.excerpt(str(args['location']), limit=300)}" if "location" in args else "",
        glance.links(str(args["title"]), str(args.get("location", "")), description),
    ]
    room = glance.LIMIT - len(glance.fitted(head)) - 100
    return glance.fitted([*head, f"\n{glance.excerpt(description, limit=room)}" if description else ""])


def resource(args: Args, *, id: str) -> dict[str, Any]:
    """The event that Calendar's `events.insert` takes, under an id of our own: base32hex, 5 to 1,024 characters."""
    if not _ID.fullmatch(id):
        raise ValidationError("expected an event id of 5 to 1,024 characters of 0-9 and a-v")
    span = _span(args)
    body: dict[str, Any] = {
        "id": id,
        "summary": args["title"],
        "start": _moment(span.start, span),
        "end": _moment(span.end, span),
        "extendedProperties": {"private": {"polluxAction": id}},
    }
    for name in ("location", "description"):
        if name in args:
            body[name] = args[name]
    if attendees := texts(args.get("attendees")):
        body["attendees"] = [{"email": who} for who in attendees]
    return body


def _span(args: Args) -> times.Span:
    return times.Span(str(args["start"]), str(args["end"]), str(args.get("timeZone", "")))


def _moment(when: str, span: times.Span) -> dict[str, str]:
    if span.is_days:
        return {"date": when}
    return {"dateTime": when, "timeZone": span.zone} if span.zone else {"dateTime": when}


def _notify(args: Args, attendees: list[str]) -> str:
    """Whether Google writes to the attendees. Without any there is nobody to write to."""
    notify = args.get("notify", "all")
    if notify not in ("all", "none"):
        raise ValidationError("notify: expected all or none")
    return str(notify) if attendees else "none"
