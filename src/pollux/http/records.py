"""What stays: grants that were given, and the audit of everything that was done."""

from dataclasses import asdict
from typing import Any

from pollux.asgi.bodies import moment
from pollux.asgi.endpoint import Call
from pollux.core.errors import ValidationError
from pollux.engine.ports import GENESIS, AuditEntry
from pollux.http.runtime import Runtime
from pollux.http.shapes import (
    AuditHead,
    AuditPage,
    AuditVerified,
    AuditView,
    Done,
    GrantPage,
    GrantView,
)


async def grants(runtime: Runtime, call: Call) -> GrantPage:
    """What this user always allows, newest first."""
    found = sorted(await runtime.engine.queries.grants(call.user), key=lambda grant: (-grant.granted_at, grant.id))
    places = [n for n, grant in enumerate(found) if grant.id == call.query.before]
    rest = found[places[0] + 1 :] if places else [] if call.query.before else found
    items = [
        GrantView(
            id=grant.id,
            tool=grant.tool,
            subject=grant.subject,
            scope=grant.scope,
            granted_at=moment(grant.granted_at),
            thread_id=grant.thread_id,
            approval_id=grant.approval_id,
        )
        for grant in rest[: call.query.limit]
    ]
    return GrantPage(items=items, next=items[-1].id if len(rest) > call.query.limit else None)


async def revoked(runtime: Runtime, call: Call) -> Done:
    """Take a grant back."""
    await runtime.engine.revoke(call.path["id"], user=call.user, by=call.user)
    return Done()


async def audit(runtime: Runtime, call: Call) -> AuditPage:
    """What was decided, asked and done for this user, newest first."""
    limit: int = call.query.limit
    found = await runtime.engine.queries.audit(
        user=call.user, newest_first=True, before=_seq(call.query.before), limit=limit + 1
    )
    items = [_view(entry) for entry in found[:limit]]
    return AuditPage(items=items, next=str(items[-1].seq) if len(found) > limit else None)


async def verify(runtime: Runtime, call: Call) -> AuditVerified:
    """Whether the whole chain is as it was written."""
    report = await runtime.engine.queries.verify_audit()
    return AuditVerified(valid=report.valid, entries=report.entries, head=report.head, problems=list(report.problems))


async def head(runtime: Runtime, call: Call) -> AuditHead:
    """The last entry's hash, to be kept elsewhere."""
    last = await runtime.engine.queries.audit(newest_first=True, limit=1)
    return AuditHead(head=last[0].hash if last else GENESIS, entries=last[0].seq if last else 0)


def _view(entry: AuditEntry) -> AuditView:
    facts: dict[str, Any] = asdict(entry)
    for name in ("at", "started_at", "ended_at"):
        facts[name] = None if facts[name] is None else moment(facts[name])
    return AuditView(**facts)


def _seq(before: str | None) -> int | None:
    if before is None:
        return None
    if not (before.isascii() and before.isdigit() and len(before) < 16):
        raise ValidationError("before must be the number of an entry")
    return int(before)
