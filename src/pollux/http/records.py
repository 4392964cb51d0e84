"""Grants that were given: listed, and taken back."""

from pollux.asgi.bodies import moment
from pollux.asgi.endpoint import Call
from pollux.http.runtime import Runtime
from pollux.http.shapes import Done, GrantPage, GrantView


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
            document=grant.document,
            by=grant.by,
        )
        for grant in rest[: call.query.limit]
    ]
    return GrantPage(items=items, next=items[-1].id if len(rest) > call.query.limit else None)


async def revoked(runtime: Runtime, call: Call) -> Done:
    """Take a grant back."""
    await runtime.engine.revoke(call.path["id"], user=call.user, by=call.user)
    return Done()
