"""What one PostgreSQL allows on this machine, for docs/concepts/growth.md and docs/guides/deploy.md. About two minutes.

.venv/bin/python -m tests.stores.limits_bench

Server and clients share the machine's cores, and the processor is what they run out of: what is worth comparing are the
ratios. A slower disk is played by a pause in each transaction, behind its locks and before its COMMIT.
"""

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path

import psycopg
from tests.dispatch.queue_lab import opened
from tests.stores.postgres import Cluster, own_cluster
from tests.stores.postgres_worker import store_at

from pollux.core.ids import UserId
from pollux.core.run import Run
from pollux.engine.engine import Engine, Start
from pollux.engine.model import ModelRequest
from pollux.engine.ports import AuditFact, Change
from pollux.engine.system import SystemClock
from pollux.providers.scripted import Answer, ScriptedProvider, call, reply
from pollux.stores.postgres.scopes import Statement
from pollux.testing.dispatcher_suite import mail
from pollux.testing.store_lab import NOON, Story, grant

PROCESSES = 4
SECONDS = 4.0
RUNS = 1000
AT_ONCE = 20
ADA = UserId("ada")


def main() -> None:
    with own_cluster() as cluster:
        print(f"one fsync of the log: {_fsync(cluster):.2f} ms")
        for pause in (0, 5):
            for writers in (1, 4, 16):
                with cluster.database() as url:
                    began, plain, audited = _commits(url, writers, pause)
                print(
                    f"{writers:>2} writers, {pause} ms more: {began:>5.0f} runs begun/s,"
                    f" {plain:>5.0f} small commits/s, {audited:>5.0f} with the audit",
                    flush=True,
                )
        with cluster.database() as url:
            print(f"notices alone, 16 clients: {_notices(cluster, url):.0f}/s")
        for name, is_asked in (("an answer alone", False), ("one approved action", True)):
            with cluster.database() as url:
                asyncio.run(_cost(cluster, url, name, is_asked=is_asked))


# Commits.


