"""`make bench-hosts`: a server and workers on PostgreSQL beside the embedded store, in one run.

Every server, worker, the database, the model and the load are processes of their own, held to two cores together. Judge
by the ratios: the milliseconds are this machine's.

throughput   runs per second and CPU per run, of a greeting and of an approved side effect
wakes        from the commit that makes work to the worker that has claimed it
waiting      what 1,000 and 100,000 questions to people cost those who wait
"""

import argparse
import asyncio
import datetime
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import http_places as places
import psycopg
from http_places import TOKENS, Place

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
from tests.stores.postgres import Cluster, own_cluster  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "hosts-speed.md"
AT_ONCE = 32
RUNS, APPROVED, WAKES = 600, 200, 300
FEW, MANY = 1_000, 100_000
SETTLE_SECONDS = 15.0
IDLE_SECONDS = 20.0
LOOKS = 100
EMAIL = "email Bob the report"
TICK = os.sysconf("SC_CLK_TCK")


class Deployment:
    """One server, the workers beside it, and the database's processes if it has some."""

    def __init__(self, name: str, server: Place, workers: list[Place], cluster: Cluster | None, url: str) -> None:
        self.name = name
        self.server = server
        self.workers = workers
        self.url = url
        self._cluster = cluster

    def cpu(self) -> dict[str, float]:
        """Seconds of CPU so far, by the kind of process."""
        spent = {"server": self.server.cpu, "workers": sum(worker.cpu for worker in self.workers), "database": 0.0}
        if self._cluster:
            spent["database"] = _cpu_of_tree(int((self._cluster.folder / "data/postmaster.pid").read_text().split()[0]))
        return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--only", choices=("throughput", "wakes", "waiting"), action="append")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    parts: dict[str, Callable[[int], str]] = {"throughput": throughput, "wakes": wakes, "waiting": waiting}
    tables: list[str] = []
    for name, measure in parts.items():
        if not options.only or name in options.only:
            tables.append(measure(options.reps))
            print(tables[-1], flush=True)
    if options.write:
        PAGE.write_text(page([*_kept(tables), *tables], options.reps), encoding="utf-8")


# The deployments.


@contextmanager
def embedded(model: Place) -> Iterator[Deployment]:
    with places.pollux(model.url) as server:
        yield Deployment("embedded", server, [], None, "")


@contextmanager
def hosts(model: Place, *, workers: int = 1) -> Iterator[Deployment]:
    with own_cluster() as cluster, cluster.database() as url, ExitStack() as stack:
        server = stack.enter_context(places.pollux(model.url, POLLUX_STORE=url))
        # One key for all: it is what makes the processes one deployment.
        home = str(server.folder / "home")
        made = [
            stack.enter_context(places.worker(model.url, POLLUX_STORE=url, POLLUX_HOME=home)) for _ in range(workers)
        ]
        # Until they have been heard of, the server would take jobs too.
        time.sleep(3)
        yield Deployment(f"{workers} worker" + "s" * (workers > 1), server, made, cluster, url)


# Throughput.


def throughput(reps: int) -> str:
    makers: dict[str, Callable[[Place], Any]] = {
        "embedded": embedded,
        "1 worker": hosts,
        "2 workers": lambda model: hosts(model, workers=2),
    }
    found: dict[str, dict[str, list[float]]] = {name: {} for name in makers}
    with places.emulator() as model:
        for rep in range(reps):
            for name in list(makers) if rep % 2 == 0 else list(reversed(makers)):
                with makers[name](model) as deployment:
                    for key, value in asyncio.run(_throughput(deployment)).items():
                        found[name].setdefault(key, []).append(value)
            told(f"throughput: repetition {rep + 1} of {reps}")
    lines = ["### Runs per second and CPU per run\n", "| measure | embedded | 1 worker | ratio | 2 workers | ratio |"]
    lines.append("| --- " * 6 + "|")
    for what, title in (("hello", "a greeting"), ("approved", "an approved side effect")):
        for key, label, unit in (
            ("rate", "runs/s", ""),
            ("cpu", "CPU per run, everything", " ms"),
            ("server", "of it the server", " ms"),
            ("workers", "of it the workers", " ms"),
            ("database", "of it PostgreSQL", " ms"),
        ):
            values = [statistics.median(found[name][f"{what}.{key}"]) for name in makers]
            cells = [f"{value:.3g}{unit}" for value in values]
            ratios = [f"{value / values[0]:.2f} ×" if key in ("rate", "cpu") else "" for value in values[1:]]
            lines.append(f"| {title}, {label} | {cells[0]} | {cells[1]} | {ratios[0]} | {cells[2]} | {ratios[1]} |")
    return "\n".join(lines) + "\n"


