"""Calendar's methods: events of the primary calendar.

Law: an id that a client chose is taken for ever. A deleted event keeps it, cancelled, and a second insert is a 409.
"""

import re
from collections.abc import Callable
from typing import Any

from pollux.emulator.jsons import canonical, is_list, is_object, objects
from pollux.emulator.workspace import times
from pollux.emulator.workspace.call import Call
from pollux.emulator.workspace.ledger import Entry, digest
from pollux.emulator.workspace.refusal import Refusal, Said, invalid, not_found

ZONE = "UTC"
"""The calendar's own: whatever zone an event came with, its times are told in this one, as Google does."""
_KEPT = 10_000
_ADDRESS = re.compile(r"[^\s@<>,;:\"()]+@[^\s@<>,;:\"()]+")
_TEXTS = ("summary", "description", "location", "colorId", "transparency", "visibility")
_KINDS: dict[str, type] = {
    **dict.fromkeys(_TEXTS, str),
    "extendedProperties": dict,
    "recurrence": list,
    "source": dict,
    "reminders": dict,
    "guestsCanModify": bool,
    "guestsCanInviteOthers": bool,
}
_ATTENDEE: dict[str, type] = {"displayName": str, "optional": bool, "comment": str, "responseStatus": str}
_UPDATES = ("all", "externalOnly", "none")

Events = dict[str, dict[str, Any]]


def answer(call: Call) -> dict[str, Any] | None:
    """Do what was asked; None is an answer without a body. Raises Refusal."""
    if call.values["calendarId"] not in ("primary", call.account):
        raise not_found("Not Found")
    if call.asked("sendUpdates", "none") not in _UPDATES:
        raise _bad_parameter("sendUpdates", call.asked("sendUpdates"))
    return _METHODS[call.method](call, call.accounts.events(call.account))


def _insert(call: Call, events: Events) -> dict[str, Any]:
    body = call.object()
    id = body.get("id") or call.made.hex(canonical(body))
    if not isinstance(id, str) or not re.fullmatch(r"[a-v0-9]{5,1024}", id):
        raise invalid("Invalid resource id value.", reason="invalid")
    event = _event(call, body, id=id)
    if id in events:
        raise Refusal(Said(409, "The requested identifier already exists.", "duplicate"))
    _record(call, event, sha256=digest(canonical(body)))
    events[id] = event
    if len(events) > _KEPT:
        del events[next(iter(events))]
    return _told(call, event)


def _get(call: Call, events: Events) -> dict[str, Any]:
    return _told(call, _found(call, events))


def _patch(call: Call, events: Events) -> dict[str, Any]:
    body, old = call.object(), _alive(call, events)
    merged = {key: value for key, value in ({**old, **body}).items() if value is not None}
    event = {**_event(call, merged, id=old["id"]), "created": old["created"], "sequence": old["sequence"] + 1}
    _record(call, event, sha256=digest(canonical(body)))
    events[old["id"]] = event
    return _told(call, event)


def _delete(call: Call, events: Events) -> None:
    event = _alive(call, events)
    _record(call, event, sha256=digest(b""))
    events[event["id"]] = {**event, "status": "cancelled", "updated": times.stamp(call.now), "etag": _etag(call)}


def _list(call: Call, events: Events) -> dict[str, Any]:
    after = times.moment(call.asked("timeMin")) if call.asked("timeMin") else None
    before = times.moment(call.asked("timeMax")) if call.asked("timeMax") else None
    if any(edge is not None and edge.tzinfo is None for edge in (after, before)):
        raise invalid("Bad Request", reason="badRequest")
    found = [e for e in events.values() if _wanted(call, e) and times.overlaps(e, after=after, before=before)]
    start, size = call.page(), call.number("maxResults", default=250, largest=2500)
    page = found[start : start + size]
    more = {"nextPageToken": str(start + size)} if start + size < len(found) else {"nextSyncToken": _etag(call)}
    return {
        "kind": "calendar#events",
        "etag": _etag(call),
        "summary": call.account,
        "updated": max((event["updated"] for event in found), default=times.stamp(call.now)),
        "timeZone": ZONE,
        "accessRole": "owner",
        "defaultReminders": [{"method": "popup", "minutes": 30}],
        "items": [_told(call, event) for event in page],
        **more,
    }


_METHODS: dict[str, Callable[[Call, Events], dict[str, Any] | None]] = {
    "calendar.events.insert": _insert,
    "calendar.events.get": _get,
    "calendar.events.list": _list,
    "calendar.events.patch": _patch,
    "calendar.events.delete": _delete,
}


