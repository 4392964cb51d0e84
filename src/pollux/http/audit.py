"""The audit: listed, filtered, verified, and given away whole."""

from collections.abc import AsyncGenerator
from datetime import UTC, datetime

from pollux.asgi.credentials import USER as OPERATOR
from pollux.asgi.endpoint import Call
from pollux.asgi.ndjson import Lines
from pollux.core.errors import ValidationError
from pollux.core.ids import Instant, UserId
from pollux.engine.ports import GENESIS, AuditFilter
from pollux.engine.queries import Queries
from pollux.http.audit_file import PIECE, beginning_of, piece_of, view_of
from pollux.http.overview_shapes import AuditWanted, ExportQuery
from pollux.http.runtime import Runtime
from pollux.http.shapes import AuditHead, AuditPage, AuditVerified

JSONL = "application/jsonl; charset=utf-8"
CSV = "text/csv; charset=utf-8"


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
    items = [view_of(entry) for entry in found[:limit]]
    return AuditPage(items=items, next=str(items[-1].seq) if len(found) > limit else None)


async def exported(runtime: Runtime, call: Call) -> Lines:
    """Everything that was decided, asked and done for this user, oldest first, as a file."""
    only = _filter(call.query)
    # What is added meanwhile is not in it: it ends, however busy this user is. And before anything is sent, so that
    # trouble with the store is still an error.
    newest = await runtime.engine.queries.audit(user=call.user, newest_first=True, limit=1)
    end = newest[0].seq + 1 if newest else 1
    return Lines(
        _pieces(runtime.engine.queries, call.user, call.query, only, end=end),
        media_type=CSV if call.query.format == "csv" else JSONL,
        headers={"content-disposition": f'attachment; filename="pollux-audit.{call.query.format}"'},
    )


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


async def _pieces(
    queries: Queries, user: UserId, query: ExportQuery, only: AuditFilter, *, end: int
) -> AsyncGenerator[bytes]:
    if beginning := beginning_of(query.format):
        yield beginning
    after = 0
    while found := await queries.audit(user=user, after=after, before=end, limit=PIECE, only=only):
        yield piece_of([view_of(entry) for entry in found], query.format)
        after = found[-1].seq


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


def _seq(before: str | None) -> int | None:
    if before is None:
        return None
    if not (before.isascii() and before.isdigit() and len(before) < 16):
        raise ValidationError("before must be the number of an entry")
    return int(before)
