"""What is no answer of ours, from a real server into a real browser: in bounds, said as trouble, and Stop works."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from playwright.async_api import Browser, Page
from tests.http.browsing import needs_chromium
from tests.waiting import HANG_SECONDS
from tests.web.bundles import needs_web
from tests.web.client_pages import answering, client_page, needs_node, said
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

MEGABYTE = 1 << 20
BEGUN = b'{"type":"status","status":"planning","runId":"run_1"}\n'
DELTA = b'{"type":"delta","delta":"' + b"x" * 1_000 + b'"}\n'
ACTION = b'{"type":"tool_call","id":"%d","toolName":"look","preview":""}\n'
HELLO = {"type": "response", "message": "Hello.", "history": [{"seal": "x"}], "runId": "run_1"}

Send = Callable[[web.StreamResponse], Awaitable[None]]


@dataclass
class Junk:
    """A server that sends what it likes, until it is mended."""

    send: Send | None = None
    status: int = 200
    sent: int = 0
    """Bytes of answers without an end."""
    paths: list[str] = field(default_factory=list[str])
    left: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.paths.append(request.path)
        if request.path.endswith("/session"):
            return web.json_response({"token": "pv1.x", "expiresAt": "2999-01-01T00:00:00.000Z", "ok": True})
        if not request.path.endswith("/stream"):
            return web.json_response({"ok": True, "history": []})
        if self.send is None:
            return web.Response(body=BEGUN + json.dumps(HELLO).encode() + b"\n")
        response = web.StreamResponse(status=self.status, headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        try:
            await self.send(response)
        except ConnectionError:
            pass
        finally:
            self.left.set()
        return response

    def endless(self, begin: bytes, piece: Callable[[int], bytes]) -> Send:
        async def send(response: web.StreamResponse) -> None:
            await response.write(begin)
            for start in count(step=100):
                block = b"".join(piece(number) for number in range(start, start + 100))
                await response.write(block)
                self.sent += len(block)
                await asyncio.sleep(0)

        return send


def whole(body: bytes) -> Send:
    async def send(response: web.StreamResponse) -> None:
        await response.write(body)

    return send


@asynccontextmanager
async def junk_page(chromium: Browser, junk: Junk) -> AsyncGenerator[Page]:
    async with answering(junk.answer) as url:
        page = await chromium.new_page()
        troubles: list[str] = []
        page.on("pageerror", lambda problem: troubles.append(str(problem)))
        await page.goto(url + "/?quick")
        await page.wait_for_function("window.talk")
        try:
            yield page
        finally:
            await page.close()
        assert troubles == []


async def tried_again(page: Page, junk: Junk) -> list[Any]:
    """What is said once the server is itself again."""
    junk.send, junk.status = None, 200
    await page.evaluate("talk.retry()")
    return await page.evaluate("talk.state.messages.map(each => each.content)")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (BEGUN + b'{"type":"response","message":"He', 200),
        (b"", 200),
        (b"\xff\xfe\x00\x80\n" * 50, 200),
        (b"<!doctype html><title>Sign in</title>\n", 200),
        (b"<html>Bad gateway</html>", 502),
        (b'{"type":"response","message":7,"history":[],"runId":"run_1"}\n', 200),
        (b'{"type":"tool-calls","calls":[null],"history":[],"runId":"run_1"}\n', 200),
        (b'{"type":"response","message":"' + b"x" * (10 * MEGABYTE) + b'","history":[],"runId":"run_1"}\n', 200),
        (b"[" * (2 * MEGABYTE) + b"\n", 200),
    ],
    ids=["half a line", "nothing", "no text", "a page", "502", "wrong types", "no calls", "10 MB", "nested"],
)
async def test_what_is_no_answer_is_trouble_and_the_same_message_is_answered_later(
    chromium: Browser, body: bytes, status: int
):
    junk = Junk(whole(body), status)
    async with junk_page(chromium, junk) as page:
        await page.evaluate("talk.send('hi')")
        error = await page.evaluate("talk.state.error")
        assert error["code"] in ("unreachable", "bad_answer") and error["canRetry"]
        assert await tried_again(page, junk) == ["hi", "Hello."]


@pytest.mark.parametrize("kind", ["text", "a line", "actions", "unknown lines"])
async def test_an_answer_without_an_end_is_left_before_it_fills_the_memory(chromium: Browser, kind: str):
    junk = Junk()
    pieces: dict[str, tuple[bytes, Callable[[int], bytes]]] = {
        "text": (BEGUN, lambda _: DELTA),
        "a line": (BEGUN + b'{"type":"delta","delta":"', lambda _: b"x" * 1_000),
        "actions": (BEGUN, lambda number: ACTION % number),
        "unknown lines": (BEGUN, lambda _: b'{"type":"later"}\n' * 50),
    }
    junk.send = junk.endless(*pieces[kind])
    async with junk_page(chromium, junk) as page:
        async with asyncio.timeout(2 * HANG_SECONDS):
            await page.evaluate("talk.send('hi')")
            await junk.left.wait()
        assert (await page.evaluate("talk.state.error"))["code"] == "bad_answer"
        # Not asked for again by itself: it would be the same.
        assert junk.paths.count("/api/page/send-message/stream") == 1
        assert junk.sent < 64 * MEGABYTE
        assert await page.evaluate("JSON.stringify(talk.state).length") < MEGABYTE
        assert await tried_again(page, junk) == ["hi", "Hello."]


async def test_an_answer_without_an_end_is_stopped_by_whoever_has_enough(chromium: Browser):
    junk = Junk()

    async def drip(response: web.StreamResponse) -> None:
        await response.write(BEGUN)
        while True:
            await response.write(b'{"type":"delta","delta":"and "}\n')
            await asyncio.sleep(0.01)

    junk.send = drip
    async with junk_page(chromium, junk) as page:
        await page.evaluate("void talk.send('hi')")
        await page.wait_for_function("talk.state.messages.length == 2 && talk.state.messages[1].content.length > 100")
        await page.evaluate("talk.stop()")
        await asyncio.wait_for(junk.left.wait(), HANG_SECONDS)
        assert await page.evaluate("[talk.state.isLoading, talk.state.error]") == [False, None]
        assert "/api/agent/runs/run_1/cancel" in junk.paths
        junk.send = None
        await page.evaluate("talk.send('and now?')")
        assert await page.evaluate("talk.state.messages.at(-1).content") == "Hello."


@needs_node
async def test_after_a_sleep_a_server_that_stopped_answering_is_asked_again_within_seconds(tmp_path: Path):
    junk = Junk()

    async def stuck(response: web.StreamResponse) -> None:
        await response.write(BEGUN)
        await asyncio.Event().wait()

    junk.send = stuck
    async with answering(junk.answer) as url, client_page(tmp_path / "page", url) as page:
        sending = page.start("send", "hi")
        await page.until_kept(lambda kept: kept["step"].get("runId"))
        junk.send = None
        await page.do("shift", 5 * 60_000)
        # Two minutes of silence it may take, where nobody slept.
        state = (await asyncio.wait_for(sending, HANG_SECONDS))["state"]
        assert (said(state), state["error"], state["isLoading"]) == (["hi", "Hello."], None, False)
