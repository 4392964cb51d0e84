"""Who may talk to an emulator: programs, and pages that it serves itself. What it has seen is nobody else's.

A page of any site can send requests to this machine, and by a name of its own that leads here also read the answers.
"""

import ipaddress
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Middleware

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_NAMES: Final = frozenset({"localhost"})


def application(handle: Handler, *, host: str, largest: int) -> web.Application:
    """An application of one handler, behind the guard, for a server that listens at this host."""
    made = web.Application(client_max_size=largest, middlewares=[_guard(None if not is_loopback(host) else host)])
    made.router.add_route("*", "/{path:.*}", handle)
    return made


def is_loopback(host: str) -> bool:
    """Whether only this machine gets there."""
    try:
        return host in _NAMES or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _guard(own: str | None) -> Middleware:
    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers.getall("Host", [])
        # Who lets other machines in has names for this one that we cannot know.
        if len(given) != 1 or (own is not None and not _is_ours(given[0])):
            return _refused("expected a Host header that names this machine, such as 127.0.0.1")
        if any(not _is_same(origin, given[0]) for origin in request.headers.getall("Origin", [])):
            return _refused("pages of other sites may not use this emulator")
        return await handler(request)

    return guard


def _is_ours(host: str) -> bool:
    try:
        return "@" not in host and is_loopback(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False


def _is_same(origin: str, host: str) -> bool:
    return origin.strip().lower() == f"http://{host.strip().lower()}"


def _refused(why: str) -> web.Response:
    error = {"code": 403, "message": why, "status": "PERMISSION_DENIED"}
    return web.json_response({"error": error}, status=403)
