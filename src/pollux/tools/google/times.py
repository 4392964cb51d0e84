"""When an event is: two instants or two days, held against a calendar and a zone, in one canonical form.

An instant is written as RFC 3339 with the offset that its zone has then, so that it means the same wherever it is read
later. A local time that does not exist, exists twice, or contradicts its zone is refused rather than guessed.
"""

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import cache

from pollux.core.errors import PolluxError, ValidationError
from pollux.core.frozen import frozen

# Further away is a slip of the year.
PAST = timedelta(days=366)
FUTURE = timedelta(days=3_660)
LONGEST = timedelta(days=31)
LONGEST_IN_DAYS = timedelta(days=366)
"""For events of whole days: leave and terms last longer than meetings."""
_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile(rf"{_DAY.pattern}[Tt ]([0-9]{{2}}):([0-9]{{2}})(?::([0-9]{{2}})(?:\.0{{1,9}})?)?"
                   r"([Zz]|[+-][0-9]{2}:[0-9]{2})?")  # fmt: skip
_EXAMPLES = "2027-03-01T14:00 with a timeZone, 2027-03-01T14:00:00+01:00, or 2027-03-01 for whole days"


@frozen
class Span:
    """From when to when, as canonical texts. `zone` is an IANA name; empty for whole days, and where none was given."""

    start: str
    end: str
    zone: str = ""

    @property
    def is_days(self) -> bool:
        """Whether it is whole days. The end is then the day after the last."""
        return "T" not in self.start


def span(start: object, end: object, zone: object, *, today: date) -> Span:
    """The canonical form of an event's times. Raises ValidationError, also for what is absurd seen from `today`."""
    known = _zone(zone)
    first, last = _parsed(start, name="start", today=today), _parsed(end, name="end", today=today)
    if isinstance(first, datetime) and isinstance(last, datetime):
        begins, ends = _settled(first, known, name="start"), _settled(last, known, name="end")
        _check_order(begins, ends)
        return Span(_written(begins), _written(ends), known)
    if isinstance(first, datetime) or isinstance(last, datetime):
        raise ValidationError("expected start and end to be both times or both dates, found one of each")
    _check_order(first, last)
    return Span(first.isoformat(), last.isoformat())


def told(span: Span) -> str:
    """For people: weekday, date, times, how long, and where that is so."""
    if span.is_days:
        first, after = date.fromisoformat(span.start), date.fromisoformat(span.end)
        days = (after - first).days
        if days == 1:
            return f"{_named(first)}, all day"
        return f"{_named(first)} to {_named(after - timedelta(days=1))}, all day ({days} days)"
    first, last = datetime.fromisoformat(span.start), datetime.fromisoformat(span.end)
    until = f"{last:%H:%M}" if first.date() == last.date() else f"{_named(last.date())} {last:%H:%M}"
    until += "" if first.utcoffset() == last.utcoffset() else f" (UTC{_offset(last)})"
    where = f"{span.zone}, UTC{_offset(first)}" if span.zone else f"UTC{_offset(first)}"
    return f"{_named(first.date())}, {first:%H:%M} to {until} ({_lasting(last - first)}), {where}"


def _parsed(text: object, *, name: str, today: date) -> datetime | date:
    if not isinstance(text, str):
        raise ValidationError(f"{name}: expected {_EXAMPLES}; found {type(text).__name__}")
    try:
        when = _read(text.strip(" "))
    except ValueError:
        raise ValidationError(f"{name}: expected a time that is in the calendar, found one that is not") from None
    if when is None:
        raise ValidationError(f"{name}: expected {_EXAMPLES}")
    # Before any reckoning with zones, which ends where the calendar does.
    day = when.date() if isinstance(when, datetime) else when
    if not today - PAST <= day <= today + FUTURE:
        raise ValidationError(f"{name}: expected a time within the past year or the next ten")
    return when


