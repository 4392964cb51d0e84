"""A Google account over HTTP: connected, used with leave, given back. The workspace's ledger says what was done."""

from collections.abc import AsyncGenerator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.http.google_site import CLIENT, connect, environ_for, google_site
from tests.http.site import Site

from pollux.emulator import run_emulator
from pollux.emulator.workspace import Workspace, run_workspace
from pollux.tools.google.scopes import CALENDAR, IDENTITY

MAIL = "email bob@example.com that the report is done"
EVENT = "create a calendar event tomorrow"


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncGenerator[Workspace]:
    async with run_workspace(ledger=tmp_path / "ledger.jsonl") as running:
        yield running


@pytest.fixture
async def model() -> AsyncGenerator[str]:
    async with run_emulator() as emulator:
        yield emulator.url


@pytest.fixture
async def here(tmp_path: Path, workspace: Workspace, model: str) -> AsyncGenerator[Site]:
    async with google_site(tmp_path, environ_for(tmp_path, workspace.url, model, tools=("gmail_send",))) as site:
        yield site


async def test_an_account_is_connected_asked_for_approved_and_the_mail_sent_once(here: Site, workspace: Workspace):
    assert (await here.ada.get("/api/google/status")).body["connected"] is False
    connected = await connect(here.ada, workspace)
    assert (connected.status, connected.body["email"]) == (200, "ada@example.com")
    assert connected.body["tools"] == ["calendar_event_create", "gmail_send"]

    asked = await here.ada.run(MAIL)
    assert asked["status"] == "awaiting_confirmation", asked
    (approval,) = asked["approvals"]
    assert approval["tool"] == "gmail_send"
    assert approval["subjects"] == ["bob@example.com"]
    assert "bob@example.com" in approval["preview"]
    assert workspace.ledger == []

    got = await here.ada.resolve(approval["id"])
    assert got.body["run"]["status"] == "completed", got
    (sent,) = workspace.ledger
    assert (sent.service, sent.to) == ("gmail", ("bob@example.com",))
    again = await here.ada.resolve(approval["id"])
    assert (again.status, again.code) == (409, "already_resolved")
    assert len(workspace.ledger) == 1
    kinds = [entry["kind"] for entry in (await here.ada.get("/api/agent/audit")).body["items"]]
    assert kinds == ["completed", "started", "approved", "decided", "connected"]


async def test_who_has_not_connected_is_offered_nothing(here: Site, workspace: Workspace):
    await connect(here.ada, workspace)
    run = await here.bob.run(MAIL)
    assert (run["status"], run["actions"]) == ("completed", [])
    where = "/api/google/connect?tools=gmail_send"
    assert (
        run["summary"] == f"No Google account is connected. Connect one in the console, or at {where}. Then ask again."
    )
    assert "Google" not in (await here.bob.run("hello"))["summary"]
    assert (await here.bob.get("/api/google/status")).body["connected"] is False


async def test_a_browser_is_led_to_google_and_back_to_a_page(here: Site, workspace: Workspace):
    page = {"Accept": "text/html"}
    begun = await here.ada.get("/api/google/connect", headers=page)
    assert begun.status == 302
    cookie = begun.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and "Path=/api/google/callback" in cookie
    asked = parse_qs(urlsplit(begun.headers["Location"]).query)
    assert asked["redirect_uri"] == [f"{here.url}/api/google/callback"]
    assert asked["code_challenge_method"] == ["S256"]

    back = urlsplit(workspace.allow(begun.headers["Location"]))
    name_and_value = cookie.partition(";")[0]
    target = f"{back.path}?{back.query}"
    # Without TLS the cookie alone proves nothing: a page at another port could have set it.
    alone = await here.nobody.get(target, headers={**page, "Cookie": name_and_value})
    assert (alone.status, b"not signed in" in alone.body) == (401, True)
    came = await here.ada.get(target, headers={**page, "Cookie": name_and_value})
    assert (came.status, b"Connected" in came.body) == (200, True)
    assert "Max-Age=0" in came.headers["Set-Cookie"]
    assert (await here.ada.get("/api/google/status")).body["connected"] is True


async def test_with_tls_the_browser_that_began_need_not_be_signed_in(tmp_path: Path, workspace: Workspace, model: str):
    environ = environ_for(tmp_path, workspace.url, model)
    async with google_site(tmp_path, environ, public_url="https://agents.example.com") as here:
        begun = await here.ada.get("/api/google/connect", headers={"Accept": "application/json"})
        cookie = begun.headers["Set-Cookie"]
        assert cookie.startswith("__Host-") and cookie.endswith("Secure")
        back = urlsplit(workspace.allow(begun.body["url"]))
        target = f"{back.path}?{back.query}"
        assert (await here.nobody.get(target)).status == 401
        came = await here.nobody.get(target, headers={"Cookie": cookie.partition(";")[0]})
        assert (came.status, came.body["connected"]) == (200, True)


async def test_a_link_that_was_sent_to_somebody_else_connects_nothing(here: Site, workspace: Workspace):
    begun = await here.ada.get("/api/google/connect", headers={"Accept": "application/json"})
    back = urlsplit(workspace.allow(begun.body["url"], account="victim@example.com"))
    target = f"{back.path}?{back.query}"
    stranger = await here.nobody.get(target)
    assert (stranger.status, stranger.code) == (401, "auth_error")
    other = await here.bob.get(target, headers={"Cookie": begun.headers["Set-Cookie"].partition(";")[0]})
    assert (other.status, other.code) == (401, "auth_error")
    for person in (here.ada, here.bob):
        assert (await person.get("/api/google/status")).body["connected"] is False


