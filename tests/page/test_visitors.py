"""Who a page's visitor is, for how long, and how far a page's token reaches."""

import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from tests.asgi import issuer as lab
from tests.asgi.issuer import Issuer
from tests.engine.builders import TO_BOB, mail
from tests.http.site import TOKENS
from tests.page.site import page_site

from pollux.core.messages import Usage
from pollux.providers.scripted import ScriptedProvider, call, reply
from pollux.testing import FakeClock

ADA = {"Authorization": f"Bearer {TOKENS['ada']}"}


@pytest.fixture
async def issuer() -> AsyncGenerator[Issuer]:
    async with lab.serving() as server:
        # Visits are told by the real clock, so the issuer's has to be near it.
        server.clock.at = time.time()
        yield server


async def test_the_site_says_who_its_user_is_for_as_long_as_its_token_lives(tmp_path: Path, issuer: Issuer):
    async with page_site(tmp_path, ScriptedProvider(reply("Hello.")), jwt=issuer.verifier()) as site:
        page = await site.page()
        _, told = await page.post("/api/page/session", {"userToken": issuer.token()})
        page.token = told["token"]
        run = await site.engine.queries.run((await page.say("hi"))["runId"])
        assert run.user == "ada"
        # Nobody stays the site's user by asking us again and again.
        _, again = await page.post("/api/page/session", {})
        assert again["expiresAt"] == told["expiresAt"]


@pytest.mark.parametrize(
    "claims", [{"sub": "visitor:abc"}, {"exp": 1}, {"aud": "another"}, {"iss": "https://evil.example"}]
)
async def test_a_users_token_that_does_not_count_opens_nothing(tmp_path: Path, issuer: Issuer, claims: dict[str, Any]):
    async with page_site(tmp_path, ScriptedProvider(), jwt=issuer.verifier()) as site:
        page = await site.page()
        status, _ = await page.post("/api/page/session", {"userToken": issuer.token(claims=claims)})
        assert status == 401
        page.token = issuer.token(claims={"sub": "visitor:abc"})
        assert (await page.post("/api/agent/run", {"prompt": "hi"}))[0] == 401


async def test_a_page_of_somebody_reaches_none_of_what_they_do_elsewhere(tmp_path: Path, issuer: Issuer):
    model = ScriptedProvider(*[call("send_mail", TO_BOB)] * 2)
    async with page_site(tmp_path, model, tools=[mail()], jwt=issuer.verifier()) as site:
        elsewhere: dict[str, Any] = {}
        for _ in range(2):
            async with site.http.post(site.url + "/api/agent/run", json={"prompt": "write"}, headers=ADA) as response:
                elsewhere = await response.json()
        page = await site.page()
        _, told = await page.post("/api/page/session", {"userToken": issuer.token()})
        page.token = told["token"]
        headers = {"Authorization": f"Bearer {page.token}"}
        async with site.http.get(site.url + "/api/agent/approvals/pending", headers=headers) as response:
            assert (await response.json())["items"] == []
        async with site.http.get(f"{site.url}/api/agent/approvals/pending?limit=1", headers=headers) as response:
            assert await response.json() == {"ok": True, "items": [], "next": None}
        answer = {"approvalId": elsewhere["approvals"][0]["id"], "decision": "approve_once"}
        assert (await page.post("/api/agent/approvals/resolve", answer))[0] == 404
        assert (await page.post(f"/api/agent/runs/{elsewhere['runId']}/cancel", {}))[0] == 404


async def test_what_a_day_may_cost_holds_for_visitors_too(tmp_path: Path):
    model = ScriptedProvider(reply("Hello.", usage=Usage(input=6_000, output=4_000)))
    async with page_site(tmp_path, model, tokens_per_day=10_000) as site:
        page = await site.page()
        await page.say("hi")
        status, told = await page.post("/api/page/send-message", page.sending("more"))
        assert (status, told["error"]["code"]) == (429, "budget")


async def test_whoever_is_somebody_new_each_time_spends_from_what_all_strangers_may(tmp_path: Path):
    clock = FakeClock()
    model = ScriptedProvider(*[reply("Hello.", usage=Usage(input=6_000, output=4_000))] * 4)
    async with page_site(tmp_path, model, clock=clock, visitor_tokens_per_day=15_000) as site:
        for _ in range(2):
            await (await site.page()).say("hi")
        page = await site.page()
        status, told = await page.post("/api/page/send-message", page.sending("hi"))
        assert (status, told["error"]["code"]) == (429, "budget")
        # The site's own people are not held up by strangers.
        page.token = TOKENS["ada"]
        assert (await page.say("hi"))["message"] == "Hello."
        clock.advance(24 * 3600 + 1)
        assert (await (await site.page()).say("hi"))["message"] == "Hello."


async def test_behind_a_proxy_a_page_is_where_its_visitor_sees_it(tmp_path: Path):
    model = ScriptedProvider(call("send_mail", TO_BOB))
    async with page_site(tmp_path, model, tools=[mail()]) as site:
        page = await site.page()
        page.origin = site.url.replace("http:", "https:")
        await page.open()
        await page.say("write")
        # A browser names no origin when a page asks its own server for something.
        headers = {"Authorization": f"Bearer {page.token}", "Sec-Fetch-Site": "same-origin"}
        async with site.http.get(site.url + "/api/agent/approvals/pending", headers=headers) as response:
            assert (response.status, len((await response.json())["items"])) == (200, 1)


async def test_strangers_are_counted_where_they_come_from_and_not_by_the_proxy(tmp_path: Path):
    near: dict[str, Any] = {"trusted_proxies": ("127.0.0.1",), "burst": 2, "requests_per_minute": 0.001}
    async with page_site(tmp_path, ScriptedProvider(), **near) as site:

        async def asked(*told: str) -> int:
            pairs = [("X-Forwarded-For", each) for each in told]
            async with site.http.post(site.url + "/api/page/session", json={}, headers=pairs) as response:
                return response.status

        assert [await asked("203.0.113.1") for _ in range(3)] == [200, 200, 429]
        assert await asked("203.0.113.2") == 200
        # What stands before is only what somebody said.
        assert await asked("203.0.113.9, 203.0.113.1") == 429
        assert await asked("203.0.113.9", "203.0.113.1") == 429
