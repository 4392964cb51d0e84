"""`pollux keys`: after a change of keys everything still opens, and whoever has the former key alone reads nothing."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.cli.machine import POLLUX
from tests.waiting import HANG_SECONDS

from pollux.bootstrap import open_store, seal_keys
from pollux.config import Settings, read_settings
from pollux.core.ids import UserId
from pollux.core.redact import Secret
from pollux.tools.google.connection import Connection, Connections
from pollux.tools.google.seal import Sealer, SealError

ADA = UserId("ada")
KEPT = Connection("ada@example.com", frozenset({"email"}), Secret("1//refresh"), Secret("ya29.access"), 0.0)


def settings(home: Path, **environ: str) -> Settings:
    return read_settings({"POLLUX_HOME": str(home), **environ}, cwd=home)


def keys(home: Path, *arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    command = [*POLLUX, "keys", *arguments]
    bare = {"PATH": os.environ["PATH"], "HOME": str(home), "POLLUX_HOME": str(home), **environ}
    return subprocess.run(
        command, env=bare, cwd=home, capture_output=True, text=True, check=False, timeout=2 * HANG_SECONDS
    )


async def keep(home: Path, **environ: str) -> bytes:
    """One connection, and its bytes as they lie in the store."""
    found = settings(home, **environ)
    store = open_store(found)
    await store.open()
    await Connections(store, Sealer(seal_keys(found))).put(ADA, KEPT)
    blob = await store.secret(ADA, "google")
    await store.close()
    assert blob is not None
    return blob


async def read(home: Path, sealer: Sealer) -> Connection | None:
    store = open_store(settings(home))
    await store.open()
    try:
        return await Connections(store, sealer).get(ADA)
    finally:
        await store.close()


async def test_rotating_makes_a_new_key_and_seals_everything_anew(tmp_path: Path):
    await keep(tmp_path)
    former = (tmp_path / "seal.key").read_bytes()
    done = keys(tmp_path, "rotate")
    assert (done.returncode, done.stdout) == (0, "")
    assert "1 connection sealed anew" in done.stderr
    present = (tmp_path / "seal.key").read_bytes()
    assert present != former
    assert (tmp_path / "seal.key.1").read_bytes() == former
    assert (tmp_path / "seal.key").stat().st_mode & 0o777 == 0o600
    assert await read(tmp_path, Sealer([present])) == KEPT
    with pytest.raises(SealError):
        await read(tmp_path, Sealer([former]))
    assert keys(tmp_path, "rotate").returncode == 0
    assert seal_keys(settings(tmp_path))[1:] == (present, former)


async def test_a_key_of_the_environment_is_changed_there(tmp_path: Path):
    old, new = "o" * 32, "n" * 32
    await keep(tmp_path, POLLUX_SEAL_KEY=old)
    refused = keys(tmp_path, "rotate", POLLUX_SEAL_KEY=old)
    assert refused.returncode == 2
    assert "POLLUX_OLD_SEAL_KEYS" in refused.stderr
    done = keys(tmp_path, "reseal", POLLUX_SEAL_KEY=new, POLLUX_OLD_SEAL_KEYS=f"{old},{'x' * 20}")
    assert (done.returncode, "1 connection sealed anew" in done.stderr) == (0, True)
    assert await read(tmp_path, Sealer([new.encode()])) == KEPT
    assert new not in done.stderr and old not in done.stderr


async def test_what_no_key_opens_is_left_as_it_is(tmp_path: Path):
    blob = await keep(tmp_path)
    (tmp_path / "seal.key").unlink()
    done = keys(tmp_path, "reseal")
    assert "0 connections sealed anew" in done.stderr
    store = open_store(settings(tmp_path))
    await store.open()
    assert await store.secret(ADA, "google") == blob
    await store.close()
