"""Google's own libraries as the client: whatever they can do against the real services, they can do here."""

# The libraries come without types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

import asyncio
import warnings
from typing import Any

import pytest
from tests.emulator.workspace.desk import ALL, EVENT, MAIL, coded

from pollux.emulator.workspace import Workspace

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from google.auth.exceptions import RefreshError
    from google.auth.transport.requests import Request
    from google.oauth2.credentials import Credentials
    from googleapiclient.discovery import build
    from googleapiclient.errors import HttpError


def credentials(workspace: Workspace) -> Any:
    tokens = workspace.tokens(ALL, client="client-1")
    return Credentials(
        token=tokens["access_token"],
        refresh_token=tokens["refresh_token"],
        token_uri=f"{workspace.url}/token",
        client_id="client-1",
        client_secret="secret-1",
    )


def service(workspace: Workspace, name: str, version: str, known: Any) -> Any:
    # Calendar's paths begin with its name; this library wants that in the endpoint.
    endpoint = workspace.url + ("/calendar/v3/" if name == "calendar" else "")
    options = {"api_endpoint": endpoint}
    return build(name, version, credentials=known, client_options=options, static_discovery=True, cache_discovery=False)


async def test_a_draft_is_made_sent_and_found_in_sent(workspace: Workspace):
    def story() -> tuple[str, list[str]]:
        with service(workspace, "gmail", "v1", credentials(workspace)) as gmail:
            users = gmail.users()
            draft = users.drafts().create(userId="me", body={"message": {"raw": coded(MAIL)}}).execute()
            sent = users.drafts().send(userId="me", body={"id": draft["id"]}).execute()
            listed = users.messages().list(userId="me", labelIds=["SENT"]).execute()
            with pytest.raises(HttpError) as gone:
                users.drafts().get(userId="me", id=draft["id"]).execute()
            assert gone.value.status_code == 404
            return sent["id"], [one["id"] for one in listed["messages"]]

    sent, listed = await asyncio.to_thread(story)
    assert listed == [sent] == [entry.id for entry in workspace.ledger]


async def test_an_event_is_made_once(workspace: Workspace):
    def story() -> tuple[Any, Any]:
        with service(workspace, "calendar", "v3", credentials(workspace)) as calendar:
            events = calendar.events()
            made = events.insert(calendarId="primary", body=EVENT, sendUpdates="all").execute()
            with pytest.raises(HttpError) as taken:
                events.insert(calendarId="primary", body=EVENT).execute()
            assert events.get(calendarId="primary", eventId=made["id"]).execute() == made
            return made, taken.value

    made, taken = await asyncio.to_thread(story)
    assert made["id"] == EVENT["id"] and taken.status_code == 409
    assert taken.error_details[0]["reason"] == "duplicate"


async def test_a_stale_token_is_refreshed_on_the_way(workspace: Workspace):
    def story() -> str:
        with service(workspace, "gmail", "v1", credentials(workspace)) as gmail:
            return gmail.users().getProfile(userId="me").execute()["emailAddress"]

    workspace.fault("401", method="getProfile", times=1)
    assert await asyncio.to_thread(story) == "demo@example.com"
    assert [one.path for one in workspace.requests] == [
        "/gmail/v1/users/me/profile",
        "/token",
        "/gmail/v1/users/me/profile",
    ]


async def test_a_revoked_grant_is_an_error_of_the_library(workspace: Workspace):
    known = credentials(workspace)
    workspace.grants.revoke(known.refresh_token)
    with pytest.raises(RefreshError, match="invalid_grant"):
        await asyncio.to_thread(known.refresh, Request())


async def test_a_missing_scope_and_a_bad_header_are_read_by_the_library(workspace: Workspace):
    def story() -> list[tuple[int, str]]:
        known = Credentials(token=workspace.tokens({"openid"})["access_token"])
        seen: list[tuple[int, str]] = []
        for credential, body in ((known, MAIL), (credentials(workspace), b"To: nobody\r\n\r\n")):
            with service(workspace, "gmail", "v1", credential) as gmail, pytest.raises(HttpError) as refused:
                gmail.users().messages().send(userId="me", body={"raw": coded(body)}).execute()
            seen.append((refused.value.status_code, refused.value.reason))
        return seen

    assert await asyncio.to_thread(story) == [
        (403, "Request had insufficient authentication scopes."),
        (400, "Invalid To header"),
    ]
