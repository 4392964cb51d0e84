"""Requests: what is sent, what comes back, and where none of them goes. The server is a real one, on loopback."""

import asyncio
import gzip
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from tests.runbooks.blocks.at_work import ID, block, prepared, preview, run, scene, subjects
from tests.waiting import HANG_SECONDS, until
from yarl import URL

from pollux.core.errors import OutcomeUnknown, ToolError, ValidationError
from pollux.runbooks.blocks import Call
from pollux.runbooks.blocks.addresses import is_refused
from pollux.runbooks.blocks.exchange import BODY_LIMIT, canonical, origin_of
from pollux.runbooks.blocks.http import Http

HTTP = Http()


class Server:
    """Two origins: the first does what a path asks of it, the second tells what it was sent."""

    def __init__(self, first: str, second: str) -> None:
        self.first = first
        self.second = second
        self.seen: list[dict[str, Any]] = []


@pytest.fixture
async def server() -> AsyncGenerator[Server]:
    found = Server("", "")

    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.text()
        found.seen.append(
            {"verb": request.method, "path": request.path, "headers": dict(request.headers), "body": body}
        )
        match request.path.split("/")[1:]:
            case ["status", code]:
                return web.Response(status=int(code), text="said")
            case ["away", code]:
                raise _redirect(int(code), f"{found.second}/there")
            case ["on", code]:
                raise _redirect(int(code), "/there")
            case ["round"]:
                raise _redirect(302, "/round")
            case ["keys"]:
                raise _redirect(302, "http://169.254.169.254/latest/meta-data")
            case ["then-cut"]:
                raise _redirect(303, "/cut")
            case ["long"]:
                return web.Response(body=b"x" * (BODY_LIMIT + 10))
            case ["bomb"]:
                return web.Response(body=gzip.compress(bytes(200_000_000), 1), headers={"Content-Encoding": "gzip"})
            case ["latin"]:
                return web.Response(body=b"caf\xe9", headers={"Content-Type": "text/plain; charset=latin-1"})
            case ["odd"]:
                return web.Response(body=b"\xff\x00", headers={"Content-Type": "text/plain; charset=nonsense"})
            case ["hang"]:
                await asyncio.sleep(1000)
            case ["cut"]:
                assert request.transport is not None
                request.transport.abort()
            case _:
                pass
        return web.json_response({"path": request.path, "list": [1, 2]})

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    for _ in range(2):
        await web.TCPSite(runner, "127.0.0.1", 0).start()
    found.first, found.second = (f"http://127.0.0.1:{address[1]}" for address in runner.addresses)
    yield found
    await runner.cleanup()


def _redirect(status: int, location: str) -> web.HTTPException:
    class Redirect(web.HTTPException):
        status_code = status

    return Redirect(headers={"Location": location})


async def test_an_answer_has_all_the_keys_that_templates_know(server: Server):
    result = await run(HTTP, block("http", url=f"{server.first}/x?a=1"), scene())
    output = HTTP.output(result)
    assert (output["status"], output["status_text"], output["status_success"]) == (200, "200 OK", True)
    assert output["body_json"] == {"path": "/x", "list": [1, 2]}
    assert json.loads(str(output["body"])) == output["body_json"]
    assert result["headers"]["content-type"].startswith("application/json")
    assert 0 < result["duration_seconds"] < 60
    assert HTTP.succeeded(result)
    after = HTTP.after(scene(), block("http"), result)
    assert after.outputs[ID]["status"] == 200


async def test_verb_headers_and_body_are_sent_as_they_are_rendered(server: Server):
    made = block(
        "http",
        verb="post",
        url=f"{server.first}/{{{{ var.where }}}}",
        headers={"X-{{ var.where }}": "{{ var.what }}"},
        body='{"a": "{{ var.what }}"}',
    )
    await run(HTTP, made, scene(variables={"where": "there", "what": "ä"}))
    (seen,) = server.seen
    assert (seen["verb"], seen["path"], seen["body"]) == ("POST", "/there", '{"a": "ä"}')
    assert "Content-Type" not in seen["headers"]


async def test_headers_may_be_the_text_of_an_object_as_editors_store_them(server: Server):
    await run(HTTP, block("http", url=server.first, headers='{"X-A": "b"}'), scene())
    assert server.seen[0]["headers"]["X-A"] == "b"


@pytest.mark.parametrize("status", [302, 404, 500])
async def test_only_an_answer_of_the_two_hundreds_is_a_success(server: Server, status: int):
    result = await run(HTTP, block("http", url=f"{server.first}/status/{status}"), scene())
    assert (result["status"], HTTP.succeeded(result)) == (status, False)


