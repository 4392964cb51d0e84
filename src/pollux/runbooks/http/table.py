"""Every route of runbooks, a row each. Whoever may not run commands here finds nothing at any of them."""

import shutil
from typing import Final

from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from pollux.asgi.door import identity_of
from pollux.asgi.endpoint import Call, Endpoint, nothing_there, routes_of
from pollux.asgi.ndjson import NDJSON, SSE
from pollux.asgi.shapes import PageQuery
from pollux.runbooks.http import documents, runs, stream
from pollux.runbooks.http import shapes as s
from pollux.runbooks.http.runtime import RunbookRuntime
from pollux.tools.threads import in_thread


async def settings(runtime: RunbookRuntime, call: Call) -> s.RunbookSettings:
    """Whom blocks may ask, and what new ones begin with."""
    return await in_thread(_settings, runtime)


async def models(runtime: RunbookRuntime, call: Call) -> s.RunbookModels:
    """What our own agents may be asked by."""
    return s.RunbookModels(items=list(await runtime.models.names(runtime.engine.clock.now())))


def _settings(runtime: RunbookRuntime) -> s.RunbookSettings:
    known = runtime.agents
    agents = [
        s.KnownAgent(
            name=name,
            command=entry.command,
            args=list(entry.args),
            description=entry.description,
            is_installed=shutil.which(entry.command) is not None,
        )
        for name, entry in sorted(known.agents.items())
    ]
    return s.RunbookSettings(
        agents=agents,
        default_timeout=known.default_timeout,
        default_capabilities=documents.capabilities_view(known.default_capabilities),
        model=runtime.model,
        editable=runtime.editable,
    )


def routes(runtime: RunbookRuntime) -> list[Route]:
    """The table as routes, for those who may."""
    return [Route(route.path, _Kept(route.endpoint, runtime)) for route in routes_of(ENDPOINTS, runtime)]


class _Kept:
    """What answers only those who may. The others are told what they are told of any address where nothing is."""

    def __init__(self, app: ASGIApp, runtime: RunbookRuntime) -> None:
        self._app = app
        self._runtime = runtime

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app if self._runtime.is_open_to(identity_of(scope)) else nothing_there
        await app(scope, receive, send)


ENDPOINTS: Final = (
    Endpoint(method="GET", path="/api/runbooks", handler=documents.listed, query=PageQuery,
             returns=s.RunbookPage, errors=(404,), summary="The documents of the folder, by path"),
    Endpoint(method="GET", path="/api/runbooks/documents", handler=documents.shown, query=s.DocumentQuery,
             returns=s.DocumentView, errors=(404,), summary="One document: its text and its blocks"),
    Endpoint(method="PUT", path="/api/runbooks/documents", handler=documents.replaced, query=s.DocumentQuery,
             body=s.DocumentBody, returns=s.DocumentView, errors=(404, 409),
             summary="Replace a document, unless somebody changed it meanwhile"),
    Endpoint(method="PATCH", path="/api/runbooks/documents/blocks/{id}", handler=documents.patched,
             query=s.DocumentQuery, body=s.BlockBody, returns=s.DocumentView, errors=(404, 409),
             summary="Change properties of one block; every other line stays"),
    Endpoint(method="POST", path="/api/runbooks/runs", handler=runs.started, body=s.RunbookStartBody, status=201,
             returns=s.RunbookRunView, errors=(404, 409, 503), headers=("Idempotency-Key",), summary="Run a document"),
    Endpoint(method="GET", path="/api/runbooks/runs", handler=runs.listed, query=PageQuery,
             returns=s.RunbookRunPage, errors=(404,), summary="Runs of documents, newest first"),
    Endpoint(method="GET", path="/api/runbooks/runs/{id}", handler=runs.shown, returns=s.RunbookRunView,
             errors=(404,), summary="How far a run has come, block by block, and what it asks"),
    Endpoint(method="GET", path="/api/runbooks/runs/{id}/events", handler=stream.events, media_type=NDJSON, also=SSE,
             errors=(404, 503), summary="What happened and what happens; server-sent events where they are accepted"),
    Endpoint(method="POST", path="/api/runbooks/runs/{id}/resume", handler=runs.resumed, body=s.ResumeBody,
             returns=s.RunbookRunView, errors=(404, 409, 503),
             summary="Go on: where it was, or with the block that failed again, or without it"),
    Endpoint(method="POST", path="/api/runbooks/runs/{id}/tool-approval", handler=runs.answered,
             body=s.ToolApprovalBody, returns=s.ToolApprovalAnswer, errors=(404, 409, 503),
             summary="Answer a question of a run, of its agents or of its parts"),
    Endpoint(method="GET", path="/api/runbooks/settings", handler=settings, returns=s.RunbookSettings, errors=(404,),
             summary="Which agents blocks may name, and what new blocks begin with"),
    Endpoint(method="GET", path="/api/runbooks/models", handler=models, returns=s.RunbookModels, errors=(404,),
             summary="Which models blocks may choose from"),
)  # fmt: skip
