"""What verifying and exporting the audit cost, as a multiple of reading, encoding and hashing the same rows.

    .venv/bin/python benchmarks/audit.py [--entries 200000] [--write]

A store on SQLite with so many entries is made through the store itself. The floor reads every row, encodes it as JSON
and hashes it, and does nothing else. `pollux audit verify`, `pollux audit export` and the export of `pollux serve` are
programs of their own; what counts is the processor's time that they take, their start included (not the server's), the
least of several rounds: whatever else runs on the machine makes all of them slower and none faster.
"""

import argparse
import asyncio
import datetime
import hashlib
import hmac
import json
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from urllib.request import Request, urlopen

import msgspec

from pollux.bootstrap import open_store
from pollux.config import read_settings
from pollux.engine.ports import AuditFact, Change

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/reference/speed.md"
HEADING = "## The audit"
POLLUX = ROOT / ".venv/bin/pollux"
AT_ONCE = 1_000
KINDS = ("decided", "approved", "started", "completed")
FLOOR = "reading, encoding and hashing every row (the floor)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help=f"also write a part of {PAGE.relative_to(ROOT)}")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pollux-bench-") as folder:
        home = Path(folder)
        asyncio.run(fill(home, given.entries))
        text = page(given.entries, given.rounds, measured(home, given.rounds))
    print(text)
    if given.write:
        before, _, after = PAGE.read_text().partition(HEADING)
        _, mark, others = after.partition("\n## ")
        PAGE.write_text(f"{before.rstrip()}\n\n{text}{mark}{others}")


async def fill(home: Path, entries: int) -> None:
    """A store in which so much was done: four entries for each call."""
    store = open_store(read_settings({"POLLUX_HOME": str(home)}, cwd=home))
    await store.open()
    for first in range(0, entries, AT_ONCE):
        last = min(first + AT_ONCE, entries)
        await store.commit(Change(audit=tuple(map(fact, range(first, last)))))
    await store.close()


def fact(number: int) -> AuditFact:
    call, kind = number // 4, KINDS[number % 4]
    at = 1_763_596_800.0 + number * 0.731234567
    return AuditFact(
        at=at,
        kind=kind,
        user="local",
        run_id=f"run_{call:032x}",
        thread_id=f"thr_{call // 4:032x}",
        action_id=f"act_{call:024x}_1.0",
        model_name="gemini-3.8-flash",
        tool_name="gmail_send",
        input=b'{"to":["bob@example.com"]}',
        policy_decision="require_approval",
        approval_id=f"apr_{call:024x}_1.0",
        execution_status="completed" if kind == "completed" else "",
        by="local" if kind == "approved" else "",
        started_at=at - 1.5 if kind in ("started", "completed") else None,
        ended_at=at if kind == "completed" else None,
    )


def measured(home: Path, rounds: int) -> dict[str, float]:
    """The processor's seconds of each, in turns."""
    environ = {**os.environ, "POLLUX_HOME": str(home), "HOME": str(home)}
    measures: dict[str, Callable[[], float]] = {
        FLOOR: lambda: floor(home / "pollux.db"),
        "`pollux audit verify`": lambda: program(("audit", "verify"), environ),
        "`pollux audit export`": lambda: program(("audit", "export"), environ),
        "`pollux audit export --format csv`": lambda: program(("audit", "export", "--format", "csv"), environ),
        "`GET /api/agent/audit/export`": lambda: served("jsonl", environ),
        "`GET /api/agent/audit/export?format=csv`": lambda: served("csv", environ),
    }
    found: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            found[name].append(measure())
    return {name: min(each) for name, each in found.items()}


def floor(path: Path) -> float:
    before = time.process_time()
    with closing(sqlite3.connect(path)) as db:
        rows: Iterable[tuple[object, ...]] = db.execute("SELECT * FROM audit ORDER BY seq")
        for row in rows:
            own = hashlib.sha256(msgspec.json.encode(row)).hexdigest()
            hmac.digest(b"k" * 32, own.encode(), "sha256").hex()
    return time.process_time() - before


def program(words: tuple[str, ...], environ: dict[str, str]) -> float:
    """All that the command took, its start included."""
    process = subprocess.Popen([POLLUX, *words], env=environ, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"pollux {' '.join(words)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def served(format_: str, environ: dict[str, str]) -> float:
    """What the server took from the request to the last line."""
    process = subprocess.Popen(
        [POLLUX, "serve", "--port", "0"],
        env={**environ, "GEMINI_API_KEY": "demo"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        token = Path(ready["tokenFile"]).read_text().strip()
        before = used_by(process.pid)
        request = Request(
            f"{ready['url']}/api/agent/audit/export?format={format_}", headers={"Authorization": f"Bearer {token}"}
        )
        with urlopen(request, timeout=120) as answer:
            while answer.read(1 << 20):
                pass
        return used_by(process.pid) - before
    finally:
        process.terminate()
        process.communicate(timeout=60)


def used_by(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def page(entries: int, rounds: int, found: dict[str, float]) -> str:
    when = datetime.datetime.now(datetime.UTC).date().isoformat()
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    rows = "\n".join(
        f"| {name} | {took:.2f} s | {entries / took:,.0f} | {took / found[FLOOR]:.1f} × |"
        for name, took in found.items()
    )
    return f"""{HEADING}

Made by `.venv/bin/python benchmarks/audit.py --write`: {entries:,} entries on SQLite, the processor's time of each
program, the least of {rounds} rounds. {when}, {machine}.

| measure | time | entries a second | by the floor |
| --- | --- | --- | --- |
{rows}
"""


if __name__ == "__main__":
    main()
