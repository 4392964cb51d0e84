"""A backup is put back. What happened since is in no journal, so nothing of it may happen again by itself."""

import json
import shutil
import sqlite3
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest
from tests.attack.restored import ADA, Database, Files, Site, World, load, question_of, running, settled
from tests.cli.store_bench import Place, place
from tests.engine.builders import KEY, ask, store_of
from tests.http.site import site
from tests.stores.postgres import fresh_database
from tests.waiting import until

from pollux.core.errors import Misfit, StoreError, StoreRestored
from pollux.core.ids import GrantId, UserId
from pollux.core.policy import Grant
from pollux.engine.adoption import adopt, doubtful
from pollux.engine.engine import Engine
from pollux.engine.ports import AuditFact, Change
from pollux.stores.sqlite import SqliteStore
from pollux.testing import reply, scripted

__all__ = ["place"]

NOW = 2_000_000_000.0


async def _nothing_repeats(site: Site, *, runs: int, backups: int, seed: int) -> None:
    world = World()
    await load(site, world, runs=runs, backups=backups, seed=seed)
    before, seen = world.done.copy(), 0
    for number in range(backups):
        site.restore(number)
        async with running(site.store(), world) as engine:
            await engine.recover()
            seen += await _is_safe(engine)
        assert world.done == before, f"backup {number} repeated {world.done - before}"
        store = site.store()
        await store.open()
        await adopt(store, by="root", at=NOW)
        assert (await store.verify_audit()).problems == ()
        await store.close()
        async with running(site.store(), world) as engine:
            await engine.recover()
            rested = await settled(engine)
            assert world.done == before, f"backup {number} repeated {world.done - before} after it was adopted"
            for run in rested:
                assert all("may have been done" in approval.reason for approval in run.approvals), run.approvals
            # Whoever approves now was asked, and knows: what follows in the same run is asked about again.
            await _approve_one(engine, world)
    assert seen, "no backup caught a run that was under way"
    assert world.looks


async def _is_safe(engine: Engine) -> int:
    """Nothing starts, nothing is approved; everything can be read."""
    with pytest.raises(StoreRestored):
        await ask(engine, "99 once")
    rows = [row for row in await engine.queries.runs(ADA, limit=1_000) if row.status not in ("completed", "failed")]
    for row in await engine.queries.approvals(ADA, limit=100):
        with pytest.raises(StoreRestored):
            await engine.resolve(question_of(row), "approved", by="ada")
    with pytest.raises(StoreRestored):
        await engine.check_store(5)
    return len(rows)


async def _approve_one(engine: Engine, world: World) -> None:
    for row in await engine.queries.approvals(ADA, limit=1):
        before = world.done.total()
        await engine.resolve(question_of(row), "approved", by="ada")
        await settled(engine)
        assert world.done.total() <= before + 1
        # That one was a person's choice: the world is as it was for the next backup.
        world.done.subtract(world.done - type(world.done)(dict.fromkeys(world.done, 1)))


async def test_a_restored_file_repeats_nothing_unasked(tmp_path: Path):
    await _nothing_repeats(Files(tmp_path), runs=12, backups=10, seed=22)


@pytest.mark.slow
async def test_a_restored_database_repeats_nothing_unasked(tmp_path: Path):
    with fresh_database() as url:
        await _nothing_repeats(Database(url, tmp_path), runs=12, backups=10, seed=22)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
async def test_a_hundred_backups_repeat_nothing_unasked(tmp_path: Path, seed: int):
    await _nothing_repeats(Files(tmp_path), runs=24, backups=10, seed=seed)


