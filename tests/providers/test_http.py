"""The HTTP port, on both of its clients: bounds, failures, and nothing left open."""

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator

import pytest
from tests.waiting import HANG_SECONDS

from pollux.core.errors import ModelError
from pollux.providers.http import AiohttpHttp, Http
from pollux.providers.light import LightHttp
from pollux.testing.provider_lab import Talk, http_answer, saying, serving

CLIENTS = [LightHttp, AiohttpHttp]


@pytest.fixture(params=CLIENTS)
async def http(request: pytest.FixtureRequest) -> AsyncGenerator[Http]:
    client: Http = request.param()
    yield client
    await client.close()


async def get(
    http: Http, url: str, *, idle: float = HANG_SECONDS, total: float = HANG_SECONDS, limit: int = 1000
) -> bytes:
    async with http.get(url, {}, idle=idle, total=total) as response:
        return await response.read_all(limit)


def dripping(pause: float) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while not writer.is_closing():
            await asyncio.sleep(pause)
            writer.write(b"1\r\nx\r\n")
            await writer.drain()

    return talk


async def test_a_body_is_read_whole_or_as_it_comes(http: Http):
    async with serving(saying(http_answer(418, b"short and stout", "X-Tea: yes"))) as url:
        assert await get(http, url) == b"short and stout"
        async with http.post(url, {"A": "b"}, b"body", idle=HANG_SECONDS, total=HANG_SECONDS) as response:
            assert (response.status, response.headers["x-tea"]) == (418, "yes")
            assert await response.read_some() == b"short and stout"
            assert await response.read_some() == b""


async def test_a_body_larger_than_allowed_is_refused(http: Http):
    async with serving(saying(http_answer(200, b"x" * 2000))) as url:
        with pytest.raises(ModelError, match="more than 1000 bytes") as caught:
            await get(http, url)
    assert caught.value.kind == "protocol"


@pytest.mark.parametrize(
    ("pause", "idle", "total"), [(10_000, 0.1, 10_000), (0.02, 10_000, 0.2)], ids=["idle", "total"]
)
async def test_both_bounds_end_a_body_that_does_not(http: Http, pause: float, idle: float, total: float):
    async with serving(dripping(pause)) as url, asyncio.timeout(HANG_SECONDS):
        with pytest.raises(ModelError) as caught:
            await get(http, url, idle=idle, total=total)
        assert caught.value.kind == "timeout"


async def test_a_reader_who_takes_his_time_is_not_a_silent_server(http: Http):
    async with serving(saying(http_answer(200, b"all of it"))) as url, serving(dripping(10_000)) as silent:
        # A busy machine may take longer than the first of these to answer at all.
        for idle in (0.1, 1.0, 10.0):
            is_answered = False
            try:
                async with http.get(url, {}, idle=idle, total=HANG_SECONDS) as response:
                    is_answered = True
                    # Another one was silent for as long as that meanwhile.
                    with pytest.raises(ModelError, match="nothing arrived"):
                        await get(http, silent, idle=idle)
                    assert await response.read_all() == b"all of it"
                    break
            except ModelError:
                if is_answered:
                    raise
        else:
            pytest.fail("it was never answered")


async def test_a_connection_is_used_again_only_when_its_answer_was_read(http: Http):
    connections: list[int] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(1)
        while head := await reader.readuntil(b"\r\n\r\n"):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n")
            writer.write(b"bo" if head.startswith(b"GET /half") else b"body")

    async with serving(talk) as url:
        for _ in range(3):
            await get(http, url)
        assert len(connections) == 1
        async with http.get(f"{url}/half", {}, idle=HANG_SECONDS, total=HANG_SECONDS):
            pass
        await get(http, url)
    assert len(connections) == 2


async def test_the_address_is_shown_without_what_is_private_in_it(http: Http):
    async with serving(saying(b"")) as url:
        private = url.replace("//", "//me:hunter22@") + "/path?key=hunter33"
        with pytest.raises(ModelError) as caught:
            await get(http, private)
    assert "127.0.0.1" in str(caught.value) and "hunter" not in str(caught.value)


@pytest.mark.parametrize("client", CLIENTS)
def test_each_event_loop_has_its_own_connections_and_none_is_left_over(
    client: type[LightHttp] | type[AiohttpHttp], recwarn: pytest.WarningsRecorder
):
    http = client()

    async def once() -> None:
        async with serving(saying(http_answer(200, b"ok"))) as url:
            assert await get(http, url) == b"ok"

    asyncio.run(once())
    asyncio.run(once())
    asyncio.run(http.close())
    gc.collect()
    assert not recwarn.list


async def test_closing_reaches_a_loop_in_another_thread(http: Http):
    ready, finish = threading.Event(), threading.Event()

    async def elsewhere() -> None:
        async with serving(saying(http_answer(200, b"ok"))) as url:
            await get(http, url)
            ready.set()
            await asyncio.to_thread(finish.wait, HANG_SECONDS)

    thread = threading.Thread(target=lambda: asyncio.run(elsewhere()))
    thread.start()
    assert await asyncio.to_thread(ready.wait, HANG_SECONDS)
    await http.close()
    finish.set()
    await asyncio.to_thread(thread.join, HANG_SECONDS)
    assert not thread.is_alive()


@pytest.mark.parametrize("module", ["gemini", "openai", "scripted"])
def test_importing_a_provider_imports_no_http_client(module: str):
    code = f"import sys, pollux.providers.{module}; print('aiohttp' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"
