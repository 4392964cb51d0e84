"""Seal bytes so that whoever keeps them cannot read, change or move them: AES-256-GCM under keys made of ours.

A blob is: version, id of the key, nonce, ciphertext. Its owner and its name are authenticated with it, and it opens for
no other. The first key seals and all of them open: to change keys, put the new one first, seal everything anew, and
take the old one away.
"""

import logging
import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from pollux.core.errors import PolluxError, ValidationError
from pollux.core.frozen import frozen

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

logger = logging.getLogger(__name__)

VERSION = b"\x01"
ID_BYTES = 8
NONCE_BYTES = 12
HEAD_BYTES = len(VERSION) + ID_BYTES + NONCE_BYTES
SHORTEST_KEY = 16


class SealError(PolluxError):
    """Sealed bytes that do not open: another key, another owner, or changed since."""

    code = "seal_error"


@frozen
class _Key:
    """What one key of ours was made into: a cipher, and a name that says nothing of the key."""

    id: bytes
    cipher: "AESGCM"


class Sealer:
    """Seals with the first key, opens with any. Two sealers of different purpose never open each other's blobs."""

    def __init__(
        self,
        keys: Sequence[bytes],
        *,
        purpose: str = "google tokens",
        renew: Callable[[], Sequence[bytes]] | None = None,
    ) -> None:
        if not keys or any(len(key) < SHORTEST_KEY for key in keys):
            raise ValidationError(
                f"expected keys of at least {SHORTEST_KEY} bytes to seal with, and at least one."
                " `openssl rand -hex 32` makes one"
            )
        self._secrets = tuple(keys)
        self._purpose = purpose
        self._renew = renew
        """The keys as they are now: somebody may change them while this process lives."""
        self._made: tuple[_Key, ...] = ()

    def sealed(self, plain: bytes, *, user: str, name: str) -> bytes:
        """The bytes for this owner under this name, readable by nobody without the key."""
        # A former key may be one that somebody has stolen: what is new does not go under it.
        self._look_again()
        key = self._keys[0]
        head = VERSION + key.id + secrets.token_bytes(NONCE_BYTES)
        return head + key.cipher.encrypt(_nonce(head), plain, _bound(head, user, name))

    def opened(self, blob: bytes, *, user: str, name: str) -> bytes:
        """What was sealed. Raises SealError, which says what to do."""
        from cryptography.exceptions import InvalidTag

        head = blob[:HEAD_BYTES]
        fitting = self._fitting(head)
        if not fitting:
            self._look_again()
            fitting = self._fitting(head)
        if not fitting:
            raise SealError(
                f"what is kept as {name!r} was sealed with a key that is not among the present ones."
                " Put the old key back beside the new one, or connect the account again"
            )
        for key in fitting:
            try:
                return key.cipher.decrypt(_nonce(head), blob[HEAD_BYTES:], _bound(head, user, name))
            except (InvalidTag, ValueError):
                continue
        raise SealError(
            f"what is kept as {name!r} was changed after it was sealed, or belongs to somebody else."
            " Connect the account again"
        )

    def is_current(self, blob: bytes) -> bool:
        """Whether the first key sealed it. If not, whoever opens it should seal it anew."""
        return blob.startswith(VERSION + self._keys[0].id)

    def _look_again(self) -> None:
        """Take the keys as they are now. Where they cannot be read, those from before still serve."""
        if self._renew is None:
            return
        try:
            found = tuple(self._renew())
        except PolluxError as problem:
            logger.warning("the keys to seal with could not be read again: %s", problem)
            return
        if found != self._secrets:
            self._secrets, self._made = found, ()

    def _fitting(self, head: bytes) -> list[_Key]:
        return [key for key in self._keys if head[:-NONCE_BYTES] == VERSION + key.id]

    def __repr__(self) -> str:
        return f"Sealer({len(self._secrets)} keys)"

    @property
    def _keys(self) -> tuple[_Key, ...]:
        # Made at the first use, because of what has to be imported for it.
        self._made = self._made or tuple(_derived(secret, self._purpose) for secret in self._secrets)
        return self._made


def _derived(secret: bytes, purpose: str) -> _Key:
    """A cipher and an id of their own for each purpose: what serves one says nothing about another."""
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    except ImportError:
        raise PolluxError("Google accounts need packages that are missing: pip install 'pollux[google]'") from None

    def make(what: str, length: int) -> bytes:
        label = f"pollux {purpose}: {what}".encode()
        return HKDF(algorithm=SHA256(), length=length, salt=None, info=label).derive(secret)

    return _Key(make("id", ID_BYTES), AESGCM(make("key", 32)))


def _nonce(head: bytes) -> bytes:
    return head[-NONCE_BYTES:]


def _bound(head: bytes, user: str, name: str) -> bytes:
    """What is authenticated with the text. Encoded as a list, so that no two pairs read alike."""
    return head + msgspec.json.encode([user, name])
