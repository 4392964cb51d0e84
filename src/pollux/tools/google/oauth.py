"""Connect a user's Google account, and give out access tokens for it: renewed in time, by one request for everybody.

Nothing here is shown or logged but ids, scopes and the words of OAuth's own vocabulary.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import field
from typing import Final

from pollux.core.errors import AuthError, ToolExecutionError, ValidationError
from pollux.core.frozen import frozen
from pollux.core.ids import Instant, UserId
from pollux.core.redact import Secret
from pollux.engine.ports import AuditFact
from pollux.tools.google.connection import Connection, Connections
from pollux.tools.google.consent import Consent, Consents
from pollux.tools.google.endpoint import Endpoint, Granted, Refused, Unreached
from pollux.tools.google.ports import Http
from pollux.tools.google.renewal import Renewals, misconfigured
from pollux.tools.google.scopes import CALENDAR, GMAIL, IDENTITY
from pollux.tools.google.seal import SealError

LONGEST_CODE: Final = 2048

_TOOLS: Final = (("gmail_send", GMAIL), ("calendar_event_create", CALENDAR))


@frozen
class Begun:
    """Where to send the browser, and what to put into a cookie of it until it comes back."""

    url: str = field(repr=False)
    state: str = field(repr=False)
    """What the browser comes back with: it tells one beginning from another."""
    binding: str = field(repr=False)
    expires_at: Instant


@frozen
class Finished:
    """What was connected. `missing` was asked for, but the person did not grant it."""

    user: UserId
    email: str | None
    scopes: frozenset[str]
    missing: frozenset[str]


@frozen
class Status:
    """What may be told of a connection. `problem` says why one that is kept cannot be used.

    `expires_at` is the present access token's end, which is renewed by itself.
    """

    connected: bool
    email: str | None = None
    scopes: frozenset[str] = frozenset()
    expires_at: Instant | None = None
    problem: str = ""


@frozen
class Revoked:
    """What became of a disconnection: here it is always forgotten, and `at_google` says whether it is there too."""

    was_connected: bool
    at_google: bool
    message: str


class GoogleOAuth:
    """One OAuth client of ours, for all users. For one event loop. Satisfies `ports.Tokens`."""

    def __init__(
        self,
        *,
        client_id: str,
        client_secret: Secret,
        connections: Connections,
        http: Http,
        state_key: bytes,
        base: str | None = None,
        connect_path: str = "/api/google/connect",
        now: Callable[[], Instant] = time.time,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._endpoint = Endpoint(client_id=client_id, client_secret=client_secret, http=http, base=base)
        self._connections = connections
        self._consents = Consents(state_key, now=now)
        self._connect_path = connect_path
        self._now = now
        self._renewals = Renewals(connections, self._endpoint, now=now, pause=pause)

    async def begin(self, user: UserId, scopes: frozenset[str], redirect_uri: str) -> Begun:
        """Where this user can agree to these scopes, beside those that were granted before, and come back to us."""
        wanted = scopes | IDENTITY
        state, consent = self._consents.asked(user, wanted, redirect_uri)
        try:
            held = await self._connections.get(user)
        except SealError:
            held = None
        optional: dict[str, str] = {}
        if held is None or _lacking(wanted, held.scopes):
            # Google gives a refresh token only where it shows its question; the one we hold does not cover new scopes.
            optional["prompt"] = "consent"
        if held is not None and held.email:
            optional["login_hint"] = held.email
        url = self._endpoint.consent_url(
            redirect_uri=redirect_uri,
            scope=" ".join(sorted(wanted)),
            state=state,
            code_challenge=consent.challenge,
            code_challenge_method="S256",
            access_type="offline",
            include_granted_scopes="true",
            **optional,
        )
        return Begun(url, state, consent.binding.reveal(), consent.expires_at)

    async def finish(
        self,
        state: str,
        code: str | None,
        *,
        user: UserId | None = None,
        binding: str | None = None,
        error: str | None = None,
    ) -> Finished:
        """Take Google's answer, from the browser that comes back with it, and keep the account for who asked.

        The state must be ours, at most ten minutes old, and unused; and it must come from whoever began: `user`, if the
        request shows who it is, else the browser that has the `binding`. Otherwise somebody could send a victim their
        own link, and have the victim's mailbox connected to their user. See `Consents.taken` for what holds where.

        A person may grant less than was asked: that is kept, and `missing` names the rest.
        Raises ValidationError, AuthError, and ToolExecutionError if Google cannot be reached.
        """
        consent = self._consents.taken(state, user=user, binding=binding)
        if error:
            raise self._not_granted(error, consent)
        if not code or len(code) > LONGEST_CODE or not (code.isascii() and code.isprintable()):
            raise ValidationError(
                "expected Google's answer to bring a `code` or an `error`, found neither. Begin again"
            )
        match await self._endpoint.exchange(code, verifier=consent.verifier, redirect_uri=consent.redirect_uri):
            case Granted() as granted:
                connection = await self._connected(granted, consent)
            case Refused("invalid_grant"):
                raise AuthError(
                    "Google says that its answer was used already or is too old. Connect again",
                    connect_url=self._connect_url(consent.scopes),
                )
            case Refused() as refused:
                raise misconfigured(refused)
            case Unreached(why):
                raise ToolExecutionError(f"nothing was connected, since Google gave no answer: {why}. Connect again")
        await self._connections.put(consent.user, connection, fact=self._fact("connected", consent.user))
        missing = _lacking(consent.scopes, connection.scopes)
        return Finished(consent.user, connection.email, connection.scopes, missing)

    async def token(self, user: UserId, scopes: frozenset[str], *, account: str | None = None) -> Secret:
        """An access token that has these scopes and will not end within a minute. Raises AuthError.

        With an `account`, only of that one: what began with one account must not go on with another.
        """
        try:
            held = self._usable(await self._connections.get(user), scopes, account)
            if not self._renewals.is_fresh(held):
                held = self._usable(await self._renewals.renewed(user), scopes, account)
        except SealError as problem:
            raise AuthError(str(problem), connect_url=self._connect_url(scopes)) from None
        return held.access_token

    async def renewed(
        self, user: UserId, scopes: frozenset[str], stale: Secret, *, account: str | None = None
    ) -> Secret:
        """A newer token than this, which Google has refused. Raises AuthError if there is none to be had."""
        try:
            return self._usable(await self._renewals.renewed(user, stale=stale), scopes, account).access_token
        except SealError as problem:
            raise AuthError(str(problem), connect_url=self._connect_url(scopes)) from None

    def _fact(self, kind: str, user: UserId) -> AuditFact:
        return AuditFact(at=self._now(), kind=kind, user=user, tool_name="google", by=user)

    def refusal(self, scopes: frozenset[str]) -> AuthError:
        """The error for a token that Google says lacks these scopes."""
        said = f"Google says that the connected account does not grant {_named(scopes)}"
        return AuthError(f"{said}. Connect it again and agree to that", connect_url=self._connect_url(scopes))

    async def status(self, user: UserId) -> Status:
        """Whether there is a connection, and whose. No secrets."""
        try:
            held = await self._connections.get(user)
        except SealError as problem:
            return Status(connected=False, problem=str(problem))
        if held is None:
            return Status(connected=False)
        return Status(connected=True, email=held.email, scopes=held.scopes, expires_at=held.expires_at)

    async def revoke(self, user: UserId) -> Revoked:
        """Give the access back to Google, and forget it here whether or not Google hears of it."""
        try:
            held = await self._connections.get(user)
        except SealError:
            held = None
        else:
            if held is None:
                return Revoked(was_connected=False, at_google=False, message="no Google account was connected")
        at_google = False
        try:
            at_google = held is not None and await self._endpoint.revoke(held.refresh_token)
        finally:
            await self._connections.drop(user, fact=self._fact("disconnected", user))
        if at_google:
            return Revoked(True, True, "the Google account is disconnected")
        return Revoked(
            True,
            False,
            "the Google account is forgotten here, but Google could not be told."
            " Take the access away at https://myaccount.google.com/connections",
        )

    async def close(self) -> None:
        """End what is under way. Whoever waits for a token is told."""
        await self._renewals.close()

    async def _connected(self, granted: Granted, consent: Consent) -> Connection:
        scopes = consent.scopes if granted.scopes is None else granted.scopes
        if _lacking(consent.scopes, scopes) == _needed(consent.scopes) != frozenset():
            raise self._not_granted("access_denied", consent)
        refresh_token = granted.refresh_token or await self._held_token(granted, consent.user)
        if refresh_token is None:
            raise AuthError(
                "Google gave no lasting access, as it does for an account that agreed before."
                " Disconnect the account, then connect it again",
                connect_url=self._connect_url(consent.scopes),
            )
        return Connection(granted.email, scopes, refresh_token, granted.access_token, self._now() + granted.lifetime)

    async def _held_token(self, granted: Granted, user: UserId) -> Secret | None:
        """The refresh token from before, if it is the same account's."""
        try:
            held = await self._connections.get(user)
        except SealError:
            return None
        return held.refresh_token if held is not None and granted.email and held.email == granted.email else None

    def _usable(self, connection: Connection | None, scopes: frozenset[str], account: str | None) -> Connection:
        if connection is None:
            raise AuthError("no Google account is connected. Connect one", connect_url=self._connect_url(scopes))
        if account is not None and connection.email != account:
            raise AuthError(
                f"the action began with the Google account {account},"
                f" but {connection.email or 'one without an address'} is connected now",
                connect_url=self._connect_url(scopes),
            )
        missing = _lacking(scopes, connection.scopes)
        if missing:
            raise AuthError(
                f"the connected Google account does not grant {_named(missing)}. Connect it again and agree to that",
                connect_url=self._connect_url(missing),
            )
        return connection

    def _connect_url(self, scopes: frozenset[str]) -> str:
        tools = ",".join(name for name, wanted in _TOOLS if wanted & scopes)
        return f"{self._connect_path}?tools={tools}" if tools else self._connect_path

    def _not_granted(self, error: str, consent: Consent) -> Exception:
        if error == "access_denied":
            return AuthError(
                f"the Google account was not connected: {_named(consent.scopes)} was not agreed to",
                connect_url=self._connect_url(consent.scopes),
            )
        return misconfigured(Refused.of(error))


def _needed(scopes: frozenset[str]) -> frozenset[str]:
    """The scopes that a call can fail for. Who it is can stay unknown; and Google has longer names for those."""
    return scopes - IDENTITY


def _lacking(scopes: frozenset[str], granted: frozenset[str]) -> frozenset[str]:
    return _needed(scopes) - granted


def _named(scopes: frozenset[str]) -> str:
    return ", ".join(sorted(scope.rpartition("/")[2] for scope in _needed(scopes))) or "access"
