"""Another client of the same mailbox swaps the draft of an approved mail before it is sent."""

import asyncio
from base64 import urlsafe_b64decode, urlsafe_b64encode
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.google.crash import MAIL
from tests.http.google_site import connect, environ_for, google_site
from tests.waiting import until

from pollux.emulator import run_emulator
from pollux.emulator.workspace import Workspace, run_workspace
from pollux.tools.google.scopes import GMAIL

DRAFTS = "/gmail/v1/users/me/drafts"


class OtherClient:
    """A mail program of the same account."""

    def __init__(self, http: aiohttp.ClientSession, workspace: Workspace) -> None:
        self._http = http
        self._url = workspace.url + DRAFTS
        token = workspace.tokens(GMAIL, account="ada@example.com")["access_token"]
        self._headers = {"Authorization": f"Bearer {token}"}

    async def swap(self, old: str, new: str) -> None:
        """Wait for a draft, and write another one in its place."""
        draft = (await until(self._drafts))[0]["id"]
        raw = urlsafe_b64decode((await self._ask("GET", f"/{draft}?format=raw"))["message"]["raw"])
        swapped = raw.replace(old.encode(), new.encode())
        assert swapped != raw
        await self._ask("PUT", f"/{draft}", {"message": {"raw": urlsafe_b64encode(swapped).decode()}})

    async def _drafts(self) -> Any:
        return (await self._ask("GET", "")).get("drafts")

    async def _ask(self, verb: str, path: str, body: object = None) -> Any:
        async with self._http.request(verb, self._url + path, json=body, headers=self._headers) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json()


@pytest.mark.parametrize(
    ("fault", "old", "new", "is_sent"),
    [
        ("slow;seconds=1", "bob@example.com", "eve@example.com", True),
        ("slow;seconds=1", "X-Pollux-Action: ", "X-Other: ", True),
        ("lost", "bob@example.com", "eve@example.com", False),
    ],
)
async def test_a_draft_that_is_swapped_while_gmail_makes_it_sends_nothing_but_what_was_approved(
    tmp_path: Path, fault: str, old: str, new: str, is_sent: bool
):
    async with run_emulator() as model, run_workspace() as workspace, aiohttp.ClientSession() as http:
        environ = environ_for(tmp_path, workspace.url, model.url, tools=(MAIL.tool,))
        async with google_site(tmp_path, environ) as here:
            await connect(here.ada, workspace)
            asked = await here.ada.run(MAIL.wish.prompt)
            (approval,), (action,) = asked["approvals"], asked["actions"]
            workspace.fault(fault, method="drafts.create", times=1)
            other = OtherClient(http, workspace)
            got, _ = await asyncio.gather(here.ada.resolve(approval["id"]), other.swap(old, new))
    (told,) = got.body["run"]["actions"]
    line = MAIL.line(action["id"])
    approved = (line["to"], line["subject"], line["sha256"])
    assert [(list(each.to), each.subject, each.sha256) for each in workspace.ledger] == [approved] * is_sent
    assert told["state"] == ("completed" if is_sent else "failed"), told
