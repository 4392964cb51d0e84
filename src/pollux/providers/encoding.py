"""JSON as every provider writes it, the ids we make up for calls that came without one, and merging of `extra`."""

from collections.abc import Mapping
from secrets import token_hex
from typing import Final, cast

import msgspec

from pollux.core.messages import JSON

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
    except msgspec.MsgspecError:
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


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, JSON]", value))
    raise TypeError(f"expected a JSON value, found {type(value).__name__}")


_encoder = msgspec.json.Encoder(enc_hook=_plain)
