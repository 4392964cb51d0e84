"""Browsers that are signed in. The store says who it is, by which credential and until when, and each request asks it;
the cookie holds a secret and decides nothing. A session that was ended is over in every process and in every copy.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, Literal, Protocol

from starlette.datastructures import Headers

from pollux.asgi.cookies import SECURE_COOKIE, SESSION_COOKIE, cookie_in, session_cookie
from pollux.core.errors import StoreError
from pollux.core.frozen import frozen
from pollux.core.ids import Instant, UserId
from pollux.engine.browser_session import BrowserSession
from pollux.engine.ports import Change

SESSION_SECONDS: Final = 12 * 3600.0
MOST_SESSIONS: Final = 50
"""Of one user at a time. Opening one more ends the oldest."""
RIGHTS: Final = "user"
"""All that a user may do. A session with rights that we do not know has none."""

MadeBy = Literal["token", "link", "jwt"]
_SECRET: Final = re.compile(r"[A-Za-z0-9_-]{43}")


class Ledger(Protocol):
    """As much of a store as sessions need."""

    async def session(self, digest: str) -> BrowserSession | None: ...

    async def sessions(self, user: UserId) -> Sequence[BrowserSession]: ...

    async def commit(self, change: Change) -> None: ...


@frozen
class OpenSession:
    """A session that counts, as the browser knows it."""

    record: BrowserSession
    csrf: str
    """What a request that changes something must prove. It follows from the cookie's secret, which no script reads."""


class Sessions:
    """Opens, reads and ends browsers' sessions."""

    def __init__(self, ledger: Ledger, key: bytes, *, now: Callable[[], Instant], secure: bool = False) -> None:
        """`secure` says that browsers know us by https: only the cookie that is kept to it counts then."""
        self._ledger = ledger
        self._key = hashlib.blake2b(key, digest_size=32, person=b"pollux.session").digest()
        self._now = now
        self._noted: Instant = 0.0
        self._secure = secure

    async def open(
        self,
        user: UserId,
        mark: str,
        *,
        made_by: MadeBy,
        until: Instant | None = None,
        replaces: OpenSession | None = None,
    ) -> tuple[str, OpenSession]:
        """The Set-Cookie header of a new session, and the session. It ends `until` then at the latest.

        `replaces` is what the same browser had before: a browser has one session.
        """
        secret, now = secrets.token_urlsafe(32), self._now()
        expires_at = min(now + SESSION_SECONDS, until if until is not None else now + SESSION_SECONDS)
        record = BrowserSession(
            f"ses_{secrets.token_hex(16)}",
            user,
            self._derived("session", secret),
            made_by,
            mark,
            RIGHTS,
            now,
            expires_at,
        )
        over = [replaces.record] if replaces else []
        over += (await self.live(user))[MOST_SESSIONS - 1 :]
        ended = tuple(replace(each, ended_at=now) for each in over)
        await self._ledger.commit(Change(sessions=(*ended, record), sweep_sessions=now))
        cookie = session_cookie(secret, seconds=expires_at - now, secure=self._secure)
        return cookie, OpenSession(record, self._derived("csrf", secret))

    async def read(self, headers: Headers) -> OpenSession | None:
        """The session of this request's cookie, if the store has one that is neither ended nor expired.

        Whether the credential that opened it still counts is for others to say. Raises StoreError.
        """
        secret = cookie_in(headers, SECURE_COOKIE if self._secure else SESSION_COOKIE)
        if not _SECRET.fullmatch(secret):
            return None
        record = await self._ledger.session(self._derived("session", secret))
        if record is None or record.rights != RIGHTS:
            return None
        if not self._is_live(record):
            await self.note_expiry(record.expires_at)
            return None
        return OpenSession(record, self._derived("csrf", secret))

    async def live(self, user: UserId) -> list[BrowserSession]:
        """A user's sessions that are neither ended nor expired, newest first. Raises StoreError."""
        return [record for record in await self._ledger.sessions(user) if self._is_live(record)]

    async def end(self, user: UserId, session_id: str) -> bool:
        """End one of this user's sessions. False where there is none of that id, or it has ended. Raises StoreError."""
        record = next((each for each in await self.live(user) if each.id == session_id), None)
        if record is None:
            return False
        await self._ledger.commit(Change(sessions=(replace(record, ended_at=self._now()),)))
        return True

    async def note_expiry(self, moment: Instant) -> None:
        """Somebody was too late: have the store note how late it is, so that no clock which is set back revives it."""
        now = self._now()
        if self._noted < moment <= now:
            # What cannot be noted is refused all the same.
            with suppress(StoreError):
                await self._ledger.commit(Change(sweep_sessions=now))
                self._noted = now

    @property
    def removal(self) -> str:
        """The Set-Cookie header that takes the cookie from a browser."""
        return session_cookie("", seconds=0, secure=self._secure)

    def _is_live(self, record: BrowserSession) -> bool:
        return record.ended_at is None and record.expires_at > self._now()

    def _derived(self, purpose: str, secret: str) -> str:
        return hmac.new(self._key, f"{purpose}.{secret}".encode(), hashlib.sha256).hexdigest()
