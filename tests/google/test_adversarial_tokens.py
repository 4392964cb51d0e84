"""Attacks on what is kept: tokens that end, are revoked, tampered with, or lose their key; and none is ever seen."""

import asyncio
import logging
import os
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.google.adversary import DATA, MAIL, Den, begun, den, world
from tests.http.google_site import CLIENT, connect
from tests.waiting import HANG_SECONDS

from pollux.bootstrap import new_seal_key, seal_keys
from pollux.config import ConfigError, read_settings
from pollux.emulator.workspace import Workspace, run_workspace


def database(here: Den) -> sqlite3.Connection:
    return sqlite3.connect(here.settings.home / "pollux.db", timeout=HANG_SECONDS, isolation_level=None)


async def sends(here: Den) -> dict[str, Any]:
    """Ada asks and approves; how the run stands then."""
    asked = await here.asked(here.ada)
    if not asked["approvals"]:
        return asked
    return (await here.ada.resolve(asked["approvals"][0]["id"])).body["run"]


async def test_a_token_that_ends_between_approval_and_sending_is_renewed(tmp_path: Path):
    async with world(tmp_path) as here:
        asked = await here.asked(here.ada)
        here.workspace.grants.expire()
        got = await here.ada.resolve(asked["approvals"][0]["id"])
        assert got.body["run"]["status"] == "completed"
        assert len(here.workspace.ledger) == 1


async def test_two_servers_that_renew_at_once_both_send(tmp_path: Path):
    async with world(tmp_path) as here, den(tmp_path, here.workspace) as second:
        runs = [await each.asked(each.ada) for each in (here, second)]
        here.workspace.grants.expire()
        answers = await asyncio.gather(
            *(each.ada.resolve(run["approvals"][0]["id"]) for each, run in zip((here, second), runs, strict=True))
        )
        assert [got.body["run"]["status"] for got in answers] == ["completed", "completed"]
        assert len(here.workspace.ledger) == 2
        assert (await second.connected(second.ada))["connected"] is True


async def test_access_that_was_revoked_at_google_is_asked_for_again_and_then_serves(tmp_path: Path):
    async with world(tmp_path) as here:
        for grant in here.workspace.grants.grants.values():
            grant.alive = False
        here.workspace.grants.grants.clear()
        run = await sends(here)
        assert (run["status"], run["errorCode"], run["connectUrl"]) == (
            "failed", "auth_error", "/api/google/connect?tools=gmail_send",
        )  # fmt: skip
        assert (await here.connected(here.ada))["connected"] is False
        await connect(here.ada, here.workspace)
        assert (await sends(here))["status"] == "completed"
        assert len(here.workspace.ledger) == 1


async def test_a_token_endpoint_that_is_down_ends_nothing_for_good(tmp_path: Path):
    async with world(tmp_path) as here:
        here.workspace.grants.expire()
        here.workspace.fault("503", path="/token")
        run = await sends(here)
        assert run["status"] in ("completed", "failed")
        assert here.workspace.ledger == []
        assert (await here.connected(here.ada))["connected"] is True
        here.workspace.faults.rules.clear()
        assert (await sends(here))["status"] == "completed"
        assert len(here.workspace.ledger) == 1


def changed(blob: bytes) -> list[bytes]:
    """Other bytes that somebody could put in their place."""
    flipped = [blob[:at] + bytes([blob[at] ^ 1]) + blob[at + 1 :] for at in (0, 1, 9, 21, len(blob) - 1)]
    return [b"", blob[:5], blob[:-1], blob[:21], blob + b"x", b"\x00" * len(blob), os.urandom(40), *flipped]


async def test_bytes_that_were_tampered_with_open_for_nobody_and_can_be_replaced(tmp_path: Path):
    async with world(tmp_path) as here:
        books = database(here)
        ((blob,),) = books.execute("select sealed from secrets").fetchall()
        for other in changed(blob):
            books.execute("update secrets set sealed = ?", (other,))
            status = await here.connected(here.ada)
            assert (status["connected"], bool(status["problem"])) == (False, True), other
            assert (await sends(here))["actions"] == []
        gone = await here.ada.post("/api/google/disconnect")
        assert (gone.status, gone.body["wasConnected"], gone.body["atGoogle"]) == (200, True, False)
        await connect(here.ada, here.workspace)
        assert (await sends(here))["status"] == "completed"
        books.close()


