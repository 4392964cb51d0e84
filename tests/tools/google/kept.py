"""Sealed bytes in memory, as a store keeps them."""

from collections.abc import Sequence

from pollux.core.ids import UserId
from pollux.engine.ports import AuditFact


class KeptSecrets:
    """`ports.Secrets` in a dictionary."""

    def __init__(self) -> None:
        self.blobs: dict[tuple[UserId, str], bytes] = {}

    async def secret(self, user: UserId, name: str) -> bytes | None:
        return self.blobs.get((user, name))

    async def keep_secret(self, user: UserId, name: str, sealed: bytes, *, fact: AuditFact | None = None) -> None:
        self.blobs[user, name] = sealed

    async def drop_secret(self, user: UserId, name: str, *, fact: AuditFact | None = None) -> None:
        self.blobs.pop((user, name), None)

    async def secrets(self, name: str) -> Sequence[tuple[UserId, bytes]]:
        return [(user, blob) for (user, known), blob in self.blobs.items() if known == name]
