"""How a page gets a token for whoever visits it."""

from pollux.asgi.auth import Authority
from pollux.asgi.endpoint import Call
from pollux.asgi.errors import HttpError
from pollux.asgi.visits import PREFIX, STRANGER, Visit
from pollux.core.errors import AuthError
from pollux.core.ids import UserId
from pollux.page.answers import moment
from pollux.page.runtime import DEFAULT_PROFILE, PageRuntime
from pollux.page.shapes import SessionAnswer, SessionBody


async def begin(runtime: PageRuntime, call: Call) -> SessionAnswer:
    """A visitor's token, bound to the page's origin and to one agent. Who has one already stays who they are."""
    body: SessionBody = call.body
    profile = body.profile or DEFAULT_PROFILE
    if profile not in runtime.profiles or profile not in runtime.engine.profiles:
        known = ", ".join(sorted(runtime.profiles & runtime.engine.profiles.keys()))
        raise HttpError(404, "not_found", f"no such agent for pages: {profile[:64]!r}. There is: {known}")
    if body.user_token is not None:
        user: UserId | None = await _named(runtime.authority, body.user_token)
    else:
        user = _known(runtime, call)
    token, visit = runtime.visits.given(origin=call.origin, profile=profile, user=user)
    return SessionAnswer(token=token, expires_at=moment(visit.expires_at))


async def _named(authority: Authority, token: str) -> UserId:
    """Whom the site's own token names. Raises AuthError."""
    identity = await authority.of_token(token)
    if identity.by != "jwt" or identity.user.startswith(STRANGER):
        raise AuthError("expected `userToken` to be a JWT of the configured issuer")
    return identity.user


def _known(runtime: PageRuntime, call: Call) -> UserId | None:
    """Who holds a token of an earlier visit to the same place."""
    scheme, _, token = call.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.startswith(PREFIX):
        return None
    try:
        visit: Visit = runtime.visits.read(token.strip())
    except AuthError:
        return None
    return visit.user if visit.origin == call.origin else None