async def test_a_row_that_was_given_to_another_user_opens_for_neither(tmp_path: Path):
    async with world(tmp_path) as here:
        await connect(here.bob, here.workspace, account="bob@example.com")
        books = database(here)
        rows = dict(books.execute("select user, sealed from secrets").fetchall())
        books.execute("update secrets set sealed = ? where user = 'bob'", (rows["ada"],))
        books.execute("update secrets set sealed = ? where user = 'ada'", (rows["bob"],))
        for person in (here.ada, here.bob):
            assert (await here.connected(person))["connected"] is False
        books.close()


async def test_a_lost_key_costs_the_connections_and_nothing_else(tmp_path: Path):
    async with run_workspace() as workspace:
        async with den(tmp_path, workspace) as here:
            await connect(here.ada, workspace)
        (tmp_path / "home" / "seal.key").unlink()
        async with den(tmp_path, workspace) as here:
            status = await here.connected(here.ada)
            assert status["connected"] is False and "key" in status["problem"]
            await connect(here.ada, workspace)
            assert (await sends(here))["status"] == "completed"


# Changing keys.


async def test_keys_can_be_changed_while_runs_are_going_on(tmp_path: Path):
    async with world(tmp_path) as here:
        asked = [await here.asked(here.ada) for _ in range(20)]
        here.workspace.grants.expire()
        resolving = asyncio.gather(*(here.ada.resolve(run["approvals"][0]["id"]) for run in asked))
        for _ in range(2):
            await rotated(tmp_path)
        answers = await resolving
        assert {got.body["run"]["status"] for got in answers} == {"completed"}
        assert len(here.workspace.ledger) == 20
        assert (await here.connected(here.ada))["connected"] is True


async def test_a_server_seals_with_the_new_key_at_once_also_for_somebody_new(tmp_path: Path):
    async with run_workspace() as workspace, den(tmp_path, workspace) as here:
        await rotated(tmp_path)
        await connect(here.bob, workspace, account="bob@example.com")
        # Whoever stole the former key reads nothing that came after it.
        (here.settings.home / "seal.key.1").unlink()
        async with den(tmp_path, workspace) as later:
            assert (await later.connected(later.bob))["connected"] is True


@pytest.mark.parametrize("name", ["seal.key.1.2dc53d3e805c", "seal.key.2dc53d3e805c", "seal.key.123456789012"])
async def test_what_a_killed_change_of_keys_left_behind_keeps_nobody_from_starting(tmp_path: Path, name: str):
    async with world(tmp_path) as here:
        (here.settings.home / name).write_bytes(b"half of it")
        async with den(tmp_path, here.workspace) as again:
            assert (await again.connected(again.ada))["connected"] is True
        await rotated(tmp_path)
        assert (await here.connected(here.ada))["connected"] is True


async def test_with_a_key_from_the_environment_whoever_changes_it_hears_that_servers_must_start_again(tmp_path: Path):
    first, second = {"POLLUX_SEAL_KEY": "a" * 32}, {"POLLUX_SEAL_KEY": "b" * 32, "POLLUX_OLD_SEAL_KEYS": "a" * 32}
    async with world(tmp_path, environ=first) as here:
        command = [sys.executable, "-m", "pollux.cli", "keys", "reseal"]
        environ = {**bare(tmp_path), **second}
        done = await asyncio.to_thread(subprocess.run, command, env=environ, capture_output=True, text=True)
        assert done.returncode == 0 and "start it again" in done.stderr, done
        assert (await here.connected(here.ada))["problem"]
        async with den(tmp_path, here.workspace, environ=second) as again:
            assert (await again.connected(again.ada))["connected"] is True


KILLED = """
import os, signal, sys
from pathlib import Path
from pollux.bootstrap import new_seal_key, seal_keys
from pollux.config import read_settings
from pollux.tools.google.seal import Sealer

home = Path(sys.argv[1])
settings = read_settings({"POLLUX_HOME": str(home)}, cwd=home)
left = 0

def counted(real):
    # It may die before it has done this, and after.
    def step(*given, **named):
        one_less()
        result = real(*given, **named)
        one_less()
        return result
    return step

def one_less():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def changed(step):
    global left
    left = step
    for name in ("open", "fdopen", "fsync", "link", "unlink", "replace"):
        setattr(os, name, counted(getattr(os, name)))
    new_seal_key(settings)
    os._exit(0)

sealed, step, ended = [], 0, None
while ended != 0:
    step += 1
    sealed.append(Sealer(seal_keys(settings)).sealed(b"kept", user="ada", name="google"))
    child = os.fork()
    if child == 0:
        changed(step)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert ended in (0, -9), ended
    sealer = Sealer(seal_keys(settings))
    assert [sealer.opened(blob, user="ada", name="google") for blob in sealed] == [b"kept"] * len(sealed)
print(step - 1)
"""


