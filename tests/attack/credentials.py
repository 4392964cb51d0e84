"""A server in this process with every route, and every kind of credential that somebody may bring to it.

No sockets: the application is called as a server would call it, so that thousands of requests take seconds.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

from starlette.types import ASGIApp, Message
from tests.asgi.issuer import Issuer
from tests.http.site import TOKENS, page_door, settings_in
from tests.runbooks.http.site import config

from pollux.asgi.auth import Authority
from pollux.asgi.cookies import SECURE_COOKIE, SESSION_COOKIE
from pollux.asgi.credentials import USER, Credentials, authority_of
from pollux.asgi.sessions import SESSION_SECONDS, MadeBy, Sessions
from pollux.asgi.visits import Visits
from pollux.bootstrap import Fixed, make_engine, make_home, seal_keys
from pollux.core.ids import UserId
from pollux.core.profile import Limits, Profile
from pollux.core.redact import Secret
from pollux.engine.ports import Store
from pollux.runbooks.place import served_runbooks
from pollux.serve import application, runbooks_of
from pollux.stores.memory import MemoryStore
from pollux.testing import scripted

HERE, SHOP, EVIL = "http://127.0.0.1", "https://shop.example", "https://evil.example"
OWN, GONE = "token-of-this-machine-0123456789", "token-of-carol-0123456789"
ADA, BOB = UserId("ada"), UserId("bob")
CSRF = "x-pollux-csrf"

Headers = list[tuple[str, str]]


@dataclass(frozen=True)
class Got:
    """An answer."""

    status: int
    headers: Headers
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def session(self) -> str:
        """The value of the session cookie that was set; empty where none was, or where one was taken away."""
        pairs = [value.partition(";")[0].partition("=") for name, value in self.headers if name == "set-cookie"]
        return next((value for name, _, value in pairs if name in (SESSION_COOKIE, SECURE_COOKIE)), "")


async def ask(
    app: ASGIApp, method: str, target: str, headers: Iterable[tuple[str, str]] = (), body: bytes = b""
) -> Got:
    """One request, from the loopback."""
    path, _, query = target.partition("?")
    sent: list[Message] = []
    has_gone = asyncio.Event()
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if parts:
            return parts.pop()
        await has_gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    raw = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers]
    if not any(name == b"host" for name, _ in raw):
        raw.append((b"host", b"127.0.0.1"))
    raw.append((b"content-length", str(len(body)).encode()))
    scope = {
        "type": "http", "http_version": "1.1", "method": method, "scheme": "http", "path": path,
        "raw_path": path.encode(), "query_string": query.encode(), "headers": raw, "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80), "root_path": "",
    }  # fmt: skip
    await app(scope, receive, send)
    start = next(message for message in sent if message["type"] == "http.response.start")
    content = b"".join(message.get("body", b"") for message in sent if message["type"] == "http.response.body")
    return Got(start["status"], [(name.decode(), value.decode()) for name, value in start["headers"]], content)


@dataclass
class World:
    """One server, and everything with which somebody may come to it."""

    app: ASGIApp
    authority: Authority
    store: Store
    key: bytes
    issuer: Issuer
    foreign: Issuer
    visits: Visits
    strange_visits: Visits
    now: float = field(default=0.0)

    async def ask(self, method: str, target: str, headers: Iterable[tuple[str, str]] = (), body: bytes = b"") -> Got:
        return await ask(self.app, method, target, headers, body)

    async def form(self, token: str, *headers: tuple[str, str]) -> Got:
        """The button of the page of a login link, as a browser presses it there."""
        return await self.ask("POST", "/login", [("origin", HERE), *headers], urlencode({"token": token}).encode())

    async def sign_in(self, token: str) -> Got:
        return await self.ask("POST", "/api/session/sign-in", (), json.dumps({"token": token}).encode())

    async def session(
        self,
        *,
        user: UserId = ADA,
        token: str | None = None,
        mark: str | None = None,
        made_by: MadeBy = "token",
        key: bytes | None = None,
        ended: bool = False,
        expired: bool = False,
    ) -> tuple[str, str, str]:
        """The cookie's secret, the proof and the id of a session as this or another installation has made it."""
        ago = SESSION_SECONDS + 1 if expired else 0
        sessions = Sessions(self.store, key or self.key, now=lambda: time.time() - ago)
        if mark is None:
            mark = (await self.authority.of_account(token or TOKENS["ada"])).mark
        set_cookie, opened = await sessions.open(user, mark, made_by=made_by)
        if ended:
            await sessions.end(user, opened.record.id)
        return set_cookie.partition(";")[0].partition("=")[2], opened.csrf, opened.record.id

    def visit(
        self,
        *,
        origin: str = HERE,
        user: UserId | None = None,
        until: float | None = None,
        foreign: bool = False,
    ) -> str:
        visits = self.strange_visits if foreign else self.visits
        return visits.given(origin=origin, profile="page", user=user, until=until)[0]


