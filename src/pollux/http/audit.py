"""The audit: listed, filtered, verified, and given away whole."""

import csv
import io
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from msgspec import structs

from pollux.asgi.bodies import encoded, moment
from pollux.asgi.credentials import USER as OPERATOR
from pollux.asgi.endpoint import Call
from pollux.asgi.ndjson import Lines
from pollux.core.errors import ValidationError
from pollux.core.ids import Instant, UserId
from pollux.engine.ports import GENESIS, AuditEntry, AuditFilter
from pollux.engine.queries import Queries
from pollux.http.overview_shapes import AuditWanted
from pollux.http.runtime import Runtime
from pollux.http.shapes import AuditHead, AuditPage, AuditVerified, AuditView
from pollux.wire.breaks import json_line

JSONL = "application/jsonl; charset=utf-8"
CSV = "text/csv; charset=utf-8"
PIECE = 200
"""So many entries are held at once while all are given away."""
FIELDS = tuple(field.name for field in fields(AuditEntry))
COLUMNS = tuple(field.encode_name for field in structs.fields(AuditView))
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What begins a cell that a spreadsheet would work out instead of showing."""


async def audit(runtime: Runtime, call: Call) -> AuditPage:
    """What was decided, asked and done for this user, newest first."""
    limit: int = call.query.limit
    found = await runtime.engine.queries.audit(
        user=call.user,
        newest_first=True,
        before=_seq(call.query.before),
        limit=limit + 1,
        only=_filter(call.query),
    )
    items = [_view(entry) for entry in found[:limit]]
    return AuditPage(items=items, next=str(items[-1].seq) if len(found) > limit else None)


async def exported(runtime: Runtime, call: Call) -> Lines:
    """Everything that was decided, asked and done for this user, oldest first, as a file."""
    only = _filter(call.query)
    # What is added meanwhile is not in it: it ends, however busy this user is. And before anything is sent, so that
    # trouble with the store is still an error.
    newest = await runtime.engine.queries.audit(user=call.user, newest_first=True, limit=1)
    pieces = _pieces(runtime.engine.queries, call.user, only, end=newest[0].seq + 1 if newest else 1)
    name = f'attachment; filename="pollux-audit.{call.query.format}"'
    if call.query.format == "csv":
        return Lines(_rows(pieces), media_type=CSV, headers={"content-disposition": name})
    return Lines(_lines(pieces), media_type=JSONL, headers={"content-disposition": name})


async def verify(runtime: Runtime, call: Call) -> AuditVerified:
    """Whether the chain is as it was written, as far as it was walked: to the operator, `entries` says how far."""
    runtime.checks.take(call.user)
    report = await runtime.engine.queries.checked_audit()
    entries, head = (report.entries, report.head) if call.user == OPERATOR else (None, None)
    return AuditVerified(valid=report.valid, entries=entries, head=head, problems=list(report.problems))


async def head(runtime: Runtime, call: Call) -> AuditHead:
    """The last entry's hash, to be kept elsewhere. How much everybody does here is for the operator to know."""
    if call.user != OPERATOR:
        return AuditHead(head=None, entries=None)
    last = await runtime.engine.queries.audit(newest_first=True, limit=1)
    return AuditHead(head=last[0].hash if last else GENESIS, entries=last[0].seq if last else 0)


async def _pieces(queries: Queries, user: UserId, only: AuditFilter, *, end: int) -> AsyncGenerator[list[AuditView]]:
    after = 0
    while found := await queries.audit(user=user, after=after, before=end, limit=PIECE, only=only):
        yield [_view(entry) for entry in found]
        after = found[-1].seq


async def _lines(pieces: AsyncGenerator[list[AuditView]]) -> AsyncGenerator[bytes]:
    async with aclosing(pieces):
        async for piece in pieces:
            yield b"".join(json_line(encoded(entry)) for entry in piece)


async def _rows(pieces: AsyncGenerator[list[AuditView]]) -> AsyncGenerator[bytes]:
    yield _table([COLUMNS])
    async with aclosing(pieces):
        async for piece in pieces:
            yield _table([structs.astuple(entry) for entry in piece])


def _table(rows: list[tuple[Any, ...]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([_cell(cell) for cell in row] for row in rows)
    return text.getvalue().encode("utf-8", "replace")


def _cell(value: Any) -> Any:
    """A value that is shown as it is, whatever it begins with."""
    if isinstance(value, str) and value.lstrip(" ").startswith(FORMULAS):
        return f"'{value}"
    return value


def _filter(query: AuditWanted) -> AuditFilter:
    return AuditFilter(
        kind=query.kind,
        tool_name=query.tool,
        execution_status=query.status,
        run_id=query.run_id,
        since=_instant("since", query.since),
        until=_instant("until", query.until),
    )


def _instant(name: str, text: str | None) -> Instant | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise ValidationError(f"{name} must be a day or a moment, like 2026-11-16 or 2026-11-16T06:00:00Z") from None


def _view(entry: AuditEntry) -> AuditView:
    facts = {name: getattr(entry, name) for name in FIELDS}
    for name in ("at", "started_at", "ended_at"):
        facts[name] = None if facts[name] is None else _moment(facts[name])
    return AuditView(**facts)


def _moment(at: Any) -> str:
    """A time as it is told. One that is none was put there by somebody else, and hides no other entry."""
    try:
        return moment(at)
    except (TypeError, ValueError, OverflowError, OSError):
        return str(at)[:40]


def _seq(before: str | None) -> int | None:
    if before is None:
        return None
    if not (before.isascii() and before.isdigit() and len(before) < 16):
        raise ValidationError("before must be the number of an entry")
    return int(before)
