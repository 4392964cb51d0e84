"""Renew access tokens. One request at a time for each user, however many wait for it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from pollux.core.errors import Draining, ToolExecutionError
from pollux.core.ids import Instant, UserId
from pollux.core.redact import Secret
from pollux.tools.google.connection import Connection, Connections
from pollux.tools.google.endpoint import Endpoint, Granted, Refused, Unreached

logger = logging.getLogger(__name__)

RENEW_BEFORE: Final = 60.0
"""So many seconds before its end a token is not given out any more: a call must still arrive with it."""
MAX_TRIES: Final = 3
FIRST_DELAY: Final = 0.5


class Renewals:
    """The flights under way. A flight belongs to nobody who waits for it: `close` ends those that are left."""

    def __init__(
        self,
        connections: Connections,
        endpoint: Endpoint,
        *,
        now: Callable[[], Instant],
        pause: Callable[[float], Awaitable[None]],
    ) -> None:
        self._connections = connections
        self._endpoint = endpoint
        self._now = now
        self._pause = pause
        self._flights: dict[UserId, asyncio.Task[Connection | None]] = {}

    def is_fresh(self, connection: Connection) -> bool:
        """Whether its access token is good for a while yet."""
        return connection.expires_at - self._now() > RENEW_BEFORE

    async def renewed(self, user: UserId, *, stale: Secret | None = None) -> Connection | None:
        """The connection with a token that is fresh, and is not the stale one. None if it is no more.

        Raises ToolExecutionError if Google cannot be reached or refuses us, SealError if what is kept cannot be opened.
        """
        connection = await self._flown(user, stale)
        if connection is not None and connection.access_token == stale:
            # That flight had begun before anybody knew that this token is refused.
            connection = await self._flown(user, stale)
        return connection

    async def close(self) -> None:
        """End what is under way. Whoever waits is told."""
        flights = list(self._flights.values())
        for flight in flights:
            flight.cancel()
        await asyncio.gather(*flights, return_exceptions=True)

    async def _flown(self, user: UserId, stale: Secret | None) -> Connection | None:
        """What a flight brings. Whoever is cancelled stops waiting; it goes on for the others."""
        flight = self._flights.get(user)
        if flight is None:
            flight = self._flights[user] = asyncio.create_task(self._fly(user, stale), name="google token")
            flight.add_done_callback(lambda landed: self._landed(user, landed))
        await asyncio.wait({flight})
        if flight.cancelled():
            raise Draining("this process is stopping, and asks Google for nothing any more")
        return flight.result()

    def _landed(self, user: UserId, flight: "asyncio.Task[Connection | None]") -> None:
        del self._flights[user]
        if not flight.cancelled():
            # All who waited may have gone; a failure that nobody hears of is not worth a warning.
            flight.exception()

    async def _fly(self, user: UserId, stale: Secret | None) -> Connection | None:
        used = await self._connections.get(user)
        why = ""
        for attempt in range(MAX_TRIES):
            if used is None or self._is_newer(used, stale):
                return used
            if attempt:
                await self._pause(FIRST_DELAY * 2 ** (attempt - 1))
            match await self._endpoint.refresh(used.refresh_token):
                case Granted() as granted:
                    return await self._connections.follow(user, used, self._after(used, granted))
                case Refused("invalid_grant"):
                    # Revoked, or replaced by a newer one that another process keeps: only the first is the end.
                    used = await self._connections.follow(user, used, None)
                    if used is None:
                        logger.info("Google accepts the refresh token of user %s no longer; it was dropped", user)
                case Refused() as refused:
                    raise misconfigured(refused)
                case Unreached(why):
                    logger.info("Google could not be asked for a token: %s", why)
        if used is None or self._is_newer(used, stale):
            return used
        raise ToolExecutionError(f"access to Google could not be renewed: {why}. Nothing was done; try again later")

    def _after(self, used: Connection, granted: Granted) -> Connection:
        return Connection(
            granted.email or used.email,
            used.scopes if granted.scopes is None else granted.scopes,
            granted.refresh_token or used.refresh_token,
            granted.access_token,
            self._now() + granted.lifetime,
        )

    def _is_newer(self, connection: Connection, stale: Secret | None) -> bool:
        """Whether there is nothing left to ask for: another flight, process or browser has been faster."""
        return self.is_fresh(connection) and connection.access_token != stale


def misconfigured(refused: Refused) -> ToolExecutionError:
    """The error for a refusal that no user can mend."""
    return ToolExecutionError(
        f"Google refused this installation ({refused.why}). Check POLLUX_GOOGLE_CLIENT_ID, POLLUX_GOOGLE_CLIENT_SECRET"
        " and the redirect addresses of the client in Google's console"
    )
