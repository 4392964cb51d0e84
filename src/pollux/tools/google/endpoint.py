"""Talk to Google's OAuth servers. What they answer becomes a value; their words and our secrets go no further."""

import asyncio
import base64
import concurrent.futures
from collections.abc import Mapping
from dataclasses import field
from importlib import import_module
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from pollux.core.errors import ModelError, PolluxError
from pollux.core.frozen import frozen
from pollux.core.redact import MASK, Secret
from pollux.tools.google.ports import Http
from pollux.tools.threads import in_thread

AUTH_URL = "https://accounts.google.com/o/oauth2/v2/auth"
TOKEN_URL = "https://oauth2.googleapis.com/token"
REVOKE_URL = "https://oauth2.googleapis.com/revoke"

IDLE_SECONDS = 10.0
TOTAL_SECONDS = 15.0
MAX_ANSWER = 1024 * 1024
FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}

USUAL_LIFETIME = 3600
"""How long Google's access tokens live, where an answer does not say."""
LONGEST_LIFETIME = 24 * 3600

KNOWN_ERRORS = frozenset(
    "access_denied admin_policy_enforced deleted_client disabled_client invalid_client invalid_grant invalid_request"
    " invalid_scope invalid_token org_internal redirect_uri_mismatch unauthorized_client unsupported_grant_type".split()
)
PASSING_ERRORS = frozenset({"internal_failure", "rate_limit_exceeded", "server_error", "temporarily_unavailable"})
PASSING_STATUSES = frozenset({408, 429})


@frozen
class Granted:
    """Tokens. `scopes` is None where the answer does not say: then they are the ones that were asked for."""

    access_token: Secret
    lifetime: float
    refresh_token: Secret | None
    scopes: frozenset[str] | None
    email: str | None

    def __repr__(self) -> str:
        return f"Granted({MASK})"


@frozen
class Refused:
    """Google said no. `error` is a word of OAuth's, or empty: free text might repeat what was sent."""

    error: str
    status: int | None = None

    @classmethod
    def of(cls, error: str, status: int | None = None) -> "Refused":
        """With the word, if it is a known one."""
        return cls(error if error in KNOWN_ERRORS else "", status)

    @property
    def why(self) -> str:
        """For a person."""
        return self.error or ("no known reason" if self.status is None else f"HTTP status {self.status}")


@frozen
class Unreached:
    """No answer, or none that can be read; it may pass."""

    why: str


Answer = Granted | Refused | Unreached


class _Tokens(msgspec.Struct, kw_only=True):
    access_token: str
    expires_in: int = USUAL_LIFETIME
    refresh_token: str | None = None
    scope: str | None = None
    id_token: str | None = None


class _Problem(msgspec.Struct):
    error: str = ""


class _Claims(msgspec.Struct):
    email: str | None = None


