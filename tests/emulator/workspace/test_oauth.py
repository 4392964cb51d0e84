"""OAuth: a code is good once, a token until its time, a grant until it is revoked."""

import asyncio
import base64
import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.emulator.workspace.desk import (
    COMPOSE,
    EVENTS,
    GMAIL,
    REDIRECT,
    SEND,
    Clock,
    Desk,
    Got,
    auth_url,
    code_form,
    refresh_form,
)

from pollux.emulator.workspace import Workspace

EMAIL = "https://www.googleapis.com/auth/userinfo.email"


async def token(desk: Desk, form: dict[str, str], **more: Any) -> Got:
    return await desk.ask("POST", "/token", data=form, **more)


async def test_a_code_becomes_tokens_with_the_long_names_of_the_scopes(workspace: Workspace, desk: Desk):
    got = await token(desk, code_form(workspace.allow(auth_url(workspace.url))))
    assert got.status == 200
    assert got.json["token_type"] == "Bearer" and got.json["expires_in"] == 3599
    assert set(got.json["scope"].split()) == {"openid", EMAIL, COMPOSE, EVENTS}
    assert got.json["access_token"].startswith("ya29.") and got.json["refresh_token"].startswith("1//")


async def test_the_id_token_names_the_account_and_the_client(workspace: Workspace, desk: Desk):
    location = workspace.allow(auth_url(workspace.url, nonce="n1"), account="ann@example.com")
    claims = _claims((await token(desk, code_form(location))).json["id_token"])
    assert claims["email"] == "ann@example.com" and claims["aud"] == "client-1" and claims["nonce"] == "n1"
    assert claims["iss"] == "https://accounts.google.com" and claims["exp"] > claims["iat"]


async def test_the_redirect_carries_state_and_keeps_the_clients_own_query(workspace: Workspace):
    location = workspace.allow(auth_url(workspace.url, redirect_uri=f"{REDIRECT}?tab=1"))
    query = parse_qs(urlsplit(location).query)
    assert location.startswith(REDIRECT) and query["state"] == ["state-1"] and query["tab"] == ["1"] and query["code"]


async def test_a_code_is_good_once(workspace: Workspace, desk: Desk):
    form = code_form(workspace.allow(auth_url(workspace.url)))
    assert (await token(desk, form)).status == 200
    again = await token(desk, form)
    assert (again.status, again.json["error"]) == (400, "invalid_grant")


async def test_of_many_who_show_one_code_one_is_served(workspace: Workspace, desk: Desk):
    form = code_form(workspace.allow(auth_url(workspace.url)))
    answers = await asyncio.gather(*(token(desk, form) for _ in range(16)))
    assert sorted(got.status for got in answers) == [200] + [400] * 15


async def test_a_code_lasts_ten_minutes(workspace: Workspace, desk: Desk, clock: Clock):
    form = code_form(workspace.allow(auth_url(workspace.url)))
    clock.now += 601
    assert (await token(desk, form)).json["error"] == "invalid_grant"


@pytest.mark.parametrize(
    ("changes", "status", "error"),
    [
        ({"code_verifier": "w" * 64}, 400, "invalid_grant"),
        ({"code_verifier": ""}, 400, "invalid_grant"),
        ({"redirect_uri": f"{REDIRECT}/"}, 400, "redirect_uri_mismatch"),
        ({"client_id": "client-2"}, 400, "invalid_grant"),
        ({"client_id": "invalid-client"}, 401, "invalid_client"),
        ({"client_secret": "invalid-secret"}, 401, "invalid_client"),
        ({"client_secret": ""}, 400, "invalid_request"),
        ({"client_id": ""}, 400, "invalid_request"),
        ({"code": ""}, 400, "invalid_request"),
        ({"code": "made-up"}, 400, "invalid_grant"),
        ({"grant_type": "password"}, 400, "unsupported_grant_type"),
        ({"grant_type": ""}, 400, "invalid_request"),
    ],
)
async def test_what_does_not_fit_the_code_is_refused(
    workspace: Workspace, desk: Desk, changes: dict[str, str], status: int, error: str
):
    got = await token(desk, code_form(workspace.allow(auth_url(workspace.url)), **changes))
    assert (got.status, got.json["error"]) == (status, error) and got.json["error_description"]


async def test_a_client_may_name_itself_in_a_header(workspace: Workspace, desk: Desk):
    form = code_form(workspace.allow(auth_url(workspace.url)), client_id="", client_secret="")
    basic = base64.b64encode(b"client-1:secret-1").decode()
    assert (await token(desk, form, headers={"Authorization": "Basic ???"})).json["error"] == "invalid_request"
    assert (await token(desk, form, headers={"Authorization": f"Basic {basic}"})).status == 200


async def test_only_the_first_consent_brings_a_refresh_token_unless_the_page_was_asked_for(
    workspace: Workspace, desk: Desk
):
    brought: list[bool] = []
    for changes in ({"access_type": "online"}, {}, {}, {"prompt": "consent"}):
        got = await token(desk, code_form(workspace.allow(auth_url(workspace.url, **changes))))
        brought.append("refresh_token" in got.json)
    assert brought == [False, True, False, True]


