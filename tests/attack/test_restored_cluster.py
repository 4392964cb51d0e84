"""A server's whole data is put back or copied. Nothing in it tells, so only what remembers it lets it act again."""

import shutil
from collections.abc import Generator
from pathlib import Path

import psycopg
import pytest
from tests.cli.store_bench import Place, place
from tests.engine.builders import KEY
from tests.stores.postgres import copied, fresh_database, own_cluster

from pollux.core.errors import UNREMEMBERED, Misfit, StoreRestored
from pollux.core.ids import GrantId, UserId
from pollux.core.policy import Grant
from pollux.engine.adoption import adopt, confirm
from pollux.engine.ports import AuditFact, Change
from pollux.stores.postgres.store import PostgresStore
from pollux.witness import to_file

__all__ = ["place"]

NOW = 2_000_000_000.0


@pytest.fixture
def url() -> Generator[str]:
    with fresh_database() as address:
        yield address


@pytest.mark.slow
async def test_data_that_are_put_back_act_nowhere_also_where_nobody_remembers_them(tmp_path: Path):
    with own_cluster() as cluster, cluster.database() as url:
        assert await _write(url, tmp_path / "a", 1) == ""
        cluster.stop("fast")
        shutil.copytree(cluster.folder / "data", tmp_path / "backup", symlinks=True)
        cluster.start()
        assert await _write(url, tmp_path / "a", 1) == "", "the host that remembers all of it goes on"
        assert await _why(url, tmp_path / "b") == "", "and the others with it"

        idle = PostgresStore(url, key=KEY, heads=tmp_path / "idle")
        await idle.open()
        cluster.stop("fast")
        cluster.put(tmp_path / "backup")
        cluster.start()
        with pytest.raises(StoreRestored):
            await idle.commit(_change())
        await idle.close()
        for home in ("b", "c"):
            assert UNREMEMBERED in await _write(url, tmp_path / home, 1)
            assert not (tmp_path / home).exists(), "it vouches for nothing"
        assert await _why(url, tmp_path / "a") == "its signed heads reach entry 2, which it does not hold"
        # Now everybody knows for certain.
        assert await _why(url, tmp_path / "c") == "its signed heads reach entry 2, which it does not hold"
        await _adopt(url, tmp_path / "c")
        for home in ("a", "b", "c"):
            assert await _write(url, tmp_path / home, 1) == ""
        cluster.stop("fast")
        cluster.start()
        assert UNREMEMBERED in await _why(url, tmp_path / "new")
        assert await _why(url, tmp_path / "c") == ""
        assert await _why(url, tmp_path / "new") == ""


@pytest.mark.slow
async def test_a_copied_server_acts_nowhere_also_beside_the_one_that_it_was_copied_from(tmp_path: Path):
    with own_cluster() as cluster, cluster.database() as url:
        await _write(url, tmp_path / "a", 1)
        with copied(cluster) as copy:
            there = url.replace(str(cluster.folder), str(copy.folder))
            # The heads of the first host are named after the address of the original.
            assert UNREMEMBERED in await _why(there, tmp_path / "a of the copy")
            assert await _write(url, tmp_path / "a", 1) == ""
            # A host whose address leads to the copy.
            assert await _why(there, tmp_path / "a") == "its signed heads reach entry 2, which it does not hold"


async def test_a_host_without_heads_waits_for_one_that_has_them_and_says_how(url: str, tmp_path: Path):
    await _write(url, tmp_path / "a", 2)
    _restart(url)
    waiting = PostgresStore(url, key=KEY, heads=tmp_path / "b")
    await waiting.open()
    with pytest.raises(StoreRestored, match="`pollux store adopt`"):
        await waiting.commit(_change())
    assert await waiting.sign_head() == "", "it vouches for nothing"
    assert await _why(url, tmp_path / "a") == ""
    await waiting.commit(_change())
    await waiting.close()


async def test_a_person_can_say_that_nothing_was_put_back_where_no_host_remembers(url: str, place: Place):
    store = PostgresStore(url, key=KEY)
    await store.open()
    grant = Grant(GrantId("gnt_1"), UserId("ada"), "send", "bob", "always", NOW)
    await store.commit(Change(grants=(grant,), audit=(AuditFact(NOW, "approved", "ada"),)))
    _know_key(place)
    _restart(url)

    known = place.pollux("store", "status", "--store", url)
    assert (known.returncode, known.stdout.splitlines()[1].split(":")[0]) == (1, "in doubt")
    assert "`pollux store trust` if no backup was put back" in known.stderr
    assert "a client repeats" in place.pollux("store", "adopt", "--dry-run", "--store", url).stdout
    assert place.process("store", "trust", "--store", url).returncode == 2, "nobody was there to be asked"
    assert place.pollux("store", "trust", "--yes", "--store", url).returncode == 0
    assert place.data("store", "status", "--json", "--store", url)["restored"] is False
    [_, entry] = await store.audit()
    assert (entry.kind, entry.by, await store.grants(None)) == ("trusted", entry.user, [grant])
    assert place.pollux("store", "trust", "--store", url).stderr == "pollux: the store is trusted already\n"
    await store.close()


