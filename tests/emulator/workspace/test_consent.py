"""The consent page: what it says, what it refuses to ask, where its answer goes."""

from urllib.parse import parse_qs, urlsplit

import pytest
from tests.emulator.workspace.desk import COMPOSE, EVENTS, REDIRECT, Desk, auth_url, code_form

from pollux.emulator.workspace import Workspace

EMAIL = "https://www.googleapis.com/auth/userinfo.email"


async def test_the_page_says_who_asks_for_what_and_runs_nothing(workspace: Workspace, desk: Desk):
    got = await desk.ask("GET", auth_url(workspace.url, login_hint="ann@example.com"))
    text, policy = got.content.decode(), got.headers["Content-Security-Policy"]
    assert got.status == 200 and "client-1" in text and "not Google" in text and 'value="ann@example.com"' in text
    assert "Manage drafts and send mail" in text and "See and change events" in text
    assert "<script" not in text and "default-src 'none'" in policy and "frame-ancestors 'none'" in policy


async def test_what_a_client_writes_is_shown_and_never_obeyed(workspace: Workspace, desk: Desk):
    evil = '"><script>alert(1)</script>'
    got = await desk.ask("GET", auth_url(workspace.url, client_id=evil, login_hint=evil, state=evil))
    assert b"<script" not in got.content and b"&lt;script&gt;" in got.content


async def test_allow_sends_back_a_code_for_what_was_ticked(workspace: Workspace, desk: Desk):
    form = {"decision": "allow", "account": "Ann@Example.com", "scope": COMPOSE}
    got = await desk.ask("POST", auth_url(workspace.url), data=form)
    assert got.status == 302 and got.headers["Location"].startswith(REDIRECT)
    tokens = (await desk.ask("POST", "/token", data=code_form(got.headers["Location"]))).json
    assert set(tokens["scope"].split()) == {"openid", EMAIL, COMPOSE}
    desk.token = tokens["access_token"]
    assert (await desk.get("/gmail/v1/users/me/profile")).json["emailAddress"] == "ann@example.com"


async def test_a_scope_that_was_not_asked_for_cannot_be_ticked(workspace: Workspace, desk: Desk):
    form = {"decision": "allow", "account": "demo@example.com", "scope": EVENTS}
    got = await desk.ask("POST", auth_url(workspace.url, scope=f"openid {COMPOSE}"), data=form)
    tokens = (await desk.ask("POST", "/token", data=code_form(got.headers["Location"]))).json
    assert tokens["scope"] == "openid"


@pytest.mark.parametrize("form", [{"decision": "deny"}, {}, {"decision": "allow", "account": "demo@example.com"}])
async def test_no_is_told_to_the_client(workspace: Workspace, desk: Desk, form: dict[str, str]):
    got = await desk.ask("POST", auth_url(workspace.url, scope=COMPOSE), data=form)
    query = parse_qs(urlsplit(got.headers["Location"]).query)
    assert (got.status, query) == (302, {"state": ["state-1"], "error": ["access_denied"]})


async def test_nobody_is_asked_when_the_client_wants_no_page(workspace: Workspace, desk: Desk):
    got = await desk.ask("GET", auth_url(workspace.url, prompt="none"))
    assert got.status == 302 and "error=interaction_required" in got.headers["Location"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"client_id": ""}, "client_id"),
        ({"client_id": "invalid"}, "not found"),
        ({"redirect_uri": ""}, "redirect_uri"),
        ({"redirect_uri": "/callback"}, "whole address"),
        ({"redirect_uri": "http://example.com/callback"}, "https"),
        ({"redirect_uri": "javascript:alert(1)"}, "whole address"),
        ({"redirect_uri": "https://user@example.com/"}, "whole address"),
        ({"redirect_uri": "https://example.com/#here"}, "whole address"),
        ({"redirect_uri": "https://[::1/"}, "whole address"),
        ({"redirect_uri": "https://example.com;script-src *"}, "whole address"),
        ({"response_type": "token"}, "response_type"),
        ({"scope": ""}, "scope"),
        ({"scope": "https://www.googleapis.com/auth/gmail.everything"}, "scopes were invalid"),
        ({"state": ""}, "state"),
        ({"code_challenge": ""}, "code_challenge"),
        ({"code_challenge_method": "plain"}, "S256"),
        ({"code_challenge_method": ""}, "S256"),
    ],
)
@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_a_bad_request_is_a_page_here_and_leads_nowhere(
    workspace: Workspace, desk: Desk, verb: str, changes: dict[str, str], words: str
):
    got = await desk.ask(verb, auth_url(workspace.url, **changes))
    assert got.status in (400, 401) and "Location" not in got.headers
    assert words in got.content.decode()


async def test_another_sites_page_cannot_press_allow(workspace: Workspace, desk: Desk):
    form = {"decision": "allow", "account": "demo@example.com", "scope": COMPOSE}
    for site in ("cross-site", "same-site"):
        got = await desk.ask("POST", auth_url(workspace.url), data=form, headers={"Sec-Fetch-Site": site})
        assert got.status == 403 and "Location" not in got.headers


async def test_an_account_is_an_address(workspace: Workspace, desk: Desk):
    got = await desk.ask(
        "POST", auth_url(workspace.url), data={"decision": "allow", "account": "ann", "scope": COMPOSE}
    )
    assert got.status == 400 and "no address" in got.content.decode()