def _commits(url: str, writers: int, pause: int) -> list[float]:
    """A second: runs begun, which touch no audit; one grant noted; and the same with an entry of the audit."""
    processes = min(writers, PROCESSES)
    words = [sys.executable, "-m", "tests.stores.limits_bench", url, str(writers // processes), str(pause)]
    made = [subprocess.Popen([*words, str(number)], stdout=subprocess.PIPE, text=True) for number in range(processes)]
    told = [process.communicate(timeout=300)[0].split() for process in made]
    return [sum(map(float, figures)) for figures in zip(*told, strict=True)]


async def write(url: str, writers: int, pause: int, prefix: str) -> None:
    """One process of several."""

    def beside(change: Change) -> Iterable[Statement]:
        return [(b"SELECT pg_sleep(%s)", (pause / 1000,))] if pause else []

    store = store_at(url, connections=writers, beside=beside)
    await store.open()

    async def begin(name: str) -> None:
        await Story(name).start(store)

    async def note(name: str) -> None:
        await store.commit(Change(grants=(grant(name),)))

    async def note_and_audit(name: str) -> None:
        await store.commit(Change(grants=(grant(f"{name}a"),), audit=(AuditFact(NOON, "granted", "ada"),)))

    print(*[await _rate(work, writers, prefix) for work in (begin, note, note_and_audit)])
    await store.close()


async def _rate(work: Callable[[str], Awaitable[None]], writers: int, prefix: str) -> float:
    begun = time.monotonic()

    async def go_on(writer: int) -> int:
        count = 0
        while time.monotonic() - begun < SECONDS:
            await work(f"{prefix}w{writer}n{count}")
            count += 1
        return count

    counts = await asyncio.gather(*(go_on(writer) for writer in range(writers)))
    return sum(counts) / (time.monotonic() - begun)


# What lies beneath.


def _fsync(cluster: Cluster) -> float:
    """How long the disk takes for one write of the log."""
    said = _program(cluster, "pg_test_fsync", "-s", "1", "-f", f"{cluster.folder}/fsync")
    found = re.search(r"fdatasync\s+([\d.]+) ops/sec", said)
    assert found, said
    return 1000 / float(found[1])


def _notices(cluster: Cluster, url: str) -> float:
    script = Path(cluster.folder) / "notify.sql"
    script.write_text("SELECT pg_notify('pollux_changes', 'x');\n")
    words = ["-n", "-c", "16", "-j", "2", "-T", str(int(SECONDS)), "-f", str(script), url]
    found = re.search(r"tps = ([\d.]+)", _program(cluster, "pgbench", *words))
    assert found
    return float(found[1])


def _program(cluster: Cluster, name: str, *words: str) -> str:
    before = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    [program] = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))[-1:]
    done = subprocess.run([*before, program, *words], cwd="/", capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


# What a run costs.


async def _cost(cluster: Cluster, url: str, name: str, *, is_asked: bool) -> None:
    """Runs through a server and a worker: what the database keeps and writes for each."""
    tool = mail()

    async def answered(request: ModelRequest) -> Answer:
        # Many are under way: what comes next is known by what was said last.
        if is_asked and len(request.turns) == 1:
            return call("send_mail", {"to": "bob@example.org", "body": "It is ready."})
        return reply("I sent the report to Bob.")

    script = ScriptedProvider(*[answered] * 2 * RUNS)
    server, _ = await opened(url, SystemClock(), script, [tool])
    worker, _ = await opened(url, SystemClock(), script, [tool], concurrency=AT_ONCE)
    at_once = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> None:
        async with at_once:
            await _run(server, number, is_asked=is_asked)

    before = _measured(cluster, url)
    await asyncio.gather(*map(one, range(RUNS)))
    after = _measured(cluster, url)
    await worker.close()
    await server.close()
    names = ("transactions", "WAL bytes", "table and index bytes", "ms of CPU in PostgreSQL", "ms in server and worker")
    each = [f"{(now - then) / RUNS:.1f} {name}" for now, then, name in zip(after, before, names, strict=True)]
    print(f"a run with {name}: {', '.join(each)}")


async def _run(server: Engine, number: int, *, is_asked: bool) -> Run:
    run = await server.start(Start(f"email Bob the report number {number}", user=ADA))
    run = await server.wait_settled(run.id)
    if is_asked:
        [approval] = [each for each in run.approvals if each.is_open]
        await server.resolve(approval.id, "approved", by=ADA)
        run = await server.wait_settled(run.id)
    assert run.ending, run
    return run


def _measured(cluster: Cluster, url: str) -> Sequence[float]:
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("SELECT pg_stat_clear_snapshot()")
        row = db.execute("""
            SELECT xact_commit, pg_current_wal_lsn() - '0/0'::pg_lsn, (
                SELECT sum(pg_total_relation_size(pg_class.oid)) FROM pg_class
                JOIN pg_namespace ON pg_namespace.oid = relnamespace
                WHERE nspname = 'pollux' AND relkind = 'r' AND relname NOT LIKE 'procrastinate%'
            ) FROM pg_stat_database WHERE datname = current_database()
        """).fetchone()
    assert row
    return *map(float, row), _cpu(cluster), time.process_time() * 1000


def _cpu(cluster: Cluster) -> float:
    """Milliseconds of all the server's processes, those that have ended too."""
    main = int((cluster.folder / "data/postmaster.pid").read_text().split()[0])
    total = 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(entry.parent.name) == main:
            total += sum(map(int, fields[11:15]))
        elif int(fields[1]) == main:
            total += sum(map(int, fields[11:13]))
    return total * 1000 / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        place, count, pause, prefix = sys.argv[1:]
        asyncio.run(write(place, int(count), int(pause), f"p{prefix}"))
    else:
        main()