async def test_every_command_says_that_the_store_was_restored_until_somebody_adopts_it(place: Place, tmp_path: Path):
    asked = await place.waiting()
    shutil.copytree(place.store.parent, tmp_path / "backup")
    await place.waiting()
    shutil.rmtree(place.store.parent)
    shutil.copytree(tmp_path / "backup", place.store.parent)

    answered = place.process("approvals", "approve", asked, GEMINI_API_KEY="key")
    told = json.loads(answered.stdout)
    assert (answered.returncode, told["code"]) == (1, "store_restored")
    assert "`pollux store adopt`" in told["error"] and str(place.home) not in told["error"]
    assert [each["id"] for each in place.data("approvals", "list", "--json")["items"]] == [asked]
    assert place.pollux("store", "status").returncode == 1
    assert "pollux store adopt" in place.pollux("doctor").stdout
    assert place.pollux("audit", "verify").returncode == 0, "a copy may be whole"

    [run] = json.loads(place.pollux("store", "adopt", "--dry-run", "--json").stdout)["runs"]
    assert [(action["tool"], action["repeat"], action["fate"]) for action in run["actions"]] == [
        ("send", "once", "asked")
    ]
    assert place.process("store", "adopt").returncode == 2, "nobody was there to be asked"
    assert place.pollux("store", "status").returncode == 1
    assert place.pollux("store", "adopt", "--yes").returncode == 0

    assert place.data("store", "status", "--json")["restored"] is False
    assert place.pollux("audit", "verify").returncode == 0
    adopted = place.data("audit", "list", "--json")["items"][-1]
    assert (adopted["kind"], "goes on after entry 1" in adopted["message"]) == ("adopted", True)
    [question] = place.data("approvals", "list", "--json")["items"]
    assert "may have been done already" in question["reason"]
    assert place.pollux("store", "adopt", "--yes").stderr.startswith("pollux: the store is the one that was here last")


async def test_a_server_on_a_restored_store_reads_and_is_not_ready_until_it_is_adopted(tmp_path: Path):
    files, world = Files(tmp_path), World()
    await load(files, world, runs=3, backups=1, seed=1)
    files.restore(0)
    async with site(tmp_path, scripted(reply("done")), tools=world.tools(), store=files.store()) as server:
        ready = await server.nobody.get("/readyz")
        assert (ready.status, ready.code) == (503, "store_restored")
        assert str(tmp_path) not in ready.body["error"]["message"]
        refused = await server.ada.post("/api/agent/run", {"prompt": "once more"})
        assert (refused.status, refused.code) == (503, "store_restored")
        assert (await server.ada.get("/api/agent/runs")).status == 200

        other = files.store()
        await other.open()
        await adopt(other, by="root", at=NOW)
        await other.close()
        assert (await server.nobody.get("/readyz")).status == 200
        assert (await server.ada.run("once more"))["status"] == "completed"


async def test_a_store_that_was_moved_is_trusted_and_its_copy_is_not(tmp_path: Path):
    files = Files(tmp_path)
    await load(files, World(), runs=2, backups=0, seed=1)
    shutil.copytree(files.folder, tmp_path / "copy")
    files.folder.rename(tmp_path / "moved")
    # Its heads are named after the place where it lay.
    (tmp_path / "moved" / "audit-heads.jsonl").rename(tmp_path / "moved" / "audit-heads.0123.jsonl")
    assert await _why(tmp_path / "moved") == ""
    assert (tmp_path / "moved" / "audit-heads.jsonl").exists()
    assert await _why(tmp_path / "copy") == "it does not lie where it was written last"
    # To take the heads away does not help, nor does opening it once more.
    (tmp_path / "copy" / "audit-heads.jsonl").unlink()
    assert await _why(tmp_path / "copy")


async def test_a_store_whose_heads_are_gone_is_in_doubt_and_the_audit_names_it(tmp_path: Path):
    files = Files(tmp_path)
    await load(files, World(), runs=1, backups=0, seed=1)
    files.heads.unlink()
    store = files.store()
    await store.open()
    try:
        assert "signed heads is missing" in await store.restored()
        [problem] = (await store.verify_audit()).problems
        assert problem.startswith("lost heads: there are ")
        with pytest.raises(StoreRestored):
            await store.commit(Change(audit=(AuditFact(NOW, "approved", "eve"),)))
    finally:
        await store.close()


