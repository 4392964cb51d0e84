"""Ids and thought signatures, derived by HMAC from the seed and the request: no clock, no randomness, no state.

A signature is `magic, kind, nonce, tag`. The tag covers the nonce and, for a call, its name and arguments, so a
signature that was altered or moved to another call is found out without remembering anything. That of a thought has
two tags: one over its text, one over everything it followed.
"""

import base64
import hashlib
import hmac
from dataclasses import dataclass, replace
from typing import Literal

from pollux.emulator.jsons import canonical
from pollux.emulator.model import Call, Reply

Verdict = Literal["genuine", "corrupt", "foreign", "skip"]
ThoughtVerdict = Literal["genuine", "moved", "corrupt"]

_KEY = b"pollux emulator: thought signatures"
_MAGIC = b"\x12\x44plx"
_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
# The real API documents these for histories that another model wrote.
_SKIP = frozenset({b"context_engineering_is_the_way_to_go", b"skip_thought_signature_validator"})


@dataclass(frozen=True)
class Seal:
    """Makes every id and signature of one answer."""

    seed: int
    digest: bytes

    def response_id(self) -> str:
        """Looks like the real ones: 23 characters of URL-safe base64."""
        return base64.urlsafe_b64encode(self._derive("response", size=17)).decode().rstrip("=")

    def call_id(self, position: int) -> str:
        """Eight letters and digits, as Gemini 3 gives."""
        return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in self._derive(f"call {position}", size=8))

    def identify(self, reply: Reply) -> Reply:
        """The reply with an id on every call."""
        return replace(reply, calls=tuple(replace(call, id=self.call_id(at)) for at, call in enumerate(reply.calls)))

    def sign(self, call: Call | None) -> str:
        """A signature for the first call of a turn, or for a text answer."""
        nonce = self._derive("nonce", size=16)
        kind = b"c" if call else b"t"
        return base64.b64encode(_MAGIC + kind + nonce + _tag(kind, nonce, call)).decode()

    def sign_thought(self, text: str, prefix: bytes) -> str:
        """A signature for a thought behind everything that `prefix` is the fingerprint of."""
        nonce = self._derive("thought", size=16)
        tags = _thought_tag(nonce, text.encode()) + _thought_tag(nonce, prefix)
        return base64.b64encode(_MAGIC + b"k" + nonce + tags).decode()

    def _derive(self, label: str, *, size: int) -> bytes:
        key = f"pollux emulator {self.seed}".encode()
        return hmac.digest(key, label.encode() + b"\0" + self.digest, "sha256")[:size]


def digest(*parts: str | bytes) -> bytes:
    """The fingerprint of a request."""
    lengths_and_parts = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        lengths_and_parts.update(len(raw).to_bytes(8, "big") + raw)
    return lengths_and_parts.digest()


def from_base64(text: str) -> bytes:
    """Decode either alphabet of base64, padded or not. Raises ValueError."""
    return base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True)


def verify(signature: str, call: Call | None) -> Verdict:
    """Judge a signature that came back. Clients may send it in either alphabet of base64."""
    if signature.encode() in _SKIP:
        return "skip"
    try:
        raw = from_base64(signature)
    except ValueError:
        return "corrupt"
    if raw in _SKIP:
        return "skip"
    if not raw.startswith(_MAGIC):
        return "foreign"
    kind, nonce, tag = raw[5:6], raw[6:22], raw[22:]
    if (kind == b"c") != (call is not None):
        return "corrupt"
    return "genuine" if hmac.compare_digest(tag, _tag(kind, nonce, call)) else "corrupt"


def judge_thought(signature: str, text: str, prefix: bytes) -> ThoughtVerdict:
    """Judge a thought that came back: altered, behind other words than it followed, or as it was."""
    try:
        raw = from_base64(signature)
    except ValueError:
        return "corrupt"
    nonce, own, followed = raw[6:22], raw[22:54], raw[54:]
    if not raw.startswith(_MAGIC + b"k") or not hmac.compare_digest(own, _thought_tag(nonce, text.encode())):
        return "corrupt"
    return "genuine" if hmac.compare_digest(followed, _thought_tag(nonce, prefix)) else "moved"


def _thought_tag(nonce: bytes, content: bytes) -> bytes:
    return hmac.digest(_KEY, b"k" + nonce + content, "sha256")


def _tag(kind: bytes, nonce: bytes, call: Call | None) -> bytes:
    content = canonical([call.name, call.args]) if call else b""
    return hmac.digest(_KEY, kind + nonce + content, "sha256")
