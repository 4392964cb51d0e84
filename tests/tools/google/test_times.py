"""Times of events: one canonical form, and nothing guessed about clocks that are put forward or back."""

from datetime import date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tools.google.injections import TIMES, ZONES

from pollux.core.errors import ValidationError
from pollux.tools.google.times import Span, span, told

TODAY = date(2027, 1, 15)
BERLIN = "Europe/Berlin"


def between(start: object, end: object, zone: object = None) -> Span:
    return span(start, end, zone, today=TODAY)


@pytest.mark.parametrize(
    ("start", "end", "zone", "canonical"),
    [
        (
            "2027-03-01T14:00",
            "2027-03-01T15:00",
            BERLIN,
            ("2027-03-01T14:00:00+01:00", "2027-03-01T15:00:00+01:00", BERLIN),
        ),
        (
            "2027-07-01 14:00:30",
            "2027-07-01t15:00",
            BERLIN,
            ("2027-07-01T14:00:30+02:00", "2027-07-01T15:00:00+02:00", BERLIN),
        ),
        (
            "2027-03-01T14:00:00+01:00",
            "2027-03-01T15:00",
            "europe/berlin",
            ("2027-03-01T14:00:00+01:00", "2027-03-01T15:00:00+01:00", BERLIN),
        ),
        (
            "2027-03-01T14:00:00.000Z",
            "2027-03-01T15:00:00z",
            None,
            ("2027-03-01T14:00:00+00:00", "2027-03-01T15:00:00+00:00", ""),
        ),
        (
            "2027-03-01T14:00Z",
            "2027-03-01T14:30+00:00",
            "UTC",
            ("2027-03-01T14:00:00+00:00", "2027-03-01T14:30:00+00:00", "UTC"),
        ),
        (
            "2027-03-01T14:00-05:00",
            "2027-03-01T20:30:00+01:00",
            "",
            ("2027-03-01T14:00:00-05:00", "2027-03-01T20:30:00+01:00", ""),
        ),
        (
            "2027-03-01T14:00",
            "2027-03-01T15:00",
            "Asia/Kathmandu",
            ("2027-03-01T14:00:00+05:45", "2027-03-01T15:00:00+05:45", "Asia/Kathmandu"),
        ),
        (
            "2027-03-28T01:30",
            "2027-03-28T03:30",
            BERLIN,
            ("2027-03-28T01:30:00+01:00", "2027-03-28T03:30:00+02:00", BERLIN),
        ),
        (
            "2027-10-31T02:30:00+02:00",
            "2027-10-31T02:30:00+01:00",
            BERLIN,
            ("2027-10-31T02:30:00+02:00", "2027-10-31T02:30:00+01:00", BERLIN),
        ),
        ("2027-03-01", "2027-03-02", None, ("2027-03-01", "2027-03-02", "")),
        (" 2027-03-01 ", "2027-03-04", BERLIN, ("2027-03-01", "2027-03-04", "")),
        ("2028-02-29", "2028-03-01", None, ("2028-02-29", "2028-03-01", "")),
    ],
)
def test_times_have_one_canonical_form(start: str, end: str, zone: str | None, canonical: tuple[str, str, str]):
    found = between(start, end, zone)
    assert (found.start, found.end, found.zone) == canonical
    assert between(found.start, found.end, found.zone) == found


@pytest.mark.parametrize(
    ("start", "end", "zone", "reason"),
    [
        ("2027-03-01T14:00", "2027-03-01T15:00", None, "start: expected an offset such as \\+01:00, or a timeZone"),
        ("2027-03-01T14:00Z", "2027-03-01T15:00", None, "end: expected an offset"),
        ("2027-03-01T14:00", "2027-03-01T14:00", BERLIN, "the end to be after the start"),
        ("2027-03-01T14:00", "2027-03-01T13:00", BERLIN, "the end to be after the start"),
        ("2027-03-01T14:00+01:00", "2027-03-01T14:30+02:00", None, "the end to be after the start"),
        ("2027-03-01", "2027-03-01", None, "after the start; for whole days the end is the day after the last"),
        ("2027-03-01", "2027-03-01T15:00Z", None, "both times or both dates"),
        ("2027-03-01T14:00Z", "2027-03-02", None, "both times or both dates"),
        ("2027-03-28T02:30", "2027-03-28T04:00", BERLIN, "start: that time does not exist in Europe/Berlin"),
        ("2027-03-28T02:30+01:00", "2027-03-28T04:00", BERLIN, "start: that time does not exist in Europe/Berlin"),
        ("2027-10-31T01:00", "2027-10-31T02:30", BERLIN, "end: that time comes twice in Europe/Berlin"),
        (
            "2027-03-01T14:00+02:00",
            "2027-03-01T15:00+02:00",
            BERLIN,
            "start: its offset is not the one of Europe/Berlin",
        ),
        ("2027-03-01T14:00Z", "2027-03-01T15:00Z", BERLIN, "start: its offset is not the one of Europe/Berlin"),
        ("2027-02-29T14:00Z", "2027-03-01T15:00Z", None, "start: expected a time that is in the calendar"),
        ("2027-03-01T24:00Z", "2027-03-02T15:00Z", None, "start: expected a time that is in the calendar"),
        ("2027-03-01T14:60Z", "2027-03-01T15:00Z", None, "start: expected a time that is in the calendar"),
        ("2027-03-01T14:00:60Z", "2027-03-01T15:00Z", None, "start: expected a time that is in the calendar"),
        ("2027-03-01T14:00+25:00", "2027-03-01T15:00Z", None, "start: expected a time that is in the calendar"),
        ("2027-03-01T14:00+01:60", "2027-03-01T15:00Z", None, "start: expected a time that is in the calendar"),
        ("2027-13-01", "2027-03-02", None, "start: expected a time that is in the calendar"),
        ("0000-01-01", "0000-01-02", None, "start: expected a time that is in the calendar"),
        ("0001-01-01T00:00+14:00", "0001-01-01T01:00+14:00", None, "within the past year or the next ten"),
        ("9999-12-31T23:00-14:00", "9999-12-31T23:30-14:00", None, "within the past year or the next ten"),
        ("0001-01-01T00:00", "0001-01-01T01:00", "Asia/Tokyo", "start"),
        ("9999-12-31T23:00", "9999-12-31T23:30", "America/New_York", "start"),
        ("2025-12-31T14:00Z", "2025-12-31T15:00Z", None, "within the past year or the next ten"),
        ("2038-01-01", "2038-01-02", None, "within the past year or the next ten"),
        ("2027-03-01T14:00Z", "2027-04-02T14:00Z", None, "at most 31 days"),
        ("2027-03-01", "2028-03-03", None, "at most 366 days"),
        ("14:00", "15:00", BERLIN, "start: expected 2027"),
        ("", "2027-03-01", None, "start: expected 2027"),
        (None, "2027-03-01", None, "start: expected .* found NoneType"),
        (1_800_000_000, "2027-03-01", None, "start: expected .* found int"),
        ({"dateTime": "2027-03-01T14:00Z"}, "2027-03-01", None, "found dict"),
        ("2027-03-01T14:00Z", "2027-03-01T15:00Z", 1, "timeZone: expected an IANA name"),
    ],
)
def test_a_time_that_is_none_or_means_two_things_is_refused(start: object, end: object, zone: object, reason: str):
    with pytest.raises(ValidationError, match=reason):
        between(start, end, zone)