async def test_a_person_who_does_not_agree_connects_nothing(here: Site):
    begun = await here.ada.get("/api/google/connect", headers={"Accept": "application/json"})
    url: str = begun.body["url"]
    state = parse_qs(urlsplit(url).query)["state"][0]
    target = f"/api/google/callback?error=access_denied&state={state}"
    page = await here.ada.get(target, headers={"Accept": "text/html"})
    assert (page.status, b"Nothing was connected" in page.body) == (403, True)
    assert (await here.ada.get("/api/google/status")).body["connected"] is False


@pytest.mark.parametrize("query", ["", "?state=x&code=y", "?state=" + "A" * 5000, "?code=only", "?error=%3Cscript%3E"])
async def test_an_answer_that_google_never_gave_is_refused(here: Site, query: str):
    got = await here.ada.get(f"/api/google/callback{query}")
    assert (got.status, got.code) == (400, "invalid")
    page = await here.ada.get(f"/api/google/callback{query}", headers={"Accept": "text/html"})
    assert page.status == 400
    assert b"<script" not in page.body


async def test_a_scope_that_was_not_granted_is_asked_for_before_anybody_is_asked_to_approve(
    tmp_path: Path, workspace: Workspace, model: str
):
    async with google_site(tmp_path, environ_for(tmp_path, workspace.url, model, tools=("gmail_send",))) as here:
        got = await connect(here.ada, workspace, scopes=CALENDAR | IDENTITY)
        assert got.body["tools"] == ["calendar_event_create"]
        assert got.body["missing"] == ["gmail_send"]
        run = await here.ada.run(MAIL)
        assert (run["status"], run["errorCode"]) == ("failed", "auth_error")
        assert run["connectUrl"] == "/api/google/connect?tools=gmail_send"
        assert run["approvals"] == []

        more = await connect(here.ada, workspace, query="?tools=gmail_send")
        assert more.body["tools"] == ["calendar_event_create", "gmail_send"]
        assert (await here.ada.run(MAIL))["status"] == "awaiting_confirmation"


async def test_access_that_is_taken_away_after_the_approval_ends_the_run_with_where_to_go(
    here: Site, workspace: Workspace
):
    await connect(here.ada, workspace)
    asked = await here.ada.run(MAIL)
    workspace.fault("401", path="/gmail/")
    workspace.fault("400", path="/token")
    got = await here.ada.resolve(asked["approvals"][0]["id"])
    run = got.body["run"]
    assert run["status"] == "failed", run
    assert workspace.ledger == []


async def test_giving_back_an_account_forgets_it_here_and_at_google(here: Site, workspace: Workspace):
    await connect(here.ada, workspace)
    got = await here.ada.post("/api/google/disconnect")
    assert (got.status, got.body["wasConnected"], got.body["atGoogle"]) == (200, True, True)
    assert (await here.ada.get("/api/google/status")).body["connected"] is False
    again = await here.ada.post("/api/google/disconnect")
    assert (again.status, again.body["wasConnected"]) == (200, False)
    assert (await here.ada.run(MAIL))["actions"] == []


async def test_without_a_client_nothing_can_be_connected_and_that_is_said(
    tmp_path: Path, workspace: Workspace, model: str
):
    environ = {key: value for key, value in environ_for(tmp_path, workspace.url, model).items() if key not in CLIENT}
    environ.pop("POLLUX_CONFIG")
    async with google_site(tmp_path, environ) as here:
        assert (await here.ada.get("/api/google/status")).body["configured"] is False
        for got in (
            await here.ada.get("/api/google/connect"),
            await here.ada.get("/api/google/callback?state=x&code=y"),
            await here.ada.post("/api/google/disconnect"),
        ):
            assert (got.status, got.code) == (400, "not_configured")


async def test_only_those_who_are_known_may_connect(here: Site):
    for path in ("/api/google/connect", "/api/google/status"):
        assert (await here.nobody.get(path)).status == 401
    assert (await here.nobody.post("/api/google/disconnect")).status == 401
    bad = await here.ada.get("/api/google/connect?tools=shell")
    assert (bad.status, bad.code) == (400, "invalid")


async def test_no_secret_is_in_any_answer_or_in_the_store(here: Site, workspace: Workspace, tmp_path: Path):
    await connect(here.ada, workspace)
    asked = await here.ada.run(MAIL)
    await here.ada.resolve(asked["approvals"][0]["id"])
    said = [
        str((await here.ada.get(path)).body)
        for path in ("/api/google/status", "/api/agent/runs", f"/api/agent/runs/{asked['runId']}", "/api/agent/audit")
    ]
    said += [str(await here.ada.lines("GET", f"/api/agent/runs/{asked['runId']}/events"))]
    kept = b"".join(path.read_bytes() for path in (tmp_path / "home").iterdir() if path.is_file())
    for secret in ("ya29.", "1//", CLIENT["POLLUX_GOOGLE_CLIENT_SECRET"]):
        assert not any(secret in each for each in said), secret
        assert secret.encode() not in kept, secret