def _read(text: str) -> datetime | date | None:
    """What is written, as it is written. None where that is no time; raises ValueError for one that cannot be."""
    if found := _DAY.fullmatch(text):
        return date(*map(int, found.groups()))
    if found := _TIME.fullmatch(text):
        *numbers, offset = found.groups()
        return datetime(*(int(number or 0) for number in numbers), tzinfo=_fixed(offset))
    return None


def _fixed(offset: str | None) -> tzinfo | None:
    if offset is None:
        return None
    if offset in "Zz":
        return UTC
    hours, minutes = int(offset[1:3]), int(offset[4:6])
    if hours > 14 or minutes > 59:
        raise ValueError(offset)
    passed = timedelta(hours=hours, minutes=minutes)
    return timezone(-passed if offset[0] == "-" else passed)


def _zone(given: object) -> str:
    """The zone's name as IANA writes it. Empty if none is given."""
    if given is None or given == "":
        return ""
    name = _zones().get(given.strip(" ").lower()) if isinstance(given, str) else None
    if name is None:
        raise ValidationError("timeZone: expected an IANA name such as Europe/Berlin or UTC")
    return name


@cache
def _zones() -> dict[str, str]:
    """Every zone there is, by its name in lower case. From tzdata: to walk the system's own files takes long."""
    try:
        from importlib.resources import files

        listed = files("tzdata").joinpath("zones").read_text("utf-8")
    except ImportError:
        raise PolluxError("time zones need an extra that is not installed: pip install 'pollux[google]'") from None
    return {name.lower(): name for name in listed.split() if name != "Factory"}


def _settled(when: datetime, zone: str, *, name: str) -> datetime:
    """The instant that a wall clock's time is in a zone."""
    if not zone:
        if when.tzinfo is None:
            raise ValidationError(f"{name}: expected an offset such as +01:00, or a timeZone beside it")
        return when
    from zoneinfo import ZoneInfo

    wall = when.replace(tzinfo=None)
    readings = (wall.replace(tzinfo=ZoneInfo(zone), fold=fold) for fold in (0, 1))
    # In the hour that clocks leave out, going to UTC and back ends elsewhere.
    real = [each for each in readings if each.astimezone(UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None) == wall]
    offsets = {each.utcoffset() for each in real}
    if not real:
        raise ValidationError(f"{name}: that time does not exist in {zone}: clocks are put forward over it")
    if when.tzinfo is None and len(offsets) > 1:
        raise ValidationError(f"{name}: that time comes twice in {zone}, as clocks are put back; add the offset")
    if when.tzinfo is not None and when.utcoffset() not in offsets:
        raise ValidationError(f"{name}: its offset is not the one of {zone} then; leave one of the two away")
    return when if when.tzinfo is not None else wall.replace(tzinfo=timezone(real[0].utcoffset() or timedelta()))


def _check_order(first: date, last: date) -> None:
    """Whether one is after the other, and not too long after it. Works for days and for instants."""
    is_timed = isinstance(first, datetime)
    longest = LONGEST if is_timed else LONGEST_IN_DAYS
    if last <= first:
        hint = "" if is_timed else "; for whole days the end is the day after the last"
        raise ValidationError(f"expected the end to be after the start{hint}")
    if last - first > longest:
        raise ValidationError(f"expected an event of at most {longest.days} days")


def _written(when: datetime) -> str:
    return f"{when:%Y-%m-%dT%H:%M:%S}{_offset(when)}"


def _offset(when: datetime) -> str:
    minutes = int((when.utcoffset() or timedelta()).total_seconds() // 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def _named(day: date) -> str:
    return f"{_WEEKDAYS[day.weekday()]} {day.day} {_MONTHS[day.month - 1]} {day.year}"


def _lasting(duration: timedelta) -> str:
    minutes = int(duration.total_seconds() // 60)
    counted = ((minutes // 1_440, "d"), (minutes // 60 % 24, "h"), (minutes % 60, "min"))
    return " ".join(f"{number} {unit}" for number, unit in counted if number) or f"{duration.seconds} s"


# Not strftime's: those depend on the machine's locale.
_WEEKDAYS = "Mon Tue Wed Thu Fri Sat Sun".split()
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
