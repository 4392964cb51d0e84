"""One HTTP request of a block, from its sending to the end of its answer.

A person or a rule approves one origin: scheme, host and port. Redirects are followed within it, each judged by the
policy like a first request, and nowhere else: to another origin it would be another request, that nobody was asked
about. Where a redirect is not followed, it is itself the answer, and the block fails and says where it led to.
"""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Never
from urllib.parse import urljoin

from pollux._version import __version__
from pollux.core.errors import OutcomeUnknown, ToolError, ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.runbooks.blocks.addresses import is_refused

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

BODY_LIMIT: Final = 4 * 1024 * 1024
"""How many bytes of an answer are read."""
CONNECT_SECONDS: Final = 30.0
MAX_REDIRECTS: Final = 10
READING: Final = ("GET", "HEAD")
REDIRECTS: Final = (301, 302, 303, 307, 308)

_AUTHORITY: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9.])?)(?::([0-9]{1,5}))?")
_URL: Final = re.compile(r"(https?)://([^/?#\\]+)((?:[/?][^#\x00-\x1f\x7f]*)?)(?:#[^\x00-\x1f\x7f]*)?", re.IGNORECASE)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


@frozen
class Request:
    """What is sent. The address is canonical."""

    verb: str
    url: str
    headers: Mapping[str, str]
    body: str


def canonical(url: str) -> str:
    """The address in the one form that everybody reads alike. Raises ValidationError for what is none of ours."""
    found = _URL.fullmatch(url.strip())
    if found is None:
        raise ValidationError("url must begin with http:// or https:// and a host, and hold no control characters")
    scheme, authority, rest = found[1].lower(), found[2], found[3]
    if "@" in authority:
        raise ValidationError("url must not hold a user or password: give them in a header, `Authorization`")
    if not authority.isascii():
        try:
            authority = authority.encode("idna").decode()
        except UnicodeError:
            raise ValidationError(f"url names the host {authority!r}, which cannot be one") from None
    place = _AUTHORITY.fullmatch(authority)
    if place is None or (place[2] and not 0 < int(place[2]) < 65_536):
        raise ValidationError(f"url names the host {authority!r}, which cannot be one")
    host, port = place[1].lower(), int(place[2] or 0)
    if is_refused(host):
        raise ValidationError(_refusal(host))
    written = f":{port}" if port and port != _DEFAULT_PORTS[scheme] else ""
    return f"{scheme}://{host}{written}{rest if rest.startswith('/') else '/' + rest}"


def origin_of(url: str) -> str:
    """Scheme, host and port of a canonical address."""
    return "/".join(url.split("/", 3)[:3])


Judge = Callable[[Request], Awaitable[str]]
"""What speaks against sending a request in place of the first one. Empty: nothing."""


async def exchange(request: Request, *, timeout: float | None, judge: Judge) -> dict[str, JSON]:
    """Send it, and return what came back. A redirect within its origin is followed where `judge` has no objection.

    Raises:
        ToolError: it was not sent, or it only reads.
        OutcomeUnknown: it may have been acted upon, and there is no answer that says so.
    """
    from aiohttp import ClientConnectorError, ClientError, ClientSSLError, ConnectionTimeoutError, InvalidURL

    way = _Way(request, judge)
    try:
        async with asyncio.timeout(timeout), _session() as session:
            return await way.follow(session)
    except (ClientConnectorError, ClientSSLError, ConnectionTimeoutError, InvalidURL) as problem:
        if way.hops:
            _broken(request, _said(problem), problem)
        raise ToolError(f"{origin_of(request.url)} cannot be reached: {_said(problem)}") from problem
    except TimeoutError as problem:
        _broken(request, f"no answer within {timeout:g} s" if timeout else "no answer in time", problem)
    except (ClientError, OSError, ValueError) as problem:
        _broken(request, _said(problem), problem)


def _broken(request: Request, said: str, problem: Exception) -> Never:
    told = f"{origin_of(request.url)} gave no answer: {said}"
    if request.verb in READING:
        raise ToolError(told) from problem
    raise OutcomeUnknown(f"{told}. The {request.verb} request was on its way") from problem


def _said(problem: BaseException) -> str:
    inner = getattr(problem, "os_error", None) or problem
    return str(inner).strip() or type(inner).__name__


