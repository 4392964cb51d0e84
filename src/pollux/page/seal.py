"""The seal on a history that a page keeps: what comes back is what was given, to whom it was given, or is refused.

The last message carries `seal`, "v1.<key id>.<expiry>.<HMAC-SHA-256>", and beside it what has to travel: `runId`,
`tools` (the hash of the page's tool definitions) and `pending` (the ids of the page calls that wait for a result). The
HMAC covers the canonical form of the whole array, these members included, with the expiry, the visitor, the origin and
the profile. Key order and white space are free; no value is. docs/concepts/sealed-history.md says what it is good for.
"""

import hmac
import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn, cast

from pollux.core.errors import Misfit, ValidationError
from pollux.core.frozen import frozen
from pollux.core.ids import Instant, RunId
from pollux.core.messages import JSON, Message
from pollux.page.history import in_bytes, understood

SECONDS: Final = 24 * 60 * 60
"""How long a history can be brought back."""

Wire = dict[str, JSON]

_VERSION: Final = "v1"
_SEAL: Final = re.compile(r"(v1\.[0-9a-f]{12}\.[1-9][0-9]{0,11})\.([0-9a-f]{64})")
_MEMBERS: Final = ("seal", "runId", "tools", "pending")


@frozen(kw_only=True)
class Holder:
    """Who a history was given to: nobody else can bring it back, nor from another place."""

    visitor: str
    origin: str
    profile: str


@frozen(kw_only=True)
class Seal:
    """What travels with a history. `pending` are the page calls whose results may come with it."""

    run_id: RunId
    tools_hash: str
    pending: tuple[str, ...] = ()


@frozen
class Opened:
    """What a history says that was sealed here. An empty one says nothing, and has no seal."""

    messages: tuple[Message, ...] = ()
    seal: Seal | None = None
    expires_at: Instant | None = None

    @property
    def run_id(self) -> RunId | None:
        """The run that it ends with."""
        return self.seal.run_id if self.seal else None

    @property
    def pending(self) -> tuple[str, ...]:
        """The calls that wait for the page. Results of any others are not taken."""
        return self.seal.pending if self.seal else ()


def sealed(
    history: Sequence[Mapping[str, JSON]], seal: Seal, *, holder: Holder, keys: Sequence[bytes], now: Instant
) -> list[Wire]:
    """The history with a seal on its last message, under the first of the keys.

    Raises ValidationError where there is nothing to seal, or a seal already.
    """
    if not history:
        raise ValidationError("expected at least one message to seal, found none")
    if any(name in message for message in history for name in _MEMBERS):
        raise ValidationError("expected messages without a seal: write the history anew from what it says")
    *before, last = [dict(message) for message in history]
    last |= {"runId": seal.run_id, "tools": seal.tools_hash, "pending": list(seal.pending)}
    whole = in_bytes([*before, last])
    if not _is_as_given([*before, last], whole):
        raise ValidationError("expected a history that `write` made, and ids in Unicode's composed form")
    key = _Key.of(keys[0])
    head = f"{_VERSION}.{key.id}.{int(now) + SECONDS}"
    return [*before, last | {"seal": f"{head}.{key.tag(head, holder, whole)}"}]


def opened(history: JSON, *, holder: Holder, keys: Sequence[bytes], now: Instant) -> Opened:
    """What a history says that came back. Nothing in it is believed before the seal is known to be ours.

    Raises:
        ValidationError: `history_unsigned` where there is no seal, `history_invalid` where it does not fit.
        Misfit: `history_expired`, when it was sealed more than a day ago.
    """
    if not isinstance(history, list) or not all(isinstance(message, dict) for message in cast("list[JSON]", history)):
        _refuse("expected a list of objects")
    messages = cast("list[Wire]", history)
    if not messages:
        return Opened()
    head, tag = _seal_of(messages)
    _, key_id, expires = head.split(".")
    fitting = [key for key in map(_Key.of, keys) if key.id == key_id]
    if not fitting:
        _refuse("it was sealed with a key that is not known here any more")
    *before, last = messages
    unsealed = [*before, {name: value for name, value in last.items() if name != "seal"}]
    try:
        whole = in_bytes(unsealed)
    except ValidationError as problem:
        _refuse(str(problem))
    if not _is_as_given(unsealed, whole):
        _refuse("a text in it has another Unicode form than it was given")
    if not any(hmac.compare_digest(tag, key.tag(head, holder, whole)) for key in fitting):
        _refuse("it was changed after it was sealed, or was given to somebody else")
    if now >= int(expires):
        raise Misfit("the history is older than 24 hours. Begin a new conversation", code="history_expired")
    return _understood(unsealed, float(expires))


def _seal_of(history: list[Wire]) -> tuple[str, str]:
    """The seal's head and its HMAC, from the only place where it may stand."""
    *before, last = history
    if any("seal" in message for message in before):
        _refuse("only the last message may carry a seal")
    if "seal" not in last:
        raise ValidationError(
            "the history has no seal. Send it back as it was given, or an empty one to begin anew",
            code="history_unsigned",
        )
    parsed = _SEAL.fullmatch(str(last["seal"]))
    if parsed is None:
        _refuse("its seal cannot be read")
    return parsed[1], parsed[2]


def _understood(history: list[Wire], expires_at: Instant) -> Opened:
    *before, last = history
    rest = {name: value for name, value in last.items() if name not in _MEMBERS}
    run_id, tools, pending = last.get("runId"), last.get("tools"), last.get("pending")
    if not isinstance(run_id, str) or not isinstance(tools, str) or not isinstance(pending, list):
        _refuse("what travels with its seal cannot be read")
    waiting = tuple(map(str, cast("list[JSON]", pending)))
    try:
        messages = understood([*before, rest])
    except ValidationError as problem:
        # Sealed here and not readable here: another version wrote it.
        _refuse(str(problem))
    return Opened(messages, Seal(run_id=RunId(run_id), tools_hash=tools, pending=waiting), expires_at)


def _is_as_given(history: list[Wire], whole: bytes) -> bool:
    """Whether its canonical form says the same. No writer of JSON changes the form of a letter: whoever does has
    changed the words."""
    return json.loads(whole) == history


def _refuse(why: str) -> NoReturn:
    message = f"the history is not as it was given: {why}. Begin a new conversation"
    raise ValidationError(message, code="history_invalid")


@frozen
class _Key:
    """What one key of ours was made into for this purpose alone, and a name that says nothing of it."""

    id: str
    secret: bytes

    @classmethod
    def of(cls, key: bytes) -> "_Key":
        secret = hmac.digest(key, b"pollux page history: seal", "sha256")
        return cls(hmac.digest(secret, b"pollux page history: id", "sha256")[:6].hex(), secret)

    def tag(self, head: str, holder: Holder, whole: bytes) -> str:
        """The HMAC over a history in bytes, and over what it is bound to."""
        # As ASCII: two visitors whose names differ in their Unicode form alone are two. And a list has an end.
        bound = json.dumps([head, holder.visitor, holder.origin, holder.profile])
        return hmac.digest(self.secret, bound.encode() + whole, "sha256").hex()

    def __repr__(self) -> str:
        return f"_Key({self.id})"
