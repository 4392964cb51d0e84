"""The emulator against Google's discovery documents: the same paths, verbs, scopes, parameters and fields."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.emulator.workspace import discovery
from tests.emulator.workspace.desk import CALENDAR, EVENT, GMAIL, MAIL, Desk, coded

from pollux.emulator.workspace import Workspace, calendar, gmail
from pollux.emulator.workspace.scopes import METHODS, WORDS, Method

# What may stand in a query that the methods' sources ask for.
ASKED = re.compile(r'call\.(?:asked|number|query\.get)\(\s*"(\w+)"')


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.id)
def test_a_method_is_where_google_has_it_for_whom_google_lets_in(method: Method):
    theirs = discovery.methods()[method.id]
    assert (method.verb, method.path) == (theirs["httpMethod"], theirs["path"])
    assert sorted(method.scopes) == sorted(theirs["scopes"])


def test_every_parameter_that_is_read_is_one_of_googles():
    for module, prefix in ((gmail, "gmail."), (calendar, "calendar.")):
        read = set(ASKED.findall(Path(str(module.__file__)).read_text("utf-8"))) | {"pageToken"}
        theirs = [discovery.methods()[one.id]["parameters"] for one in METHODS if one.id.startswith(prefix)]
        known = {name for parameters in theirs for name in parameters}
        assert read <= known and len(read) > 4


def test_the_scopes_on_the_page_are_googles():
    known = {scope for name in ("gmail.v1", "calendar.v3") for scope in _scopes(name)}
    assert set(WORDS) <= known


async def test_every_answer_has_the_fields_and_types_of_its_schema(workspace: Workspace, desk: Desk):
    seen: dict[str, list[str]] = {}
    for verb, path, body in await _story(desk):
        got = await desk.ask(verb, path, **({"json": body} if body is not None else {}))
        method = _method(verb, path)
        if got.status == 204:
            assert "response" not in method
            seen[method["id"]] = []
            continue
        assert got.status == 200, got.content
        schemas = discovery.document(method["document"])["schemas"]
        seen[method["id"]] = discovery.problems(got.json, method["response"], schemas)
    assert seen == {method.id: [] for method in METHODS}


async def test_what_the_check_itself_finds(desk: Desk):
    schemas = discovery.document("gmail.v1")["schemas"]
    wrong: dict[str, Any] = {"id": 7, "labels": [], "payload": {"parts": {}}, "historyId": "x"}
    found = discovery.problems(wrong, {"$ref": "Message"}, schemas)
    assert found == [
        ".id is 7, not a string",
        ".labels is not there",
        ".payload.parts is no list",
        ".historyId is 'x', no number",
    ]


async def _story(desk: Desk) -> list[tuple[str, str, Any]]:
    """One call of each method, with all that its answer can hold."""
    html = (
        b"\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: text/html\r\n\r\n<b>b</b>\r\n--x--"
    )
    message = {"raw": coded(MAIL.replace(b"\r\n\r\nA word.\r\n", html))}
    first, second = await desk.draft(), await desk.draft()
    sent = (await desk.send()).json
    event = {
        **EVENT,
        "description": "Words",
        "location": "Room 4",
        "attendees": [{"email": "demo@example.com", "displayName": "Demo", "optional": True}],
        "extendedProperties": {"private": {"polluxAction": "a1"}},
        "recurrence": ["RRULE:FREQ=DAILY;COUNT=2"],
        "reminders": {"useDefault": False, "overrides": [{"method": "email", "minutes": 10}]},
        "guestsCanModify": True,
    }
    return [
        ("GET", f"{GMAIL}/profile", None),
        ("POST", f"{GMAIL}/drafts", {"message": message}),
        ("PUT", f"{GMAIL}/drafts/{first}", {"message": message}),
        ("GET", f"{GMAIL}/drafts/{first}?format=full", None),
        ("GET", f"{GMAIL}/drafts?maxResults=1", None),
        ("POST", f"{GMAIL}/drafts/send", {"id": first}),
        ("DELETE", f"{GMAIL}/drafts/{second}", None),
        ("POST", f"{GMAIL}/messages/send", message),
        ("GET", f"{GMAIL}/messages?maxResults=1", None),
        ("GET", f"{GMAIL}/messages/{sent['id']}?format=full", None),
        ("GET", f"{GMAIL}/threads/{sent['threadId']}", None),
        ("POST", f"{CALENDAR}?sendUpdates=all", event),
        ("PATCH", f"{CALENDAR}/abcde12345", {"summary": "Moved"}),
        ("GET", f"{CALENDAR}/abcde12345", None),
        ("GET", CALENDAR, None),
        ("DELETE", f"{CALENDAR}/abcde12345", None),
    ]


def _method(verb: str, path: str) -> dict[str, Any]:
    """The method that a request is by Google's documents, not by ours. Words go before values."""
    plain = path.partition("?")[0].removeprefix("/")
    fits = [
        method
        for method in discovery.methods().values()
        if method["httpMethod"] == verb and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", method["path"]), plain)
    ]
    return min(fits, key=lambda method: method["path"].count("{"))


def _scopes(name: str) -> set[str]:
    return set(discovery.document(name)["auth"]["oauth2"]["scopes"])