def _event(call: Call, body: dict[str, Any], *, id: str) -> dict[str, Any]:
    start, end = times.read(body.get("start"), which="start"), times.read(body.get("end"), which="end")
    times.check(start, end)
    taken = _typed(body, _KINDS)
    if not all(is_object(one) for one in taken.get("extendedProperties", {}).values()):
        raise invalid("Invalid value for: extendedProperties", reason="parseError")
    mine = {"email": call.account, "self": True}
    stamp = times.stamp(call.now)
    attendees = {"attendees": _attendees(call, body["attendees"])} if body.get("attendees") else {}
    return {
        "kind": "calendar#event",
        "etag": _etag(call),
        "id": id,
        "status": "confirmed",
        "htmlLink": f"https://www.google.com/calendar/event?eid={id}",
        "created": stamp,
        "updated": stamp,
        **taken,
        "creator": mine,
        "organizer": mine,
        "start": start.shown(ZONE),
        "end": end.shown(ZONE),
        **attendees,
        "iCalUID": f"{id}@google.com",
        "sequence": 0,
        "reminders": taken.get("reminders") or {"useDefault": True},
        "eventType": "default",
    }


def _attendees(call: Call, value: object) -> list[dict[str, Any]]:
    if not is_list(value) or len(value) > 200:
        raise invalid("Invalid attendees: a list of at most 200 is wanted.", reason="invalid")
    told: list[dict[str, Any]] = []
    for one in value:
        email = one.get("email") if is_object(one) else None
        if not isinstance(email, str) or not _ADDRESS.fullmatch(email):
            raise invalid("Invalid attendee email.", reason="invalid")
        own = {"organizer": True, "self": True} if email == call.account else {}
        told.append({"email": email, "responseStatus": "needsAction", **own, **_typed(one, _ATTENDEE)})
    return told


def _typed(body: dict[str, Any], kinds: dict[str, type]) -> dict[str, Any]:
    """The known fields of a body, each of its kind. Raises Refusal."""
    given = {name: body[name] for name in kinds if body.get(name) not in (None, "")}
    for name, value in given.items():
        if not isinstance(value, kinds[name]):
            raise invalid(f"Invalid value for: {name} is not of its type", reason="parseError")
    return given


def _record(call: Call, event: dict[str, Any], *, sha256: str) -> None:
    to = tuple(str(one["email"]) for one in objects(event.get("attendees")))
    subject = str(event.get("summary", ""))
    entry = Entry(
        time=call.now, service="calendar", method=call.method, id=event["id"], to=to, subject=subject, sha256=sha256
    )
    call.ledger.write(entry)


def _found(call: Call, events: Events) -> dict[str, Any]:
    if call.values["eventId"] not in events:
        raise not_found("Not Found")
    return events[call.values["eventId"]]


def _alive(call: Call, events: Events) -> dict[str, Any]:
    event = _found(call, events)
    if event["status"] == "cancelled":
        raise Refusal(Said(410, "Resource has been deleted", "deleted"))
    return event


def _wanted(call: Call, event: dict[str, Any]) -> bool:
    if event["status"] == "cancelled" and call.asked("showDeleted") != "true":
        return False
    own = event.get("extendedProperties", {})
    private: dict[str, Any] = own.get("private", {}) if is_object(own) else {}
    for pair in call.query.get("privateExtendedProperty", []):
        name, _, value = pair.partition("=")
        if private.get(name) != value:
            return False
    if call.asked("iCalUID") not in ("", event["iCalUID"]):
        return False
    words = call.asked("q").lower()
    return words in " ".join(str(event.get(name, "")) for name in _TEXTS[:3]).lower()


def _told(call: Call, event: dict[str, Any]) -> dict[str, Any]:
    """The event with its times in the zone that was asked for."""
    zone = call.asked("timeZone") or ZONE
    if not times.is_zone(zone):
        raise _bad_parameter("timeZone", zone)
    ends = {name: times.read(event[name], which=name).shown(zone) for name in ("start", "end")}
    return {**event, **ends}


def _etag(call: Call) -> str:
    return f'"{call.made.hex(call.content)}"'


def _bad_parameter(name: str, value: str) -> Refusal:
    words = f"Invalid value: {value}" if value else f"Missing value: {name}"
    return Refusal(Said(400, words, "invalidParameter", place=("parameter", name)))
