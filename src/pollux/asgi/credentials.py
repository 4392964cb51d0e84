"""Which credentials count here: named tokens, or this machine's own on loopback, and the sessions opened with them."""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from pollux.asgi.auth import Authority, Verifier
from pollux.asgi.listening import is_loopback
from pollux.asgi.sessions import Ledger, Sessions
from pollux.asgi.visits import Visits
from pollux.bootstrap import made_once, make_home, seal_keys
from pollux.config import ConfigError, Settings
from pollux.config.convert import SHORTEST_TOKEN
from pollux.core.frozen import frozen
from pollux.core.ids import Instant, UserId
from pollux.core.redact import Secret
from pollux.engine.ports import Clock
from pollux.tools.masked import secrets_named

USER = UserId("local")
"""Whoever owns the machine: the same who runs scripts and the command line on it."""


@frozen
class Credentials:
    """Who may call. `token` is this machine's own."""

    tokens: tuple[tuple[UserId, Secret], ...]
    token: Secret | None = None


def credentials_of(settings: Settings) -> Credentials:
    """The named tokens; on loopback, where no caller is configured, this machine's own.

    Raises ConfigError for a public address without any.
    """
    named = tuple((UserId(user), token) for user, token in settings.tokens)
    if named or settings.oidc_issuer is not None:
        return Credentials(named)
    if not is_loopback(settings.host):
        raise ConfigError(
            f"{settings.host} can be reached by others. Set POLLUX_TOKENS or POLLUX_OIDC_ISSUER and"
            " POLLUX_OIDC_AUDIENCE, or bind 127.0.0.1"
        )
    make_home(settings.home)
    raw, _ = made_once(token_file(settings), _new_token)
    token = raw.decode("ascii", "replace").strip()
    if len(token) < SHORTEST_TOKEN or not token.isprintable():
        raise ConfigError(f"{token_file(settings)} holds no token. Remove it, and a new one is made")
    return Credentials(((USER, Secret(token)),), Secret(token))


def secrets_of(
    settings: Settings, credentials: Credentials, environ: Mapping[str, str] = os.environ
) -> tuple[Secret, ...]:
    """Everything that must not be told, as far as we can know it."""
    named = (token for _, token in credentials.tokens)
    return tuple({*settings.secrets(), *named, *secrets_named(environ)})


def token_file(settings: Settings) -> Path:
    """Where this machine's own token lies."""
    return settings.home / "token"


def authority_of(
    settings: Settings,
    credentials: Credentials,
    ledger: Ledger,
    *,
    clock: Clock,
    jwt: Verifier | None = None,
    pages: bool = True,
) -> Authority:
    """Who knows these credentials, and the sessions that were opened with them. Visitors count where `pages` do.

    What has expired is said by `clock`, the engine's: it never goes back.
    """
    keys = seal_keys(settings)

    def now() -> Instant:
        # Asked for each time: an engine that opens its store hears how late it is.
        return clock.now()

    return Authority(
        credentials.tokens,
        sessions=Sessions(ledger, keys[0], now=now, secure=is_secure(settings)),
        jwt=jwt,
        visits=Visits(keys, now=now) if pages else None,
        own=credentials.token,
    )


def is_secure(settings: Settings) -> bool:
    """Whether browsers know us by https: cookies are kept to it then."""
    return (settings.public_url or "").startswith("https:")


def _new_token() -> bytes:
    return secrets.token_urlsafe(32).encode()
