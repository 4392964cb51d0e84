"""One row of the table is the whole truth about a route: what is read, what is answered, and what is refused."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct
from starlette.datastructures import Headers
from starlette.routing import Router
from starlette.types import Message, Scope
from tests.waiting import HANG_SECONDS

from pollux.asgi.auth import Identity
from pollux.asgi.door import IDENTITY
from pollux.asgi.endpoint import Answer, Call, Endpoint, nothing_there, routes_of
from pollux.asgi.errors import HttpError
from pollux.asgi.ndjson import Lines
from pollux.core.errors import AuthError, PolluxError, ValidationError
from pollux.core.ids import UserId


class Asked(Struct, forbid_unknown_fields=True):
    text: str


class Search(Struct):
    limit: Annotated[int, Meta(ge=1, le=9)] = 5


class Told(Struct):
    runtime: str
    user: str
    origin: str
    path: dict[str, str]
    asked: Any = None


async def echo(runtime: str, call: Call) -> Told:
    asked = call.body.text if call.body else call.query.limit if call.query else None
    return Told(runtime, call.user, call.origin, dict(call.path), asked)


async def made(runtime: str, call: Call) -> Answer:
    return Answer(Told(runtime, call.user, "", {}), 201, {"x-more": "1"})


async def lines(runtime: str, call: Call) -> Lines:
    async def two() -> AsyncGenerator[bytes]:
        yield b"1\n"
        yield b"2\n"

    return Lines(two())


TABLE = (
    Endpoint(method="GET", path="/things", handler=echo, query=Search, returns=Told, summary=""),
    Endpoint(method="POST", path="/things", handler=echo, body=Asked, returns=Told, summary=""),
    Endpoint(method="POST", path="/things/{id}", handler=made, returns=Told, status=201, summary=""),
    Endpoint(method="GET", path="/lines", handler=lines, summary=""),
    Endpoint(method="GET", path="/open", handler=echo, returns=Told, public=True, summary=""),
)
ROUTER = Router(routes_of(TABLE, "runtime"), redirect_slashes=False, default=nothing_there)


async def ask(
    method: str,
    path: str,
    body: bytes = b"",
    *,
    query: bytes = b"",
    headers: dict[str, str] | None = None,
    user: str = "ada",
) -> tuple[int, dict[str, str], bytes]:
    """What the table answers. Raises what it refuses with."""
    sent: list[Message] = []
    given = [(name.encode(), value.encode()) for name, value in {"host": "127.0.0.1", **(headers or {})}.items()]
    scope: Scope = {"type": "http", "method": method, "path": path, "query_string": query, "headers": given}
    scope |= {"scheme": "http", "root_path": "", **({IDENTITY: Identity(UserId(user), "token")} if user else {})}
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if waiting:
            return waiting.pop()
        return await asyncio.Future()

    async def send(message: Message) -> None:
        sent.append(message)

    await asyncio.wait_for(ROUTER(scope, receive, send), HANG_SECONDS)
    start, *rest = sent
    told = {name.decode(): value.decode() for name, value in start["headers"]}
    return start["status"], told, b"".join(message["body"] for message in rest)


async def test_a_handler_gets_what_was_read_and_its_struct_is_the_answer():
    status, headers, body = await ask("POST", "/things", b'{"text": "a"}')
    assert (status, headers["content-type"], headers["content-length"]) == (200, "application/json", str(len(body)))
    assert json.loads(body) == {
        "runtime": "runtime",
        "user": "ada",
        "origin": "http://127.0.0.1",
        "path": {},
        "asked": "a",
    }


async def test_an_answer_may_have_its_own_status_and_headers():
    status, headers, _ = await ask("POST", "/things/7", b"ignored")
    assert (status, headers["x-more"]) == (201, "1")


async def test_an_application_may_answer_for_itself():
    status, headers, body = await ask("GET", "/lines")
    assert (status, headers["content-type"], body) == (200, "application/x-ndjson; charset=utf-8", b"1\n2\n")


async def test_the_origin_is_the_page_s_where_it_says_so():
    _, _, body = await ask("GET", "/things", headers={"origin": "https://here.example"})
    assert json.loads(body)["origin"] == "https://here.example"


async def test_a_route_that_is_not_public_needs_somebody():
    with pytest.raises(AuthError):
        await ask("GET", "/things", user="")
    status, _, body = await ask("GET", "/open", user="")
    assert (status, json.loads(body)["user"]) == (200, "")


@pytest.mark.parametrize("path", ["/", "/things/", "/things/7/8", "//things", "/Things", ""])
async def test_where_nothing_is_there_is_a_404(path: str):
    with pytest.raises(HttpError) as caught:
        await ask("GET", path)
    assert (caught.value.status, caught.value.code) == (404, "not_found")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "x" * 100])
async def test_another_method_is_told_which_are_there(method: str):
    with pytest.raises(HttpError) as caught:
        await ask(method, "/things")
    assert (caught.value.status, caught.value.code) == (405, "method_not_allowed")
    assert set(caught.value.headers["allow"].split(", ")) >= {"GET", "POST"}
    assert len(str(caught.value)) < 100


@pytest.mark.parametrize("query", [b"limit=3", b"limit=3&other=1", b"", b"other=%ff%fe"[:6]])
async def test_a_query_is_read_and_what_it_does_not_know_is_passed_over(query: bytes):
    status, _, _ = await ask("GET", "/things", query=query)
    assert status == 200


@pytest.mark.parametrize(
    "query",
    [
        b"limit=0",
        b"limit=10",
        b"limit=x",
        b"limit=",
        b"limit=1&limit=1",
        b"a=%ff",
        b"\xff",
        b"&".join([b"a%d=1"] * 51),
        b"limit=%00",
    ],
)
async def test_a_query_that_does_not_fit_is_refused(query: bytes):
    with pytest.raises(ValidationError):
        await ask("GET", "/things", query=query)


@given(st.binary(max_size=60))
def test_no_query_and_no_body_is_anything_but_answered_or_refused(junk: bytes):
    async def both() -> None:
        for asking in (ask("GET", "/things", query=junk), ask("POST", "/things", junk)):
            try:
                assert (await asking)[0] == 200
            except PolluxError as problem:
                assert problem.code == "invalid"  # noqa: PT017

    asyncio.run(both())


def call_of(left: asyncio.Event) -> Call:
    async def receive() -> Message:
        await left.wait()
        return {"type": "http.disconnect"}

    return Call(UserId("ada"), "", {}, Headers(), {}, receive)


async def test_a_result_is_waited_for_while_the_caller_is_there():
    async def work() -> int:
        await asyncio.sleep(0)
        return 7

    assert await call_of(asyncio.Event()).unless_gone(work()) == 7


async def test_a_failure_of_the_work_is_the_caller_s_to_see():
    async def work() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await call_of(asyncio.Event()).unless_gone(work())


async def test_a_caller_who_leaves_is_not_waited_for():
    left, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        try:
            left.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(HttpError) as caught:
        await asyncio.wait_for(call_of(left).unless_gone(work()), HANG_SECONDS)
    assert caught.value.code == "disconnected"
    await asyncio.wait_for(ended.wait(), HANG_SECONDS)


async def test_work_that_is_done_when_the_caller_leaves_has_a_result():
    left = asyncio.Event()
    left.set()

    async def work() -> int:
        return 7

    assert await call_of(left).unless_gone(work()) == 7