async def test_what_is_read_may_be_repeated_and_everything_else_acts_once():
    reading, acting = (tool.spec for tool in HTTP.tools)
    assert (reading.name, reading.repeat, reading.side_effect) == ("runbook_http_read", "repeatable", True)
    assert (acting.name, acting.repeat, acting.side_effect) == ("runbook_http", "once", True)
    for verb, tool in [("GET", reading), ("HEAD", reading), ("POST", acting), ("PUT", acting), ("DELETE", acting)]:
        assert HTTP.call(block("http", verb=verb, url="http://a/"), scene()).tool == tool.name
    call = HTTP.call(block("http", url="http://a/", verb="POST"), scene())
    with pytest.raises(ValidationError, match="verb"):
        prepared(HTTP, Call("runbook_http_read", call.args))


async def test_a_redirect_within_the_same_place_is_followed_with_all_headers(server: Server):
    headers = {"Authorization": "Bearer geheim"}
    result = await run(HTTP, block("http", url=f"{server.first}/on/302", headers=headers), scene())
    assert HTTP.output(result)["body_json"] == {"path": "/there", "list": [1, 2]}
    assert server.seen[1]["headers"]["Authorization"] == "Bearer geheim"


@pytest.mark.parametrize("verb", ["GET", "HEAD", "POST"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_request_is_sent_on_to_another_place(server: Server, verb: str, status: int):
    result = await run(HTTP, block("http", verb=verb, url=f"{server.first}/away/{status}", body="said"), scene())
    assert (result["status"], len(server.seen)) == (status, 1)
    assert f"it leads to {server.second}, and only {server.first} was approved" in result["error"]
    assert not HTTP.succeeded(result)


@pytest.mark.parametrize(
    ("status", "verb", "body"), [(303, "GET", ""), (302, "GET", ""), (307, "POST", "said"), (308, "POST", "said")]
)
async def test_a_redirected_post_goes_on_as_its_status_says(server: Server, status: int, verb: str, body: str):
    await run(HTTP, block("http", verb="POST", url=f"{server.first}/on/{status}", body="said"), scene())
    assert (server.seen[1]["verb"], server.seen[1]["body"]) == (verb, body)


async def test_redirects_without_end_come_to_one(server: Server):
    result = await run(HTTP, block("http", url=f"{server.first}/round"), scene())
    assert (result["status"], len(server.seen)) == (302, 11)
    assert "more than 10 redirects" in result["error"]


async def test_no_redirect_leads_to_the_machines_keys(server: Server):
    result = await run(HTTP, block("http", url=f"{server.first}/keys"), scene())
    assert (result["status"], len(server.seen)) == (302, 1)
    assert "the machine's own keys" in result["error"]


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "[fe80::1]",
        "[::ffff:169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "100.100.100.200",
        "[fd00:ec2::254]",
    ],
)
def test_no_request_goes_to_the_machines_keys(host: str):
    with pytest.raises(ValidationError, match="the machine's own keys"):
        prepared(HTTP, HTTP.call(block("http", url=f"http://{host}/latest"), scene()))


@pytest.mark.parametrize("name", ["2852039166", "0xa9fea9fe", "169.16689662", "0251.0376.0251.0376"])
async def test_nor_by_a_name_that_stands_for_them(name: str):
    with pytest.raises(ToolError, match=r"the machine's own keys|not a canonical IPv4 address"):
        await run(HTTP, block("http", url=f"http://{name}/latest"), scene())


def test_ordinary_addresses_are_not_refused():
    assert not any(map(is_refused, ["127.0.0.1", "10.0.0.1", "::1", "8.8.8.8", "example.com", "2001:db8::1", ""]))


async def test_an_answer_that_is_too_long_is_cut_and_told(server: Server):
    result = await run(HTTP, block("http", url=f"{server.first}/long"), scene())
    assert len(result["body"]) == BODY_LIMIT
    assert "longer than 4 MiB" in result["note"]
    assert HTTP.succeeded(result)


async def test_a_bomb_is_not_unpacked(server: Server):
    result = await run(HTTP, block("http", url=f"{server.first}/bomb"), scene())
    assert len(result["body"]) == BODY_LIMIT


async def test_bytes_become_text_whatever_they_are(server: Server):
    latin = await run(HTTP, block("http", url=f"{server.first}/latin"), scene())
    odd = await run(HTTP, block("http", url=f"{server.first}/odd"), scene())
    assert (latin["body"], odd["body"]) == ("café", "\ufffd\0")


