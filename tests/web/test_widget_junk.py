"""A chat whose server talks nonsense, and one that has been talked to for very long: it says so, and stays usable."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Browser, Page, Route, expect
from tests.http.browsing import needs_chromium
from tests.web.bundles import built, needs_web
from tests.web.see import counted, spent
from tests.web.shared_browser import in_browser
from tests.web.widget_pages import chat_page
from tests.web.widget_scenes import question, said

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

SITE = "http://shop.test"
HOST = (
    '<!doctype html><html lang="en"><title>Shop</title><h1>Mugs</h1><script src="/pollux.js" data-mode="full"></script>'
)
RUN: dict[str, Any] = {"runId": "run_1", "history": []}
STRANGE: list[Any] = [
    None, 7, "text", [], {}, {"type": None}, {"type": "weather", "sky": "blue"}, {"type": ["delta"]},
    {"type": "delta"}, {"type": "delta", "delta": {"a": 1}}, {"type": "tool_call"}, {"type": "status", "runId": 4},
    {"type": "tool_call", "id": "1", "toolName": "click", "preview": {"a": [1]}},
    {"type": "message", "role": "oracle", "content": "hear me"}, {"type": "__proto__"},
    {"__proto__": {"type": "delta"}},
]  # fmt: skip
# What is an answer at first sight.
HALF: list[dict[str, Any]] = [
    {"type": "response"},
    {"type": "response", **RUN, "message": {"text": "hi"}},
    {"type": "response", "message": "no run", "history": []},
    {"type": "tool-calls", **RUN},
    {"type": "tool-calls", **RUN, "calls": [{"id": "c1"}]},
    {"type": "approval-required", **RUN, "calls": [], "approvals": [None]},
    {"type": "approval-required", **RUN, "calls": [], "approvals": "all"},
]
QUESTIONS: list[dict[str, Any]] = [
    {"id": "a1", "tool": "pay", "expiresAt": "2099-01-01T00:00:00Z"},
    {**question(1), "args": "everything", "reason": 4, "preview": ["x"]},
    {**question(1), "args": [1, 2], "subjects": {"a": 1}},
]


@asynccontextmanager
async def talking(chromium: Browser, *bodies: str) -> AsyncGenerator[tuple[Page, list[str]]]:
    """A page whose server answers each message with the next of these, and the last again and again."""
    left = list(bodies)

    async def answer(route: Route) -> None:
        match route.request.url.removeprefix(SITE).partition("?")[0]:
            case "/":
                await route.fulfill(body=HOST, content_type="text/html")
            case "/pollux.js" | "/automation.mjs" as name:
                await route.fulfill(path=built() / name[1:], content_type="text/javascript")
            case "/api/page/session":
                await route.fulfill(json={"token": "t", "expiresAt": "2099-01-01T00:00:00Z"})
            case "/api/page/send-message/stream":
                body = left.pop(0) if len(left) > 1 else left[0]
                await route.fulfill(body=body, content_type="application/x-ndjson")
            case _:
                await route.fulfill(json={})

    context = await chromium.new_context()
    page = await context.new_page()
    troubles: list[str] = []
    page.on("console", lambda line: troubles.append(line.text) if line.type in ("error", "warning") else None)
    page.on("pageerror", lambda problem: troubles.append(str(problem)))
    await page.route("**/*", answer)
    await page.goto(SITE)
    try:
        await page.locator("pollux-chat >> textarea").fill("hi")
        await page.locator("pollux-chat >> textarea").press("Enter")
        yield page, troubles
    finally:
        await context.close()


def lines(*told: Any) -> str:
    return "".join(json.dumps(line) + "\n" for line in told)


async def test_what_nobody_knows_is_passed_over_and_the_answer_is_heard(chromium: Browser):
    whole = lines(*STRANGE, {"type": "response", **RUN, "message": "Hello."})
    async with talking(chromium, '{"type": "del\n<p>' + "\n\n" + whole) as (page, troubles):
        await expect(page.locator("pollux-chat >> .assistant").last).to_contain_text("Hello.")
        assert await page.locator("pollux-chat >> text=hear me").count() == 0
        assert troubles == []


@pytest.mark.parametrize(
    "body",
    [lines(*HALF), "<!doctype html><h1>Bad gateway</h1>", "", lines({"type": "error", "code": "strange"})],
    ids=["halves of answers", "a page", "nothing", "an error without words"],
)
async def test_what_is_no_answer_is_told_as_trouble(chromium: Browser, body: str):
    async with talking(chromium, body) as (page, troubles):
        await expect(page.locator("pollux-chat >> [role=alert]")).not_to_be_empty()
        await page.locator("pollux-chat >> textarea").fill("still here")
        assert await page.evaluate("document.querySelector('pollux-chat').messageInput") == "still here"
        if await page.locator("pollux-chat >> .stop").count():
            await page.locator("pollux-chat >> .stop").click()
        await expect(page.locator("pollux-chat >> .stop")).to_have_count(0)
        assert troubles == []


@pytest.mark.parametrize("asked", QUESTIONS, ids=["no arguments", "a text", "a list"])
async def test_a_question_that_is_not_whole_is_trouble_or_can_only_be_denied(chromium: Browser, asked: dict[str, Any]):
    line = {"type": "approval-required", **RUN, "calls": [], "approvals": [asked]}
    async with talking(chromium, lines(line)) as (page, troubles):
        denial = page.locator("pollux-chat >> text=it can only be denied")
        await expect(page.locator("pollux-chat >> .trouble").or_(denial).first).to_be_visible()
        assert await page.locator("pollux-chat >> .approve[aria-disabled=false]").count() == 0
        assert troubles == []


async def test_a_thousand_messages_cost_no_more_than_their_number(chromium: Browser):
    first = """async (count) => {
        const many = Array.from({length: count}, (_, n) => ({id: `m${n}`, role: n % 2 ? 'assistant' : 'user',
            content: `Message **${n}**\\n\\n- a\\n- b\\n\\n\\`code\\``, timestamp: ''}))
        conversation.show({messages: many})
        await drawn()
        window.many = many
    }"""
    stream = """async () => {
        const root = document.querySelector('pollux-chat').shadowRoot
        let changes = 0
        const seeing = new MutationObserver((records) => { changes += records.length })
        seeing.observe(root.querySelector('.log'), {subtree: true, childList: true, characterData: true})
        const blocks = 'One paragraph.\\n\\n'.repeat(50)
        for (let n = 1; n <= 20; n++) {
            const content = blocks + 'word '.repeat(n)
            const last = {id: 'last', role: 'assistant', content, timestamp: '', isStreaming: true}
            conversation.show({messages: [...many, last]})
            await drawn()
        }
        seeing.disconnect()
        return {count: root.querySelectorAll('.message').length, changes}
    }"""
    frames = "window.drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    async with chat_page(chromium, tag='data-mode="full"') as there, counted(there.page) as clock:

        async def tried(count: int) -> dict[str, float]:
            """What it takes of the processor's time, first to draw so many and then to add to them."""
            at = await spent(clock)
            await there.page.evaluate(first, count)
            after = await spent(clock)
            told = await there.page.evaluate(stream)
            return {**told, "first": after - at, "stream": await spent(clock) - after}

        await there.page.evaluate(frames)
        # Once for the engine to warm up.
        await tried(100)
        few, many = await tried(100), await tried(1000)
        print(f"100 messages: {few}, 1,000: {many}")
        assert (few["count"], many["count"]) == (101, 1001)
        # Ten times as many, and some more for what so many take beside.
        assert many["first"] < 40 * max(few["first"], 0.02)
        assert many["stream"] < 10 * few["stream"]
        # What streams in is drawn at the end, and nothing else is: one text at each step after the first.
        assert many["changes"] <= 24
        await there.part("textarea").press_sequentially("one can write")
        assert await there.get("messageInput") == "one can write"
        await there.show(messages=[said("assistant", "Short again.")])
        await expect(there.part(".message")).to_have_count(1)
        assert there.troubles == []
