"""`make bench`: the floor and Pollux in one run, as ratios. Prints the table and, with --write, puts it into the docs.

Order is alternated and repeated; each figure is the median of the repetitions, CPU scaled by a calibration loop run
around it. Judge by the ratios: milliseconds are this machine's.
"""

import argparse
import datetime
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "reference" / "speed.md"
CLIENTS = {"floor": HERE / "floor.py", "ours": HERE / "ours.py"}

WARM = [
    {"id": "hello", "kind": "seq", "scenario": "hello", "n": 200, "warmup": 20},
    {"id": "tool", "kind": "seq", "scenario": "tool", "n": 100, "warmup": 10},
    {"id": "stream", "kind": "stream", "scenario": "stream-1000", "n": 5, "warmup": 1},
    {"id": "tools-1", "kind": "seq", "scenario": "tools-1", "n": 60, "warmup": 5},
    {"id": "tools-50", "kind": "seq", "scenario": "tools-50", "n": 4, "warmup": 1},
    {"id": "history", "kind": "seq", "scenario": "hello", "history": 1000, "n": 20, "warmup": 2},
]
CONCURRENT = [{"id": "concurrent", "kind": "conc", "scenario": "slow", "n": 200}]
COLD = [{"id": "cold", "kind": "cold", "scenario": "hello"}]
JOURNAL = [{"id": "journal", "kind": "seq", "scenario": "tool", "threads": "fresh", "n": 60, "warmup": 5}]

DECISION = 1.0
"""Of the time that the hash of its arguments takes. Before rules read facts and typed conditions it was 1.0 to 1.1."""

REASONS = """\
What stands at its budget or over it, and why:

- One tool round. It stands close to its budget: from run to run it measures 1.8 to 2.3 ×. Eleven facts are judged one
  by one, a decision is made on canonical arguments, and four commits are written; what is left is spread over some
  eight hundred calls of Python, a tenth of it the garbage collector's.
- `pollux run`, cold. From run to run it measures 0.95 to 1.05 ×.
- One tool round with the journal. A commit touches about nine pages of the database where the floor touches one or
  two, since a thread, a run and what was said are each found by their own index; and it goes through a thread, so that
  waiting for the disk never stops the loop. From run to run it measures 2.0 to 2.6 ×, in one long thread 1.8 to 1.9 ×.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    options = parser.parse_args()
    figures = measure(options.reps)
    table = report(figures)
    print(table)
    if options.write:
        # What follows is another command's.
        _, mark, others = PAGE.read_text(encoding="utf-8").partition("\n## ")
        PAGE.write_text(page(table, options.reps) + mark + others, encoding="utf-8")


def measure(reps: int) -> dict[str, dict[str, list[float]]]:
    """Every figure of every client, one value for each repetition."""
    found: dict[str, dict[str, list[float]]] = {name: {} for name in CLIENTS}

    def put(client: str, results: dict[str, Any]) -> None:
        for measure_, values in results.items():
            if "error" in values:
                raise SystemExit(f"{client} {measure_}: {values['error']}")
            for field, value in values.items():
                found[client].setdefault(f"{measure_}.{field}", []).append(value)

    with fake_model() as base:
        for rep in range(reps):
            order = list(CLIENTS) if rep % 2 == 0 else list(reversed(CLIENTS))
            for client in order:
                put(client, job(client, base, WARM))
                put(client, job(client, base, CONCURRENT))
                put(client, job(client, base, COLD))
                with tempfile.TemporaryDirectory() as folder:
                    put(client, job(client, base, JOURNAL, {"kind": "sqlite", "path": f"{folder}/bench.db"}))
            for name, statement in (("pass", "pass"), ("import", "import pollux")):
                found["ours"].setdefault(f"{name}.cpu_ms", []).append(child_cpu(statement))
            put("ours", {"decision": decision(), "command": command_line(base), **gemini_cli(base)})
            print(f"repetition {rep + 1} of {reps}", file=sys.stderr)
    return found


@contextmanager
def fake_model() -> Iterator[str]:
    server = subprocess.Popen([sys.executable, str(HERE / "fake.py")], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{server.stdout.readline().split()[1]}"
    finally:
        server.terminate()
        server.wait()


def job(
    client: str, base: str, measures: list[dict[str, Any]], persist: dict[str, str] | None = None
) -> dict[str, Any]:
    """One client process. Returns its results, a cold start's time counted from the spawn."""
    what = {"peer": client, "base": base, "model": "gemini-2.5-flash", "measures": measures, "persist": persist}
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(CLIENTS[client]), json.dumps(what)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"{client} failed:\n{done.stderr[-2000:]}")
    results: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])["results"]
    for values in results.values():
        if values.get("first_token_at"):
            values["ttft_ms"] = (values["first_token_at"] - start) * 1e3
    return results


