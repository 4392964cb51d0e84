"""Who answers on a page says nothing about elsewhere: "always" from there gives no grant that other threads have."""

import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.asgi import issuer as lab
from tests.asgi.issuer import Issuer
from tests.engine.builders import TO_BOB, mail
from tests.http.site import TOKENS
from tests.page.site import Page, page_site

from pollux.providers.scripted import ScriptedProvider, call, reply

ALWAYS = "approve_and_always_allow_recipient"
WRITE = call("send_mail", TO_BOB)


@pytest.fixture
async def issuer() -> AsyncGenerator[Issuer]:
    async with lab.serving() as server:
        # Visits are told by the real clock, so the issuer's has to be near it.
        server.clock.at = time.time()
        yield server


async def of_ada(page: Page, issuer: Issuer) -> Page:
    """A page that Ada has open, as the site says with `data-user-token`."""
    return await page.open(userToken=issuer.token())


@pytest.mark.parametrize("answers_with", ["the page's token", "a token of the API"])
async def test_a_question_of_a_page_takes_no_always(tmp_path: Path, issuer: Issuer, answers_with: str):
    tool = mail()
    model = ScriptedProvider(WRITE, reply("Sent."), WRITE)
    async with page_site(tmp_path, model, tools=[tool], jwt=issuer.verifier()) as site:
        page = await of_ada(await site.page(), issuer)
        [question] = (await page.say("write to bob"))["approvals"]
        assert question["scopes"] == ["session"]

        api = Page(site.url, site.http, token=TOKENS["ada"])
        asker = page if answers_with == "the page's token" else api
        answer = {"approvalId": question["id"], "decision": ALWAYS}
        status, told = await asker.post("/api/agent/approvals/resolve", answer)
        assert (status, told["error"]["code"]) == (400, "no_recipient")
        assert "can be allowed for: session" in told["error"]["message"]
        assert tool.ran == []

        status, _ = await asker.post("/api/agent/approvals/resolve", answer | {"decision": "approve_once"})
        assert (status, len(tool.ran)) == (200, 1)
        _, elsewhere = await api.post("/api/agent/run", {"prompt": "write to bob"})
        assert elsewhere["status"] == "awaiting_confirmation"
        assert len(tool.ran) == 1
