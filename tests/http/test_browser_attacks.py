"""Other people's pages in a real browser that is signed in here: whatever they try is refused, and nothing happens.

Three places to attack from: another port of the same host, which is the same *site* and gets the cookie sent along;
another name of this machine; and a stranger's name. And one that was ours a moment ago: DNS rebinding.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, Route
from tests.http.browsing import PAGE, browser, elsewhere, needs_chromium, opens_link
from tests.http.site import TOKENS, Site, site
from tests.waiting import until

from pollux.asgi import door
from pollux.testing import call
from pollux.testing import scripted as model
from pollux.tools.demo_mail import demo_mail

pytestmark = [needs_chromium, pytest.mark.slow]

MAIL = {"to": "bob@example.com", "subject": "Report", "body": "It is ready."}
PLACES = ("127.0.0.1", "localhost", "evil.example")

# What an attack may use: `t` is our address, `approve` a body that would approve, `bob` a token of the attacker's own.
TOOLS = """
    const {t, approve, begin, bob, self_} = given
    const API = t + "/api/agent"
    const late = () => new Promise(done => setTimeout(() => done("late"), 4000))
    const within = promise => Promise.race([promise, late()])
    const read = async answer => answer.type === "opaque" ? "opaque" : "READ " + await answer.text()
    const send = async (path, options) => read(await fetch(path, {credentials: "include", ...options}))
    const element = (tag, fields, attributes = {}) => within(new Promise(done => {
        const made = Object.assign(document.createElement(tag), fields)
        for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
        made.onload = () => done(made); made.onerror = () => done("error"); document.body.append(made)
    }))
    const peek = what => {
        try { return what() ? "READ " + what() : "nothing" } catch (problem) { return problem.name }
    }
    const form = (path, fields, enctype, target) => {
        const made = Object.assign(document.createElement("form"), {action: path, method: "POST", enctype, target})
        for (const [name, value] of Object.entries(fields)) {
            made.append(Object.assign(document.createElement("input"), {name, value}))
        }
        document.body.append(made); made.submit(); return "sent"
    }
    const frame = async source => {
        const made = await element("iframe", {src: source})
        return made === "late" ? made : peek(() => made.contentDocument && made.contentDocument.body.innerText)
    }
    const opened = async address => {
        const other = window.open(address)
        for (let turn = 0; turn < 80 && other && !other.closed; turn++) {
            await new Promise(done => setTimeout(done, 50))
            try {
                if (other.location.href !== "about:blank") return "READ " + other.document.body.innerText
            } catch (problem) { return problem.name }
        }
        return other && !other.closed ? "late" : "nothing"
    }
    const sandboxed = script => {
        const srcdoc = "<script>" + script + "<" + "/script>"
        return element("iframe", {srcdoc}, {sandbox: "allow-scripts"})
    }