def child_cpu(statement: str) -> float:
    """CPU milliseconds of `python -c statement`, the least of three."""

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", statement], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3

    return min(once() for _ in range(3))


def decision() -> dict[str, float]:
    """What the policy costs for one call."""
    done = subprocess.run([sys.executable, str(HERE / "decision.py")], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def command_line(base: str) -> dict[str, float]:
    """The program itself, from the spawn: to its first token, to the error without a key, and to its version."""
    pollux = str(Path(sys.executable).with_name("pollux"))
    with tempfile.TemporaryDirectory() as folder:
        bare = {"PATH": os.environ["PATH"], "HOME": folder, "POLLUX_HOME": f"{folder}/home"}
        asking = bare | {"GEMINI_API_KEY": "bench", "GOOGLE_GEMINI_BASE_URL": base}
        ask = [pollux, "run", "hello", "--model", "gemini-2.5-flash"]

        def seconds(command: list[str], environ: dict[str, str]) -> float:
            """Until the first byte of its output, the least of five."""
            return min(first_byte(command, environ, folder) for _ in range(5))

        return {
            "first_ms": seconds(ask, asking) * 1e3,
            "keyless_ms": seconds(ask[:3], bare) * 1e3,
            "version_ms": seconds([pollux, "--version"], bare) * 1e3,
            "pass_ms": seconds([sys.executable, "-c", "print()"], bare) * 1e3,
        }


def gemini_cli(base: str) -> dict[str, dict[str, float]]:
    """Gemini CLI from the spawn to the first piece of its answer, where `make interop` has installed it."""
    sys.path.insert(0, str(HERE.parent))
    from tests.interop.peers import CLI_VERSION, GeminiCli

    program = Path(sys.prefix) / "interop" / f"gemini-cli-{CLI_VERSION}" / "node_modules/.bin/gemini"
    if not program.exists():
        return {}
    with tempfile.TemporaryDirectory() as folder:
        cli = GeminiCli(program, Path(folder), base)
        cli.settle_in()
        command = [str(program), "-p", "hello", "-m", "gemini-2.5-flash", "--output-format", "stream-json"]
        start = time.monotonic()
        with subprocess.Popen(
            command,
            cwd=cli.workspace,
            env=cli.environment("bench"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            assert process.stdout is not None
            taken = next((time.monotonic() - start for line in process.stdout if b'"assistant"' in line), None)
            process.stdout.read()
        if taken is None:
            raise SystemExit("Gemini CLI said nothing")
    return {"gemini_cli": {"first_ms": taken * 1e3}}


def first_byte(command: list[str], environ: dict[str, str], cwd: str) -> float:
    start = time.monotonic()
    with subprocess.Popen(command, env=environ, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        first = process.stdout.read(1)
        taken = time.monotonic() - start
        process.stdout.read()
        if not first:
            raise SystemExit(f"{' '.join(command)} printed nothing:\n{process.stderr.read().decode()[-2000:]}")
    return taken


def report(found: dict[str, dict[str, list[float]]]) -> str:
    """The table of budgets, one row each, with what was measured and whether it holds."""

    def of(client: str, key: str) -> float:
        return statistics.median(found[client][key])

    def ratio(label: str, key: str, budget: float, unit: str) -> list[str]:
        floor, ours = of("floor", key), of("ours", key)
        return row(
            label, f"{floor:.3g} {unit}", f"{ours:.3g} {unit}", f"{ours / floor:.2f} ×", ours / floor, budget, "×"
        )

    def against(label: str, floor: float, key: str, budget: float) -> list[str]:
        ours = of("ours", key)
        return row(label, f"{floor:.3g} ms", f"{ours:.3g} ms", f"{ours / floor:.2f} ×", ours / floor, budget, "×")

    per_call = {k: of("ours", f"tools-{k}.ncpu_ms") / (k + 1) for k in (1, 50)}
    per_message = (of("ours", "history.ncpu_ms") - of("ours", "hello.ncpu_ms")) / 1000 * 1e3
    floor_message = (of("floor", "history.ncpu_ms") - of("floor", "hello.ncpu_ms")) / 1000 * 1e3
    growth = per_call[50] / per_call[1]
    imported = of("ours", "import.cpu_ms") - of("ours", "pass.cpu_ms")
    rows = [
        row("`import pollux`, CPU", "", f"{imported:.0f} ms", "", imported, 100, "ms"),
        ratio("hello, CPU", "hello.ncpu_ms", 2, "ms"),
        ratio("one tool round, CPU", "tool.ncpu_ms", 2, "ms"),
        row("a decision, 5 rules and 20 grants, CPU (floor: the hash of its arguments)",
            f"{of('ours', 'decision.floor_us'):.2g} µs", f"{of('ours', 'decision.us'):.2g} µs",
            f"{of('ours', 'decision.us') / of('ours', 'decision.floor_us'):.2f} ×",
            of("ours", "decision.us") / of("ours", "decision.floor_us"), DECISION, "×"),
        ratio("per streamed chunk, CPU", "stream.ncpu_us_chunk", 2, "µs"),
        ratio("200 concurrent streams, CPU", "concurrent.ncpu_ms", 2, "ms"),
        ratio("200 concurrent streams, p99 to first token", "concurrent.ttft_p99_ms", 2, "ms"),
        row("200 concurrent streams, RSS", f"{of('floor', 'concurrent.rss_mb'):.0f} MB",
            f"{of('ours', 'concurrent.rss_mb'):.0f} MB", "", of("ours", "concurrent.rss_mb"), 60, "MB"),
        row("CPU per call, 50 tool rounds against 1", "", f"{per_call[50]:.3g} ms", f"{growth:.2f} ×", growth, 1.3, "×"),  # noqa: E501
        row("per prior message, CPU", f"{floor_message:.2g} µs", f"{per_message:.2g} µs", "", per_message, 2, "µs"),
        ratio("one tool round, journal on SQLite, synchronous FULL", "journal.ncpu_ms", 2, "ms"),
        row("one-shot RSS", f"{of('floor', 'cold.rss_mb'):.0f} MB", f"{of('ours', 'cold.rss_mb'):.0f} MB", "",
            of("ours", "cold.rss_mb"), 45, "MB"),
        ratio("cold start of a program to its first token", "cold.ttft_ms", 1, "ms"),
        against("`pollux run`, cold, to its first token", of("floor", "cold.ttft_ms"), "command.first_ms", 1),
        *([row("Gemini CLI 0.61, cold, to its first token", f"{of('floor', 'cold.ttft_ms'):.3g} ms",
               f"{of('ours', 'gemini_cli.first_ms'):.0f} ms",
               f"{of('ours', 'gemini_cli.first_ms') / of('floor', 'cold.ttft_ms'):.2f} ×", 0, 0, "")]
          if "gemini_cli.first_ms" in found["ours"] else []),
        against("`pollux run` without a key, to the error (floor: `python -c print()`)",
                of("ours", "command.pass_ms"), "command.keyless_ms", 1.6),
        against("`pollux --version` (floor: `python -c print()`)",
                of("ours", "command.pass_ms"), "command.version_ms", 1.5),
    ]  # fmt: skip
    head = ["measure", "floor", "ours", "ratio", "budget", "holds"]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def row(label: str, floor: str, ours: str, ratio: str, value: float, budget: float, unit: str) -> list[str]:
    if not budget:
        return [label, floor, ours, ratio, "", ""]
    return [label, floor, ours, ratio, f"≤ {budget:g} {unit}", "yes" if value <= budget else "NO"]


def page(table: str, reps: int) -> str:
    when = datetime.datetime.now(datetime.UTC).date().isoformat()
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    return (
        "# Speed\n\nMade by `make bench` (`.venv/bin/python benchmarks/run.py --write`): the floor, the least loop that"
        " is still an agent (benchmarks/floor.py), and Pollux, in one run.\n"
        f"{when}, {machine}, median of {reps} alternating repetitions.\n\n{table}\n\n"
        f"{REASONS}"
    )


if __name__ == "__main__":
    main()
