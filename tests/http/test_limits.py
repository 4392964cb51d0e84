"""Limits at the door: how often, how much in a day, how large. One who exceeds them disturbs nobody else."""

import asyncio
from collections.abc import AsyncGenerator
from io import BytesIO
from pathlib import Path

from tests.http.scenes import MAIL, mail, refused
from tests.http.site import settings_in, site
from tests.waiting import HANG_SECONDS

from pollux.asgi.bodies import LARGEST_BODY
from pollux.core.ids import UserId
from pollux.core.messages import Usage
from pollux.http import attachments
from pollux.testing import FakeClock, call, reply
from pollux.testing import scripted as model

RUN = "/api/agent/run"
HARDLY = 0.001
"""So many requests a minute: nothing comes back while a test runs, on however slow a machine."""
LARGEST = dict.fromkeys((RUN, f"{RUN}/stream"), attachments.LARGEST_BODY) | dict.fromkeys(
    ("/api/agent/approvals/resolve", "/api/session/sign-in"), LARGEST_BODY
)
"""What each route takes: prompts bring files along."""


def test_by_default_a_user_has_1200_requests_a_minute_and_200_at_once(tmp_path: Path):
    settings = settings_in(tmp_path)
    assert (settings.requests_per_minute, settings.burst, settings.tokens_per_day) == (1_200, 200, None)


async def test_who_asks_too_often_is_told_when_to_come_again(tmp_path: Path):
    async with site(tmp_path, model(), burst=5, requests_per_minute=HARDLY) as here:
        for _ in range(5):
            assert (await here.ada.get("/api/agent/runs")).status == 200
        got = await here.ada.get("/api/agent/runs")
        refused(got, 429, "rate_limited")
        assert 59_000 < int(got.headers["retry-after"]) <= 60 / HARDLY
        # Bob has a bucket of his own.
        assert (await here.bob.get("/api/agent/runs")).status == 200


async def test_a_request_over_the_rate_begins_no_run_and_no_stream(tmp_path: Path):
    async with site(tmp_path, model(reply("Hello.")), burst=1, requests_per_minute=HARDLY) as here:
        await here.ada.run("hello")
        for path in (RUN, f"{RUN}/stream"):
            got = await here.ada.post(path, {"prompt": "hello"})
            refused(got, 429, "rate_limited")
            assert got.headers["content-type"] == "application/json"


async def test_two_hundred_at_once_are_taken_and_then_it_is_enough(tmp_path: Path):
    async with site(tmp_path, model(), requests_per_minute=HARDLY) as here:
        got = [(await here.ada.get("/api/session")).status for _ in range(201)]
    assert got == [200] * 200 + [429]


async def test_who_guesses_tokens_is_slowed_down_without_slowing_others(tmp_path: Path):
    async with site(tmp_path, model(), burst=3, requests_per_minute=HARDLY) as here:
        guesses = [(await here.person(f"guess-{n}-0123456789").get("/api/agent/runs")).status for n in range(5)]
        assert guesses == [401] * 3 + [429] * 2
        assert (await here.ada.get("/api/agent/runs")).status == 200


async def test_who_spent_the_tokens_of_a_day_begins_nothing_until_the_next(tmp_path: Path):
    clock = FakeClock()
    script = model(*[reply("Hello.", usage=Usage(input=60, output=40))] * 4)
    async with site(tmp_path, script, clock=clock, tokens_per_day=200) as here:
        for _ in range(2):
            assert (await here.ada.run("hello"))["status"] == "completed"
        for path in (RUN, f"{RUN}/stream"):
            got = await here.ada.post(path, {"prompt": "hello"})
            refused(got, 429, "budget")
            assert int(got.headers["retry-after"]) >= 1
        assert (await here.bob.run("hello"))["status"] == "completed"
        clock.advance(24 * 3600 + 1)
        assert (await here.ada.run("hello"))["status"] == "completed"


async def test_a_run_may_spend_no_more_than_what_is_left_of_the_day(tmp_path: Path):
    script = model(reply("Hello.", usage=Usage(input=60, output=30)), call("send_mail", MAIL))
    async with site(tmp_path, script, tools=[mail()], tokens_per_day=100) as here:
        await here.ada.run("hello")
        run = await here.ada.run("email Bob")
    # Ten were left, and the call took fifteen: what it asked for is not done.
    assert (run["status"], run["errorCode"], run["approvals"]) == ("failed", "budget", [])