@asynccontextmanager
async def world(path: Path, *, pages: bool = True, store: Store | None = None) -> AsyncGenerator[World]:
    """Everything that Pollux serves: named users, this machine's own token and an issuer. The store is empty, or given.

    A second one at the same path is another process of the same installation.
    """
    environ = config(path, 'users = ["ada"]', "editable = true")
    settings = settings_in(path, environ, requests_per_minute=10_000_000, burst=10_000_000)
    make_home(settings.home)
    runbooks = served_runbooks(settings)
    assert runbooks is not None
    store = store or MemoryStore()
    profiles = {name: Profile(name, limits=Limits(model_calls=1)) for name in ("default", "page")}
    engine = make_engine(
        store, runbooks.providers(Fixed(scripted())), tools=runbooks.tools, profiles={**profiles, **runbooks.profiles}
    )
    now = time.time()
    issuer, foreign = Issuer(url="https://issuer.example"), Issuer(url="https://issuer.evil.example")
    issuer.clock.at = foreign.clock.at = now
    (path / "keys.json").write_text(json.dumps({"keys": issuer.keys}))
    named = [(UserId(name), Secret(token)) for name, token in TOKENS.items()]
    credentials = Credentials((*named, (USER, Secret(OWN))), Secret(OWN))
    verifier = issuer.verifier(jwks=str(path / "keys.json"))
    authority = authority_of(settings, credentials, store, clock=engine.clock, jwt=verifier, pages=pages)
    keys = seal_keys(settings)
    async with engine:
        runbooks.host.serve(engine)
        app = application(
            settings,
            engine,
            authority,
            page=page_door(settings, engine, authority, origins=[SHOP]) if pages else None,
            runbooks=runbooks_of(settings, engine, runbooks),
        )
        visits, strange = (Visits(each, now=time.time) for each in (keys, [b"x" * 32]))
        yield World(app, authority, store, keys[0], issuer, foreign, visits, strange, now)
        await verifier.close()


Outcome = Literal["in", "401", "403"]
"""`in`: past the door, whatever the route then says to an empty body or an unknown id."""


@dataclass(frozen=True)
class Brought:
    """What a request brings, and who that is."""

    headers: Headers
    who: Literal["account", "cookie", "visit", "nobody"]
    why: str
    origin: str = ""
    """The page that sends it, where that is not one of ours."""
    user: str = ""
    proves: bool = True
    """Whether it may change something: by cookie it needs the proof."""
    given_to: str = HERE
    """The page that a visitor's token was given to."""


def bearer(token: str) -> Headers:
    return [("authorization", f"Bearer {token}")]


def cookie(value: str, csrf: str = "", *, name: str = SESSION_COOKIE) -> Headers:
    return [("cookie", f"{name}={value}"), *([(CSRF, csrf)] if csrf else [])]


