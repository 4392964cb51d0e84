"""One route: what it takes and gives, as types. Reading requests, writing answers and the OpenAPI document all follow
from the same row, so they cannot disagree."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Generic, Literal, TypeVar

import msgspec
from starlette.datastructures import Headers
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from pollux.asgi.bodies import LARGEST_BODY, LARGEST_FIELDS, encoded, fields_of, gone, parsed_aside, read_body, shaped
from pollux.asgi.door import ORIGIN, identity_of, origin_of
from pollux.asgi.errors import HttpError
from pollux.core.frozen import frozen
from pollux.core.ids import UserId

R = TypeVar("R")
T = TypeVar("T")


@frozen
class Call:
    """A request that was let in and read."""

    user: UserId
    origin: str
    path: Mapping[str, str]
    headers: Headers
    scope: Scope
    receive: Receive
    body: Any = None
    query: Any = None

    async def unless_gone(self, work: Awaitable[T]) -> T:
        """The result, waited for only as long as the caller is there. The work itself goes on wherever it is done."""
        waiting, leaving = asyncio.ensure_future(work), asyncio.ensure_future(gone(self.receive))
        try:
            await asyncio.wait({waiting, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                raise HttpError(499, "disconnected", "the caller left before the answer was there")
            return waiting.result()
        finally:
            waiting.cancel()
            leaving.cancel()


@frozen
class Answer:
    """An answer that has more to it than its body."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


Handler = Callable[[Any, Call], Awaitable[Any]]
"""Takes what the door is made of and a call; gives a Struct, an Answer or an ASGI application that answers."""


@frozen(kw_only=True)
class Endpoint:
    """A row of the table."""

    method: str
    path: str
    handler: Handler
    summary: str
    returns: Any = None
    """A type, or several of which it is one."""
    body: type[Any] | None = None
    query: type[Any] | None = None
    status: int = 200
    errors: tuple[int, ...] = ()
    media_type: str = "application/json"
    also: str | tuple[str, ...] = ""
    """Another media type, for those who accept it, or several that it may be."""
    largest: int = LARGEST_BODY
    """How many bytes of a body are taken."""
    moves: Literal[302, 303] | None = None
    """With what it may lead elsewhere, and the same body."""
    form: bool = False
    """Whether the body is a form that a browser sends, and no JSON."""
    public: bool = False
    headers: tuple[str, ...] = ()
    """Request headers that mean something here, for the document."""

    @property
    def takes_body(self) -> bool:
        """Whether one is read. Where it means nothing, it is read all the same: hung up on, a sender sees no answer."""
        return self.body is not None or self.method in ("POST", "PATCH")


class Routed(Generic[R]):
    """Everything that answers at one path."""

    def __init__(self, endpoints: Sequence[Endpoint], runtime: R) -> None:
        self._by_method = {endpoint.method: endpoint for endpoint in endpoints}
        self._runtime = runtime

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Who asks for the head alone gets that: the server drops the body.
        endpoint = self._by_method.get("GET" if scope["method"] == "HEAD" else scope["method"])
        if endpoint is None:
            allowed = ", ".join(sorted(self._by_method))
            message = f"expected {allowed} here, found {scope['method'][:20]}"
            raise HttpError(405, "method_not_allowed", message, headers={"allow": allowed})
        answer = await endpoint.handler(self._runtime, await _read(endpoint, scope, receive))
        if not isinstance(answer, msgspec.Struct | Answer):
            await answer(scope, receive, send)
            return
        if not isinstance(answer, Answer):
            answer = Answer(answer, endpoint.status)
        body = encoded(answer.body)
        pairs = {"content-type": "application/json", "content-length": str(len(body)), **answer.headers}
        raw = [(name.encode(), value.encode()) for name, value in pairs.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": raw})
        await send({"type": "http.response.body", "body": body})


def routes_of(endpoints: Sequence[Endpoint], runtime: Any) -> list[Route]:
    """The table as routes."""
    paths: dict[str, list[Endpoint]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, []).append(endpoint)
    return [Route(path, Routed(rows, runtime)) for path, rows in paths.items()]


async def nothing_there(scope: Scope, receive: Receive, send: Send) -> None:
    """What answers where no route does."""
    raise HttpError(404, "not_found", "there is nothing at this address. /openapi.json tells what there is")


async def _read(endpoint: Endpoint, scope: Scope, receive: Receive) -> Call:
    headers = Headers(scope=scope)
    return Call(
        user=UserId("") if endpoint.public else identity_of(scope).user,
        origin=scope.get(ORIGIN) or origin_of(scope, headers),
        path=scope["path_params"],
        headers=headers,
        scope=scope,
        receive=receive,
        body=await _read_body(endpoint, headers, receive) if endpoint.takes_body else None,
        query=fields_of(scope["query_string"], endpoint.query, what="the query") if endpoint.query else None,
    )


async def _read_body(endpoint: Endpoint, headers: Headers, receive: Receive) -> Any:
    is_coming = headers.get("expect", "").lower() != "100-continue"
    declared = headers.get("content-length", "")
    largest = min(endpoint.largest, LARGEST_FIELDS) if endpoint.form else endpoint.largest
    body = await read_body(receive, declared, largest=largest, is_coming=is_coming)
    # Whatever it is called: `curl -d` says it is a form. A cookie's request is proved by its CSRF header.
    if endpoint.body is None:
        return None
    if endpoint.form:
        return fields_of(body, endpoint.body, what="the form")
    return shaped(await parsed_aside(body), endpoint.body)
