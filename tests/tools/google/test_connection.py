"""Connections at rest: sealed, everyone's own, and sealed anew when the key changes."""

import asyncio
import logging
import traceback

import msgspec
import pytest
from tests.tools.google.kept import KeptSecrets

from pollux.core.ids import UserId
from pollux.core.redact import Secret
from pollux.tools.google.connection import Connection, Connections
from pollux.tools.google.seal import Sealer, SealError

ADA, BOB = UserId("ada"), UserId("bob")
OLD, NEW = b"o" * 32, b"n" * 32


def connection(number: int = 1) -> Connection:
    return Connection(
        email="ada@example.com",
        scopes=frozenset({"openid", "https://www.googleapis.com/auth/gmail.send"}),
        refresh_token=Secret(f"canary-refresh-{number}"),
        access_token=Secret(f"canary-access-{number}"),
        expires_at=1000.5,
    )


def test_a_connection_survives_being_written_and_read():
    assert Connection.from_bytes(connection().to_bytes()) == connection()


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b"\xff", b'{"email": "canary"}', b'{"refresh_token": "canary-'])
def test_bytes_of_another_shape_are_refused_without_a_word_of_them(raw: bytes):
    with pytest.raises(SealError, match="Connect the account again") as caught:
        Connection.from_bytes(raw)
    assert "canary" not in "".join(traceback.format_exception(caught.value)) and caught.value.__context__ is None


def test_nothing_of_a_connection_is_shown():
    assert repr(connection()) == "Connection([redacted])" == f"{connection()}"


async def test_everybody_has_their_own():
    connections = Connections(KeptSecrets(), Sealer([NEW]))
    await connections.put(ADA, connection())
    assert (await connections.get(ADA), await connections.get(BOB)) == (connection(), None)
    await connections.drop(ADA)
    await connections.drop(ADA)
    assert await connections.get(ADA) is None


async def test_whoever_keeps_it_cannot_read_it_or_give_it_to_another():
    secrets = KeptSecrets()
    connections = Connections(secrets, Sealer([NEW]))
    await connections.put(ADA, connection())
    blob = secrets.blobs[ADA, "google"]
    assert b"canary" not in blob and b"example.com" not in blob
    secrets.blobs[BOB, "google"] = blob
    with pytest.raises(SealError):
        await connections.get(BOB)


async def test_reading_after_a_change_of_keys_seals_anew():
    secrets = KeptSecrets()
    await Connections(secrets, Sealer([OLD])).put(ADA, connection())
    assert await Connections(secrets, Sealer([NEW, OLD])).get(ADA) == connection()
    assert await Connections(secrets, Sealer([NEW])).get(ADA) == connection()


async def test_all_are_sealed_anew_and_counted_and_what_no_key_opens_is_left(caplog: pytest.LogCaptureFixture):
    secrets = KeptSecrets()
    await Connections(secrets, Sealer([OLD])).put(ADA, connection())
    await Connections(secrets, Sealer([NEW])).put(BOB, connection(2))
    await Connections(secrets, Sealer([b"?" * 32])).put(UserId("eve"), connection(3))
    lost = secrets.blobs[UserId("eve"), "google"]
    both = Connections(secrets, Sealer([NEW, OLD]))
    with caplog.at_level(logging.DEBUG):
        assert (await both.reseal_all(), await both.reseal_all()) == (1, 0)
    assert secrets.blobs[UserId("eve"), "google"] == lost
    assert "1 Google connections were sealed with a key that is not here" in caplog.text
    only_new = Connections(secrets, Sealer([NEW]))
    assert (await only_new.get(ADA), await only_new.get(BOB)) == (connection(), connection(2))


async def test_a_renewed_one_follows_the_one_it_was_made_of():
    connections = Connections(KeptSecrets(), Sealer([NEW]))
    await connections.put(ADA, connection(1))
    assert await connections.follow(ADA, connection(1), connection(2)) == connection(2) == await connections.get(ADA)
    assert await connections.follow(ADA, connection(2), None) is None is await connections.get(ADA)


async def test_a_renewed_one_takes_no_other_place_and_brings_nothing_back():
    connections = Connections(KeptSecrets(), Sealer([NEW]))
    assert await connections.follow(ADA, connection(1), connection(2)) is None
    await connections.put(ADA, connection(3))
    for by in (connection(2), None):
        assert await connections.follow(ADA, connection(1), by) == connection(3)
    assert await connections.get(ADA) == connection(3)


async def test_sealing_anew_never_puts_an_older_one_back():
    class SlowSecrets(KeptSecrets):
        """Gives others a turn between a read and what follows from it."""

        async def secret(self, user: UserId, name: str) -> bytes | None:
            blob = await super().secret(user, name)
            await asyncio.sleep(0)
            return blob

    secrets = SlowSecrets()
    await Connections(secrets, Sealer([OLD])).put(ADA, connection(1))
    both = Connections(secrets, Sealer([NEW, OLD]))
    await asyncio.gather(both.get(ADA), both.reseal_all(), both.put(ADA, connection(2)), both.get(ADA))
    assert await both.get(ADA) == connection(2)


def test_a_later_version_may_add_fields():
    kept = msgspec.json.decode(connection().to_bytes(), type=dict[str, object])
    assert Connection.from_bytes(msgspec.json.encode(kept | {"later": 1})) == connection()
