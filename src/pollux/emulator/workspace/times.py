"""A Calendar time: a date, or a moment with a zone. Read as Calendar reads it, given back as Calendar gives it back."""

import re
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pollux.core.frozen import frozen
from pollux.emulator.jsons import is_object
from pollux.emulator.workspace.refusal import Refusal, Said, invalid

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)?")


@frozen
class Moment:
    """One end of an event. `zone` is the name that was given, `all_day` is a date without a time."""

    at: datetime
    zone: str
    all_day: bool

    def shown(self, zone: str) -> dict[str, str]:
        """As an event has it, told in this zone."""
        if self.all_day:
            return {"date": self.at.date().isoformat()}
        told = self.at.astimezone(ZoneInfo(zone)).isoformat(timespec="seconds").replace("+00:00", "Z")
        return {"dateTime": told, "timeZone": self.zone or zone}


def read(value: object, *, which: str, zone: str = "") -> Moment:
    """The start or the end of an event. Raises Refusal."""
    if not is_object(value) or not (value.get("date") or value.get("dateTime")):
        raise Refusal(Said(400, f"Missing {which} time.", "required"))
    named = _zone(value, which=which)
    if value.get("date"):
        return Moment(_date(value["date"]), named, all_day=True)
    at = moment(value["dateTime"])
    if at.tzinfo is None:
        if not (named or zone):
            raise invalid(f"Missing time zone definition for {which} time.", reason="required")
        at = at.replace(tzinfo=ZoneInfo(named or zone))
    return Moment(at, named, all_day=False)


def check(start: Moment, end: Moment) -> None:
    """An event ends after it starts. Raises Refusal."""
    if start.all_day != end.all_day:
        raise invalid("Start and end times must either both be date or both be dateTime.", reason="invalid")
    if end.at < start.at:
        said = Said(400, "The specified time range is empty.", "timeRangeEmpty", domain="calendar")
        raise Refusal(said)


def moment(text: Any) -> datetime:
    """RFC 3339, perhaps without an offset. Raises Refusal."""
    if isinstance(text, str) and _MOMENT.fullmatch(text):
        try:
            found = datetime.fromisoformat(text.upper())
        except ValueError:
            found = datetime.min.replace(tzinfo=UTC)
        if _near(found.year):
            return found
    raise invalid("Bad Request: a time has the form 2026-11-16T09:00:00+01:00", reason="badRequest")


def stamp(now: float) -> str:
    """When something was made or changed."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def overlaps(event: dict[str, Any], *, after: datetime | None, before: datetime | None) -> bool:
    """Is any of it in the range?"""
    start, end = read(event["start"], which="start", zone="UTC"), read(event["end"], which="end", zone="UTC")
    return (after is None or end.at > after) and (before is None or start.at < before)


def is_zone(name: str) -> bool:
    """Is there such a time zone?"""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _date(text: Any) -> datetime:
    try:
        day = date.fromisoformat(text if isinstance(text, str) else "")
    except ValueError:
        day = date.min
    if not _near(day.year):
        raise invalid("Bad Request: a date has the form 2026-11-16", reason="badRequest")
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _zone(value: dict[str, Any], *, which: str) -> str:
    name = value.get("timeZone") or ""
    if not isinstance(name, str) or (name and not is_zone(name)):
        raise invalid(f"Invalid time zone definition for {which} time.", reason="invalid")
    return name


def _near(year: int) -> bool:
    """Can this be told in every zone? At both ends of the calendar it cannot."""
    return 1 < year < 9999