def test_a_change_of_keys_that_is_killed_at_any_step_loses_nothing(tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir()
    command = [sys.executable, "-c", KILLED, str(home)]
    ended = subprocess.run(command, env=bare(tmp_path), capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) >= 12


def test_several_who_change_keys_at_once_lose_none_of_them(tmp_path: Path):
    found = read_settings({"POLLUX_HOME": str(tmp_path)}, cwd=tmp_path)
    seal_keys(found)
    with ThreadPoolExecutor(8) as threads:
        kept = list(threads.map(new_seal_key, [found] * 40))
    # Each one puts a former key aside: the first, and every one that was there for a moment.
    assert len({path.read_bytes() for path in kept}) == len(set(kept)) == 40


@pytest.mark.parametrize("old", ["short", "x" * 16 + ",short", "é" * 4])
def test_old_keys_that_are_too_short_are_refused_and_not_repeated(tmp_path: Path, old: str):
    environ = {"POLLUX_HOME": str(tmp_path), "POLLUX_SEAL_KEY": "s" * 32, "POLLUX_OLD_SEAL_KEYS": old}
    with pytest.raises(ConfigError) as told:
        seal_keys(read_settings(environ, cwd=tmp_path))
    assert not any(key in str(told.value) for key in old.split(","))


@pytest.mark.parametrize(("old", "count"), [(",", 1), (" ,,, ", 1), (" , " + "k" * 20 + " ,", 2)])
def test_old_keys_that_are_nothing_are_left_out(tmp_path: Path, old: str, count: int):
    environ = {"POLLUX_HOME": str(tmp_path), "POLLUX_SEAL_KEY": "s" * 32, "POLLUX_OLD_SEAL_KEYS": old}
    found = seal_keys(read_settings(environ, cwd=tmp_path))
    assert (len(found), found[0]) == (count, b"s" * 32)


async def test_what_holds_keys_or_tokens_is_for_its_owner_alone(tmp_path: Path):
    async with world(tmp_path) as here:
        await rotated(tmp_path)
        for path in (here.settings.home, *here.settings.home.iterdir()):
            if path.name.startswith(("seal", "audit.key", "token", "pollux.db", "home")):
                assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


async def rotated(path: Path) -> None:
    command = [sys.executable, "-m", "pollux.cli", "keys", "rotate"]
    done = await asyncio.to_thread(subprocess.run, command, env=bare(path), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def bare(path: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(path), "POLLUX_HOME": str(path / "home")}


# Nothing of it is ever seen.


def secrets_of(workspace: Workspace) -> set[str]:
    grants: Any = workspace.grants
    return {*grants._access, *grants._refresh, CLIENT["POLLUX_GOOGLE_CLIENT_SECRET"]}


async def test_no_token_code_or_secret_is_in_logs_answers_files_or_the_audit(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    said: list[str] = []
    async with world(tmp_path) as here:
        known = secrets_of(here.workspace)
        tab = await begun(here, here.ada)
        known |= {each[0] for each in map(parse_qs(urlsplit(tab.target).query).__getitem__, ("code", "state"))}
        said.append(str(await tab.comes_back(here.site.nobody)))
        said.append(str(await tab.comes_back(here.site.nobody)))
        said.append(str(await sends(here)))
        for fault, path in (("401", "/gmail/"), ("403", "/gmail/"), ("500", "/token"), ("400", "/token")):
            here.workspace.grants.expire()
            here.workspace.fault(fault, path=path, times=1)
            said.append(str(await sends(here)))
            known |= secrets_of(here.workspace)
        await connect(here.ada, here.workspace)
        known |= secrets_of(here.workspace)
        for row in (await here.ada.get("/api/agent/runs")).body["items"]:
            said.append(str((await here.ada.get(f"/api/agent/runs/{row['runId']}")).body))
            said.append(str(await here.ada.lines("GET", f"/api/agent/runs/{row['runId']}/events")))
        for page in ("google/status", "agent/audit", "agent/grants", "agent/approvals/pending", "session"):
            said.append(str((await here.ada.get(f"/api/{page}", headers=DATA)).body))
        command = [sys.executable, "-m", "pollux.cli", "audit", "export"]
        exported = await asyncio.to_thread(subprocess.run, command, env=bare(tmp_path), capture_output=True, text=True)
        assert exported.returncode == 0 and "connected" in exported.stdout, exported
        said += [exported.stdout, exported.stderr]
    assert len(known) > 6
    kept = b"".join(path.read_bytes() for path in (tmp_path / "home").iterdir() if path.is_file())
    for secret in known:
        assert secret not in caplog.text, secret
        assert not any(secret in each for each in said), secret
        assert secret.encode() not in kept, secret
    assert MAIL["subject"] not in caplog.text
