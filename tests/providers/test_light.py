"""The light HTTP client: what is sent, when a connection is used again, and what a server cannot do to it."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
from tests.waiting import HANG_SECONDS, until

from pollux.core.errors import ModelError
from pollux.providers import light_pool
from pollux.providers.light import LightHttp
from pollux.providers.light_pool import MAX_UNREAD, Connection
from pollux.testing.provider_lab import Talk, http_answer, saying, serving

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture
async def http() -> AsyncGenerator[LightHttp]:
    client = LightHttp()
    yield client
    await client.close()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that is lost was not long under way, on however slow a machine."""
    monkeypatch.setattr("pollux.providers.light.STALE_SECONDS", HANG_SECONDS)


@pytest.fixture
def counted() -> list[bytes]:
    """The requests a server has seen; an empty one for each connection."""
    return []


async def get(http: LightHttp, url: str, *, idle: float = HANG_SECONDS, total: float = HANG_SECONDS) -> bytes:
    async with http.get(url, {}, idle=idle, total=total) as response:
        return await response.read_all()


def answering(seen: list[bytes], *answers: bytes) -> Talk:
    """Give one answer after another on one connection, then hang up."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(b"")
        for answer in answers:
            seen.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(answer)
            await writer.drain()

    return talk


def hanging_up_on_the_second(seen: list[bytes], then: bytes = OK) -> Talk:
    """Answer one request, lose the next without a word, and say `then` to whoever comes back."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers = [then] if seen else [OK, b""]
        await answering(seen, *answers)(reader, writer)

    return talk


def connections(seen: list[bytes]) -> int:
    return seen.count(b"")


async def test_a_request_says_who_asks_and_what_for(http: LightHttp, counted: list[bytes]):
    server = serving(answering(counted, OK))
    async with (
        server as url,
        http.post(
            f"{url}/a b?x=1&y=%20#z", {"accept": "text/plain"}, b"", idle=HANG_SECONDS, total=HANG_SECONDS
        ) as response,
    ):
        assert await response.read_all() == b"ok"
        assert dict(response.headers) == {"content-length": "2"} and len(response.headers) == 1
    line, *sent = counted[1].decode().split("\r\n")
    assert line == "POST /a%20b?x=1&y=%20 HTTP/1.1"
    assert f"Host: {url.removeprefix('http://')}" in sent and "Content-Length: 0" in sent
    assert "accept: text/plain" in sent and not any(header.startswith("Accept:") for header in sent)
    assert any(header.startswith("User-Agent: pollux/") for header in sent)


async def test_a_large_body_is_sent_whole(http: LightHttp):
    body = b"x" * 8 * 1024 * 1024

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(http_answer(200, b"%d" % len(await reader.readexactly(len(body)))))

    async with serving(talk) as url, http.post(url, {}, body, idle=HANG_SECONDS, total=HANG_SECONDS) as response:
        assert await response.read_all() == b"%d" % len(body)


async def test_a_connection_whose_request_was_not_read_whole_is_not_used_again(http: LightHttp, counted: list[bytes]):
    async with serving(answering(counted, OK, OK)) as url:
        for _ in range(2):
            async with http.post(url, {}, b"x" * 64 * 1024 * 1024, idle=HANG_SECONDS, total=HANG_SECONDS) as response:
                assert await response.read_all() == b"ok"
    assert connections(counted) == 2


async def test_a_name_and_password_in_the_address_become_a_header(http: LightHttp, counted: list[bytes]):
    async with serving(answering(counted, OK)) as url:
        await get(http, url.replace("//", "//me:p%40ss@"))
    assert b"Authorization: Basic bWU6cEBzcw==\r\n" in counted[1] and b"p%40ss" not in counted[1]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Key", "secret\r\nX-Admin: yes"),
        ("X-Key", "secret\n"),
        ("X-Key", "secret\0"),
        ("X-Key", "secret\N{SNOWMAN}"),
        ("X-Key: secret\r\nX", "y"),
        ("Content-Length", "7"),
    ],
)
async def test_a_header_that_would_break_the_request_is_refused(http: LightHttp, name: str, value: str):
    with pytest.raises(ModelError) as caught:
        async with http.get("http://127.0.0.1:9/", {name: value}, idle=1, total=1):
            pass
    assert caught.value.kind == "bad_request" and "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["ftp://host/", "host/path", "http://", "http://host:port/", "http://ho..st\u00e9/"])
async def test_an_address_that_is_none_is_refused(http: LightHttp, url: str):
    with pytest.raises(ModelError) as caught:
        await get(http, url)
    assert caught.value.kind == "bad_request"


