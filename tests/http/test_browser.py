"""A person with a browser: the link from the terminal, what a page of ours may do, and what it may not."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page
from tests.http.browsing import browser, needs_chromium, opens_link
from tests.http.site import TOKENS, site

from pollux.asgi.cookies import SESSION_COOKIE
from pollux.testing import call, reply
from pollux.testing import scripted as model
from pollux.tools.demo_mail import demo_mail

pytestmark = [needs_chromium, pytest.mark.slow]

MAIL = {"to": "bob@example.com", "subject": "Report", "body": "It is ready."}
FETCH = """async ([method, path, body, csrf]) => {
    const headers = {"content-type": "application/json", ...(csrf ? {"x-pollux-csrf": csrf} : {})}
    const answer = await fetch(path, {method, headers, body: body && JSON.stringify(body)})
    return [answer.status, await answer.json()]
}"""


async def fetched(page: Page, method: str, path: str, body: object = None, csrf: str = "") -> tuple[int, Any]:
    status, answer = await page.evaluate(FETCH, [method, path, body, csrf])
    return status, answer


async def test_a_person_signs_in_with_the_link_approves_and_signs_out(tmp_path: Path):
    outbox = tmp_path / "outbox.jsonl"
    script = model(call("demo_mail", MAIL), reply("Sent."))
    async with site(tmp_path, script, tools=[demo_mail(outbox)]) as here, browser() as chromium:
        # Past the policy of our own page, which lets it run no script: here it stands for one that may.
        context = await chromium.new_context(bypass_csp=True)
        page = await context.new_page()
        await opens_link(page, here.url, TOKENS["ada"])
        assert page.url == f"{here.url}/console"
        (cookie,) = await context.cookies()
        assert (cookie.get("name"), cookie.get("httpOnly"), cookie.get("sameSite")) == (SESSION_COOKIE, True, "Strict")
        assert SESSION_COOKIE not in await page.evaluate("document.cookie")

        status, session = await fetched(page, "GET", "/api/session")
        assert (status, session["user"]) == (200, "ada")
        csrf = session["csrf"]

        prompt = {"prompt": "email Bob the report"}
        assert (await fetched(page, "POST", "/api/agent/run", prompt))[0] == 403
        assert (await fetched(page, "POST", "/api/agent/run", prompt, "0" * 64))[0] == 403
        status, run = await fetched(page, "POST", "/api/agent/run", prompt, csrf)
        assert (status, run["status"]) == (200, "awaiting_confirmation")

        answer = {"approvalId": run["approvals"][0]["id"], "decision": "approve_once"}
        status, resolved = await fetched(page, "POST", "/api/agent/approvals/resolve", answer, csrf)
        assert (status, resolved["run"]["summary"]) == (200, "Sent.")
        assert len(outbox.read_text().splitlines()) == 1

        assert (await fetched(page, "POST", "/api/session/sign-out", None, csrf))[0] == 200
        assert await context.cookies() == []
        assert (await fetched(page, "GET", "/api/session"))[0] == 401


async def test_a_page_of_ours_runs_no_script_that_somebody_brought_into_it(tmp_path: Path):
    async with site(tmp_path, model()) as here, browser() as chromium:
        page = await chromium.new_page()
        for path in ("/", "/api/session", "/openapi.json", "/nothing<script>window.hit=1</script>"):
            await page.goto(here.url + path)
            refused = await page.evaluate("""() => new Promise(done => {
                document.addEventListener("securitypolicyviolation", event => done(event.effectiveDirective))
                const script = document.createElement("script")
                script.textContent = "window.hit = 1"
                document.documentElement.append(script)
                setTimeout(() => done("nothing"), 30000)
            })""")
            assert (refused, await page.evaluate("window.hit")) == ("script-src-elem", None), path
            for attempt in ("fetch('/api/session')", "fetch('http://127.0.0.1:9/')"):
                told = await page.evaluate(f"{attempt}.then(() => 'sent', problem => problem.name)")
                assert told == "TypeError"
        await page.goto(f"{here.url}/healthz")
        assert json.loads(await page.inner_text("body"))["status"] == "alive"
