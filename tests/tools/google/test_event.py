"""calendar_event_create: canonical arguments or a refusal, everybody who is invited, a glance, and Google's event."""

import json
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tools.google.addresses import BAD
from tests.tools.google.injections import LINES, TAILS

from pollux.core.canonical import digest
from pollux.core.errors import ValidationError
from pollux.core.tools import ToolSpec
from pollux.engine.gate import Toolbox
from pollux.tools.define import Args, FunctionTool
from pollux.tools.google import event

TODAY = date(2027, 1, 15)
MEETING: Args = {
    "title": "Plans",
    "start": "2027-03-01T14:00:00+01:00",
    "end": "2027-03-01T15:00:00+01:00",
    "timeZone": "Europe/Berlin",
    "attendees": ["bob@example.com"],
    "notify": "all",
}
SPEC = ToolSpec(event.NAME, event.DESCRIPTION, event.SCHEMA, side_effect=True)
TOOL = FunctionTool(SPEC, lambda context, args: None, prepare=lambda args: event.prepare(args, today=TODAY))
TOOLBOX = Toolbox([TOOL])


def prepared(**args: object) -> Args:
    return TOOLBOX.prepare(event.NAME, {**MEETING, **args})


def test_the_same_event_has_one_form_however_it_is_written():
    plain = prepared()
    assert plain == MEETING
    same = [
        prepared(attendees="BOB@example.com"),
        prepared(attendees=["bob@example.com", "Bob@Example.com"]),
        prepared(start="2027-03-01T14:00", end="2027-03-01 15:00:00", timeZone="europe/berlin"),
        prepared(title=" =?utf-8?q?Plans?= ", location="", description=""),
    ]
    assert {digest(each) for each in same} == {digest(plain)}


def test_who_is_invited_is_told_unless_it_is_said_otherwise_and_what_counts_is_stored():
    without = {name: value for name, value in MEETING.items() if name != "notify"}
    assert event.prepare(without, today=TODAY)["notify"] == "all"
    assert prepared(notify="none")["notify"] == "none"
    assert prepared(attendees=[])["notify"] == prepared(attendees=[], notify="none")["notify"] == "none"
    for wrong in ("some", True, "externalOnly", ""):
        with pytest.raises(ValidationError):
            prepared(notify=wrong)
    with pytest.raises(ValidationError, match="notify: expected all or none"):
        event.prepare({**MEETING, "notify": "some"}, today=TODAY)


def test_everybody_invited_is_a_subject():
    assert event.subjects(prepared(attendees=["a@x.co", "B@x.co"])) == {"a@x.co", "b@x.co"}
    assert event.subjects(prepared(attendees=[])) == frozenset()


def test_an_event_has_a_title_and_times_within_reason():
    for wrong in ({"title": " "}, {"end": "2027-03-01T14:00:00+01:00"}, {"start": "2020-01-01"}, {"timeZone": "Mars"}):
        with pytest.raises(ValidationError, match="expected"):
            prepared(**wrong)
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    args: Args = {"title": "x", "start": tomorrow.isoformat(), "end": (tomorrow + timedelta(days=1)).isoformat()}
    assert event.prepare(args) == {**args, "notify": "none"}


def test_sizes_are_bounded():
    with pytest.raises(ValidationError, match="title: expected at most 1,000 bytes"):
        prepared(title="x" * 1_001)
    with pytest.raises(ValidationError, match="description: expected at most 8,000 bytes"):
        prepared(description="x" * 8_001)
    many: Args = {**MEETING, "attendees": [f"p{number}@example.com" for number in range(101)]}
    with pytest.raises(ValidationError):
        prepared(**many)
    with pytest.raises(ValidationError, match="attendees: expected at most 100 addresses, found 101"):
        event.prepare(many, today=TODAY)


def test_what_the_tool_does_not_know_is_refused():
    with pytest.raises(ValidationError, match="found 1 others"):
        event.prepare({**MEETING, "recurrence": ["RRULE:FREQ=DAILY"]}, today=TODAY)


@pytest.mark.parametrize("written", [address for address, _ in BAD if address.strip()])
def test_a_bad_address_is_not_invited(written: str):
    with pytest.raises(ValidationError, match="attendees: expected one address"):
        event.prepare({**MEETING, "attendees": ["ada@example.com", written]}, today=TODAY)


