"""Signing in with a browser: a token is exchanged for a cookie that scripts cannot read."""

from html import escape
from typing import Final

from starlette.responses import HTMLResponse

from pollux.asgi.auth import Identity
from pollux.asgi.bodies import moment
from pollux.asgi.door import identity_of, is_from_elsewhere
from pollux.asgi.endpoint import Answer, Call
from pollux.asgi.errors import HttpError
from pollux.asgi.sessions import MadeBy, OpenSession
from pollux.core.errors import AuthError, NotFound
from pollux.http.runtime import Runtime
from pollux.http.shapes import Done, SessionItem, SessionList, SessionView

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


CONFIRM: Final = """\
<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Sign in to Pollux</title><meta name="color-scheme" content="light dark"></head>
<body>
<h1>Sign in to Pollux</h1>
<p>This link signs this browser in as <strong>{user}</strong>.</p>
{replaced}<p>Continue only if it is your own link: what you do afterwards belongs to that user, who can read it.</p>
<form method="post" action="login">
<input type="hidden" name="token" value="{token}">
<button type="submit">Sign in as {user}</button>
</form>
</body>
</html>
"""
REPLACED: Final = "<p>You are signed in as <strong>{user}</strong>. Signing in ends that session.</p>\n"
CONFIRM_HEADERS: Final = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    # Not `no-referrer`: browsers then hide the form's origin, by which we know that it is ours.
    "referrer-policy": "strict-origin",
}


async def session(runtime: Runtime, call: Call) -> SessionView:
    """Who is signed in, and the value for the CSRF header."""
    identity = identity_of(call.scope)
    return SessionView(user=identity.user) if identity.session is None else _view(identity.session)


async def sign_in(runtime: Runtime, call: Call) -> Answer:
    """A session for a token in the body."""
    identity = await runtime.authority.of_account(call.body.token)
    cookie, opened = await _opened(runtime, call, identity, "jwt" if identity.by == "jwt" else "token")
    return Answer(_view(opened), headers={"set-cookie": cookie})


async def sign_out(runtime: Runtime, call: Call) -> Answer:
    """End the session, also for whoever has a copy of its cookie."""
    identity = identity_of(call.scope)
    if identity.session is not None:
        await runtime.authority.sessions.end(identity.user, identity.session.record.id)
    return Answer(Done(), headers={"set-cookie": runtime.authority.sessions.removal})


async def sessions(runtime: Runtime, call: Call) -> SessionList:
    """The caller's own sessions, newest first."""
    current = _current(call)
    live = await runtime.authority.sessions.live(call.user)
    return SessionList(
        [
            SessionItem(
                id=each.id,
                made_by=each.made_by,
                created_at=moment(each.created_at),
                expires_at=moment(each.expires_at),
                current=each.id == current,
            )
            for each in live
        ]
    )


async def revoke(runtime: Runtime, call: Call) -> Answer:
    """End one of the caller's own sessions."""
    known = runtime.authority.sessions
    if not await known.end(call.user, call.path["id"]):
        raise NotFound("there is no such session. GET /api/sessions lists yours")
    return Answer(Done(), headers={"set-cookie": known.removal} if call.path["id"] == _current(call) else {})


async def link(runtime: Runtime, call: Call) -> HTMLResponse:
    """A login link asks first: somebody else may have sent it, to have others work as a user whom they can watch.

    Only the owner of this machine can know its own token, so their link leads straight on, unless it would make
    somebody of them who they are not.
    """
    identity = await _linked(runtime, call, call.query.token)
    before = await runtime.authority.session_of(call.headers)
    if runtime.authority.is_own(identity) and (before is None or before.record.user == identity.user):
        cookie, _ = await _opened(runtime, call, identity, "link")
        return HTMLResponse("", 303, {"set-cookie": cookie, "location": AFTER_SIGN_IN})
    replaced = ""
    if before is not None:
        replaced = REPLACED.format(user=escape(before.record.user))
    page = CONFIRM.format(user=escape(identity.user), token=escape(call.query.token), replaced=replaced)
    return HTMLResponse(page, headers=CONFIRM_HEADERS)


async def link_confirmed(runtime: Runtime, call: Call) -> Answer:
    """The button of that page."""
    if "origin" not in call.headers:
        # A browser always says where a form was sent from. The door has seen that it was from here.
        raise HttpError(403, "bad_origin", "this form counts only from the page of the login link")
    identity = await _linked(runtime, call, call.body.token)
    cookie, opened = await _opened(runtime, call, identity, "link")
    return Answer(_view(opened), 303, {"set-cookie": cookie, "location": AFTER_SIGN_IN})


async def welcome(runtime: Runtime, call: Call) -> HTMLResponse:
    """A page for whoever opens the address in a browser."""
    return HTMLResponse(WELCOME)


async def _linked(runtime: Runtime, call: Call, token: str) -> Identity:
    """Whom a login link names. Raises AuthError, and HttpError where a page of another site leads here."""
    if is_from_elsewhere(call.headers):
        raise HttpError(403, "bad_origin", "this link counts only by itself. Copy it to the address bar")
    try:
        return await runtime.authority.of_account(token)
    except AuthError:
        raise AuthError("this link is not valid here. `pollux serve` shows the right one when it starts") from None


async def _opened(runtime: Runtime, call: Call, identity: Identity, made_by: MadeBy) -> tuple[str, OpenSession]:
    authority = runtime.authority
    return await authority.sessions.open(
        identity.user,
        identity.mark,
        made_by=made_by,
        until=identity.expires_at,
        replaces=await authority.session_of(call.headers),
    )


def _view(session: OpenSession) -> SessionView:
    record = session.record
    return SessionView(user=record.user, expires_at=moment(record.expires_at), csrf=session.csrf)


def _current(call: Call) -> str:
    session = identity_of(call.scope).session
    return session.record.id if session else ""