async def brought(world: World) -> Mapping[str, Brought]:
    """Every kind of credential, fresh: a request may use it up."""
    ada, jwt = TOKENS["ada"], world.issuer.token()
    value, csrf, session_id = await world.session()
    _, other_csrf, _ = await world.session()
    ended, ended_csrf, _ = await world.session(ended=True)
    expired, expired_csrf, _ = await world.session(expired=True)
    removed, removed_csrf, _ = await world.session(user=UserId("carol"), mark="0123456789abcdef")
    renamed, renamed_csrf, _ = await world.session(user=BOB)  # Ada's mark: her token was once Bob's.
    by_jwt, by_jwt_csrf, _ = await world.session(mark=(await world.authority.of_account(jwt)).mark, made_by="jwt")
    of_issuer, of_issuer_csrf, _ = await world.session(mark="fedcba9876543210", made_by="jwt")
    unmarked, unmarked_csrf, _ = await world.session(mark="", made_by="jwt")
    foreign, foreign_csrf, _ = await world.session(key=b"y" * 32)
    record = (await world.store.sessions(ADA))[0]
    visit, named_visit = world.visit(), world.visit(user=ADA)
    at_shop = world.visit(origin=SHOP)
    body, _, seal = named_visit.removeprefix("pv1.").partition(".")

    def ours(headers: Headers, who: Literal["account", "cookie"], why: str, origin: str = "") -> Brought:
        return Brought(headers, who, why, origin, "ada")

    def nobody(headers: Headers, why: str) -> Brought:
        return Brought(headers, "nobody", why)

    return {
        "this machine's token": Brought(bearer(OWN), "account", "its owner", user="local"),
        "a named token": Brought(bearer(ada), "account", "a configured user", user="ada"),
        "another user's token": Brought(bearer(TOKENS["bob"]), "account", "a configured user", user="bob"),
        "a JWT": Brought(bearer(jwt), "account", "the issuer is trusted", user="ada"),
        "a cookie with its proof": Brought(cookie(value, csrf), "cookie", "a session that counts", user="ada"),
        "a cookie of a JWT": Brought(cookie(by_jwt, by_jwt_csrf), "cookie", "a session that counts", user="ada"),
        "a cookie alone": Brought(cookie(value), "cookie", "reads, and proves nothing", user="ada", proves=False),
        "a cookie with another session's proof": Brought(
            cookie(value, other_csrf), "cookie", "the proof is of one session", user="ada", proves=False
        ),
        "a cookie with its own value as proof": Brought(
            cookie(value, value), "cookie", "the proof is not the secret", user="ada", proves=False
        ),
        "nothing": nobody([], "nobody"),
        "an empty bearer": nobody([("authorization", "Bearer ")], "no token"),
        "junk": nobody(bearer("junk"), "no token of ours"),
        "a token by another scheme": nobody([("authorization", f"Basic {ada}")], "only bearers"),
        "a token without a scheme": nobody([("authorization", ada)], "only bearers"),
        "a token cut off": nobody(bearer(ada[:-1]), "not the token"),
        "a token in another case": nobody(bearer(ada.upper()), "not the token"),
        "a removed token": nobody(bearer(GONE), "no longer configured"),
        "two tokens": nobody([*bearer(ada), *bearer(TOKENS["bob"])], "one credential at a time"),
        "a token in a header of its own": nobody([("x-pollux-token", ada), ("x-user", "ada")], "not a credential"),
        "a wrong token beside a cookie": nobody([*bearer("junk"), *cookie(value, csrf)], "a bearer given is meant"),
        "a junk cookie": nobody(cookie("x" * 43, csrf), "no record"),
        "an ended cookie": nobody(cookie(ended, ended_csrf), "sign-out ends every copy"),
        "an expired cookie": nobody(cookie(expired, expired_csrf), "its time has come"),
        "a cookie of a removed token": nobody(cookie(removed, removed_csrf), "its token is gone"),
        "a cookie of a token that is another's now": nobody(cookie(renamed, renamed_csrf), "mark and user part"),
        "a cookie of another issuer": nobody(cookie(of_issuer, of_issuer_csrf), "that issuer is not trusted"),
        "a cookie of no credential": nobody(cookie(unmarked, unmarked_csrf), "nothing stands behind it"),
        "a cookie of another installation": nobody(cookie(foreign, foreign_csrf), "another key"),
        "a cookie under the https name": nobody(cookie(value, csrf, name=SECURE_COOKIE), "here it is the plain one"),
        "a session's id as cookie": nobody(cookie(session_id, csrf), "an id is no secret"),
        "a session's digest as cookie": nobody(cookie(record.digest, csrf), "what the store holds opens nothing"),
        "a token as cookie": nobody(cookie(ada, csrf), "a token is no session"),
        "a JWT as cookie": nobody(cookie(jwt, csrf), "a token is no session"),
        "a visit as cookie": nobody(cookie(named_visit, csrf), "a visit is no session"),
        "a cookie's value as bearer": nobody(bearer(value), "a session is no token"),
        "a proof as bearer": nobody(bearer(csrf), "a proof is no token"),
        "a session's id as bearer": nobody(bearer(session_id), "an id is no token"),
        "a JWT for another audience": nobody(bearer(world.issuer.token(claims={"aud": "other"})), "not for us"),
        "an expired JWT": nobody(bearer(world.issuer.token(claims={"exp": world.now - 60})), "its time has come"),
        "a JWT that names this machine's user": nobody(bearer(world.issuer.token(claims={"sub": "local"})), "reserved"),
        "a JWT that names a visitor": nobody(bearer(world.issuer.token(claims={"sub": "visitor:1"})), "reserved"),
        "a JWT of another issuer": nobody(bearer(world.foreign.token()), "not trusted"),
        "an unsigned JWT": nobody(bearer(world.issuer.token(header={"alg": "none"}, sign=lambda _: b"")), "unsigned"),
        "an expired visit": nobody(bearer(world.visit(until=world.now - 1)), "its time has come"),
        "an expired visit of a user": nobody(bearer(world.visit(user=ADA, until=world.now - 1)), "its time has come"),
        "a visit under another key": nobody(bearer(world.visit(foreign=True)), "not ours"),
        "a visit with another's seal": nobody(bearer(f"pv1.{body}.{visit.rpartition('.')[2]}"), "not the seal"),
        "a visit without its prefix": nobody(bearer(f"{body}.{seal}"), "not a token"),
        "a visit by another scheme": nobody([("authorization", f"Basic {visit}")], "only bearers"),
        "a visit": Brought(bearer(visit), "visit", "narrow rights"),
        "a visit of a user": Brought(bearer(named_visit), "visit", "narrow rights, whoever it is of"),
        "a visit beside that user's cookie": Brought(
            [*bearer(named_visit), *cookie(value, csrf)], "visit", "a bearer given is meant"
        ),
        "a visit of a named site": Brought(bearer(at_shop), "visit", "narrow rights", origin=SHOP, given_to=SHOP),
        "a visit of a named site, from ours": Brought(bearer(at_shop), "visit", "another page's", given_to=SHOP),
        "our visit from a named site": Brought(bearer(visit), "visit", "another page's", origin=SHOP),
        "a visit from a foreign site": Brought(bearer(visit), "visit", "another page's", origin=EVIL),
        "a token from a named site": ours(bearer(ada), "account", "pages elsewhere bring visits", SHOP),
        "a token from a foreign site": ours(bearer(ada), "account", "no foreign pages", EVIL),
        "a cookie from a named site": ours(cookie(value, csrf), "cookie", "no foreign pages", SHOP),
        "a cookie from a foreign site": ours(cookie(value, csrf), "cookie", "no foreign pages", EVIL),
        "a cookie from no origin": ours(cookie(value, csrf), "cookie", "a sandboxed frame", "null"),
    }  # fmt: skip