async def test_an_adoption_that_was_stopped_in_the_middle_leaves_the_store_in_doubt(tmp_path: Path):
    files, world = Files(tmp_path), World()
    await load(files, world, runs=4, backups=2, seed=3)
    files.restore(0)
    store = files.store()
    await store.open()
    await store.begin_lineage()
    await store.close()
    store = files.store()
    await store.open()
    assert await store.restored()
    found = await doubtful(store)
    assert await adopt(store, by="root", at=NOW) == len(found)
    assert (await store.verify_audit()).problems == ()
    with pytest.raises(Misfit):
        await adopt(store, by="root", at=NOW)
    await store.close()


@pytest.mark.parametrize("kind", ["files", pytest.param("database", marks=pytest.mark.slow)])
async def test_a_grant_that_was_revoked_after_the_backup_allows_nothing_once_adopted(tmp_path: Path, kind: str):
    with ExitStack() as stack:
        site_: Site = Files(tmp_path)
        if kind == "database":
            site_ = Database(stack.enter_context(fresh_database()), tmp_path)
        grants = [Grant(GrantId(f"gnt_{who}"), UserId(who), "once", "bob", "always", NOW) for who in ("ada", "bob")]
        store = site_.store()
        await store.open()
        await store.commit(Change(grants=tuple(grants), audit=(AuditFact(NOW, "approved", "ada"),)))
        await store.close()
        site_.back_up(2)
        store = site_.store()
        await store.open()
        revoked = Change(revoked=(grants[0].id,), audit=(AuditFact(NOW, "revoked", "ada"),))
        await store.commit(revoked)
        await store.close()
        site_.restore(2)
        store = site_.store()
        await store.open()
        assert [grant.id for grant in await store.grants(None)] == ["gnt_ada", "gnt_bob"]
        await adopt(store, by="root", at=NOW)
        assert not await store.grants(None)
        told = [(entry.kind, entry.user, entry.by) for entry in await store.audit()]
        assert told[-2:] == [("revoked", "ada", "root"), ("revoked", "bob", "root")]
        assert (await store.verify_audit()).problems == ()
        await store.close()


async def _why(folder: Path) -> str:
    store = SqliteStore(folder / "pollux.db", key=KEY, heads=folder / "audit-heads.jsonl")
    await store.open()
    try:
        return await store.restored()
    finally:
        await store.close()


@pytest.mark.parametrize("kind", ["files", pytest.param("database", marks=pytest.mark.slow)])
async def test_a_store_that_is_put_back_under_a_running_server_is_not_driven(tmp_path: Path, kind: str):
    with ExitStack() as stack:
        site_: Site = Files(tmp_path)
        if kind == "database":
            site_ = Database(stack.enter_context(fresh_database()), tmp_path)
        world = World()
        async with running(site_.store(), world) as engine:
            await ask(engine, "1 once")
            asked = question_of((await until(lambda: engine.queries.approvals(ADA)))[0])
            site_.back_up(1)
            await engine.resolve(asked, "approved", by="ada")
            await until(lambda: world.done["1b"])
            if isinstance(site_, Files):
                # As `sqlite3 pollux.db ".restore backup.db"` does it.
                backup = sqlite3.connect(tmp_path / "backups/1/pollux.db")
                with closing(backup), closing(sqlite3.connect(site_.path)) as here:
                    backup.backup(here)
            else:
                site_.restore(1)
            with suppress(StoreError, Misfit):
                await engine.resolve(asked, "approved", by="ada")
            with suppress(StoreError):
                await engine.recover()
            with pytest.raises(StoreRestored):
                await store_of(engine).commit(Change(audit=(AuditFact(NOW, "approved", "ada"),)))
            with pytest.raises(StoreRestored):
                await ask(engine, "2 once")
            assert world.done == {"1a": 1, "1b": 1}
        store = site_.store()
        await store.open()
        assert await store.restored()
        await store.close()