async def _throughput(deployment: Deployment) -> dict[str, float]:
    figures: dict[str, float] = {}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        await _many(AT_ONCE, lambda n: _hello(http, deployment, n))
        for what, count, work in (("hello", RUNS, _hello), ("approved", APPROVED, _approved)):
            before, began = deployment.cpu(), time.monotonic()
            await _many(count, lambda n, work=work: work(http, deployment, n))
            seconds = time.monotonic() - began
            spent = {name: value - before[name] for name, value in deployment.cpu().items()}
            figures[f"{what}.rate"] = count / seconds
            figures[f"{what}.cpu"] = sum(spent.values()) / count * 1e3
            figures |= {f"{what}.{name}": value / count * 1e3 for name, value in spent.items()}
    return figures


async def _many(count: int, work: Callable[[int], Any]) -> None:
    numbers = iter(range(count))

    async def client() -> None:
        for number in numbers:
            await work(number)

    await asyncio.gather(*(client() for _ in range(AT_ONCE)))


async def _hello(http: aiohttp.ClientSession, deployment: Deployment, number: int) -> dict[str, Any]:
    run = await _post(http, deployment, number, "/api/agent/run", {"prompt": "hello"})
    assert run["status"] == "completed", run
    return run


async def _approved(http: aiohttp.ClientSession, deployment: Deployment, number: int) -> dict[str, Any]:
    run = await _post(http, deployment, number, "/api/agent/run", {"prompt": EMAIL})
    assert run["status"] == "awaiting_confirmation", run
    answer = {"approvalId": run["approvals"][0]["id"], "decision": "approve_once"}
    run = (await _post(http, deployment, number, "/api/agent/approvals/resolve", answer))["run"]
    assert run["status"] == "completed", run
    return run


async def _post(http: aiohttp.ClientSession, to: Deployment, number: int, path: str, body: Any) -> dict[str, Any]:
    async with http.post(to.server.url + path, json=body, headers=_as_user(number)) as response:
        assert response.status == 200, await response.text()
        return await response.json()


def _as_user(number: int) -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKENS[number % len(TOKENS)]}"}


# Wakes.


def wakes(reps: int) -> str:
    began: list[float] = []
    answered: list[float] = []
    for _ in range(reps):
        with places.emulator() as model, hosts(model) as deployment:
            found = asyncio.run(_wakes(deployment))
            began += found[0]
            answered += found[1]
    return "\n".join([
        "### Wake latency\n",
        "One run at a time; both moments are in the journal, written by one clock.\n",
        "| from | to | p50 | p99 |",
        "| --- " * 4 + "|",
        f"| a run is accepted by a server | a worker has claimed it | {_spread(began)} |",
        f"| a person's answer is written by a server | a worker has claimed the run | {_spread(answered)} |",
        "",
    ])  # fmt: skip


async def _wakes(deployment: Deployment) -> tuple[list[float], list[float]]:
    async with aiohttp.ClientSession() as http:
        runs = [await _approved(http, deployment, number) for number in range(WAKES)]
        began, answered = list[float](), list[float]()
        for number, run in enumerate(runs):
            path = f"/api/agent/runs/{run['runId']}/events"
            async with http.get(deployment.server.url + path, headers=_as_user(number)) as response:
                lines = [json.loads(line) async for line in response.content]
            moments = [(line["type"], line["data"].get("at")) for line in lines if "seq" in line]
            claims = [at for kind, at in moments if kind == "RunClaimed"]
            began.append(claims[0] - next(at for kind, at in moments if kind == "RunStarted"))
            answered.append(claims[1] - next(at for kind, at in moments if kind == "ApprovalResolved"))
    return began, answered