async def test_what_is_known_to_be_put_back_can_only_be_adopted(url: str, place: Place):
    _know_key(place)
    await _write(url, place.cwd / "a", 1)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("INSERT INTO pollux.meta VALUES ('restored', 'tried out')")
    refused = place.pollux("store", "trust", "--yes", "--store", url)
    assert (refused.returncode, "can only be adopted" in refused.stderr) == (1, True)
    store = PostgresStore(url, key=KEY, heads=place.cwd / "a")
    await store.open()
    with pytest.raises(Misfit):
        # Somebody else has found that out since the person was asked.
        await confirm(store, by="root", at=NOW)
    await store.close()


async def test_heads_elsewhere_are_a_memory_too(url: str, tmp_path: Path):
    await _write(url, tmp_path / "a", 1)
    store = PostgresStore(url, key=KEY, heads=tmp_path / "a")
    await store.open()
    await to_file(tmp_path / "elsewhere")(await store.sign_head())
    await store.close()
    _restart(url)
    assert await _why(url, tmp_path / "new") != ""
    assert await _why(url, tmp_path / "new", elsewhere=tmp_path / "elsewhere") == ""


@pytest.mark.parametrize(("seconds", "is_trusted"), [(240, True), (400, False)])
async def test_a_memory_may_miss_the_last_minutes_and_no_more(url: str, tmp_path: Path, seconds: int, is_trusted: bool):
    await _write(url, tmp_path / "a", 1, at=NOW - 10_000)
    shutil.copy(tmp_path / "a", tmp_path / "old")
    await _write(url, tmp_path / "a", 1, at=NOW)
    await _write(url, tmp_path / "a", 1, at=NOW + seconds)
    _restart(url)
    store = PostgresStore(url, key=KEY, heads=tmp_path / "old")
    await store.open()
    assert (await store.restored() == "") == is_trusted
    assert (await store.verify_audit()).problems == (), "nothing shows that the audit was changed"
    await store.close()


async def test_heads_of_a_life_that_was_left_are_no_memory(url: str, tmp_path: Path):
    await _write(url, tmp_path / "a", 2)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("INSERT INTO pollux.meta VALUES ('restored', 'tried out')")
    await _adopt(url, tmp_path / "b")
    await _write(url, tmp_path / "b", 1, at=NOW + 10_000)
    _restart(url)
    assert UNREMEMBERED in await _why(url, tmp_path / "a")
    assert await _why(url, tmp_path / "b") == ""


async def test_no_process_can_vouch_without_the_key(url: str, tmp_path: Path):
    await _write(url, tmp_path / "a", 1)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("UPDATE pollux.meta SET value = repeat('0', 64) WHERE name = 'vouched'")
    assert UNREMEMBERED in await _why(url, tmp_path / "b")


async def test_a_database_without_entries_is_trusted_whenever_its_server_was_started(url: str, tmp_path: Path):
    assert await _why(url, tmp_path / "a") == ""
    _restart(url)
    assert await _write(url, tmp_path / "b", 1) == ""


def _restart(url: str) -> None:
    """As the store sees it: what was vouched for is another life of the server."""
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("DELETE FROM pollux.meta WHERE name = 'vouched'")


def _know_key(place: Place) -> None:
    place.store.parent.mkdir(mode=0o700)
    key = place.store.parent / "audit.key"
    key.touch(mode=0o600)
    key.write_bytes(KEY)


def _change(at: float = NOW) -> Change:
    return Change(audit=(AuditFact(at, "started", "ada"),))


async def _write(url: str, heads: Path, entries: int, at: float = NOW) -> str:
    """Why nothing was written; nothing if it was."""
    store = PostgresStore(url, key=KEY, heads=heads)
    await store.open()
    try:
        for _ in range(entries):
            await store.commit(_change(at))
    except StoreRestored as problem:
        return str(problem)
    finally:
        await store.close()
    return ""


async def _why(url: str, heads: Path, *, elsewhere: Path | None = None) -> str:
    store = PostgresStore(url, key=KEY, heads=heads, elsewhere=elsewhere)
    await store.open()
    try:
        return await store.restored()
    finally:
        await store.close()


async def _adopt(url: str, heads: Path) -> None:
    store = PostgresStore(url, key=KEY, heads=heads)
    await store.open()
    try:
        await adopt(store, by="root", at=NOW)
    finally:
        await store.close()