"""
SPLIT = """{[approve.slice(0, -1) + ',"feedback":"']: '"}'}"""
ATTACKS: dict[str, str] = {
    "fetch what waits": """send(API + "/approvals/pending")""",
    "fetch who is signed in": """send(t + "/api/session")""",
    "fetch without a look": """send(API + "/runs", {mode: "no-cors"})""",
    "fetch the document": """send(t + "/openapi.json", {mode: "no-cors"})""",
    "approve as text": """send(API + "/approvals/resolve", {method: "POST", mode: "no-cors", body: approve})""",
    "approve as a form": """send(API + "/approvals/resolve", {method: "POST", mode: "no-cors", body: approve,
        headers: {"content-type": "application/x-www-form-urlencoded"}})""",
    "approve as multipart": """send(API + "/approvals/resolve", {method: "POST", mode: "no-cors", body: approve,
        headers: {"content-type": "multipart/form-data; boundary=x"}})""",
    "approve as JSON": """send(API + "/approvals/resolve", {method: "POST", body: approve,
        headers: {"content-type": "application/json"}})""",
    "approve with a made-up proof": """send(API + "/approvals/resolve", {method: "POST", body: approve,
        headers: {"x-pollux-csrf": "0".repeat(64)}})""",
    "approve with a token": """send(API + "/approvals/resolve", {method: "POST", body: approve,
        headers: {"authorization": "Bearer " + bob}})""",
    "approve while leaving": """send(API + "/approvals/resolve", {method: "POST", mode: "no-cors", body: approve,
        keepalive: true})""",
    "approve by beacon": """navigator.sendBeacon(API + "/approvals/resolve", approve) && "sent" """,
    "approve by a bounce": """send(self_ + "/bounce?to=" + encodeURIComponent(API + "/approvals/resolve"),
        {method: "POST", mode: "no-cors", body: approve})""",
    "approve without an origin": """sandboxed(`fetch("${API}/approvals/resolve",
        {method: "POST", mode: "no-cors", credentials: "include", body: ${JSON.stringify(approve)}})`)""",
    "begin a run": """send(API + "/run", {method: "POST", mode: "no-cors", body: begin})""",
    "begin a stream": """send(API + "/run/stream", {method: "POST", mode: "no-cors", body: begin})""",
    "patch": """send(API + "/threads/x", {method: "PATCH", body: "{}"})""",
    "delete": """send(API + "/threads/x", {method: "DELETE"})""",
    "a form as text": f"""form(API + "/approvals/resolve", {SPLIT}, "text/plain", "_blank")""",
    "a form": """form(API + "/approvals/resolve", {approve}, "application/x-www-form-urlencoded", "_blank")""",
    "a form into a frame": f"""(document.body.append(Object.assign(document.createElement("iframe"), {{name: "f"}})),
        form(API + "/approvals/resolve", {SPLIT}, "text/plain", "f"))""",
    "a form that signs out": """form(t + "/api/session/sign-out", {}, "text/plain", "_blank")""",
    "a form that signs in": """form(t + "/api/session/sign-in", {['{"token":"' + bob + '","x":"']: '"}'}, "text/plain",
        "_blank")""",
    "a bounced form": f"""form(self_ + "/bounce?to=" + encodeURIComponent(API + "/approvals/resolve"), {SPLIT},
        "text/plain", "_blank")""",
    "a picture": """element("img", {src: API + "/runs"})""",
    "a picture of the link": """element("img", {src: t + "/login?token=" + bob})""",
    "a script": """element("script", {src: t + "/api/session"})""",
    "a stylesheet": """element("link", {rel: "stylesheet", href: t + "/api/session"})""",
    "an object": """element("object", {data: t + "/api/session"})""",
    "a frame of the first page": """frame(t + "/")""",
    "a frame of the session": """frame(t + "/api/session")""",
    "a frame of the link": """frame(t + "/login?token=" + bob)""",
    "a window of the session": """opened(t + "/api/session")""",
    "a window of what waits": """opened(API + "/approvals/pending")""",
    "a window of the link": """opened(t + "/login?token=" + bob)""",
    "fetch the link": """send(t + "/login?token=" + bob, {mode: "no-cors"})""",
    "fetch the link and read": """send(t + "/login?token=" + bob)""",
    "sign in as text": """send(t + "/api/session/sign-in", {method: "POST", mode: "no-cors",
        body: JSON.stringify({token: bob})})""",
    "events": """within(new Promise(done => {
        const source = new EventSource(API + "/runs/x/events", {withCredentials: true})
        source.onmessage = event => done("READ " + event.data); source.onerror = () => { source.close(); done("error") }
    }))""",
    "a web socket": """within(new Promise(done => {
        const socket = new WebSocket(t.replace("http", "ws") + "/api/agent/runs")
        socket.onopen = () => done("READ open"); socket.onerror = () => done("error")
    }))""",
}
NO_NEWS = ("opaque", "sent", "error", "nothing", "late", "TypeError", "SecurityError", "a frame")


@dataclass
class Seen(logging.Handler):
    """Every request that came to the door, and how it was answered."""

    requests: list[tuple[str, str, int | None]] = field(default_factory=list[tuple[str, str, int | None]])

    def __post_init__(self) -> None:
        super().__init__()

    def emit(self, record: logging.LogRecord) -> None:
        args: Any = record.args
        if len(args) == 5:
            self.requests.append((args[0], args[1], args[2]))

    __hash__ = object.__hash__  # Handlers are kept in weak sets.


@pytest.fixture
def seen() -> Iterator[Seen]:
    handler, level = Seen(), door.logger.level
    door.logger.addHandler(handler)
    door.logger.setLevel(logging.INFO)
    yield handler
    door.logger.removeHandler(handler)
    door.logger.setLevel(level)


async def attack(page: Page, name: str, given: dict[str, str]) -> str:
    """What the page learned."""
    told: Any = await page.evaluate(
        f"""async given => {{ {TOOLS}
            try {{
                const got = await ({ATTACKS[name]})
                return got instanceof Element ? (got.tagName === "IFRAME" ? "a frame" : "READ " + got.tagName) : got
            }} catch (problem) {{ return problem.name }}
        }}""",
        given,
    )
    return str(told)


async def state(here: Site) -> list[Any]:
    paths = ("approvals/pending", "runs", "threads", "grants", "audit")
    return [(await here.ada.get(f"/api/agent/{path}")).body for path in paths]


async def signed_in(page: Page, here: Site) -> None:
    """By the link, and then at a page that asks for nothing by itself, as the console does."""
    await opens_link(page, here.url, TOKENS["ada"])
    await page.goto(f"{here.url}/healthz")
    await page.wait_for_load_state("networkidle")


@pytest.mark.parametrize("place", PLACES)
async def test_no_other_page_learns_or_does_anything(tmp_path: Path, seen: Seen, place: str):
    outbox = tmp_path / "outbox.jsonl"
    async with (
        site(tmp_path, model(call("demo_mail", MAIL)), tools=[demo_mail(outbox)], burst=10_000) as here,
        elsewhere() as other,
        browser() as chromium,
    ):
        run = await here.ada.run("email Bob the report")
        approval = run["approvals"][0]["id"]
        context = await chromium.new_context()
        ours = await context.new_page()
        await signed_in(ours, here)
        before = await state(here)
        page = await context.new_page()
        await page.goto(other.origin(place) + "/page")
        given = {
            "t": here.url,
            "self_": other.origin(place),
            "approve": f'{{"approvalId":"{approval}","decision":"approve_once"}}',
            "begin": '{"prompt":"do something else"}',
            "bob": TOKENS["bob"],
        }
        learned: dict[str, str] = {}
        statuses: dict[str, set[int | None]] = {}
        for name in ATTACKS:
            start = len(seen.requests)
            learned[name] = await attack(page, name, given)
            await until(lambda start=start: len(seen.requests) > start)
            statuses[name] = {status for _, _, status in seen.requests[start:]}

        assert {name: told for name, told in learned.items() if told not in NO_NEWS} == {}
        assert {name: got for name, got in statuses.items() if got != {403}} == {}
        print(f"{len(ATTACKS)} attacks from {place}: {len(seen.requests)} requests")

        # Still the same person, and still what was there before.
        await ours.goto(f"{here.url}/api/session")
        assert '"user":"ada"' in await ours.inner_text("body")
        assert await state(here) == before
        assert not outbox.exists()


async def test_a_page_whose_name_was_pointed_at_us_gets_nothing(tmp_path: Path, seen: Seen):
    async with site(tmp_path, model()) as here, browser() as chromium:
        port = here.url.rpartition(":")[2]
        context = await chromium.new_context()
        await signed_in(await context.new_page(), here)
        seen.requests.clear()
        page = await context.new_page()

        async def theirs(route: Route) -> None:
            await route.fulfill(body=PAGE, content_type="text/html")

        # Their own server answered first; then the name led here. For the browser it is one origin all the while.
        await page.route("**/page", theirs)
        await page.goto(f"http://evil.example:{port}/page")
        for method, path in (
            ("GET", "/api/session"),
            ("GET", "/api/agent/runs"),
            ("GET", "/healthz"),
            ("GET", f"/login?token={TOKENS['ada']}"),
            ("POST", "/api/agent/run"),
            ("POST", "/api/session/sign-in"),
        ):
            status, answer = await page.evaluate(
                """async ([method, path, token]) => {
                    const headers = {authorization: "Bearer " + token}
                    const body = method === "POST" ? JSON.stringify({prompt: "hello", token}) : undefined
                    const answer = await fetch(path, {method, headers, body, redirect: "manual"})
                    return [answer.status, await answer.json()]
                }""",
                [method, path, TOKENS["ada"]],
            )
            assert (status, answer["error"]["code"]) == (403, "bad_host"), path
        assert len(seen.requests) == 6

        response = await page.goto(f"http://evil.example:{port}/")
        assert response is not None
        assert (response.status, (await response.json())["error"]["code"]) == (403, "bad_host")
        assert (await here.ada.get("/api/agent/runs")).body["items"] == []
