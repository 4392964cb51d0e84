"""A browser that is signed in, as a store keeps it."""

from typing import Literal

from pollux.core.frozen import frozen
from pollux.core.ids import Instant, UserId


@frozen
class BrowserSession:
    """One browser that is signed in. What its user may do there is read from here with each request, and nowhere else.

    `digest` is of the secret in the browser's cookie: whoever reads a store can sign in as nobody.
    """

    id: str
    user: UserId
    digest: str
    made_by: Literal["token", "link", "jwt"]
    """By what it was opened: a token or a JWT that was pasted, or a login link."""
    mark: str
    """Which credential that was, by a digest that leads nowhere. The session ends with it."""
    rights: str
    created_at: Instant
    expires_at: Instant
    ended_at: Instant | None = None
