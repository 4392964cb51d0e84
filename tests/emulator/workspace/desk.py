"""Speak to the workspace emulator as a program would: one request, one answer."""

import base64
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import aiohttp

from pollux.emulator.workspace.grants import challenge

AUTH = "https://www.googleapis.com/auth/"
COMPOSE, SEND, METADATA, READ = (f"{AUTH}gmail.{name}" for name in ("compose", "send", "metadata", "readonly"))
EVENTS = f"{AUTH}calendar.events"
ALL = frozenset({COMPOSE, SEND, READ, EVENTS})
GMAIL = "/gmail/v1/users/me"
CALENDAR = "/calendar/v3/calendars/primary/events"
REDIRECT = "http://127.0.0.1:8642/api/google/callback"
VERIFIER = "v" * 64
PEOPLE = b"To: ann@example.com\r\nCc: bob@example.com\r\nBcc: eve@example.com\r\n"
MAIL = PEOPLE + b"Subject: Hello\r\nX-Mark: one\r\n\r\nA word.\r\n"
EVENT = {
    "id": "abcde12345",
    "summary": "Planning",
    "start": {"dateTime": "2026-11-16T09:00:00", "timeZone": "Europe/Berlin"},
    "end": {"dateTime": "2026-11-16T10:00:00", "timeZone": "Europe/Berlin"},
    "attendees": [{"email": "ann@example.com"}],
}


@dataclass
class Clock:
    """The time, until a test turns it."""

    now: float = 1_794_700_000.0

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class Got:
    """An answer, read to its end."""

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def reason(self) -> str:
        """What a program looks at when it is refused."""
        return self.json["error"]["errors"][0]["reason"]


@dataclass
class Desk:
    """A client with a token."""

    session: aiohttp.ClientSession
    url: str
    token: str
    headers: dict[str, str] = field(default_factory=dict[str, str])

    async def ask(self, verb: str, path: str, **more: Any) -> Got:
        headers = {"Authorization": f"Bearer {self.token}", **self.headers, **more.pop("headers", {})}
        whole = path if path.startswith("http") else self.url + path
        async with self.session.request(verb, whole, headers=headers, allow_redirects=False, **more) as answer:
            return Got(answer.status, dict(answer.headers), await answer.read())

    async def get(self, path: str, **query: Any) -> Got:
        return await self.ask("GET", path, params=query)

    async def draft(self, raw: bytes = MAIL, **message: str) -> str:
        """Write a draft; its id."""
        got = await self.ask("POST", f"{GMAIL}/drafts", json={"message": {"raw": coded(raw), **message}})
        assert got.status == 200, got.content
        return got.json["id"]

    async def send_draft(self, id: str, **more: Any) -> Got:
        return await self.ask("POST", f"{GMAIL}/drafts/send", json={"id": id}, **more)

    async def send(self, raw: bytes = MAIL, **message: str) -> Got:
        return await self.ask("POST", f"{GMAIL}/messages/send", json={"raw": coded(raw), **message})

    async def insert(self, event: dict[str, Any] | None = None, **changes: Any) -> Got:
        return await self.ask("POST", CALENDAR, json={**(EVENT if event is None else event), **changes})


def coded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode()


def auth_url(url: str, **changes: str) -> str:
    """Where a client sends a person; an empty value leaves a parameter out."""
    asked = {
        "client_id": "client-1",
        "redirect_uri": REDIRECT,
        "response_type": "code",
        "scope": f"openid email {COMPOSE} {EVENTS}",
        "state": "state-1",
        "code_challenge": challenge(VERIFIER),
        "code_challenge_method": "S256",
        "access_type": "offline",
        **changes,
    }
    return f"{url}/o/oauth2/v2/auth?{urlencode({key: value for key, value in asked.items() if value})}"


def code_form(location: str, **changes: str) -> dict[str, str]:
    """The form that turns a redirect's code into tokens."""
    return {
        "grant_type": "authorization_code",
        "code": parse_qs(urlsplit(location).query)["code"][0],
        "client_id": "client-1",
        "client_secret": "secret-1",
        "redirect_uri": REDIRECT,
        "code_verifier": VERIFIER,
        **changes,
    }


def refresh_form(token: str, **changes: str) -> dict[str, str]:
    return {
        "grant_type": "refresh_token",
        "refresh_token": token,
        "client_id": "client-1",
        "client_secret": "secret-1",
        **changes,
    }
