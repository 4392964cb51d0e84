"""What a prompt says of time becomes moments that a calendar takes."""

from datetime import date

import pytest

from pollux.emulator.planner import moments

MONDAY = date(2027, 3, 1)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("on 2027-05-01", ("2027-05-01",)),
        ("at 2027-05-01T10:00:00Z", ("2027-05-01T10:00:00Z",)),
        ("on 2027-05-01 from 10:00 to 11:30", ("2027-05-01T10:00:00Z", "2027-05-01T11:30:00Z")),
        ("tomorrow at 9:15 in Europe/Berlin", ("2027-03-02T09:15:00",)),
        ("today at 3pm", ("2027-03-01T15:00:00Z",)),
        ("on Friday", ("2027-03-05",)),
        ("next monday at 12 am", ("2027-03-08T00:00:00Z",)),
        ("at 18:00", ("2027-03-02T18:00:00Z",)),
        ("in a while", ()),
    ],
)
def test_dates_clock_times_and_days_by_name_are_read(text: str, found: tuple[str, ...]):
    assert moments.read(text, today=MONDAY) == found


def test_what_is_a_time_is_neither_a_number_nor_a_path():
    assert (
        moments.without("meet at 10:30 on 2027-05-01 in Europe/Berlin for 5").split() == "meet at on in for 5".split()
    )
    assert moments.zones("in Europe/Berlin or America/Argentina/Salta") == ("Europe/Berlin", "America/Argentina/Salta")


def test_an_hour_later_is_the_next_day_for_whole_days():
    assert moments.later("2027-12-31") == "2028-01-01"
    assert moments.later("2027-12-31T23:30:00Z") == "2028-01-01T00:30:00Z"
    assert moments.later("someday") == "someday"
    assert moments.soon(MONDAY) == "2027-03-02T10:00:00Z"
