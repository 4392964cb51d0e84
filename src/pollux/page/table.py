"""Every route of the page's door, a row each."""

import re
from dataclasses import replace
from typing import Final

from starlette.routing import Route

from pollux.asgi.door import identity_of
from pollux.asgi.endpoint import Answer, Call, Endpoint, routes_of
from pollux.asgi.errors import HttpError
from pollux.asgi.ndjson import NDJSON, Lines
from pollux.asgi.visits import Visit
from pollux.core.frozen import frozen
from pollux.page import jay_route, session, verbs
from pollux.page import shapes as s
from pollux.page.jay import JayActions
from pollux.page.jay_route import JayRoute
from pollux.page.runtime import DEFAULT_PROFILE, PageRuntime
from pollux.page.stream import lines

_OPEN: Final = re.compile(
    r"/api/page/.*|/_jay/actions/.*|/api/agent/approvals/(?:pending|resolve)|/api/agent/runs/[^/]+/cancel"
)


def is_open(path: str) -> bool:
    """Whether a page's visitor may ask this: its own routes, and what its own runs ask."""
    return _OPEN.fullmatch(path) is not None


def visit_of(call: Call) -> Visit:
    """Who talks. Somebody with a token of their own talks to the agent of pages, from here."""
    identity = identity_of(call.scope)
    return identity.visit or Visit(identity.user, call.origin, DEFAULT_PROFILE, identity.expires_at or 0.0)


async def send(runtime: PageRuntime, call: Call) -> s.Told:
    """Say something, and hear what came of it."""
    exchange = await verbs.read(runtime, visit_of(call), call.body)
    run = await verbs.begun(runtime, exchange, call.body)
    return await verbs.answered(runtime, exchange, await call.unless_gone(verbs.settled(runtime, exchange, run.id)))


async def send_stream(runtime: PageRuntime, call: Call) -> Lines:
    """The same, told as it happens."""
    exchange = await verbs.read(runtime, visit_of(call), call.body)
    return Lines(lines(runtime, exchange, await verbs.begun(runtime, exchange, call.body), after=0))


async def submit(runtime: PageRuntime, call: Call) -> s.Told:
    """Tell what came of the page's calls, and hear how it goes on."""
    exchange = await verbs.read(runtime, visit_of(call), call.body)
    run, _ = await verbs.submitted(runtime, exchange, call.body)
    return await verbs.answered(runtime, exchange, await call.unless_gone(verbs.settled(runtime, exchange, run.id)))


async def submit_stream(runtime: PageRuntime, call: Call) -> Lines:
    """The same, told as it happens."""
    exchange = await verbs.read(runtime, visit_of(call), call.body)
    run, since = await verbs.submitted(runtime, exchange, call.body)
    return Lines(lines(runtime, exchange, run, after=since))


async def _closed(runtime: None, call: Call) -> Answer:
    message = "this server lets no page talk to its agent. Add a [page] table to its configuration to turn that on"
    raise HttpError(404, "not_found", message)


@frozen
class PageDoor:
    """What answers pages: the agent, and the site's own actions."""

    runtime: PageRuntime
    actions: JayActions


def routes(door: PageDoor) -> list[Route]:
    """The table as routes, and Jay's address beside it."""
    jay = JayRoute(door.runtime, door.actions)
    return [*routes_of(ENDPOINTS, door.runtime), Route(jay_route.PATH, jay)]


def closed_routes() -> list[Route]:
    """The same addresses where no page may talk: anybody is told so, and nothing else."""
    rows = [*ENDPOINTS, *(replace(ENDPOINTS[0], method=method, path=jay_route.PATH) for method in ("GET", "POST"))]
    return routes_of([replace(row, handler=_closed, body=None, public=True) for row in rows], None)


ERRORS: Final = (403, 404, 409, 413, 503)
ENDPOINTS: Final = (
    Endpoint(method="POST", path="/api/page/session", handler=session.begin, body=s.SessionBody,
             returns=s.SessionAnswer, public=True, errors=(401, 404), summary="A visitor's token for a page"),
    Endpoint(method="POST", path="/api/page/send-message", handler=send, body=s.SendBody, returns=s.Told,
             errors=ERRORS, summary="Say something from a page"),
    Endpoint(method="POST", path="/api/page/send-message/stream", handler=send_stream, body=s.SendBody,
             media_type=NDJSON, errors=ERRORS, summary="The same, line by line as it happens"),
    Endpoint(method="POST", path="/api/page/submit-tool-results", handler=submit, body=s.SubmitBody, returns=s.Told,
             errors=ERRORS, summary="Tell what came of the page's calls, or go on after an approval"),
    Endpoint(method="POST", path="/api/page/submit-tool-results/stream", handler=submit_stream, body=s.SubmitBody,
             media_type=NDJSON, errors=ERRORS, summary="The same, line by line as it happens"),
)  # fmt: skip
PATHS: Final = frozenset(row.path for row in ENDPOINTS)
