"""A user's Google account: connect it, see what it grants, give it back.

The user who begins is the one who must come back. The session's cookie does not travel along when Google sends the
browser here, so that a page of ours leads it here once more: then it does. A browser without a session is known by
another cookie, which it got when it began; every beginning has one of its own, so that two tabs do not get into each
other's way. That cookie counts with TLS alone: without, pages at another port of this host can set it.
"""

import hashlib
import re
from html import escape
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse

from pollux.asgi.bodies import moment
from pollux.asgi.door import is_from_elsewhere
from pollux.asgi.endpoint import Answer, Call
from pollux.asgi.errors import Unavailable, rendered
from pollux.core.errors import AuthError, PolluxError, ToolExecutionError, ValidationError
from pollux.core.ids import UserId
from pollux.http.runtime import Runtime
from pollux.http.shapes import Connected, ConnectView, Disconnected, GoogleStatus
from pollux.tools.google.account import Google
from pollux.tools.google.scopes import TOOLS, of_tools, tools_within

CALLBACK = "/api/google/callback"
COOKIE = "pollux_google"
# What an address can be made of: the host alone was held against those that are allowed.
_HOST = re.compile(r"(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.IGNORECASE)
# By another address than its own: a browser may take that for a reload, which says again where it came from first.
ONCE_MORE = """\
<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Pollux</title><meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="0;url=?{query}&amp;from=here"></head>
<body><p><a href="?{query}&amp;from=here">Go on</a></p></body>
</html>
"""
PAGE = """\
<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Pollux</title><meta name="color-scheme" content="light dark"></head>
<body>
<h1>{title}</h1>
<p>{text}</p>
<p><a href="{home}">Back to Pollux</a></p>
</body>
</html>
"""


async def connect(runtime: Runtime, call: Call) -> Answer:
    """On to Google, which asks the user; those who want JSON get the address instead."""
    google = _configured(runtime)
    names = [name.strip() for name in call.query.tools.split(",") if name.strip()]
    place = f"{runtime.public_url or _place(call)}{CALLBACK}"
    begun = await google.oauth.begin(call.user, of_tools(names or TOOLS), redirect_uri=place)
    seconds = max(0, int(begun.expires_at - runtime.engine.clock.now()))
    headers = {"set-cookie": _cookie(runtime, begun.state, begun.binding, seconds)}
    view = ConnectView(url=begun.url, expires_at=moment(begun.expires_at))
    if call.query.redirect and (_is_a_page(call.headers) or "application/json" not in call.headers.get("accept", "")):
        return Answer(view, 302, headers | {"location": begun.url})
    return Answer(view, headers=headers)


async def callback(runtime: Runtime, call: Call) -> Answer | HTMLResponse:
    """Where Google sends the browser back to."""
    google, query, shown = _configured(runtime), call.query, await _shown(runtime, call)
    if shown is None and _is_a_page(call.headers) and is_from_elsewhere(call.headers):
        return HTMLResponse(ONCE_MORE.format(query=escape(call.scope["query_string"].decode("latin-1"))))
    cleared = {"set-cookie": _cookie(runtime, query.state, "", 0)}
    try:
        finished = await google.oauth.finish(
            query.state,
            query.code,
            user=shown,
            binding=_binding(runtime, call),
            error=query.error or None,
        )
    except PolluxError as problem:
        if isinstance(problem, ToolExecutionError):
            problem = Unavailable(str(problem))
        if not _is_a_page(call.headers):
            raise problem from None
        status, _, document = rendered(problem, "google callback")
        text = f"{document['error']['message']}."
        return _page(runtime, "Nothing was connected", text, status=status, headers=cleared)
    tools = sorted(tools_within(finished.scopes))
    missing = sorted(name for name in TOOLS if finished.missing & of_tools([name]))
    view = Connected(email=finished.email, tools=tools, missing=missing)
    if not _is_a_page(call.headers):
        return Answer(view, headers=cleared)
    text = f"{finished.email or 'Your Google account'} is connected."
    if tools:
        text += f" The agent may ask to use: {', '.join(tools)}."
    if missing:
        text += f" You did not agree to all that {' and '.join(missing)} would need; connect again to change that."
    return _page(runtime, "Connected" if tools else "Connected, but of no use yet", text, headers=cleared)


async def status(runtime: Runtime, call: Call) -> GoogleStatus:
    """Whether an account is connected, and what it grants."""
    if runtime.google is None:
        return GoogleStatus(configured=False, connected=False)
    found = await runtime.google.oauth.status(call.user)
    return GoogleStatus(
        configured=True,
        connected=found.connected,
        email=found.email,
        scopes=sorted(found.scopes),
        tools=sorted(tools_within(found.scopes)),
        problem=found.problem or None,
    )


async def disconnect(runtime: Runtime, call: Call) -> Disconnected:
    """Give the access back to Google, and forget it here."""
    try:
        revoked = await _configured(runtime).oauth.revoke(call.user)
    except ToolExecutionError as problem:
        raise Unavailable(str(problem)) from None
    return Disconnected(was_connected=revoked.was_connected, at_google=revoked.at_google, message=revoked.message)


def _configured(runtime: Runtime) -> Google:
    if runtime.google is None:
        raise ValidationError(
            "no Google client is configured here. Set POLLUX_GOOGLE_CLIENT_ID and POLLUX_GOOGLE_CLIENT_SECRET",
            code="not_configured",
        )
    return runtime.google


async def _shown(runtime: Runtime, call: Call) -> UserId | None:
    """Who the request shows to be, if it does: a page is not the only thing that may come back."""
    try:
        identity = await runtime.authority.identify(call.headers, "GET")
    except AuthError:
        return None
    if identity.visit is not None:
        # A visit's rights end with the page's own routes, also where it is of somebody who is known.
        raise AuthError("a visitor's token connects no account")
    return identity.user


def _place(call: Call) -> str:
    """Where we were reached. The host is one of those that are allowed here. Raises ValidationError."""
    host = call.headers.get("host", "")
    if not _HOST.fullmatch(host):
        raise ValidationError("expected a Host header of a name and a port. Set POLLUX_PUBLIC_URL if it is a proxy's")
    return f"{call.scope['scheme']}://{host}"


def _binding(runtime: Runtime, call: Call) -> str | None:
    """What the browser that began has kept, where nobody else can have put it there."""
    if not runtime.secure_cookies:
        return None
    return cookie_parser(call.headers.get("cookie", "")).get(_cookie_name(runtime, call.query.state))


def _cookie(runtime: Runtime, state: str, value: str, seconds: int) -> str:
    # Browsers let nobody else set a __Host- cookie: no page of a neighbour, below the same domain or at another port.
    path = "/" if runtime.secure_cookies else urlsplit(runtime.public_url or "").path + CALLBACK
    # Lax, not Strict: it has to come along when Google sends the browser back.
    parts = [f"{_cookie_name(runtime, state)}={value}", f"Path={path}", "HttpOnly", "SameSite=Lax"]
    parts.append(f"Max-Age={seconds}")
    return "; ".join([*parts, "Secure"] if runtime.secure_cookies else parts)


def _cookie_name(runtime: Runtime, state: str) -> str:
    own = hashlib.sha256(state.encode("utf-8", "replace")).hexdigest()[:16]
    return f"{'__Host-' if runtime.secure_cookies else ''}{COOKIE}_{own}"


def _is_a_page(headers: Headers) -> bool:
    """Whether a person looks at it."""
    return "text/html" in headers.get("accept", "")


def _page(runtime: Runtime, title: str, text: str, *, status: int = 200, headers: dict[str, str]) -> HTMLResponse:
    home = f"{runtime.public_url or ''}/console#/google"
    return HTMLResponse(PAGE.format(title=escape(title), text=escape(text), home=escape(home)), status, headers)
