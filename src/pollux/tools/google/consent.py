"""The question that travels to Google with the browser, and what proves that the answer belongs to it.

Everything needed to take the answer is sealed inside `state`: any process that has the key can finish what another one
began, and nothing is kept meanwhile. The PKCE verifier is in there too; an address shows its hash alone.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Callable

import msgspec

from pollux.core.errors import AuthError, ValidationError
from pollux.core.frozen import frozen
from pollux.core.ids import Instant, UserId
from pollux.core.redact import MASK, Secret
from pollux.tools.google.seal import Sealer, SealError

MINUTES = 10
LONGEST_STATE = 8192


@frozen
class Consent:
    """What one user asked Google for. `binding` goes into a cookie of the browser that asked."""

    user: UserId
    scopes: frozenset[str]
    redirect_uri: str
    """Where the browser comes back to. Google wants to hear it again with the code."""
    verifier: Secret
    binding: Secret
    expires_at: Instant

    @property
    def challenge(self) -> str:
        """What Google is told of the verifier (PKCE, S256)."""
        return _text(hashlib.sha256(self.verifier.reveal().encode()).digest())

    def __repr__(self) -> str:
        return f"Consent({MASK})"


class _Sent(msgspec.Struct, array_like=True):
    user: str
    scopes: list[str]
    redirect_uri: str
    verifier: str
    binding: str
    expires_at: float


class Consents:
    """Makes states, and takes each one back once."""

    def __init__(self, key: bytes, *, now: Callable[[], Instant]) -> None:
        self._sealer = Sealer([key], purpose="google oauth state")
        self._now = now
        self._taken: dict[Secret, Instant] = {}

    def asked(self, user: UserId, scopes: frozenset[str], redirect_uri: str) -> tuple[str, Consent]:
        """A new question, and the state that carries it."""
        verifier, binding = (Secret(secrets.token_urlsafe(32)) for _ in range(2))
        consent = Consent(user, scopes, redirect_uri, verifier, binding, self._now() + MINUTES * 60)
        sent = _Sent(user, sorted(scopes), redirect_uri, verifier.reveal(), binding.reveal(), consent.expires_at)
        return _text(self._sealer.sealed(msgspec.json.encode(sent), user="", name="state")), consent

    def taken(self, state: str, *, user: UserId | None, binding: str | None) -> Consent:
        """The question of this state, if it is ours, still open, not taken yet, and comes from whoever asked it.

        Without that last part somebody could begin, send the link to a victim, and have the victim's mailbox connected
        to their own user. So the caller is known to be the user who began; or, where a callback shows no identity, it
        is the browser that began, by its cookie. An identity that differs is refused whatever the cookie says.

        That it is taken once holds within this process. Across processes it holds because Google redeems a code once,
        and only with the verifier of the state that it was asked for with. Raises ValidationError and AuthError.
        """
        consent = self._read(state)
        now = self._now()
        if now >= consent.expires_at:
            raise ValidationError(f"this link to connect is older than {MINUTES} minutes. Begin again")
        if user is not None and user != consent.user:
            raise AuthError("another user began to connect this Google account. Begin again as yourself")
        if user is None and not (binding and _is_same(binding, consent.binding)):
            raise AuthError(
                "this browser is not signed in, or did not begin to connect a Google account. Sign in, and begin again"
            )
        self._taken = {known: until for known, until in self._taken.items() if until > now}
        if consent.verifier in self._taken:
            raise ValidationError("this answer of Google's was used already. Begin again")
        self._taken[consent.verifier] = consent.expires_at
        return consent

    def _read(self, state: str) -> Consent:
        try:
            raw = self._sealer.opened(_bytes(state), user="", name="state")
            sent = msgspec.json.decode(raw, type=_Sent)
        except (ValueError, SealError):
            sent = None
        if sent is None:
            raise ValidationError("expected the `state` that connecting began with, found another. Begin again")
        return Consent(
            UserId(sent.user),
            frozenset(sent.scopes),
            sent.redirect_uri,
            Secret(sent.verifier),
            Secret(sent.binding),
            sent.expires_at,
        )


def _is_same(given: str, expected: Secret) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.reveal().encode())


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    """The bytes of what `_text` made; ValueError for anything else, also for another way to write the same bytes."""
    if len(text) > LONGEST_STATE:
        raise ValueError("too long")
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as problem:
        raise ValueError("not base64") from problem
    if _text(raw) != text:
        raise ValueError("not canonical")
    return raw