def _spread(values: list[float]) -> str:
    ordered = sorted(values)
    return " | ".join(f"{ordered[int(len(ordered) * part)] * 1e3:.1f} ms" for part in (0.5, 0.99))


# Waiting.


def waiting(reps: int) -> str:
    found: dict[int, dict[str, list[float]]] = {FEW: {}, MANY: {}}
    with places.emulator() as model:
        for rep in range(reps):
            with hosts(model) as deployment:
                for count in (FEW, MANY):
                    for key, value in asyncio.run(_waiting(deployment, count)).items():
                        found[count].setdefault(key, []).append(value)
            told(f"waiting: repetition {rep + 1} of {reps}")
    lines = [f"### {FEW:,} and {MANY:,} questions waiting for people\n", f"| measure | {FEW:,} | {MANY:,} | ratio |"]
    lines.append("| --- " * 4 + "|")
    for key, label, unit in (
        ("rss.server", "memory of the server", " MiB"),
        ("rss.worker", "memory of the worker", " MiB"),
        ("idle.server", "CPU of the idle server, per second", " ms"),
        ("idle.worker", "CPU of the idle worker, per second", " ms"),
        ("idle.database", "CPU of the idle database, per second", " ms"),
        ("idle.statements", "transactions per second, idle", ""),
        ("hello", "a greeting, median", " ms"),
        ("list", "one user's pending list, median", " ms"),
        ("answer", "an answer to its end, median", " ms"),
    ):
        few, many = (statistics.median(found[count][key]) for count in (FEW, MANY))
        lines.append(f"| {label} | {few:.3g}{unit} | {many:.3g}{unit} | {many / few if few else 0:.2f} × |")
    return "\n".join(lines) + "\n"


async def _waiting(deployment: Deployment, count: int) -> dict[str, float]:
    async with aiohttp.ClientSession() as http:
        ids = await _fill(http, deployment, count)
        # What the filling left to be counted and swept is not what waiting costs.
        await asyncio.sleep(SETTLE_SECONDS)
        [worker] = deployment.workers
        figures = {"rss.server": deployment.server.rss, "rss.worker": worker.rss}
        before, done, began = deployment.cpu(), _transactions(deployment.url), time.monotonic()
        await asyncio.sleep(IDLE_SECONDS)
        seconds, after = time.monotonic() - began, deployment.cpu()
        figures["idle.statements"] = (_transactions(deployment.url) - done) / seconds
        for name in ("server", "workers", "database"):
            figures[f"idle.{name.removesuffix('s')}"] = (after[name] - before[name]) / seconds * 1e3
        pending = deployment.server.url + "/api/agent/approvals/pending?limit=25"

        async def look(number: int) -> None:
            async with http.get(pending, headers=_as_user(0)) as response:
                assert len((await response.json())["items"]) == 25

        async def answer(number: int) -> None:
            body = {"approvalId": ids[number], "decision": "approve_once"}
            run = (await _post(http, deployment, 0, "/api/agent/approvals/resolve", body))["run"]
            assert run["status"] == "completed", run

        figures["hello"] = await _median(lambda number: _hello(http, deployment, 1))
        figures["list"] = await _median(look)
        figures["answer"] = await _median(answer)
    return figures


async def _median(work: Callable[[int], Any]) -> float:
    times: list[float] = []
    for number in range(LOOKS):
        began = time.monotonic()
        await work(number)
        times.append(time.monotonic() - began)
    return statistics.median(times) * 1e3


