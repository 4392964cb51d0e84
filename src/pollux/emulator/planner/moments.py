"""When a prompt means: dates and clock times as it writes them, and days by name, counted from today."""

import re
from datetime import UTC, date, datetime, timedelta

_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)?\b")
_CLOCK = re.compile(r"\b(\d{1,2})(?::(\d{2}))?\s?([ap]m)\b|\b([01]?\d|2[0-3]):([0-5]\d)\b", re.IGNORECASE)
_ZONE = re.compile(r"\b(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific)/[A-Z]\w+(?:/\w+)?")
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY = re.compile(rf"\b(today|tomorrow|{'|'.join(_DAYS)})\b", re.IGNORECASE)


def read(text: str, *, today: date | None = None) -> tuple[str, ...]:
    """Every moment that the text names. A clock time belongs to the day that is named with it, or to tomorrow."""
    dates: list[str] = _DATE.findall(text)
    now = today or datetime.now(UTC).date()
    days = [each for each in dates if "T" not in each] or [_named(found[1], now) for found in _DAY.finditer(text)]
    times = [_time(found) for found in _CLOCK.finditer(_DATE.sub(" ", text))]
    exact = [each for each in dates if "T" in each]
    if not times:
        return (*exact, *days)
    day = days[0] if days else (now + timedelta(days=1)).isoformat()
    # Where no zone is named, it has to be said which: a bare time would be somebody's guess.
    mark = "" if _ZONE.search(text) else "Z"
    return (*exact, *(f"{day}T{time}{mark}" for time in times), *days[1:])


def zones(text: str) -> tuple[str, ...]:
    """Every time zone that the text names."""
    return tuple(_ZONE.findall(text))


def without(text: str) -> str:
    """The text without them: what is left in it are numbers and paths."""
    return _CLOCK.sub(" ", _ZONE.sub(" ", _DATE.sub(" ", text)))


def later(moment: str) -> str:
    """An hour later; for a day the next one, where it ends."""
    try:
        at = datetime.fromisoformat(moment)
    except ValueError:
        return moment
    if "T" not in moment:
        return (at + timedelta(days=1)).date().isoformat()
    return (at + timedelta(hours=1)).isoformat().replace("+00:00", "Z")


def soon(today: date | None = None) -> str:
    """Tomorrow at ten: what is meant where nothing is said."""
    return f"{(today or datetime.now(UTC).date()) + timedelta(days=1)}T10:00:00Z"


def _named(word: str, today: date) -> str:
    word = word.lower()
    if word in ("today", "tomorrow"):
        return (today + timedelta(days=word == "tomorrow")).isoformat()
    ahead = (_DAYS.index(word) - today.weekday()) % 7 or 7
    return (today + timedelta(days=ahead)).isoformat()


def _time(found: re.Match[str]) -> str:
    if found[3]:
        hour = int(found[1]) % 12 + (12 if found[3].lower() == "pm" else 0)
        return f"{hour:02}:{found[2] or '00'}:00"
    return f"{int(found[4]):02}:{found[5]}:00"
