"""The workspace emulator with a connected account, and Google's tools that speak to it over real HTTP."""

import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import ClientSession
from tests.tools.google.asking import CONNECTED, Http, Journal, Paused, Tokens

from pollux.core.messages import JSON
from pollux.core.tools import Tool
from pollux.emulator.workspace import Workspace, run_workspace
from pollux.emulator.workspace.ledger import Entry
from pollux.tools.google.api import GoogleApi
from pollux.tools.google.calendar import CalendarEventCreate
from pollux.tools.google.gmail import GmailSend
from pollux.tools.google.scopes import CALENDAR, GMAIL

DRAFTS = "/gmail/v1/users/me/drafts"
EVENTS = "/calendar/v3/calendars/primary/events"


class World:
    """Everything that a test looks at or spoils."""

    def __init__(self, google: Workspace, session: ClientSession, http: Http) -> None:
        self.google = google
        self.session = session
        self.token: str = google.tokens(GMAIL | CALENDAR)["access_token"]
        self.tokens = Tokens(self.token)
        self.http = http
        self.paused = Paused()
        self.gmail = self.gmail_with(self.paused)
        self.calendar = CalendarEventCreate(self.api, accounts=CONNECTED, pause=self.paused)

    @property
    def api(self) -> GoogleApi:
        return GoogleApi(self.http, self.tokens, self.google.url, pause=self.paused)

    def gmail_with(self, pause: Paused) -> GmailSend:
        """The tool, with something that happens while it waits."""
        return GmailSend(self.api, accounts=CONNECTED, pause=pause)

    def effects(self, method: str, subject: str | None = None) -> Sequence[Entry]:
        """What the ledger says was done."""
        found = [entry for entry in self.google.ledger if entry.method.endswith(method)]
        return [entry for entry in found if subject is None or entry.subject == subject]

    def sent(self, subject: str | None = None) -> Sequence[Entry]:
        return self.effects("drafts.send", subject)

    async def drafts(self) -> list[str]:
        return [draft["id"] for draft in (await self.by_hand("GET", DRAFTS)).get("drafts", [])]

    async def by_hand(self, verb: str, path: str, body: JSON = None) -> dict[str, Any]:
        """What a person does in the browser, or another program with the same account."""
        headers = {"Authorization": f"Bearer {self.token}"}
        async with self.session.request(verb, self.google.url + path, json=body, headers=headers) as answer:
            assert answer.status < 300, await answer.text()
            told = await answer.text()
        return json.loads(told) if told else {}

    async def arrived(self, subject: str, headers: str = "Message-ID: <first@example.com>\n") -> str:
        """A mail in the mailbox, and its thread."""
        raw = f"To: demo@example.com\n{headers}Subject: {subject}\n\nhello\n".encode()
        sent = await self.by_hand("POST", "/gmail/v1/users/me/messages/send", {"raw": urlsafe_b64encode(raw).decode()})
        return str(sent["threadId"])


@asynccontextmanager
async def running() -> AsyncGenerator[World]:
    async with run_workspace() as google, ClientSession() as session, Http() as http:
        yield World(google, session, http)


async def finished(tool: Tool, journal: Journal, args: dict[str, JSON]) -> tuple[str, Any]:
    """Drive an interrupted action to its end, as the engine does after a restart."""
    if tool.spec.repeat == "checkable" and journal.attempts:
        found = await tool.reconcile(journal.context(), args)
        if found.outcome != "not_done":
            return found.outcome, found.result or found.detail
    return "done", await tool.run(journal.begun(), args)