@pytest.mark.parametrize("text", TIMES)
def test_what_is_not_written_as_a_time_is_none(text: str):
    with pytest.raises(ValidationError, match="start: expected"):
        between(text, "2027-03-01T18:00Z", "UTC")
    with pytest.raises(ValidationError, match="end: expected"):
        between("2027-03-01T10:00Z", text, "UTC")


@pytest.mark.parametrize("zone", ZONES)
def test_a_zone_is_one_that_everybody_knows(zone: str):
    with pytest.raises(ValidationError, match="timeZone: expected an IANA name such as Europe/Berlin"):
        between("2027-03-01T14:00Z", "2027-03-01T15:00Z", zone)


@pytest.mark.parametrize(
    ("start", "end", "zone", "words"),
    [
        ("2027-03-01T14:00", "2027-03-01T15:30", BERLIN,
         "Mon 1 Mar 2027, 14:00 to 15:30 (1 h 30 min), Europe/Berlin, UTC+01:00"),
        ("2027-03-01T22:00", "2027-03-02T01:00", BERLIN,
         "Mon 1 Mar 2027, 22:00 to Tue 2 Mar 2027 01:00 (3 h), Europe/Berlin, UTC+01:00"),
        ("2027-03-28T01:30", "2027-03-28T03:30", BERLIN,
         "Sun 28 Mar 2027, 01:30 to 03:30 (UTC+02:00) (1 h), Europe/Berlin, UTC+01:00"),
        ("2027-03-01T14:00-03:30", "2027-03-03T14:05-03:30", None,
         "Mon 1 Mar 2027, 14:00 to Wed 3 Mar 2027 14:05 (2 d 5 min), UTC-03:30"),
        ("2027-03-01T14:00:00Z", "2027-03-01T14:00:30Z", None, "Mon 1 Mar 2027, 14:00 to 14:00 (30 s), UTC+00:00"),
        ("2027-03-01", "2027-03-02", None, "Mon 1 Mar 2027, all day"),
        ("2027-03-01", "2027-03-04", None, "Mon 1 Mar 2027 to Wed 3 Mar 2027, all day (3 days)"),
    ],
)  # fmt: skip
def test_times_are_told_with_weekday_and_duration(start: str, end: str, zone: str | None, words: str):
    assert told(between(start, end, zone)) == words


WRITTEN = st.text(max_size=40) | st.builds(
    "{}{}{}".format,
    st.sampled_from(["2027-03-01", "2027-03-28", "2027-10-31", "2027-02-30", "0001-01-01", "9999-12-31"]),
    st.sampled_from(["", "T02:30", "T14:00:00", " 23:59", "T00:00:00.000", "T25:00"]),
    st.sampled_from(["", "Z", "+01:00", "-12:00", "+14:00", "+99:99"]),
)


@settings(deadline=None, max_examples=1_000)
@given(WRITTEN, WRITTEN, st.sampled_from([None, "", BERLIN, "UTC", "Pacific/Apia", "Africa/Casablanca", "x"]))
def test_any_texts_are_one_canonical_span_or_refused(start: str, end: str, zone: str | None):
    try:
        found = between(start, end, zone)
    except ValidationError:
        return
    assert between(found.start, found.end, found.zone) == found and told(found)
    if not found.is_days:
        assert datetime.fromisoformat(found.start) < datetime.fromisoformat(found.end)
