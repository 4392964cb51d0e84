"""Calendar: an id that was chosen is taken for ever, times are told in the calendar's zone, mistakes are refused."""

from typing import Any

import pytest
from tests.emulator.workspace.desk import CALENDAR, COMPOSE, EVENT, Desk

from pollux.emulator.workspace import Workspace

NINE, TEN = {"dateTime": "2026-11-16T09:00:00+01:00"}, {"dateTime": "2026-11-16T10:00:00+01:00"}


async def test_an_event_is_made_and_found_again(workspace: Workspace, desk: Desk):
    made = await desk.insert(extendedProperties={"private": {"polluxAction": "a1"}}, location="Room 4")
    assert made.status == 200 and made.json["status"] == "confirmed"
    assert made.json["attendees"] == [{"email": "ann@example.com", "responseStatus": "needsAction"}]
    assert made.json["organizer"] == {"email": "demo@example.com", "self": True}
    got = await desk.get(f"{CALENDAR}/abcde12345")
    assert got.json == made.json
    assert [entry.to for entry in workspace.ledger] == [("ann@example.com",)]


async def test_times_come_back_in_the_calendars_zone_or_the_one_asked_for(desk: Desk):
    made = await desk.insert()
    assert made.json["start"] == {"dateTime": "2026-11-16T08:00:00Z", "timeZone": "Europe/Berlin"}
    told = await desk.get(f"{CALENDAR}/abcde12345", timeZone="America/New_York")
    assert told.json["start"]["dateTime"] == "2026-11-16T03:00:00-05:00"
    days = await desk.insert({"start": {"date": "2026-11-16"}, "end": {"date": "2026-11-17"}})
    assert days.json["start"] == {"date": "2026-11-16"}


async def test_an_id_is_taken_for_ever(workspace: Workspace, desk: Desk):
    assert (await desk.insert()).status == 200
    assert (await desk.insert(summary="Other")).status == 409
    assert (await desk.ask("DELETE", f"{CALENDAR}/abcde12345")).status == 204
    again = await desk.insert()
    assert (again.status, again.reason) == (409, "duplicate")
    assert (await desk.get(f"{CALENDAR}/abcde12345")).json["status"] == "cancelled"
    assert (await desk.ask("DELETE", f"{CALENDAR}/abcde12345")).status == 410
    assert [entry.method for entry in workspace.ledger] == ["calendar.events.insert", "calendar.events.delete"]


async def test_without_an_id_one_is_made(desk: Desk):
    bare = {key: value for key, value in EVENT.items() if key != "id"}
    one, two = await desk.insert(bare), await desk.insert(bare)
    assert one.json["id"] != two.json["id"]


async def test_an_event_is_changed_in_part(desk: Desk):
    await desk.insert(location="Room 4")
    got = await desk.ask("PATCH", f"{CALENDAR}/abcde12345", json={"summary": "Moved", "location": None})
    assert got.json["summary"] == "Moved" and "location" not in got.json and got.json["sequence"] == 1
    assert (await desk.ask("PATCH", f"{CALENDAR}/other", json={})).status == 404


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"id": "abc"}, "Invalid resource id value."),
        ({"id": "UPPER12"}, "Invalid resource id value."),
        ({"id": "a-b-c-d"}, "Invalid resource id value."),
        ({"id": "wxyz1"}, "Invalid resource id value."),
        ({"id": "a" * 1025}, "Invalid resource id value."),
        ({"id": 12345}, "Invalid resource id value."),
        ({"start": None}, "Missing start time."),
        ({"end": None}, "Missing end time."),
        ({"end": {"timeZone": "UTC"}}, "Missing end time."),
        ({"start": TEN, "end": NINE}, "The specified time range is empty."),
        ({"start": {"dateTime": "2026-11-16T09:00:00"}}, "Missing time zone definition for start time."),
        ({"start": {**NINE, "timeZone": "Mars/Olympus"}}, "Invalid time zone definition for start time."),
        ({"start": {**NINE, "timeZone": "../../etc/passwd"}}, "Invalid time zone definition for start time."),
        ({"start": {"dateTime": "tomorrow at nine"}}, "Bad Request"),
        ({"start": {"dateTime": "2026-02-30T09:00:00Z"}}, "Bad Request"),
        ({"start": {"dateTime": "0001-01-01T00:00:00+14:00"}}, "Bad Request"),
        ({"start": {"date": "2026-02-30"}}, "Bad Request"),
        ({"start": {"date": "2026-11-16"}}, "both be date or both be dateTime"),
        ({"attendees": [{"email": "ann"}]}, "Invalid attendee email."),
        ({"attendees": ["ann@example.com"]}, "Invalid attendee email."),
        ({"attendees": [{"email": "a@b.example"}] * 201}, "at most 200"),
        ({"summary": 7}, "Invalid value for: summary"),
        ({"extendedProperties": {"private": []}}, "Invalid value for: extendedProperties"),
    ],
)
async def test_an_event_with_a_mistake_is_refused(
    workspace: Workspace, desk: Desk, changes: dict[str, Any], words: str
):
    got = await desk.insert(**changes)
    assert got.status == 400 and words in got.json["error"]["message"] and "status" not in got.json["error"]
    assert workspace.ledger == []


