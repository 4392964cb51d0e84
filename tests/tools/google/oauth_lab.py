"""A GoogleOAuth beside its double, with a clock to turn and the steps a person takes."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.tools.google.kept import KeptSecrets
from tests.tools.google.oauth_double import CLIENT_ID, CLIENT_SECRET, REDIRECT, Double, google

from pollux.core.ids import UserId
from pollux.core.redact import Secret
from pollux.providers.http import AiohttpHttp
from pollux.tools.google.connection import Connection, Connections
from pollux.tools.google.oauth import Begun, Finished, GoogleOAuth
from pollux.tools.google.scopes import CALENDAR, GMAIL
from pollux.tools.google.seal import Sealer

ADA, BOB = UserId("ada"), UserId("bob")
KEY = b"k" * 32


@dataclass
class Lab:
    """`oauth` is one process; `another` makes a second one on the same store."""

    double: Double
    http: AiohttpHttp
    time: float = 1_000_000.0
    secrets: KeptSecrets = field(default_factory=KeptSecrets)
    pauses: list[float] = field(default_factory=list[float])
    oauth: GoogleOAuth = field(init=False)

    def __post_init__(self) -> None:
        self.oauth = self.another()

    @property
    def connections(self) -> Connections:
        return Connections(self.secrets, Sealer([KEY]))

    def another(self, **changed: Any) -> GoogleOAuth:
        settings: dict[str, Any] = {
            "client_id": CLIENT_ID,
            "client_secret": Secret(CLIENT_SECRET),
            "connections": self.connections,
            "http": self.http,
            "state_key": KEY,
            "base": self.double.url,
            "now": lambda: self.time,
            "pause": self._pause,
        }
        return GoogleOAuth(**(settings | changed))

    async def connect(self, user: UserId = ADA, scopes: frozenset[str] = GMAIL | CALENDAR, **agreed: Any) -> Finished:
        begun = await self.oauth.begin(user, scopes, REDIRECT)
        state, code = self.double.agree(begun.url, **agreed)
        return await self.oauth.finish(state, code, user=user)

    async def held(self, user: UserId = ADA) -> Connection:
        held = await self.connections.get(user)
        assert held is not None
        return held

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)


def query_of(begun: Begun) -> dict[str, str]:
    """What the address asks Google for."""
    return {name: values[0] for name, values in parse_qs(urlsplit(begun.url).query).items()}


@asynccontextmanager
async def lab() -> AsyncGenerator[Lab]:
    """One lab, cleared away afterwards."""
    http = AiohttpHttp()
    async with google() as double:
        made = Lab(double, http)
        try:
            yield made
        finally:
            double.gate.set()
            await made.oauth.close()
            await http.close()