async def test_changed_headers_are_sent_as_they_are_now(http: LightHttp, counted: list[bytes]):
    headers = {"X-Turn": "1"}
    async with serving(answering(counted, OK, OK)) as url:
        for turn in "12":
            headers["X-Turn"] = turn
            async with http.get(url, headers, idle=HANG_SECONDS, total=HANG_SECONDS) as response:
                await response.read_all()
    assert connections(counted) == 1 and b"X-Turn: 2" in counted[2]


async def test_a_connection_that_the_server_closed_is_replaced(http: LightHttp, counted: list[bytes]):
    async with serving(answering(counted, OK)) as url:
        for _ in range(3):
            assert await get(http, url) == b"ok"
            await until(lambda: not http.pool(asyncio.get_running_loop()).live)
    assert connections(counted) == 3


async def test_a_request_that_met_a_closing_connection_is_sent_once_more(
    http: LightHttp, counted: list[bytes], patient: None
):
    async with serving(hanging_up_on_the_second(counted)) as url:
        assert [await get(http, url), await get(http, url)] == [b"ok", b"ok"]
    assert connections(counted) == 2 and len(counted) == 5


async def test_a_request_on_a_fresh_connection_is_sent_once(http: LightHttp, counted: list[bytes]):
    async with serving(answering(counted, b"")) as url:
        with pytest.raises(ModelError, match="broke off before an answer came") as caught:
            await get(http, url)
    assert caught.value.kind == "connection" and connections(counted) == 1


async def test_a_request_that_a_second_connection_loses_too_is_not_sent_a_third_time(
    http: LightHttp, counted: list[bytes], patient: None
):
    async with serving(hanging_up_on_the_second(counted, then=b"")) as url:
        await get(http, url)
        with pytest.raises(ModelError, match="broke off"):
            await get(http, url)
    assert connections(counted) == 2 and len(counted) == 5


async def test_a_request_that_was_begun_to_be_answered_is_not_sent_again(http: LightHttp, counted: list[bytes]):
    async with serving(answering(counted, OK, b"HTTP/1.1 2")) as url:
        await get(http, url)
        with pytest.raises(ModelError, match="broke off"):
            await get(http, url)
    assert connections(counted) == 1


async def test_a_request_that_was_long_under_way_is_not_sent_again(
    http: LightHttp, counted: list[bytes], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("pollux.providers.light.STALE_SECONDS", 0.0)
    async with serving(answering(counted, OK, b"")) as url:
        await get(http, url)
        with pytest.raises(ModelError, match="broke off"):
            await get(http, url)
    assert connections(counted) == 1


async def test_a_connection_that_rested_too_long_is_replaced(
    http: LightHttp, counted: list[bytes], monkeypatch: pytest.MonkeyPatch
):
    async with serving(answering(counted, OK, OK, OK)) as url:
        await asyncio.gather(get(http, url), get(http, url))
        monkeypatch.setattr(light_pool, "MAX_REST_SECONDS", 0.0)
        await get(http, url)
    assert connections(counted) == 3


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"junk",
        OK + OK,
        OK + b"HTTP/1.1 2",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok" + OK,
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    ],
    ids=["junk", "a-second-answer", "half-an-answer", "close", "close-and-more", "http-1.0"],
)
async def test_a_connection_that_cannot_be_trusted_to_be_quiet_is_not_used_again(
    http: LightHttp, counted: list[bytes], answer: bytes
):
    async with serving(answering(counted, answer, answer)) as url:
        assert [await get(http, url), await get(http, url)] == [b"ok", b"ok"]
    assert connections(counted) == 2


async def test_bytes_on_a_resting_connection_close_it(http: LightHttp):
    answered, hung_up = asyncio.Event(), asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await answered.wait()
        writer.write(b"HTTP/1.1 408 Timeout\r\n\r\n")
        await reader.read()
        hung_up.set()

    async with serving(talk) as url, asyncio.timeout(HANG_SECONDS):
        assert await get(http, url) == b"ok"
        answered.set()
        await hung_up.wait()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK,
        b"HTTP/1.1 200 OK\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;x=y\r\no\r\n1\r\nk\r\n0\r\nTrailer: 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nA: 1\r\nA: 2\r\n\r\nok",
    ],
    ids=["continue", "until-closed", "chunks", "until-closed-with-headers"],
)
async def test_every_way_to_frame_a_body_is_read(http: LightHttp, answer: bytes):
    async with serving(saying(answer)) as url, http.get(url, {}, idle=HANG_SECONDS, total=HANG_SECONDS) as response:
        assert await response.read_all() == b"ok"
        assert "Link" not in response.headers and "Trailer" not in response.headers
        assert response.headers.get("a", "1, 2") == "1, 2"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
    ],
    ids=["length", "chunks"],
)
async def test_a_body_cut_short_is_given_and_then_broke_off(http: LightHttp, answer: bytes):
    async with serving(saying(answer)) as url, http.get(url, {}, idle=HANG_SECONDS, total=HANG_SECONDS) as response:
        assert await response.read_some() == b"ok"
        with pytest.raises(ModelError, match="broke off before the answer was complete") as caught:
            await response.read_some()
    assert caught.value.kind == "connection"


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>hello</html>",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 101 Up\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"a" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"a" * 300_000,
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 50_000 + b"\r\n",
        http_answer(200, b"\x1f\x8b", "Content-Encoding: gzip"),
    ],
    ids=["html", "ssh", "upgrade", "two-lengths", "large", "endless", "many", "compressed"],
)
async def test_what_is_not_the_http_we_asked_for_is_a_protocol_error(http: LightHttp, answer: bytes):
    async with serving(saying(answer)) as url:
        with pytest.raises(ModelError) as caught:
            await get(http, url)
    assert caught.value.kind == "protocol"


