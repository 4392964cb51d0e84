"""Signing in with a browser: a token is exchanged for a cookie that scripts cannot read."""

from starlette.responses import HTMLResponse

from pollux.asgi.auth import Identity
from pollux.asgi.bodies import moment
from pollux.asgi.door import identity_of, is_from_elsewhere
from pollux.asgi.endpoint import Answer, Call
from pollux.asgi.errors import HttpError
from pollux.core.errors import AuthError
from pollux.http.runtime import Runtime
from pollux.http.shapes import Done, SessionView

AFTER_SIGN_IN = "/console"
WELCOME = """\
<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Pollux</title><meta name="color-scheme" content="light dark"></head>
<body>
<h1>Pollux is running</h1>
<p>Conversations, approvals, runbooks and the audit are in <a href="/console">the console</a>.</p>
<p>Programs send prompts to <code>POST /api/agent/run</code>: <a href="/openapi.json">every route</a>.</p>
</body>
</html>
"""


async def session(runtime: Runtime, call: Call) -> SessionView:
    """Who is signed in, and the value for the CSRF header."""
    identity = identity_of(call.scope)
    if identity.by != "cookie":
        return SessionView(user=identity.user)
    known = runtime.authority.session_of(call.headers)
    return SessionView(user=known.user, expires_at=moment(known.expires_at), csrf=known.csrf)


async def sign_in(runtime: Runtime, call: Call) -> Answer:
    """A session for a token in the body."""
    identity = await runtime.authority.of_token(call.body.token)
    cookie, view = _opened(runtime, identity)
    return Answer(view, headers={"set-cookie": cookie})


async def sign_out(runtime: Runtime, call: Call) -> Answer:
    """Take the cookie away."""
    return Answer(Done(), headers={"set-cookie": _cleared(runtime)})


async def link(runtime: Runtime, call: Call) -> Answer:
    """The link shown at the start: a session for the token in it, and on to the first page without it."""
    if is_from_elsewhere(call.headers):
        # Whoever has a token could sign others in as themselves, and read what those then ask.
        raise HttpError(403, "bad_origin", "this link counts only by itself. Copy it to the address bar")
    try:
        identity = await runtime.authority.of_token(call.query.token)
    except AuthError:
        raise AuthError("this link is not valid here. `pollux serve` shows the right one when it starts") from None
    cookie, view = _opened(runtime, identity)
    return Answer(view, 303, {"set-cookie": cookie, "location": AFTER_SIGN_IN})


async def welcome(runtime: Runtime, call: Call) -> HTMLResponse:
    """A page for whoever opens the address in a browser."""
    return HTMLResponse(WELCOME)


def _opened(runtime: Runtime, identity: Identity) -> tuple[str, SessionView]:
    if identity.by == "cookie":
        raise HttpError(400, "invalid", "a session cannot open another")
    cookies = runtime.authority.cookies
    value, known = cookies.sealed(identity.user, identity.mark, until=identity.expires_at)
    seconds = known.expires_at - runtime.engine.clock.now()
    cookie = cookies.header(value, seconds=seconds, secure=runtime.secure_cookies)
    return cookie, SessionView(user=known.user, expires_at=moment(known.expires_at), csrf=known.csrf)


def _cleared(runtime: Runtime) -> str:
    return runtime.authority.cookies.header("", seconds=0, secure=runtime.secure_cookies)
