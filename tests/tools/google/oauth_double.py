"""A small OAuth server that answers as Google does, and badly on demand. Every token it makes is a canary."""

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from aiohttp import web

CLIENT_ID = "client-1.apps.googleusercontent.com"
CLIENT_SECRET = "canary-client-secret"
REDIRECT = "http://127.0.0.1:4711/api/google/callback"
LONG = {"email": "https://www.googleapis.com/auth/userinfo.email"}

Form = dict[str, str]


@dataclass
class Code:
    """What a person has agreed to."""

    challenge: str
    scopes: list[str]
    email: str | None
    with_refresh: bool


@dataclass
class Double:
    """The server's memory. `spoil` gives answers to use instead of the right ones, the first one first."""

    url: str = ""
    lifetime: int = 3599
    rotates: bool = False
    spoil: list[Callable[[Form], web.Response | None]] = field(default_factory=list[Any])
    asked: list[Form] = field(default_factory=list[Form])
    agents: list[str] = field(default_factory=list[str])
    codes: dict[str, Code] = field(default_factory=dict[str, Code])
    refresh_tokens: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    made: int = 0

    @property
    def refreshes(self) -> int:
        return sum(form.get("grant_type") == "refresh_token" for form in self.asked)

    def agree(
        self,
        url: str,
        *,
        only: frozenset[str] | None = None,
        email: str | None = "ada@example.com",
        silent: bool = False,
    ) -> tuple[str, str]:
        """What a person does on the consent page: the state and code that the browser comes back with."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert urlsplit(url).path == "/o/oauth2/v2/auth"
        assert (query["client_id"], query["redirect_uri"], query["response_type"]) == (CLIENT_ID, REDIRECT, "code")
        assert (query["access_type"], query["include_granted_scopes"]) == ("offline", "true")
        assert query["code_challenge_method"] == "S256"
        asked = query["scope"].split()
        granted = [LONG.get(scope, scope) for scope in asked if only is None or scope in only or ":" not in scope]
        self.made += 1
        code = f"canary-code-{self.made}"
        self.codes[code] = Code(query["code_challenge"], granted, email, not silent)
        return query["state"], code

    async def token(self, request: web.Request) -> web.Response:
        form = await self._form(request)
        await self.gate.wait()
        if self.spoil and (spoilt := self.spoil.pop(0)(form)) is not None:
            return spoilt
        if (form["client_id"], form["client_secret"]) != (CLIENT_ID, CLIENT_SECRET):
            return refusal(401, "invalid_client", form)
        return self._redeemed(form) if form["grant_type"] == "authorization_code" else self._refreshed(form)

    async def revoke(self, request: web.Request) -> web.Response:
        form = await self._form(request)
        if self.spoil and (spoilt := self.spoil.pop(0)(form)) is not None:
            return spoilt
        known = self.refresh_tokens.pop(form["token"], None)
        return web.json_response({}) if known is not None else refusal(400, "invalid_token", form)

    async def _form(self, request: web.Request) -> Form:
        assert request.content_type == "application/x-www-form-urlencoded"
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.asked.append(form)
        self.agents.append(request.headers.get("x-goog-api-client", ""))
        return form

    def _redeemed(self, form: Form) -> web.Response:
        code = self.codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        if code is None or base64.urlsafe_b64encode(digest).decode().rstrip("=") != code.challenge:
            return refusal(400, "invalid_grant", form)
        if form["redirect_uri"] != REDIRECT:
            return refusal(400, "redirect_uri_mismatch", form)
        answer = self._tokens(code.scopes)
        if code.with_refresh:
            answer["refresh_token"] = self._new_refresh_token(code.scopes)
        if code.email is not None:
            answer["id_token"] = id_token({"email": code.email})
        return web.json_response(answer)

    def _refreshed(self, form: Form) -> web.Response:
        scopes = self.refresh_tokens.get(form["refresh_token"])
        if scopes is None:
            return refusal(400, "invalid_grant", form)
        answer = self._tokens(scopes)
        if self.rotates:
            del self.refresh_tokens[form["refresh_token"]]
            answer["refresh_token"] = self._new_refresh_token(scopes)
        return web.json_response(answer)

    def _tokens(self, scopes: list[str]) -> dict[str, Any]:
        self.made += 1
        return {
            "access_token": f"canary-access-{self.made}",
            "expires_in": self.lifetime,
            "scope": " ".join(scopes),
            "token_type": "Bearer",
        }

    def _new_refresh_token(self, scopes: list[str]) -> str:
        self.made += 1
        self.refresh_tokens[f"canary-refresh-{self.made}"] = scopes
        return f"canary-refresh-{self.made}"


def refusal(status: int, error: str, form: Form) -> web.Response:
    """An error whose free text repeats all it was sent, as no server should."""
    return web.json_response({"error": error, "error_description": json.dumps(form)}, status=status)


def failing(status: int) -> Callable[[Form], web.Response]:
    """A server that has other worries."""
    return lambda form: web.Response(status=status, text=json.dumps(form))


def saying(status: int, error: str) -> Callable[[Form], web.Response]:
    """A refusal by this word."""
    return lambda form: refusal(status, error, form)


def id_token(claims: dict[str, Any]) -> str:
    """A token of three parts, the middle one readable."""
    middle = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{middle}.c2ln"


@asynccontextmanager
async def google() -> AsyncGenerator[Double]:
    """The server, on a port of its own."""
    double = Double()
    double.gate.set()
    app = web.Application()
    app.add_routes([web.post("/token", double.token), web.post("/revoke", double.revoke)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    double.url = f"http://{host}:{port}"
    try:
        yield double
    finally:
        double.gate.set()
        await runner.cleanup()