@pytest.mark.parametrize("id", ["abcde", "v" * 1024, "0123456789abcdefghijklmnopqrstuv"])
async def test_an_id_of_five_to_1024_letters_is_taken(desk: Desk, id: str):
    assert (await desk.insert(id=id)).json["id"] == id


async def test_a_wrong_parameter_is_named(desk: Desk):
    updates = await desk.ask("POST", f"{CALENDAR}?sendUpdates=everybody", json=EVENT)
    await desk.insert()
    zone = await desk.get(f"{CALENDAR}/abcde12345", timeZone="Mars/Olympus")
    places = [got.json["error"]["errors"][0]["location"] for got in (updates, zone)]
    assert places == ["sendUpdates", "timeZone"] and {updates.status, zone.status} == {400}


async def test_events_are_listed_by_time_words_and_marks(desk: Desk):
    await desk.insert(extendedProperties={"private": {"polluxAction": "a1"}})
    await desk.insert(id="later11", summary="Later", start={"date": "2027-01-01"}, end={"date": "2027-01-02"})
    await desk.insert(id="gone111", summary="Gone")
    await desk.ask("DELETE", f"{CALENDAR}/gone111")

    async def listed(**query: Any) -> list[str]:
        return [event["id"] for event in (await desk.get(CALENDAR, **query)).json["items"]]

    assert await listed() == ["abcde12345", "later11"]
    assert await listed(showDeleted="true") == ["abcde12345", "later11", "gone111"]
    assert await listed(timeMin="2026-12-01T00:00:00Z") == ["later11"]
    assert await listed(timeMax="2026-12-01T00:00:00Z") == ["abcde12345"]
    assert await listed(q="later") == ["later11"]
    assert await listed(privateExtendedProperty="polluxAction=a1") == ["abcde12345"]
    assert await listed(iCalUID="later11@google.com") == ["later11"]
    first = (await desk.get(CALENDAR, maxResults=1)).json
    assert await listed(pageToken=first["nextPageToken"]) == ["later11"]
    assert (await desk.get(CALENDAR, timeMin="2026-12-01")).status == 400
    assert (await desk.get(CALENDAR, timeMin="2026-12-01T00:00:00")).status == 400


async def test_the_calendar_is_the_accounts_own(workspace: Workspace, desk: Desk):
    await desk.insert()
    mine = "/calendar/v3/calendars/demo%40example.com/events/abcde12345"
    assert (await desk.get(mine)).status == 200
    assert (await desk.get(mine.replace("demo", "ann"))).reason == "notFound"
    desk.token = workspace.tokens({COMPOSE})["access_token"]
    refused = await desk.get(mine)
    assert (refused.status, refused.reason) == (403, "insufficientPermissions")
    assert refused.json["error"]["details"][0]["metadata"]["service"] == "calendar-json.googleapis.com"