@pytest.mark.parametrize("tail", [tail for tail in TAILS if tail != " "])
def test_an_injection_after_an_address_is_refused(tail: str):
    with pytest.raises(ValidationError, match="attendees: expected one address"):
        event.prepare({**MEETING, "attendees": f"bob@example.com{tail}"}, today=TODAY)


@pytest.mark.parametrize("field", ["title", "location"])
@pytest.mark.parametrize("text", LINES)
def test_an_injection_into_a_line_is_refused_or_stays_one_line(field: str, text: str):
    try:
        args = event.prepare({**MEETING, field: text}, today=TODAY)
    except ValidationError:
        return
    shown = str(args[field])
    assert len(shown.splitlines()) == 1 and shown.replace("\u200d", "").isprintable()
    assert event.resource(args, id="abcde")["attendees"] == [{"email": "bob@example.com"}]


def test_a_preview_tells_what_when_and_with_whom():
    args = prepared(
        attendees=["bob@example.com", "x@münchen.de"], location="Room 1", description="See https://a.example/x\n"
    )
    assert event.preview(args) == (
        "Event: Plans\nWhen: Mon 1 Mar 2027, 14:00 to 15:00 (1 h), Europe/Berlin, UTC+01:00\n"
        "Attendees: bob@example.com, x@münchen.de (xn--mnchen-3ya.de)\nThey get an invitation by mail.\n"
        "Where: Room 1\nLinks lead to: a.example\n\nSee https://a.example/x"
    )
    assert "They are not told." in event.preview(prepared(notify="none"))
    assert "No attendees" in event.preview(prepared(attendees=[]))


def test_a_preview_is_bounded():
    many = [f"{'p' * 60}{number}@example.com" for number in range(100)]
    long = prepared(attendees=many, title="t" * 1_000, location="l" * 1_000, description="https://x.example/ " * 400)
    assert len(event.preview(long)) <= 2_000 and "+97 more, at the same domains" in event.preview(long)


def test_the_event_is_what_google_takes():
    assert event.resource(prepared(location="Room 1", description="a\nb"), id="0af9v") == {
        "id": "0af9v",
        "summary": "Plans",
        "start": {"dateTime": "2027-03-01T14:00:00+01:00", "timeZone": "Europe/Berlin"},
        "end": {"dateTime": "2027-03-01T15:00:00+01:00", "timeZone": "Europe/Berlin"},
        "location": "Room 1",
        "description": "a\nb",
        "attendees": [{"email": "bob@example.com"}],
        "extendedProperties": {"private": {"polluxAction": "0af9v"}},
    }


def test_an_event_of_whole_days_has_dates_and_one_with_offsets_needs_no_zone():
    days = event.resource(prepared(start="2027-03-01", end="2027-03-03"), id="abcde")
    assert (days["start"], days["end"]) == ({"date": "2027-03-01"}, {"date": "2027-03-03"})
    assert event.resource(prepared(timeZone=""), id="abcde")["start"] == {"dateTime": "2027-03-01T14:00:00+01:00"}


@pytest.mark.parametrize("id", ["", "abcd", "ABCDE", "abcdw", "abc-de", "abcde\n", "a" * 1_025])
def test_an_id_is_one_that_google_takes(id: str):
    with pytest.raises(ValidationError, match="event id"):
        event.resource(MEETING, id=id)


def test_the_schema_is_json_and_names_every_argument():
    properties = json.loads(json.dumps(event.SCHEMA))["properties"]
    names = ["title", "start", "end", "timeZone", "attendees", "location", "description", "notify"]
    assert list(properties) == names and all(each["description"] for each in properties.values())


WORDS = st.text(max_size=80) | st.sampled_from(LINES)


@settings(deadline=None, max_examples=500)
@given(st.fixed_dictionaries({"title": WORDS, "location": WORDS, "description": WORDS}))
def test_what_is_accepted_is_canonical_and_can_be_shown(texts: Args):
    try:
        args = event.prepare({**MEETING, **texts}, today=TODAY)
    except ValidationError:
        return
    assert event.prepare(args, today=TODAY) == args
    assert len(event.preview(args)) <= 2_000
