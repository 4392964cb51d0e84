"""The audit as a file: the same fields, names and order by HTTP and at the command line, as lines or as a table.

A time is ISO 8601 in UTC with all of its digits, so that whoever has the file can work out each entry's hash.
"""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any, Final

from msgspec import structs

from pollux.asgi.bodies import encoded
from pollux.engine.ports import AuditEntry
from pollux.http.overview_shapes import Format
from pollux.http.shapes import AuditView
from pollux.wire.breaks import json_line

PIECE: Final = 500
"""So many entries are held at once while all are given away."""
COLUMNS: Final = tuple(field.encode_name for field in structs.fields(AuditView))
_made: Callable[..., AuditView] = AuditView
_values = attrgetter(*AuditView.__struct_fields__)
FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What begins a cell that a spreadsheet would work out instead of showing."""


def view_of(entry: AuditEntry) -> AuditView:
    """An entry as its reader sees it."""
    seq, at, *facts, started, ended, previous, own = _values(entry)
    started = None if started is None else _moment(started)
    ended = None if ended is None else _moment(ended)
    return _made(seq, _moment(at), *facts, started, ended, previous, own)


def beginning_of(format_: Format) -> bytes:
    """What stands before the first entry."""
    return _table([COLUMNS]) if format_ == "csv" else b""


def piece_of(views: Sequence[AuditView], format_: Format) -> bytes:
    """These entries, each on its line."""
    if format_ == "csv":
        return _table(map(structs.astuple, views))
    return json_line(b"\n".join(map(encoded, views))) if views else b""


def changed(view: AuditView, clean: Callable[[str], str]) -> AuditView:
    """The entry with all of its texts seen to."""
    return _made(*(clean(value) if isinstance(value, str) else value for value in structs.astuple(view)))


def texts_of(views: Iterable[AuditView]) -> str:
    """All that is text in them, as one: what is not found here is in none."""
    return "\n".join(map(str, chain.from_iterable(map(structs.astuple, views))))


def _table(rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(map(_row, rows))
    return text.getvalue().encode("utf-8", "replace")


def _row(row: Sequence[Any]) -> Sequence[Any]:
    # What begins with a letter or a digit, as almost all do, need not be looked at more closely.
    return row if "".join([str(cell)[:1] for cell in row]).isalnum() else [_cell(cell) for cell in row]


def _cell(value: Any) -> Any:
    """A value that is shown as it is, whatever it begins with."""
    return f"'{value}" if isinstance(value, str) and value.lstrip(" ").startswith(FORMULAS) else value


def _moment(at: Any) -> str:
    """A time as it is told. One that is none was put there by somebody else, and hides no other entry."""
    try:
        second, _, fraction = f"{at!r}".partition(".")
        if isinstance(at, float) and second.isdigit() and fraction.isdigit():
            return f"{_second(int(second))}.{fraction:0<3}Z"
        return f"{_second(int(at))}.000Z" if isinstance(at, int) else str(at)[:40]
    except (TypeError, ValueError, OverflowError, OSError):
        return str(at)[:40]


def _second(second: int) -> str:
    day, second = divmod(second, 86_400)
    minute, second = divmod(second, 60)
    return f"{_day(day)}T{minute // 60:02}:{minute % 60:02}:{second:02}"


@lru_cache(maxsize=64)
def _day(day: int) -> str:
    return datetime.fromtimestamp(day * 86_400, UTC).strftime("%Y-%m-%d")
