"""Which credentials count here: named tokens, this machine's own on loopback, and the key that seals cookies."""

import os
import secrets
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from pollux.asgi.auth import Authority, Verifier
from pollux.asgi.cookies import Cookies
from pollux.asgi.listening import is_loopback
from pollux.asgi.visits import Visits
from pollux.bootstrap import made_once, make_home, seal_keys
from pollux.config import ConfigError, Settings
from pollux.core.frozen import frozen
from pollux.core.ids import UserId
from pollux.core.redact import Secret
from pollux.tools.masked import secrets_named

USER = UserId("local")
"""Whoever owns the machine: the same who runs scripts and the command line on it."""


@frozen
class Credentials:
    """Who may call. `token` is this machine's own, and `is_new` says that nobody has been shown it yet."""

    tokens: tuple[tuple[UserId, Secret], ...]
    token: Secret | None = None
    is_new: bool = False


def credentials_of(settings: Settings) -> Credentials:
    """The named tokens, and on loopback this machine's own. Raises ConfigError for a public address without any."""
    named = tuple((UserId(user), token) for user, token in settings.tokens)
    if not is_loopback(settings.host):
        if not named and settings.oidc_issuer is None:
            raise ConfigError(
                f"{settings.host} can be reached by others. Set POLLUX_TOKENS or POLLUX_OIDC_ISSUER and"
                " POLLUX_OIDC_AUDIENCE, or bind 127.0.0.1"
            )
        return Credentials(named)
    make_home(settings.home)
    raw, is_new = made_once(token_file(settings), _new_token)
    token = raw.decode("ascii", "replace").strip()
    if len(token) < 16 or not token.isprintable():
        raise ConfigError(f"{token_file(settings)} holds no token. Remove it, and a new one is made")
    return Credentials((*named, (USER, Secret(token))), Secret(token), is_new)


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
    settings: Settings, tokens: Iterable[tuple[UserId, Secret]], *, jwt: Verifier | None = None
) -> Authority:
    """Who knows these tokens, and the cookies that were given for them."""
    keys = seal_keys(settings)
    return Authority(tokens, cookies=Cookies(keys[0], now=time.time), jwt=jwt, visits=Visits(keys, now=time.time))


def _new_token() -> bytes:
    return secrets.token_urlsafe(32).encode()