class _Way:
    """A request and those that it is sent on to. After the first hop, the first request has been acted upon."""

    def __init__(self, request: Request, judge: Judge) -> None:
        self.hops = 0
        self._request = request
        self._judge = judge
        self._begun = time.monotonic()

    async def follow(self, session: "ClientSession") -> dict[str, JSON]:
        while True:
            request = self._request
            async with session.request(
                request.verb,
                _as_is(request.url),
                headers=request.headers,
                data=request.body.encode() if request.body else None,
                allow_redirects=False,
                skip_auto_headers=("Content-Type",),
            ) as response:
                took = time.monotonic() - self._begun
                location = response.headers.get("Location", "")
                following = _next(request, response.status, location) if location else ""
                if isinstance(following, str):
                    return await _answer(response, took, following)
                if self.hops == MAX_REDIRECTS:
                    return await _answer(response, took, f"there were more than {MAX_REDIRECTS} redirects")
                if objection := await self._judge(following):
                    said = f"the redirect to {following.verb} {following.url} was not followed: {objection}"
                    return await _answer(response, took, said)
                self.hops += 1
                self._request = following


def _next(request: Request, status: int, location: str) -> Request | str:
    """Where to go on, or why not. An answer that is no redirect has no reason either."""
    if status not in REDIRECTS:
        return ""
    try:
        url = canonical(urljoin(request.url, location))
    except ValidationError as problem:
        return f"the redirect was not followed: {problem}"
    verb, body, headers = request.verb, request.body, request.headers
    if status == 303 or (status in (301, 302) and verb == "POST"):
        verb, body = (verb if verb == "HEAD" else "GET"), ""
        headers = {name: value for name, value in headers.items() if name.lower() != "content-type"}
    if origin_of(url) != origin_of(request.url):
        approved = origin_of(request.url)
        return (
            f"the redirect was not followed: it leads to {origin_of(url)}, and only {approved} was approved."
            " Put the new address into the block"
        )
    return Request(verb, url, headers, body)


async def _answer(response: "ClientResponse", took: float, problem: str) -> dict[str, JSON]:
    body = await _read(response)
    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:
        phrase = response.reason or "<unknown status code>"
    result: dict[str, JSON] = {
        "status": response.status,
        "status_text": f"{response.status} {phrase}",
        "status_success": 200 <= response.status < 300,
        "headers": {name.lower(): _readable(value) for name, value in response.headers.items()},
        "duration_seconds": round(took, 6),
        "body": _text(response, body[:BODY_LIMIT]),
    }
    if len(body) > BODY_LIMIT:
        result["note"] = f"the answer is longer than {BODY_LIMIT // 2**20} MiB: the rest was left out"
    if problem:
        result["error"] = problem
    return result


async def _read(response: "ClientResponse") -> bytes:
    body = bytearray()
    while len(body) <= BODY_LIMIT and (more := await response.content.read(65_536)):
        body += more
    return bytes(body)


def _text(response: "ClientResponse", body: bytes) -> str:
    try:
        return body.decode(response.charset or "utf-8", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


def _readable(value: str) -> str:
    # Bytes that are no UTF-8 arrive as halves of characters, which cannot be written down.
    return value.encode("utf-8", "replace").decode()


def _as_is(url: str) -> Any:
    from yarl import URL

    return URL(url)


@asynccontextmanager
async def _session() -> "AsyncGenerator[ClientSession]":
    """A client of one request: no cookies, no proxies, no connection that stays open."""
    from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector, ThreadedResolver

    class Resolver(ThreadedResolver):
        """Looks at what a name stands for when it is used: it may stand for something else a moment later."""

        async def resolve(self, host: str, *args: Any, **options: Any) -> Any:
            found = await super().resolve(host, *args, **options)
            if any(is_refused(one["host"]) for one in found):
                raise OSError(_refusal(host))
            return found

    async with ClientSession(
        connector=TCPConnector(resolver=Resolver(), use_dns_cache=False, force_close=True),
        cookie_jar=DummyCookieJar(),
        headers={"User-Agent": f"pollux/{__version__}"},
        timeout=ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        trust_env=False,
    ) as session:
        yield session


def _refusal(host: str) -> str:
    return f"{host} is where the machine's own keys are given out: no request goes there"
