"""What every request passes before anything of ours looks at it: is it meant for us, who asks, how often, and whatever
goes wrong is told in one form. Streams pass untouched: nothing here waits for a whole answer."""

import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from math import ceil
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pollux.asgi.auth import Authority, Identity
from pollux.asgi.bodies import encoded
from pollux.asgi.cors import PREFLIGHT as TO_BE_REFUSED
from pollux.asgi.cors import SESSION, BadOrigin
from pollux.asgi.errors import HttpError, rendered
from pollux.asgi.ndjson import HANG_UP
from pollux.asgi.visits import Visit
from pollux.core.errors import AuthError, StoreError
from pollux.core.frozen import frozen

logger = logging.getLogger(__name__)

IDENTITY = "pollux.identity"
ORIGIN = "pollux.origin"
MOST_CALLERS = 10_000
"""How many callers are counted. The one who asked nothing for longest is forgotten first."""
LOOK_SECONDS = 5.0
"""How long a stream goes on, at most, before we look again whether its browser is still signed in."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
HEADERS = {
    # For what is no page. Pages bring their own, hardly wider.
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=()",
    "cache-control": "no-store",
}


PREFLIGHT = {
    "access-control-allow-methods": "GET, POST",
    "access-control-allow-headers": "authorization, content-type",
    "access-control-max-age": "600",
}
"""What a browser asks before it lets a page of another origin ask."""


class Rate:
    """How often one caller may ask: a bucket that fills at a steady rate and holds a burst."""

    def __init__(self, *, per_minute: float, burst: int, now: Callable[[], float]) -> None:
        self._per_second = per_minute / 60
        self._burst = burst
        self._now = now
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """One request of this caller. Raises HttpError 429 where the bucket is empty, and says when to come again."""
        now = self._now()
        left, since = self._buckets.pop(caller, (float(self._burst), now))
        left = min(float(self._burst), left + (now - since) * self._per_second)
        if left < 1:
            self._keep(caller, left, now)
            seconds = max(1, ceil((1 - left) / self._per_second))
            message = f"too many requests; come again in {seconds} seconds"
            raise HttpError(429, "rate_limited", message, headers={"retry-after": str(seconds)})
        self._keep(caller, left - 1, now)

    def _keep(self, caller: str, left: float, now: float) -> None:
        self._buckets[caller] = (left, now)
        if len(self._buckets) > MOST_CALLERS:
            self._buckets.popitem(last=False)


def public(paths: Collection[str], beneath: str = "") -> Callable[[str], bool]:
    """Whether anybody may ask: at one of these paths, or beneath one."""
    return lambda path: path in paths or (bool(beneath) and path.startswith(beneath))


@frozen
class Pages:
    """What pages may reach, and which of other sites: `origins` are those that were named, exactly."""

    origins: frozenset[str] = frozenset()
    is_open: Callable[[str], bool] = lambda path: False

    def guest(self, scope: Scope, headers: Headers) -> str:
        """The origin of a page elsewhere that may ask this; else nothing."""
        origin = headers.get("origin", "")
        return origin if origin in self.origins and self.is_open(scope["path"]) else ""


class Door:
    """The application, guarded."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        authority: Authority,
        rate: Rate,
        is_public: Callable[[str], bool],
        hosts: Collection[str] | None = LOOPBACK,
        public_url: str | None = None,
        explain: Callable[[Exception], Exception] = lambda problem: problem,
        pages: Pages = Pages(),  # noqa: B008
        proxies: Collection[str] = (),
        beside: Mapping[str, ASGIApp] | None = None,
    ) -> None:
        self._app = app
        self._authority = authority
        self._rate = rate
        self._is_public = is_public
        self._hosts = hosts
        self._public_url = public_url
        self._pages = pages
        self._proxies = proxies
        self._beside = beside or {}
        """What answers for itself, at these paths: anybody may load it, from a page of any site."""
        self._explain = explain
        """What went wrong as callers shall hear of it, where that depends on more than the problem."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._refuse_other(scope, receive, send)
            return
        if (beside := self._beside.get(scope["path"])) is not None:
            await beside(scope, receive, send)
            return
        began, correlation = time.perf_counter(), correlation_id()
        guest = self._pages.guest(scope, Headers(scope=scope))
        answer = _Answer(send, correlation, guest)
        try:
            if guest and scope["method"] == "OPTIONS":
                await answer.whole(204, PREFLIGHT, b"")
                return
            await self._admit(scope, guest)
            await self._app(scope, receive, self._while_signed_in(scope, answer.send))
        except Exception as problem:
            if answer.status is not None:
                raise
            told = self._told(scope, problem)
            if told is not None and scope["method"] == "OPTIONS":
                await answer.whole(204, {**TO_BE_REFUSED, **told.headers}, b"")
                return
            status, headers, document = rendered(told or self._explain(problem), correlation)
            await answer.whole(status, headers, encoded(document))
        finally:
            # The path without its query: that may hold a token.
            spent = (time.perf_counter() - began) * 1000
            path = scope["path"][:200]
            logger.info("%a %a %s %.0f ms (%s)", scope["method"], path, answer.status, spent, correlation)

    async def _admit(self, scope: Scope, guest: str) -> None:
        """Let it in, or raise."""
        headers, method, path = Headers(scope=scope), scope["method"], scope["path"]
        navigates = method == "GET" and self._is_public(path)
        check_place(headers, self._hosts, navigates=navigates, public_url=self._public_url, guest=guest)
        scope[ORIGIN] = origin_of(scope, headers, self._public_url)
        stranger = f"@{address_of(scope, headers, self._proxies)}"
        if self._is_public(path):
            self._rate.take(stranger)
            return
        try:
            identity = await self._authority.identify(headers, method)
        except AuthError:
            # Whoever guesses is slowed down as well, and nobody else at that address who asks for what is public.
            self._rate.take(f"{stranger}!")
            raise
        if identity.visit or guest:
            self._check_visit(identity, scope, headers, guest)
        self._rate.take(identity.user)
        scope[IDENTITY] = identity

    def _while_signed_in(self, scope: Scope, send: Send) -> Send:
        """A stream may last for hours. One that a browser's cookie opened is over when its session is."""
        identity: Identity | None = scope.get(IDENTITY)
        if identity is None or identity.session is None:
            return send
        headers, looked, is_over = Headers(scope=scope), time.monotonic(), False

        async def checked(message: Message) -> None:
            nonlocal looked, is_over
            if message.get("more_body") and not is_over and time.monotonic() - looked >= LOOK_SECONDS:
                # A store that answers nobody has nothing new to tell either.
                with suppress(StoreError):
                    is_over = await self._authority.session_of(headers) is None
                looked = time.monotonic()
                if is_over and HANG_UP in scope:
                    scope[HANG_UP]()
            if not is_over:
                await send(message)

        return checked

    def _told(self, scope: Scope, problem: Exception) -> HttpError | None:
        """What a page of a site that nobody named may read of why it gets no token; None for all other problems."""
        is_first = scope["path"] == SESSION and self._pages.is_open(SESSION)
        return problem.told if isinstance(problem, BadOrigin) and is_first else None

    def _check_visit(self, identity: Identity, scope: Scope, headers: Headers, guest: str) -> None:
        """A page's visitor may do little, and only from that page; nobody else asks from a page of another site."""
        if identity.visit is None:
            raise AuthError("a page of another site needs a visitor's token. POST /api/page/session gives one")
        if not self._pages.is_open(scope["path"]):
            raise HttpError(403, "forbidden", "a visitor's token is good for the page's own routes alone")
        check_visit_place(identity.visit, scope, headers)

    async def _refuse_other(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._app(scope, receive, send)


def check_place(
    headers: Headers,
    hosts: Collection[str] | None,
    *,
    navigates: bool,
    public_url: str | None = None,
    guest: str = "",
) -> None:
    """Refuse what is not meant for this host, and what pages of other sites send, unless one is a `guest`.

    Raises HttpError.
    """
    given = headers.getlist("host")
    if len(given) != 1:
        raise HttpError(400, "bad_host", "expected one Host header")
    host = given[0].strip().lower()
    name, _, port = (host, "", "") if host.endswith("]") or ":" not in host else host.rpartition(":")
    if port and not (port.isascii() and port.isdigit()):
        raise HttpError(403, "bad_host", "expected a Host header of a name and a port")
    if hosts is not None and name not in hosts:
        # A name that leads here by somebody else's DNS: the page behind it is theirs.
        raise HttpError(403, "bad_host", "this host name is not served here. POLLUX_ALLOWED_HOSTS names those that are")
    origins = headers.getlist("origin")
    if guest and len(origins) == 1:
        return
    if len(origins) > 1:
        raise HttpError(403, "bad_origin", "requests from pages of other origins are refused")
    if origins and not is_same_origin(origins[0], host, public_url):
        raise BadOrigin(origins[0])
    if is_from_elsewhere(headers) and not (navigates and _opens_a_page(headers)):
        raise HttpError(403, "bad_origin", "requests from pages of other sites are refused")


def origin_of(scope: Scope, headers: Headers, public_url: str | None = None) -> str:
    """The page that asks. Where its browser does not say, as for a GET from a page of ours, it is one of ours."""
    if origin := headers.get("origin"):
        return origin
    host, public = headers.get("host", "").strip().lower(), urlsplit((public_url or "").lower())
    return f"{public.scheme if public.netloc == host else scope.get('scheme', 'http')}://{host}"


def check_visit_place(visit: Visit, scope: Scope, headers: Headers) -> None:
    """Whether a visitor's token is used where it was given; the place is that one then. Raises HttpError."""
    # What has no origin comes from a page of ours, and so may the token: whether the visitor sees https, a GET does not
    # say and a POST does.
    host = headers.get("host", "").strip().lower()
    is_ours = is_same_origin(visit.origin, host) and is_same_origin(headers.get("origin", visit.origin), host)
    if visit.origin != scope[ORIGIN] and not is_ours:
        raise HttpError(403, "bad_origin", "this visitor's token was given to a page of another origin")
    scope[ORIGIN] = visit.origin


def address_of(scope: Scope, headers: Headers, proxies: Collection[str] = ()) -> str:
    """Where a request comes from: as far as the proxies that we trust can tell."""
    address = (scope.get("client") or ("",))[0]
    told = ",".join(headers.getlist("x-forwarded-for")).split(",")
    # Each proxy adds at the end whom it saw. What stands before the first that we do not trust may be made up.
    while told and address in proxies:
        address = told.pop().strip()[:100] or address
    return address


def is_from_elsewhere(headers: Headers) -> bool:
    """Whether the browser says that a page of another origin sends this."""
    return headers.get("sec-fetch-site", "none").strip().lower() not in ("none", "same-origin")


def _opens_a_page(headers: Headers) -> bool:
    """Whether a person followed a link: no frame, no picture and no script of that page."""
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


def is_same_origin(origin: str, host: str, public_url: str | None = None) -> bool:
    """Whether a page of this origin is one that this host serves."""
    public = urlsplit((public_url or "").lower())
    # Elsewhere nobody told us whether a proxy in front of us speaks TLS.
    schemes = (public.scheme,) if public.netloc == host else ("http", "https")
    return origin.strip().lower() in [f"{scheme}://{host}" for scheme in schemes]


def correlation_id() -> str:
    """What an answer and the log call one request."""
    return "req_" + secrets.token_hex(8)


def identity_of(scope: Scope) -> Identity:
    """Who sent a request that the door let in."""
    identity = scope.get(IDENTITY)
    if identity is None:
        raise AuthError("no credential. Send `Authorization: Bearer TOKEN`, or sign in with a browser")
    return identity


class _Answer:
    """An answer on its way out, with the headers that all have."""

    def __init__(self, send: Send, correlation: str, guest: str = "") -> None:
        self._send = send
        self._guest = guest
        self._correlation = correlation
        self.status: int | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers["x-correlation-id"] = self._correlation
            if self._guest:
                headers["access-control-allow-origin"] = self._guest
                headers["access-control-expose-headers"] = "x-correlation-id, retry-after"
                headers["cross-origin-resource-policy"] = "cross-origin"
                headers["vary"] = "origin"
        await self._send(message)

    async def whole(self, status: int, headers: dict[str, str], body: bytes) -> None:
        pairs = {"content-type": "application/json", "content-length": str(len(body)), **headers}
        raw = [(name.encode(), value.encode()) for name, value in pairs.items()]
        await self.send({"type": "http.response.start", "status": status, "headers": raw})
        await self._send({"type": "http.response.body", "body": body})
