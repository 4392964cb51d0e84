"""How a page gets a token for whoever visits it."""

from pollux.asgi.auth import Authority
from pollux.asgi.bodies import moment
from pollux.asgi.door import is_same_origin
from pollux.asgi.endpoint import Answer, Call
from pollux.asgi.errors import HttpError
from pollux.asgi.visits import PREFIX, STRANGER
from pollux.core.errors import AuthError
from pollux.core.ids import Instant, UserId
from pollux.page.cookie import cookie_of, token_in
from pollux.page.runtime import DEFAULT_PROFILE, PageRuntime
from pollux.page.shapes import SessionAnswer, SessionBody


async def begin(runtime: PageRuntime, call: Call) -> Answer:
    """A visitor's token, bound to the page's origin and to one agent. Who has one already stays who they are."""
    body: SessionBody = call.body
    profile = body.profile or DEFAULT_PROFILE
    if profile not in runtime.profiles or profile not in runtime.engine.profiles:
        known = ", ".join(sorted(runtime.profiles & runtime.engine.profiles.keys()))
        raise HttpError(404, "not_found", f"there is no such agent for pages. There is: {known}")
    named = body.user_token
    known = await (_named(runtime.authority, named) if named is not None else _known(runtime, call))
    user, until = known if known is not None else (None, None)
    token, visit = runtime.visits.given(origin=call.origin, profile=profile, user=user, until=until)
    told = SessionAnswer(token=token, expires_at=moment(visit.expires_at))
    if not visit.user.startswith(STRANGER) or not _is_ours(call):
        return Answer(told)
    # What this page asks for by itself, at Jay's address, it asks for as the same visitor.
    return Answer(told, headers={"set-cookie": cookie_of(token, secure=runtime.secure_cookies)})


Known = tuple[UserId, Instant | None]
"""Who somebody is, and until when that is known."""


async def _named(authority: Authority, token: str) -> Known:
    """Whom the site's own token names. Raises AuthError."""
    identity = await authority.of_account(token)
    if identity.by != "jwt":
        raise AuthError("expected `userToken` to be a JWT of the configured issuer")
    return identity.user, identity.expires_at


async def _known(runtime: PageRuntime, call: Call) -> Known | None:
    """Who holds a token of an earlier visit to the same place; in the page's own cookie, only if a stranger."""
    scheme, _, token = call.headers.get("authorization", "").partition(" ")
    is_given = scheme.lower() == "bearer" and token.startswith(PREFIX)
    if not is_given and not _is_ours(call):
        return None
    try:
        own = token.strip() if is_given else token_in(call.headers, secure=runtime.secure_cookies)
        visit = await runtime.authority.visit_of(own)
    except AuthError:
        return None
    if visit.origin != call.origin:
        return None
    # A stranger may come again and again. For the site's own users, only the site can say that they are still theirs.
    if visit.user.startswith(STRANGER):
        return visit.user, None
    return (visit.user, visit.expires_at) if is_given else None


def _is_ours(call: Call) -> bool:
    return is_same_origin(call.origin, call.headers.get("host", "").lower())
