"""The scopes that can be asked for here, in plain words, and what each API method wants of them.

Law: the lists are those of Google's discovery documents; a test compares them.
"""

import re

from pollux.core.frozen import frozen

_AUTH = "https://www.googleapis.com/auth/"
MAIL = "https://mail.google.com/"
METADATA = f"{_AUTH}gmail.metadata"
EMAIL, PROFILE = f"{_AUTH}userinfo.email", f"{_AUTH}userinfo.profile"
# Google answers with the long name of what was asked for by the short one.
LONG = {"email": EMAIL, "profile": PROFILE}
IDENTITY = {
    "openid": "know who you are on Google",
    EMAIL: "see your address",
    PROFILE: "see your name and picture",
}
WORDS = {
    MAIL: "Read, write, send and delete all your mail",
    f"{_AUTH}gmail.modify": "Read, write and send mail",
    f"{_AUTH}gmail.compose": "Manage drafts and send mail",
    f"{_AUTH}gmail.send": "Send mail on your behalf",
    f"{_AUTH}gmail.readonly": "Read your mail and its settings",
    METADATA: "See the headers and labels of your mail, but not its text",
    f"{_AUTH}gmail.insert": "Add mail to your mailbox",
    f"{_AUTH}gmail.labels": "See and change your labels",
    f"{_AUTH}calendar": "See, change, share and delete all your calendars",
    f"{_AUTH}calendar.readonly": "See all your calendars",
    f"{_AUTH}calendar.app.created": "Make secondary calendars, and change their events",
    f"{_AUTH}calendar.events": "See and change events in all your calendars",
    f"{_AUTH}calendar.events.owned": "See and change events in calendars that you own",
    f"{_AUTH}calendar.events.owned.readonly": "See events in calendars that you own",
    f"{_AUTH}calendar.events.public.readonly": "See events in public calendars",
    f"{_AUTH}calendar.events.freebusy": "See when you are free",
    f"{_AUTH}calendar.events.readonly": "See events in all your calendars",
}


@frozen
class Method:
    """One method of an API: its name, verb, path and scopes, any of which will do."""

    id: str
    verb: str
    path: str
    scopes: tuple[str, ...]

    def match(self, path: str) -> dict[str, str] | None:
        """The path's own values, or None when it is another path."""
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(f"/{self.path}"))
        found = re.fullmatch(pattern, path)
        return found.groupdict() if found else None


def find(verb: str, path: str) -> tuple[Method, dict[str, str]] | None:
    """The method of a request, and the values in its path."""
    for method in METHODS:
        if method.verb == verb and (values := method.match(path)) is not None:
            return method, values
    return None


def known(scope: str) -> bool:
    """Can this be asked for?"""
    return scope in IDENTITY or scope in WORDS


def _gmail(*names: str) -> tuple[str, ...]:
    return MAIL, *(f"{_AUTH}gmail.{name}" for name in names)


_ADDON = "addons.current"
_WRITE = _gmail(f"{_ADDON}.action.compose", "compose", "modify")
_DRAFTS = _gmail("compose", "modify", "readonly")
_LIST = _gmail("metadata", "modify", "readonly")
_MESSAGE = _gmail(
    *(f"{_ADDON}.message.{right}" for right in ("action", "metadata", "readonly")), *("metadata", "modify", "readonly")
)
_CHANGE = tuple(
    f"{_AUTH}{name}" for name in ("calendar", "calendar.app.created", "calendar.events", "calendar.events.owned")
)
_SEE = (
    *_CHANGE[:3],
    *(
        f"{_AUTH}calendar.{name}"
        for name in (
            "events.freebusy",
            "events.owned",
            "events.owned.readonly",
            "events.public.readonly",
            "events.readonly",
            "readonly",
        )
    ),
)

_USER = "gmail/v1/users/{userId}"
_EVENTS = "calendar/v3/calendars/{calendarId}/events"
METHODS = (
    Method("gmail.users.getProfile", "GET", f"{_USER}/profile", _gmail("compose", "metadata", "modify", "readonly")),
    Method("gmail.users.drafts.create", "POST", f"{_USER}/drafts", _WRITE),
    Method("gmail.users.drafts.list", "GET", f"{_USER}/drafts", _DRAFTS),
    Method("gmail.users.drafts.send", "POST", f"{_USER}/drafts/send", _WRITE),
    Method("gmail.users.drafts.get", "GET", f"{_USER}/drafts/{{id}}", _DRAFTS),
    Method("gmail.users.drafts.update", "PUT", f"{_USER}/drafts/{{id}}", _WRITE),
    Method("gmail.users.drafts.delete", "DELETE", f"{_USER}/drafts/{{id}}", _WRITE),
    Method("gmail.users.messages.list", "GET", f"{_USER}/messages", _LIST),
    Method("gmail.users.messages.send", "POST", f"{_USER}/messages/send", (*_WRITE, f"{_AUTH}gmail.send")),
    Method("gmail.users.messages.get", "GET", f"{_USER}/messages/{{id}}", _MESSAGE),
    Method("gmail.users.threads.get", "GET", f"{_USER}/threads/{{id}}", _MESSAGE),
    Method("calendar.events.insert", "POST", _EVENTS, _CHANGE),
    Method("calendar.events.list", "GET", _EVENTS, _SEE),
    Method("calendar.events.get", "GET", f"{_EVENTS}/{{eventId}}", _SEE),
    Method("calendar.events.patch", "PATCH", f"{_EVENTS}/{{eventId}}", _CHANGE),
    Method("calendar.events.delete", "DELETE", f"{_EVENTS}/{{eventId}}", _CHANGE),
)