async def test_a_compressed_refusal_keeps_its_status(http: LightHttp):
    server = serving(saying(http_answer(429, b"\x1f\x8b", "Content-Encoding: gzip")))
    async with server as url, http.get(url, {}, idle=HANG_SECONDS, total=HANG_SECONDS) as response:
        assert response.status == 429 and await response.read_all() == b"\x1f\x8b"


async def test_a_redirect_is_not_followed(http: LightHttp):
    server = serving(saying(http_answer(302, b"", "Location: http://127.0.0.1:9/")))
    async with server as url, http.get(url, {}, idle=HANG_SECONDS, total=HANG_SECONDS) as response:
        assert (response.status, response.headers["LOCATION"]) == (302, "http://127.0.0.1:9/")


async def test_a_flood_that_nobody_reads_is_held_back(http: LightHttp, monkeypatch: pytest.MonkeyPatch):
    size, arrived, held_back = 50 * 1024 * 1024, list[int](), asyncio.Event()
    receive = Connection.data_received

    def received(connection: Connection, data: bytes) -> None:
        receive(connection, data)
        arrived.append(len(data))
        if not connection.transport.is_reading():
            held_back.set()

    monkeypatch.setattr(Connection, "data_received", received)
    server = serving(saying(http_answer(200, b"x" * size)))
    async with server as url, http.get(url, {}, idle=HANG_SECONDS, total=HANG_SECONDS) as response:
        await asyncio.wait_for(held_back.wait(), HANG_SECONDS)
        assert sum(arrived) < MAX_UNREAD + 2 * max(arrived)
        assert len(await response.read_all()) == size


async def test_leaving_early_closes_the_connection_at_once(http: LightHttp):
    hung_up = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")
        await reader.read()
        hung_up.set()

    async with serving(talk) as url, asyncio.timeout(HANG_SECONDS):
        async with http.get(url, {}, idle=HANG_SECONDS, total=HANG_SECONDS) as response:
            assert await response.read_some() == b"x"
        await hung_up.wait()


async def test_closing_ends_an_answer_that_is_under_way(http: LightHttp):
    server = serving(answering([], b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nx", b""))
    async with server as url, http.get(url, {}, idle=HANG_SECONDS, total=HANG_SECONDS) as response:
        assert await response.read_some() == b"x"
        await http.close()
        with pytest.raises(ModelError, match="broke off"):
            await response.read_some()


def test_a_loop_that_stopped_without_ending_is_closed_from_another():
    http, loop = LightHttp(), asyncio.new_event_loop()
    server = serving(answering([], OK, OK))
    url = loop.run_until_complete(server.__aenter__())
    loop.run_until_complete(get(http, url))
    asyncio.run(http.close())
    loop.run_until_complete(server.__aexit__(None, None, None))
    loop.close()


@pytest.mark.parametrize(("idle", "total"), [(0.1, 10_000), (10_000, 0.1)])
async def test_a_server_that_never_answers_is_given_up(http: LightHttp, idle: float, total: float):
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serving(talk) as url, asyncio.timeout(HANG_SECONDS):
        with pytest.raises(ModelError, match=r"no answer within 0\.1 s") as caught:
            await get(http, url, idle=idle, total=total)
    assert caught.value.kind == "timeout"


async def test_a_handshake_that_never_ends_is_given_up(http: LightHttp):
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        await asyncio.Event().wait()

    async with serving(talk) as url, asyncio.timeout(HANG_SECONDS):
        with pytest.raises(ModelError, match=r"no answer within 0\.1 s"):
            await get(http, url.replace("http:", "https:"), idle=0.1)


async def test_ipv6_is_spoken(http: LightHttp):
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(http_answer(200, head.split(b"Host: ")[1].split(b"\r\n")[0]))
        writer.close()

    try:
        server = await asyncio.start_server(connected, "::1", 0)
    except OSError:
        pytest.skip("there is no IPv6 here")
    async with server:
        port = server.sockets[0].getsockname()[1]
        assert await get(http, f"http://[::1]:{port}/") == f"[::1]:{port}".encode()
