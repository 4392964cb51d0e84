"""What every wire shares: JSON, made-up call ids, names that a service accepts, and declarations encoded once.

A tool whose name does not fit is sent under a safe one that follows from the name alone, so a stored conversation names
its tools alike in every request; a map leads back, never a guess.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from secrets import token_hex
from typing import Final, cast

import msgspec

from pollux.core.errors import ModelError
from pollux.core.messages import JSON
from pollux.core.tools import ToolSpec
from pollux.providers.unreadable import UNREADABLE

# Recognisable, because a result is encoded by itself and must know whether the service has seen its call's id.
_MINTED: Final = "call_minted_"


def mint_call_id() -> str:
    """A fresh id for a call that came without one."""
    return _MINTED + token_hex(8)


def is_minted(call_id: str) -> bool:
    """Whether we made this id up: the service that made the call does not know it."""
    return call_id.startswith(_MINTED)


def to_json(value: JSON) -> bytes:
    """A JSON value in UTF-8."""
    return _encoder.encode(value)


def is_json(text: bytes) -> bool:
    """Whether this is one whole JSON value."""
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except UNREADABLE:
        return False
    return True


def merged(body: Mapping[str, JSON], extra: Mapping[str, JSON]) -> dict[str, JSON]:
    """`body` with `extra` laid over it; objects are merged, anything else is replaced."""
    result = dict(body)
    for key, value in extra.items():
        ours = result.get(key)
        if isinstance(ours, Mapping) and isinstance(value, Mapping):
            result[key] = merged(cast("Mapping[str, JSON]", ours), cast("Mapping[str, JSON]", value))
        else:
            result[key] = value
    return result


@lru_cache(maxsize=1024)
def sent_name(name: str, allowed: re.Pattern[str]) -> str:
    """The name under which a tool is known to the service."""
    if allowed.fullmatch(name):
        return name
    stem = re.sub(r"[^A-Za-z0-9_]", "_", name)[:40]
    # The digest keeps apart names that differ only in what was replaced or cut off.
    return f"t_{stem}_{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def names_sent(names: Iterable[str], allowed: re.Pattern[str]) -> dict[str, str]:
    """Each sent name with the tool it stands for. Raises ModelError when two tools would be sent under one name."""
    tools: dict[str, str] = {}
    for name in names:
        sent = sent_name(name, allowed)
        if tools.setdefault(sent, name) != name:
            raise ModelError(
                f"the tools {tools[sent]!r} and {name!r} would both be sent as {sent!r}", kind="bad_request"
            )
    return tools


_KEPT = 64

Declared = tuple[bytes, dict[str, str]]
"""The encoded declarations, and the map from each sent name back to its tool."""

_NONE: Declared = (b"", {})


class ToolCache:
    """Remembers the wire form of the last few sets of tools, by name, schema and description."""

    def __init__(
        self, encode: Callable[[Sequence[ToolSpec]], bytes], names: Callable[[Sequence[ToolSpec]], dict[str, str]]
    ) -> None:
        self._encode = encode
        self._names = names
        self._known: dict[tuple[tuple[str, str, str], ...], Declared] = {}
        self._last: tuple[Sequence[ToolSpec], Declared] = (), _NONE

    def __call__(self, tools: tuple[ToolSpec, ...]) -> Declared:
        """The wire form of these tools. The very same tuple, as a run passes it, costs nothing."""
        if tools is self._last[0]:
            return self._last[1]
        declared = self._declared(tools) if tools else _NONE
        self._last = tools, declared
        return declared

    def _declared(self, tools: Sequence[ToolSpec]) -> Declared:
        key = tuple((tool.name, tool.schema_hash, tool.description) for tool in tools)
        if (known := self._known.get(key)) is not None:
            return known
        declared = self._encode(tools), self._names(tools)
        if len(self._known) >= _KEPT:
            del self._known[next(iter(self._known))]
        self._known[key] = declared
        return declared


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, JSON]", value))
    raise TypeError(f"expected a JSON value, found {type(value).__name__}")


_encoder = msgspec.json.Encoder(enc_hook=_plain)