async def test_scopes_granted_before_are_included_when_asked_for(workspace: Workspace, desk: Desk):
    workspace_url = workspace.url
    await token(desk, code_form(workspace.allow(auth_url(workspace_url, scope=f"openid {COMPOSE}"))))
    alone = await token(desk, code_form(workspace.allow(auth_url(workspace_url, scope=EVENTS))))
    both = await token(
        desk, code_form(workspace.allow(auth_url(workspace_url, scope=SEND, include_granted_scopes="true")))
    )
    assert alone.json["scope"] == EVENTS and "id_token" not in alone.json
    assert set(both.json["scope"].split()) == {"openid", COMPOSE, EVENTS, SEND}


async def test_an_access_token_ends_with_its_time_and_is_refreshed(workspace: Workspace, desk: Desk, clock: Clock):
    first = (await token(desk, code_form(workspace.allow(auth_url(workspace.url))))).json
    desk.token = first["access_token"]
    assert (await desk.get(f"{GMAIL}/profile")).status == 200
    clock.now += 3600
    assert (await desk.get(f"{GMAIL}/profile")).status == 401
    fresh = await token(desk, refresh_form(first["refresh_token"]))
    assert "refresh_token" not in fresh.json and fresh.json["scope"] == first["scope"]
    desk.token = fresh.json["access_token"]
    assert (await desk.get(f"{GMAIL}/profile")).json["emailAddress"] == "demo@example.com"


async def test_access_tokens_can_be_ended_at_once_and_refreshed(workspace: Workspace, desk: Desk):
    tokens = workspace.tokens({COMPOSE}, client="client-1")
    workspace.grants.expire()
    desk.token = tokens["access_token"]
    assert (await desk.get(f"{GMAIL}/profile")).status == 401
    assert (await token(desk, refresh_form(tokens["refresh_token"]))).status == 200


async def test_a_client_has_at_most_a_hundred_refresh_tokens_of_one_account(workspace: Workspace, desk: Desk):
    first, *_, last = [workspace.tokens({COMPOSE}, client="client-1")["refresh_token"] for _ in range(101)]
    assert (await token(desk, refresh_form(first))).json["error"] == "invalid_grant"
    assert (await token(desk, refresh_form(last))).status == 200


async def test_a_refresh_token_belongs_to_its_client(workspace: Workspace, desk: Desk):
    refresh = workspace.tokens({COMPOSE}, client="client-1")["refresh_token"]
    stolen = await token(desk, refresh_form(refresh, client_id="client-2"))
    assert (stolen.status, stolen.json["error"]) == (401, "unauthorized_client")


async def test_a_refresh_may_ask_for_less_and_never_for_more(workspace: Workspace, desk: Desk):
    refresh = workspace.tokens({COMPOSE, SEND}, client="client-1")["refresh_token"]
    less = await token(desk, refresh_form(refresh, scope=SEND))
    more = await token(desk, refresh_form(refresh, scope=EVENTS))
    assert less.json["scope"] == SEND and more.json["error"] == "invalid_scope"


@pytest.mark.parametrize("which", ["access_token", "refresh_token"])
async def test_revoking_any_token_ends_the_whole_grant(workspace: Workspace, desk: Desk, which: str):
    tokens = workspace.tokens({COMPOSE}, client="client-1")
    assert (await desk.ask("POST", "/revoke", data={"token": tokens[which]})).status == 200
    desk.token = tokens["access_token"]
    assert (await desk.get(f"{GMAIL}/profile")).status == 401
    gone = await token(desk, refresh_form(tokens["refresh_token"]))
    assert (gone.status, gone.json["error"]) == (400, "invalid_grant")
    again = await desk.ask("POST", f"/revoke?token={tokens[which]}")
    assert (again.status, again.json["error"]) == (400, "invalid_token")


async def test_after_a_revocation_the_next_consent_is_a_first_one(workspace: Workspace, desk: Desk):
    workspace.grants.revoke(workspace.tokens({COMPOSE, SEND}, client="client-1")["refresh_token"])
    asked = auth_url(workspace.url, scope=EVENTS, include_granted_scopes="true")
    again = (await token(desk, code_form(workspace.allow(asked)))).json
    assert "refresh_token" in again and again["scope"] == EVENTS
    assert (await token(desk, refresh_form(again["refresh_token"]))).status == 200


async def test_what_was_seen_holds_no_secret(workspace: Workspace, desk: Desk):
    form = code_form(workspace.allow(auth_url(workspace.url)))
    tokens = (await token(desk, form)).json
    await token(desk, refresh_form(tokens["refresh_token"]))
    await desk.ask("POST", "/token", json=refresh_form(tokens["refresh_token"]))
    await desk.ask("POST", f"/revoke?token={tokens['access_token']}")
    seen = (await desk.get("/_emulator/requests")).content.decode()
    assert '"grant_type": "refresh_token"' in seen
    secrets = [form["code"], form["code_verifier"], form["client_secret"], tokens["access_token"], desk.token]
    assert [one for one in [*secrets, tokens["refresh_token"]] if one in seen] == []


def _claims(token: str) -> dict[str, Any]:
    payload = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
