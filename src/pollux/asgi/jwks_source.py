"""Where an issuer's keys are read from: a file, an address, or what its discovery document names.

Nothing is fetched in the clear but from this machine, no redirect is followed, and no answer is taken beyond its bound:
whoever chooses the keys chooses who everybody is.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import import_module
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from pollux._version import __version__
from pollux.asgi.bodies import parsed
from pollux.config import ConfigError
from pollux.core.errors import ValidationError
from pollux.engine.untrusted import read_file

LARGEST = 256 * 1024
DISCOVERY = "/.well-known/openid-configuration"

Source = Callable[[], Awaitable[bytes]]
"""Reads the key set once. Raises Unreadable; bounding the time is the caller's part."""

# Two parsers read an address, ours and the client's; what they could read differently is no address.
_HOST = r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?"
_PLAIN = re.compile(rf"https?://{_HOST}(/[!$-;=?-Z_a-z~]*)?", re.IGNORECASE | re.ASCII)


class Unreadable(Exception):
    """Why the keys could not be had. For the log: it names hosts and paths, and never a key."""


def source_of(*, issuer: str, jwks: str | None) -> Source:
    """How to read the keys: from `jwks`, a path or an address, or else from where the issuer says they are.

    Raises ConfigError for an address that is not to be trusted with this.
    """
    if jwks is not None and "://" not in jwks:
        return partial(_from_file, Path(jwks))
    # Now, while we start: it takes a third of a second, which nobody who waits for an answer should pay.
    import_module("aiohttp")
    if jwks is not None:
        _check_setting(jwks, "the address of the keys (POLLUX_OIDC_JWKS)")
        return partial(_fetched, jwks)
    _check_setting(issuer, "the issuer (POLLUX_OIDC_ISSUER)")
    if "?" in issuer:
        raise ConfigError("the issuer (POLLUX_OIDC_ISSUER) cannot be used: it should be an address without a query")
    return partial(_discovered, issuer)


def is_loopback(url: str) -> bool:
    """Whether the address is on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def objection_to(url: str) -> str:
    """Why keys are not fetched from this address; empty when they may be."""
    try:
        if not _PLAIN.fullmatch(url) or not urlsplit(url).hostname or urlsplit(url).port == 0:
            return "it should be a plain http or https address, without a user name or a fragment"
    except ValueError:
        return "its host or port cannot be read"
    if urlsplit(url).scheme != "https" and not is_loopback(url):
        return "it should begin with https: keys fetched in the clear can be swapped on the way"
    return ""


def _check_setting(url: str, what: str) -> None:
    if objection := objection_to(url):
        raise ConfigError(f"{what} cannot be used: {objection}")


async def _discovered(issuer: str) -> bytes:
    try:
        document = parsed(await _fetched(issuer.rstrip("/") + DISCOVERY))
    except ValidationError:
        raise Unreadable("the issuer's discovery document is not clean JSON") from None
    match document:
        case {"issuer": str(named), "jwks_uri": str(url)}:
            pass
        case _:
            raise Unreadable("the issuer's discovery document lacks issuer or jwks_uri")
    # One that speaks for somebody else would lend us that one's keys.
    if named != issuer:
        raise Unreadable("the issuer's discovery document names another issuer. Compare them letter by letter")
    if objection := objection_to(url):
        raise Unreadable(f"the jwks_uri of the issuer cannot be used: {objection}")
    if urlsplit(url).scheme != "https" and not is_loopback(issuer):
        raise Unreadable("the jwks_uri of the issuer points into this machine")
    return await _fetched(url)


async def _fetched(url: str) -> bytes:
    # aiohttp, and not the providers' port: adapters are bootstrap's to pick, and this is one GET in ten minutes.
    from aiohttp import ClientError, ClientSession

    headers = {"User-Agent": f"pollux/{__version__}", "Accept": "application/json", "Accept-Encoding": "identity"}
    host = urlsplit(url).netloc
    try:
        async with (
            ClientSession(headers=headers, trust_env=not is_loopback(url), auto_decompress=False) as session,
            session.get(url, allow_redirects=False) as answer,
        ):
            if answer.status != 200:
                raise Unreadable(f"{host} answered with status {answer.status}")
            body = bytearray()
            async for piece in answer.content.iter_any():
                body += piece
                if len(body) > LARGEST:
                    raise Unreadable(f"{host} sent more than {LARGEST} bytes")
            return bytes(body)
    except (ClientError, OSError) as error:
        raise Unreadable(f"the connection to {host} failed ({type(error).__name__})") from None


async def _from_file(path: Path) -> bytes:
    return await asyncio.to_thread(_read_file, path)


def _read_file(path: Path) -> bytes:
    try:
        body = read_file(path, most=LARGEST)
    except OSError as error:
        raise Unreadable(f"{path} cannot be read ({type(error).__name__})") from None
    if body is None:
        raise Unreadable(f"{path} is not there, or is no regular file")
    if len(body) > LARGEST:
        raise Unreadable(f"{path} holds more than {LARGEST} bytes")
    return body
