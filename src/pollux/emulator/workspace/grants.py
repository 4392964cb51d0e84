"""Who allowed which client what: codes, access tokens, refresh tokens, and their ends.

Law: codes and tokens are random whatever the seed, and none is ever shown again once it was handed out.
"""

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pollux.core.frozen import frozen
from pollux.emulator.workspace.refusal import OAuthRefusal
from pollux.emulator.workspace.scopes import EMAIL

T = TypeVar("T")

CODE_SECONDS = 600
TOKEN_SECONDS = 3599
_KEPT = 10_000
_REFRESH_TOKENS = 100


@frozen(kw_only=True)
class Consent:
    """What a person allowed on the page, waiting for its code to be exchanged."""

    client: str
    account: str
    redirect: str
    scopes: frozenset[str]
    challenge: str
    offline: bool
    prompted: bool
    """The client asked for the page although it had been allowed before."""
    united: bool
    """Scopes granted before are to be part of it."""
    nonce: str = ""


@dataclass
class Grant:
    """What one account allowed one client, until it is revoked."""

    client: str
    account: str
    scopes: frozenset[str] = frozenset()
    has_refresh: bool = False
    alive: bool = True


@frozen
class Token:
    """An access or a refresh token."""

    grant: Grant
    scopes: frozenset[str]
    expires: float | None = None


@dataclass
class Grants:
    """Every grant of the emulator."""

    clock: Callable[[], float]
    seconds: int = TOKEN_SECONDS
    grants: dict[tuple[str, str], Grant] = field(default_factory=dict[tuple[str, str], Grant])
    _codes: dict[str, tuple[Consent, float]] = field(default_factory=dict[str, tuple[Consent, float]])
    _access: dict[str, Token] = field(default_factory=dict[str, Token])
    _refresh: dict[str, Token] = field(default_factory=dict[str, Token])

    def code(self, consent: Consent) -> str:
        """A code for what was allowed, good once and for ten minutes."""
        code = f"4/0{secrets.token_urlsafe(48)}"
        _keep(self._codes, code, (consent, self.clock() + CODE_SECONDS))
        return code

    def exchange(self, code: str, *, client: str, redirect: str, verifier: str) -> dict[str, Any]:
        """Tokens for a code. Raises OAuthRefusal."""
        # Whoever shows a code uses it up, also when the rest of what they say is wrong.
        found = self._codes.pop(code, None)
        if found is None:
            raise OAuthRefusal(400, "invalid_grant", "Malformed auth code." if "/" not in code else "Bad Request")
        consent, expires = found
        if consent.client != client or expires < self.clock():
            raise OAuthRefusal(400, "invalid_grant", "Bad Request")
        if consent.redirect != redirect:
            raise OAuthRefusal(400, "redirect_uri_mismatch", "Bad Request")
        if not verifier:
            raise OAuthRefusal(400, "invalid_grant", "Missing code verifier.")
        if not hmac.compare_digest(challenge(verifier), consent.challenge):
            raise OAuthRefusal(400, "invalid_grant", "Invalid code verifier.")
        return self._first(consent)

    def refresh(self, token: str, *, client: str, scopes: frozenset[str]) -> dict[str, Any]:
        """A new access token for a refresh token. Raises OAuthRefusal."""
        kept = self._refresh.get(token)
        if kept is None or not kept.grant.alive:
            raise OAuthRefusal(400, "invalid_grant", "Token has been expired or revoked.")
        if kept.grant.client != client:
            raise OAuthRefusal(401, "unauthorized_client", "Unauthorized")
        if not scopes <= kept.scopes:
            raise OAuthRefusal(400, "invalid_scope", "Some requested scopes were invalid.")
        return self._answer(kept.grant, scopes or kept.scopes)

    def revoke(self, token: str) -> None:
        """End a grant with all its tokens, by any of them. Raises OAuthRefusal."""
        kept = self._refresh.get(token) or self._access.get(token)
        if kept is None or not kept.grant.alive or self._is_over(kept):
            raise OAuthRefusal(400, "invalid_token", "Token expired or revoked")
        kept.grant.alive = False
        self.grants.pop((kept.grant.client, kept.grant.account), None)

    def access(self, token: str) -> Token | None:
        """The access token of this name, if it still is one."""
        kept = self._access.get(token)
        return kept if kept and kept.grant.alive and not self._is_over(kept) else None

    def expire(self) -> None:
        """End every access token now, as an hour would; refresh tokens stay."""
        self._access.clear()

    def issue(self, client: str, account: str, scopes: frozenset[str]) -> dict[str, Any]:
        """An access and a refresh token without a page, for tests."""
        consent = Consent(
            client=client,
            account=account,
            redirect="",
            scopes=scopes,
            challenge="",
            offline=True,
            prompted=True,
            united=False,
        )
        return self._first(consent)

    def _first(self, consent: Consent) -> dict[str, Any]:
        grant = self.grants.setdefault(
            (consent.client, consent.account), Grant(client=consent.client, account=consent.account)
        )
        grant.scopes |= consent.scopes
        scopes = grant.scopes if consent.united else consent.scopes
        answer = self._answer(grant, scopes, nonce=consent.nonce)
        # Only the first time, unless the person was asked again on purpose: a client that loses it must ask again.
        if consent.offline and (consent.prompted or not grant.has_refresh):
            grant.has_refresh = True
            token = f"1//0{secrets.token_urlsafe(64)}"
            self._refresh[token] = Token(grant, scopes)
            same = [name for name, kept in self._refresh.items() if kept.grant is grant]
            for oldest in same[:-_REFRESH_TOKENS]:
                del self._refresh[oldest]
            return {**answer, "refresh_token": token}
        return answer

    def _answer(self, grant: Grant, scopes: frozenset[str], *, nonce: str = "") -> dict[str, Any]:
        token = f"ya29.a0{secrets.token_urlsafe(96)}"
        _keep(self._access, token, Token(grant, scopes, self.clock() + self.seconds))
        answer = {
            "access_token": token,
            "expires_in": self.seconds,
            "scope": " ".join(sorted(scopes)),
            "token_type": "Bearer",
        }
        return {**answer, "id_token": self._identity(grant, scopes, nonce)} if "openid" in scopes else answer

    def _identity(self, grant: Grant, scopes: frozenset[str], nonce: str) -> str:
        now = int(self.clock())
        subject = int(hashlib.sha256(grant.account.encode()).hexdigest()[:16], 16)
        claims: dict[str, Any] = {
            "iss": "https://accounts.google.com",
            "azp": grant.client,
            "aud": grant.client,
            "sub": f"1{subject:020d}",
            **({"email": grant.account, "email_verified": True} if EMAIL in scopes else {}),
            **({"nonce": nonce} if nonce else {}),
            "iat": now,
            "exp": now + 3600,
        }
        head = {"alg": "RS256", "kid": "emulator", "typ": "JWT"}
        # Nobody here has Google's key: the signature is noise.
        return ".".join((_part(head), _part(claims), _base64(secrets.token_bytes(256))))

    def _is_over(self, token: Token) -> bool:
        return token.expires is not None and token.expires <= self.clock()


def challenge(verifier: str) -> str:
    """S256 of RFC 7636."""
    return _base64(hashlib.sha256(verifier.encode()).digest())


def _part(value: dict[str, Any]) -> str:
    return _base64(json.dumps(value, separators=(",", ":")).encode())


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _keep(kept: dict[str, T], key: str, value: T) -> None:
    kept[key] = value
    if len(kept) > _KEPT:
        del kept[next(iter(kept))]