async def test_who_cannot_be_reached_is_told_and_nothing_has_happened():
    with pytest.raises(ToolError, match=r"http://127\.0\.0\.1:1 cannot be reached"):
        await run(HTTP, block("http", verb="DELETE", url="http://127.0.0.1:1/"), scene())


async def test_what_breaks_on_the_way_may_have_been_acted_upon(server: Server):
    with pytest.raises(ToolError, match="gave no answer"):
        await run(HTTP, block("http", url=f"{server.first}/cut"), scene())
    with pytest.raises(OutcomeUnknown, match=r"gave no answer: .*The POST request was on its way"):
        await run(HTTP, block("http", verb="POST", url=f"{server.first}/cut"), scene())
    with pytest.raises(OutcomeUnknown):
        await run(HTTP, block("http", verb="POST", url=f"{server.first}/then-cut"), scene())


async def test_a_time_out_is_told(server: Server):
    with pytest.raises(ToolError, match=r"no answer within 0\.2 s"):
        await run(HTTP, block("http", url=f"{server.first}/hang", timeoutSeconds=0.2), scene())
    with pytest.raises(OutcomeUnknown):
        await run(HTTP, block("http", verb="PUT", url=f"{server.first}/hang", timeoutSeconds=0.2), scene())


async def test_a_cancelled_request_ends_at_once(server: Server):
    running = asyncio.create_task(run(HTTP, block("http", url=f"{server.first}/hang"), scene()))
    await until(lambda: server.seen)
    running.cancel()
    # Not cancelled, it would wait for an answer that does not come.
    async with asyncio.timeout(HANG_SECONDS):
        with pytest.raises(asyncio.CancelledError):
            await running


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a/", "file:///etc/passwd", "http://", "http:///x", "http://a b/", "http://user:pw@a/", "http://a\\@b/",
        "http://a:99999/", "http://a:0/", "http://[::1", "javascript:1", "http://a/\r\nX: y", "//a/", "http://-a/", "http://a#\0",
    ],
)  # fmt: skip
def test_an_address_that_can_be_read_in_two_ways_is_refused(url: str):
    with pytest.raises(ValidationError):
        prepared(HTTP, HTTP.call(block("http", url=url), scene()))


@given(st.text(alphabet="htps:/\\@#?%[].-_aB1é \t\n", max_size=30).map(lambda rest: f"http://{rest}"))
def test_the_origin_that_is_judged_is_the_one_that_is_asked(url: str):
    try:
        one = canonical(url)
    except ValidationError:
        return
    # The client's own reading of it.
    try:
        read = URL(one)
    except ValueError:
        return
    assert str(read.origin()) == origin_of(one)
    assert canonical(one) == one


@pytest.mark.parametrize(
    ("url", "one"),
    [
        ("HTTP://Example.COM:80", "http://example.com/"),
        ("https://bücher.example/ä?b#c", "https://xn--bcher-kva.example/ä?b"),
        ("https://a:8443/x", "https://a:8443/x"),
        ("http://a?x=http://b/", "http://a/?x=http://b/"),
    ],
)
def test_an_address_has_one_form(url: str, one: str):
    assert prepared(HTTP, HTTP.call(block("http", url=url), scene()))["url"] == one


@pytest.mark.parametrize(
    "headers",
    [
        {"X": "a\r\nY: b"},
        {"X Y": "a"},
        {"": "a"},
        {"Host": "b"},
        {"Content-Length": "0"},
        {"X": 1},
        "[]",
        "{",
        {"X\n": "a"},
    ],
)
def test_headers_that_would_make_two_requests_of_one_are_refused(headers: Any):
    with pytest.raises(ValidationError, match="headers"):
        prepared(HTTP, HTTP.call(block("http", url="http://a/", headers=headers), scene()))


def test_whoever_is_asked_sees_the_request_without_its_secrets():
    made = block(
        "http", verb="PUT", url="https://a.example/x", headers={"Authorization": "geheim", "X-A": "b"}, body="all of it"
    )
    call = HTTP.call(made, scene())
    assert preview(HTTP, call) == "PUT https://a.example/x\nAuthorization: …\nX-A: b\n\nall of it"
    assert subjects(HTTP, call) == {"PUT https://a.example"}


@pytest.mark.parametrize("body", ["NaN", "[" * 100_000, "{", "", "x"])
def test_what_is_no_json_is_none(body: str):
    assert HTTP.output({"body": body})["body_json"] is None


def test_a_failed_call_has_an_output_too():
    output = HTTP.output({"error": "no"})
    assert (output["status"], output["status_success"], output["body"]) == (None, False, "")
