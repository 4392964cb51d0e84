"""From what a person wrote to a typed value. An error names the place and what was expected, and never a secret."""

import re
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

from pollux.config.files import ConfigError, kind_of
from pollux.config.models import model_ref
from pollux.config.table import Kind
from pollux.core.redact import Secret

OLLAMA_PORT: Final = 11434
MOST_SLOTS: Final = 1000
_CONNINFO: Final = re.compile(r"(^|\s)(host|hostaddr|dbname|password)\s*=")
"""What psql takes too, and we do not."""


def is_missing(raw: object, *, kind: Kind) -> bool:
    """Whether nothing was set: absent, blank, or (for anything but plain text) a placeholder such as `<your key>`."""
    if not isinstance(raw, str):
        return raw is None
    # A system prompt may well begin with '<'; a key or an address never does.
    return not raw.strip() or (kind != "text" and raw.strip().startswith("<"))


def convert(raw: object, *, kind: Kind, where: str, base: Path, own_home: Path | None) -> object:
    """The typed value. Raises ConfigError."""
    if kind == "port":
        return _port(raw, where)
    if kind == "count":
        return _count(raw, where)
    if kind == "slots":
        return _slots(raw, where)
    if not isinstance(raw, str):
        raise ConfigError(f"{where} must be text in quotes, found {kind_of(raw)}")
    text = raw.strip()
    match kind:
        case "text":
            return text
        case "path":
            return _path(text, where=where, base=base, own_home=own_home)
        case "place":
            # An address, or a file.
            return text if "://" in text else str(_path(text, where=where, base=base, own_home=own_home))
        case "store":
            return _store(text, where=where, base=base, own_home=own_home)
        case "url":
            return _url(text, where).geturl().rstrip("/")
        case "issuer":
            # Kept to the letter, a slash at its end included: tokens name it so, and are compared.
            _url(text, where)
            return text
        case "origin":
            return _origin(text, where)
        case "host":
            return _host(text, where)
        case "model":
            return _model(text, where)
        case "key":
            return _key(text, where)
        case "secret":
            return Secret(text)
        case "sandbox":
            if text not in ("auto", "required", "off"):
                raise ConfigError(f"{where} must be auto, required or off, found {text[:80]!r}")
            return text
        case "tokens":
            return _tokens(text, where)
        case "hosts":
            return _hosts(text, where)


def _digits(raw: object) -> str:
    """What was written, if it can be a number at all. One of thousands of digits has no text."""
    return str(raw).strip() if not isinstance(raw, int) or abs(raw) < 1 << 64 else ""


def _port(raw: object, where: str) -> int:
    text = _digits(raw)
    if isinstance(raw, bool) or not (text.isascii() and text.isdigit()) or int(text[:6]) > 65535:
        raise ConfigError(f"{where} must be a port from 0 to 65535 (0 takes any free one)")
    return int(text)


def _count(raw: object, where: str) -> int:
    text = _digits(raw)
    if isinstance(raw, bool) or not (text.isascii() and text.isdigit()) or not 0 < int(text[:16]) < 10**15:
        raise ConfigError(f"{where} must be a whole number above 0")
    return int(text)


def _slots(raw: object, where: str) -> int:
    text = _digits(raw)
    if isinstance(raw, bool) or not (text.isascii() and text.isdigit()) or int(text[:5]) > MOST_SLOTS:
        raise ConfigError(f"{where} must be a whole number from 0 to {MOST_SLOTS}")
    return int(text)


def _hosts(text: str, where: str) -> tuple[str, ...]:
    names = tuple(name.strip().lower() for name in text.split(","))
    for name in names:
        if not re.fullmatch(r"[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\]", name):
            raise ConfigError(f"{where} must be host names without port, as in agent.example.com,[::1]")
    return names


def _path(text: str, *, where: str, base: Path, own_home: Path | None) -> Path:
    if "\0" in text:
        raise ConfigError(f"{where} must be a path, but it holds a NUL character")
    if text == "~" or text.startswith("~/"):
        if own_home is None:
            raise ConfigError(f"{where} begins with ~, but HOME is not set. Write the whole path")
        return own_home / text[2:]
    return base / text


def _store(text: str, *, where: str, base: Path, own_home: Path | None) -> Path | Secret:
    if text.startswith("postgresql://"):
        return Secret(text)  # The address usually holds a password.
    if "://" in text or text.startswith(("postgres:", "postgresql:")) or _CONNINFO.search(text):
        # Not taken for a path: the file would have the password for its name.
        raise ConfigError(f"{where} must be a path or begin with postgresql://")
    return _path(text, where=where, base=base, own_home=own_home)


def _url(text: str, where: str) -> SplitResult:
    problem = ""
    try:
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            problem = "must be an address such as https://host/path"
        elif "@" in parts.netloc:
            problem = "must not hold a user name or password. Give the key by its own setting"
        elif parts.query or parts.fragment:
            problem = "must not have a query or a fragment; only scheme, host and path"
        elif not text.isprintable() or " " in text:
            problem = "must not hold spaces or control characters"
    except ValueError:
        problem = "must be an address such as https://host/path"
        parts = SplitResult("", "", "", "", "")
    if problem:
        raise ConfigError(f"{where} {problem}")
    return parts


def _origin(text: str, where: str) -> str:
    parts = _url(text, where)
    if parts.path not in ("", "/"):
        raise ConfigError(f"{where} must be scheme and host only, as in http://127.0.0.1:8644; the paths are fixed")
    return f"{parts.scheme}://{parts.netloc}"


def _host(text: str, where: str) -> str:
    has_scheme = "://" in text
    parts = _url(text if has_scheme else f"http://{text}", where)
    netloc = parts.netloc
    # As Ollama's own client has it: without scheme its own port, and "every address" is reached on this machine.
    if parts.port is None and not has_scheme:
        netloc = f"{netloc}:{OLLAMA_PORT}"
    if parts.hostname == "0.0.0.0":
        netloc = netloc.replace("0.0.0.0", "127.0.0.1", 1)
    return f"{parts.scheme}://{netloc}{parts.path}".rstrip("/")


def _model(text: str, where: str) -> str:
    try:
        model_ref(text)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}", code=error.code) from None
    return text


def _key(text: str, where: str) -> Secret:
    # A key travels in a header; anything else there is a paste gone wrong, or an attempt to add headers.
    for position, character in enumerate(text):
        if not "!" <= character <= "~":
            raise ConfigError(f"{where} must be a key of printable ASCII characters; character {position + 1} is not")
    return Secret(text)


SHORTEST_TOKEN: Final = 16
"""Whoever can reach the server can try tokens for as long as they like."""


def _tokens(text: str, where: str) -> tuple[tuple[str, Secret], ...]:
    pairs: list[tuple[str, Secret]] = []
    for number, entry in enumerate(text.split(","), start=1):
        user, colon, token = (part.strip() for part in entry.partition(":"))
        if not user or not colon or not token or token.startswith("<"):
            raise ConfigError(f"{where}: entry {number} must be user:TOKEN, as in alice:TOKEN,bob:TOKEN")
        if len(token) < SHORTEST_TOKEN:
            raise ConfigError(
                f"{where}: the token of {user!r} has {len(token)} characters, expected at least {SHORTEST_TOKEN}."
                " Make one with `openssl rand -hex 16`"
            )
        pairs.append((user, _key(token, f"{where}: the token of entry {number}")))
    if len({token for _, token in pairs}) < len(pairs):
        raise ConfigError(f"{where}: two entries have the same token. A token must name one user")
    return tuple(pairs)