async def test_what_was_begun_can_still_be_answered_when_the_day_is_spent(tmp_path: Path):
    tool = mail()
    script = model(call("send_mail", MAIL), reply("Sent.", usage=Usage(input=15, output=10)))
    async with site(tmp_path, script, tools=[tool], tokens_per_day=35) as here:
        run = await here.ada.run("email Bob")
        after = (await here.ada.resolve(run["approvals"][0]["id"])).body["run"]
        assert (after["status"], len(tool.ran)) == ("completed", 1)
        refused(await here.ada.post(RUN, {"prompt": "hello"}), 429, "budget")


async def test_a_run_that_is_open_for_more_than_a_day_keeps_its_promise_and_is_counted(tmp_path: Path):
    clock = FakeClock()
    script = model(call("send_mail", MAIL), call("send_mail", MAIL), reply("Sent."), reply("Hello."))
    async with site(tmp_path, script, tools=[mail()], clock=clock, tokens_per_day=100) as here:
        run = await here.ada.run("email Bob twice")
        clock.advance(23 * 3600)
        run = (await here.ada.resolve(run["approvals"][0]["id"])).body["run"]
        clock.advance(2 * 3600)
        refused(await here.ada.post(RUN, {"prompt": "hello"}), 429, "budget")
        run = (await here.ada.resolve(run["approvals"][0]["id"])).body["run"]
        assert run["status"] == "completed"
        clock.advance(23 * 3600)
        assert (await here.engine.queries.spent(UserId("ada"), clock.now() - 24 * 3600)).used == 45
        assert (await here.ada.run("hello"))["status"] == "completed"


async def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_sent(tmp_path: Path):
    async with site(tmp_path, model()) as here:
        host = here.url.removeprefix("http://")
        for path, largest in LARGEST.items():
            reader, writer = await asyncio.open_connection(*host.split(":"))
            # Nothing but the head is ever sent: who asks whether to go on is told not to.
            head = [f"POST {path} HTTP/1.1", f"Host: {host}", f"Content-Length: {largest + 1}"]
            head += ["Expect: 100-continue", *(f"{name}: {value}" for name, value in here.ada.headers.items())]
            writer.write("\r\n".join((*head, "", "")).encode())
            async with asyncio.timeout(HANG_SECONDS):
                answer = await reader.readuntil(b"}}")
            assert answer.startswith(b"HTTP/1.1 413 ") and b'"code":"too_large"' in answer
            writer.close()
        assert (await here.ada.get("/api/agent/runs")).body["items"] == []


async def test_who_sends_a_body_that_is_too_large_all_the_same_still_hears_why(tmp_path: Path):
    async with site(tmp_path, model()) as here:
        for path, largest in LARGEST.items():
            body = BytesIO(b"x" * (largest + 1))
            async with here.http.post(here.url + path, data=body, headers=here.ada.headers) as response:
                assert (response.status, (await response.json())["error"]["code"]) == (413, "too_large")


async def test_a_body_that_turns_out_too_large_is_refused_while_it_is_read(tmp_path: Path):
    async def pieces(largest: int) -> AsyncGenerator[bytes]:
        yield b'{"prompt":"'
        for _ in range(largest // 65_536 + 1):
            yield b"x" * 65_536

    async with site(tmp_path, model()) as here:
        for path, largest in LARGEST.items():
            async with here.http.post(here.url + path, data=pieces(largest), headers=here.ada.headers) as response:
                assert (response.status, (await response.json())["error"]["code"]) == (413, "too_large")
        assert (await here.ada.get("/api/agent/runs")).body["items"] == []


async def test_the_largest_body_is_not_too_large(tmp_path: Path):
    body = b'{"prompt":"hello"}'
    async with site(tmp_path, model(reply("Hello."))) as here:
        got = await here.ada.send("POST", RUN, raw=body + b" " * (LARGEST[RUN] - len(body)))
    assert (got.status, got.body["summary"]) == (200, "Hello.")


async def test_a_chunked_body_of_a_fitting_size_is_read(tmp_path: Path):
    async def pieces() -> AsyncGenerator[bytes]:
        for letter in b'{"prompt":"hello"}':
            yield bytes([letter])

    async with (
        site(tmp_path, model(reply("Hello."))) as here,
        here.http.post(here.url + RUN, data=pieces(), headers=here.ada.headers) as response,
    ):
        assert (response.status, (await response.json())["summary"]) == (200, "Hello.")


async def test_a_large_body_is_large_for_its_texts_not_for_its_many_values(tmp_path: Path):
    many = b'{"prompt":"hello","attachments":[' + b"1," * LARGEST_BODY + b"1]}"
    async with site(tmp_path, model()) as here:
        got = await here.ada.send("POST", RUN, raw=many)
        assert "values" in refused(got, 400, "invalid")["message"]