async def _fill(http: aiohttp.ClientSession, deployment: Deployment, count: int) -> list[str]:
    """So many questions to one user: one that was really asked, and copies of it under other ids.

    The copies are whole: they can be answered, and some of them are.
    """
    run = await _post(http, deployment, 0, "/api/agent/run", {"prompt": EMAIL})
    run_id, thread_id = run["runId"], run["threadId"]
    with psycopg.connect(deployment.url, autocommit=True) as db:
        db.execute("SELECT set_config('pollux.scope', 'engine', false)")
        [(there,)] = db.execute("SELECT count(*) FROM pollux.approvals WHERE status = 'pending'").fetchall()
        stem = f"{time.time_ns():x}"
        for table, columns in COPIED.items():
            _copy(db, table, columns, count - there, stem, run_id, thread_id)
        # Else the server would do it by itself, in the middle of what is measured.
        db.execute("VACUUM (FREEZE, ANALYZE)")
        found = db.execute(
            "SELECT approval_id FROM pollux.approvals WHERE status = 'pending' AND approval_id LIKE %s LIMIT %s",
            (f"%{stem}%", LOOKS),
        ).fetchall()
    return [approval for (approval,) in found]


COPIED = {
    "threads": "thread_id",
    "content": "thread_id",
    "messages": "thread_id",
    "runs": "run_id",
    "events": "stream",
    "approvals": "run_id",
}
"""The tables that hold a waiting run, each with the column by which its rows are found."""


def _copy(db: Any, table: str, found_by: str, count: int, stem: str, run_id: str, thread_id: str) -> None:
    known = [
        (name, kind)
        for name, kind in db.execute(
            "SELECT column_name, data_type FROM information_schema.columns"
            " WHERE table_schema = 'pollux' AND table_name = %s ORDER BY ordinal_position",
            (table,),
        ).fetchall()
    ]

    def replaced(column: str, kind: str) -> str:
        text = f"convert_from({column}, 'UTF8')" if kind == "bytea" else column
        if kind not in ("bytea", "text", "character varying", "json", "jsonb"):
            return column
        # Ids of actions and of questions are made of the run's.
        for each in (run_id, thread_id):
            text = f"replace({text}, '{each[4:]}', '{stem}' || lpad(copy::text, 8, '0'))"
        return f"convert_to({text}, 'UTF8')" if kind == "bytea" else text

    names = ", ".join(f'"{name}"' for name, _ in known)
    values = ", ".join(replaced(f'"{name}"', kind) for name, kind in known)
    db.execute(
        f"INSERT INTO pollux.{table} ({names}) SELECT {values} FROM pollux.{table}, generate_series(1, %s) AS copy"
        f" WHERE {found_by} = ANY(%s)",
        (count, [run_id, thread_id, f"r:{run_id}", f"t:{thread_id}"]),
    )


def _transactions(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as db:
        found = db.execute(
            "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone()
    assert found
    return found[0]


# The page.


def page(tables: list[str], reps: int) -> str:
    today = datetime.datetime.now(datetime.UTC).date()
    where = f"{today}, 2 cores, {platform.system()}, Python {platform.python_version()}"
    return (
        "# Speed on many hosts\n\n"
        "Made by `make bench-hosts` (`.venv/bin/python benchmarks/hosts.py --write`): a server and workers on"
        " PostgreSQL, beside\n`pollux serve` on its embedded store, in one run.\n"
        f"{where}, median of {reps} alternating repetitions. The load, the model and everything measured share the two"
        " cores.\n\n" + "\n".join(tables)
    )


def _kept(tables: list[str]) -> list[str]:
    """The tables of the page that were not measured now."""
    titles = {table.partition("\n")[0] for table in tables}
    old = PAGE.read_text(encoding="utf-8").split("\n### ")[1:] if PAGE.exists() else []
    return [f"### {table.rstrip()}\n" for table in old if f"### {table.partition(chr(10))[0]}" not in titles]


def told(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def _cpu_of_tree(root: int) -> float:
    """Seconds of CPU of a process, of those that it started, and of those among them that have ended."""
    spent = 0.0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(entry.name) == root:
                spent += sum(int(field) for field in fields[11:15]) / TICK
            elif int(fields[1]) == root:
                spent += (int(fields[11]) + int(fields[12])) / TICK
    return spent


if __name__ == "__main__":
    main()