class Endpoint:
    """One OAuth client at Google. `base` takes the place of scheme and host in all addresses: an emulator's."""

    def __init__(self, *, client_id: str, client_secret: Secret, http: Http, base: str | None) -> None:
        self._client_id = client_id
        self._client_secret = client_secret
        self._http = http
        self._base = base

    def consent_url(self, **parameters: str) -> str:
        """The page at Google's where a person agrees."""
        about = {"client_id": self._client_id, "response_type": "code"}
        return f"{self._at(AUTH_URL)}?{urlencode(about | parameters)}"

    async def exchange(self, code: str, *, verifier: Secret, redirect_uri: str) -> Answer:
        """Redeem a code. Asked once: it is good for one time, whether or not the answer arrives."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "code_verifier": verifier.reveal(),
            "client_id": self._client_id,
            "client_secret": self._client_secret.reveal(),
            "redirect_uri": redirect_uri,
        }
        _, answer = await self._post(self._at(TOKEN_URL), FORM, urlencode(form).encode())
        return answer

    async def refresh(self, refresh_token: Secret) -> Answer:
        """Ask for a new access token, once. google-auth asks; it waits in a thread, and the loop stays free."""
        carrier = _Carrier(self._post, asyncio.get_running_loop())
        try:
            return await in_thread(self._refresh, carrier, refresh_token)
        finally:
            carrier.stop()

    async def revoke(self, token: Secret) -> bool:
        """Whether the token is good for nothing now, as far as Google says."""
        form = urlencode({"token": token.reveal()}).encode()
        try:
            async with self._http.post(
                self._at(REVOKE_URL), FORM, form, idle=IDLE_SECONDS, total=TOTAL_SECONDS
            ) as response:
                answer = _read(response.status, await response.read_all(MAX_ANSWER))
                return response.status == 200 or answer == Refused("invalid_token", response.status)
        except ModelError:
            return False

    async def _post(self, url: str, headers: Mapping[str, str], body: bytes) -> "tuple[_Reply, Answer]":
        try:
            async with self._http.post(url, headers, body, idle=IDLE_SECONDS, total=TOTAL_SECONDS) as response:
                reply = _Reply(response.status, await response.read_all(MAX_ANSWER))
                return reply, _read(reply.status, reply.data)
        except ModelError as problem:
            return _Reply(0, b""), Unreached(str(problem))

    def _refresh(self, carrier: "_Carrier", refresh_token: Secret) -> Answer:
        """In a thread. google-auth knows how Google wants to be asked; what the answer means is read once, by us."""
        try:
            library: Any = import_module("google.oauth2.credentials")
            errors: Any = import_module("google.auth.exceptions")
        except ImportError:
            raise PolluxError("Google accounts need packages that are missing: pip install 'pollux[google]'") from None
        credentials = library.Credentials(
            None,
            refresh_token=refresh_token.reveal(),
            token_uri=self._at(TOKEN_URL),
            client_id=self._client_id,
            client_secret=self._client_secret.reveal(),
        )
        try:
            credentials.refresh(carrier)
        except (errors.GoogleAuthError, _NoAnswer):
            # Its error may repeat the answer's text: only what the carrier made of that goes on.
            pass
        return carrier.answer

    def _at(self, url: str) -> str:
        return url if self._base is None else self._base.rstrip("/") + urlsplit(url).path


@frozen
class _Reply:
    """A response as google-auth wants it."""

    status: int
    data: bytes
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class _NoAnswer(Exception):
    """Leave google-auth: it would wait and try again, which is not for a thread to do."""


class _Carrier:
    """google-auth's transport over our HTTP port: called in a thread, it asks in the loop and waits."""

    def __init__(self, post: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._post = post
        self._loop = loop
        self._is_stopped = False
        self._asking: concurrent.futures.Future[tuple[_Reply, Answer]] | None = None
        self.answer: Answer = Unreached("nothing was asked")

    def __call__(
        self,
        url: str,
        method: str = "POST",
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **options: object,
    ) -> _Reply:
        if self._is_stopped:
            raise _NoAnswer
        self._asking = asyncio.run_coroutine_threadsafe(self._post(url, FORM | dict(headers or {}), body), self._loop)
        try:
            # The port keeps its own bounds; this one is for a loop that ended meanwhile.
            reply, self.answer = self._asking.result(TOTAL_SECONDS + 5)
        except (TimeoutError, concurrent.futures.CancelledError):
            raise _NoAnswer from None
        match self.answer:
            case Granted():
                return reply
            case Refused(error):
                # In the one shape that it can read, and without the words: they might repeat what was sent.
                return _Reply(reply.status, msgspec.json.encode({"error": error}))
            case Unreached():
                raise _NoAnswer

    def stop(self) -> None:
        """Nobody waits for the answer any more."""
        self._is_stopped = True
        if self._asking is not None:
            self._asking.cancel()


def _read(status: int, body: bytes) -> Answer:
    if status >= 500 or status in PASSING_STATUSES:
        return Unreached(f"Google answered with HTTP status {status}")
    if status != 200:
        error = _error_in(body)
        if error in PASSING_ERRORS:
            return Unreached(f"Google answered {error}")
        return Refused.of(error, status)
    try:
        tokens = msgspec.json.decode(body, type=_Tokens, strict=False)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Unreached("Google's answer could not be read")
    if not _is_token(tokens.access_token):
        return Unreached("Google's answer holds no usable access token")
    return Granted(
        Secret(tokens.access_token),
        float(min(max(tokens.expires_in, 0), LONGEST_LIFETIME)),
        Secret(tokens.refresh_token) if tokens.refresh_token else None,
        frozenset(tokens.scope.split()) if tokens.scope is not None else None,
        email_in(tokens.id_token) if tokens.id_token else None,
    )


def _error_in(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_Problem).error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""


def _is_token(text: str) -> bool:
    """Whether it can stand in a header."""
    return bool(text) and text.isascii() and text.isprintable() and " " not in text


def email_in(id_token: str) -> str | None:
    """The account's address, if the token names one.

    Its signature is not looked at: it came straight from the token endpoint, whose TLS says who spoke (OpenID Connect
    Core allows this for that case). It is shown, offered again as a hint, and tells one account from another.
    """
    parts = id_token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = msgspec.json.decode(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)), type=_Claims)
    except (ValueError, RecursionError):
        return None
    email = claims.email
    return email if email and len(email) <= 320 and "@" in email and email.isprintable() else None
