"""Measuring, shared by every client: one JSON job as the only argument, one JSON line as the last output.

Import-light on purpose: a cold start must show the client, not the harness. CPU is measured in the client's own
process; `spin` brackets each measure, since the same work costs more on a machine that is busy elsewhere.
"""

import asyncio
import json
import os
import resource
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

TEXT = {"hello": "Hello from the fake model.", "tool": "The sum is 5."}
QUIET_SPIN_MS = 6.2


def add(a: int, b: int) -> int:
    """The tool that every client offers."""
    return a + b


def filler(index: int) -> tuple[str, str]:
    """One prior message of a long thread."""
    return ("user" if index % 2 == 0 else "model"), f"message {index}: " + "lorem ipsum dolor sit amet " * 4


class Client:
    """What is measured. `run` answers a prompt, `stream` yields its text, `history` prepares a thread, untimed."""

    async def setup(self, job: dict[str, Any]) -> None: ...

    async def history(self, n: int) -> Any:
        return None

    async def run(self, prompt: str, history: Any = None, thread: str | None = None) -> str:
        raise NotImplementedError

    def stream(self, prompt: str) -> AsyncIterator[str]:
        raise NotImplementedError

    async def close(self) -> None: ...


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_mb() -> float:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def spin() -> float:
    """A fixed piece of pure Python, in milliseconds of CPU."""
    before, seen, total = cpu(), dict[int, int](), 0
    for i in range(60_000):
        seen[i & 255] = i
        total += len(str(i))
    return (cpu() - before) * 1e3


def check(prompt: str, text: str) -> None:
    """A client that skips work must fail."""
    kind, _, count = prompt.rpartition("-")
    wanted = TEXT.get(prompt) or {"tools": f"Did {count} rounds.", "parallel": f"Did {count} calls."}.get(kind)
    if wanted is not None and text.strip() != wanted:
        raise AssertionError(f"{prompt}: got {text!r}, wanted {wanted!r}")


async def sequential(client: Client, job: dict[str, Any]) -> dict[str, Any]:
    prompt, count, warm = job["scenario"], job["n"], job.get("warmup", 3)
    prior, mode = job.get("history", 0), job.get("threads")
    threads = [await client.history(prior) for _ in range(count + warm)] if prior else [None] * (count + warm)
    name = {None: lambda i: None, "fresh": lambda i: f"t{os.getpid()}-{i}", "same": lambda i: f"t{os.getpid()}"}[mode]
    for i in range(warm):
        check(prompt, await client.run(prompt, history=threads[count + i], thread=name(-1 - i)))
    walls: list[float] = []
    costs: list[float] = []
    for i in range(count):
        wall, cost = time.perf_counter(), cpu()
        text = await client.run(prompt, history=threads[i], thread=name(i))
        costs.append(cpu() - cost)
        walls.append(time.perf_counter() - wall)
        check(prompt, text)
    quarter = max(1, count // 4)
    return {
        "n": count,
        "cpu_ms": sum(costs) / count * 1e3,
        "wall_p50_ms": sorted(walls)[count // 2] * 1e3,
        "first_cpu_ms": sum(costs[:quarter]) / quarter * 1e3,
        "last_cpu_ms": sum(costs[-quarter:]) / quarter * 1e3,
    }


async def streamed(client: Client, job: dict[str, Any]) -> dict[str, Any]:
    prompt, count = job["scenario"], job["n"]
    chunks = int(prompt.rsplit("-", 1)[1])
    full = sum(len(f"chunk {i} ") for i in range(chunks))

    async def one() -> None:
        size = 0
        async for text in client.stream(prompt):
            size += len(text)
        if size < full - 2:
            raise AssertionError(f"{prompt}: {size} of {full} characters")

    for _ in range(job.get("warmup", 1)):
        await one()
    before = cpu()
    for _ in range(count):
        await one()
    return {"n": count, "cpu_us_chunk": (cpu() - before) / count / chunks * 1e6}


async def concurrent(client: Client, job: dict[str, Any]) -> dict[str, Any]:
    prompt, count = job["scenario"], job["n"]
    check("hello", "".join([text async for text in client.stream("hello")]))
    firsts: list[float] = []

    async def one() -> None:
        first = True
        async for text in client.stream(prompt):
            if first and text:
                firsts.append(time.perf_counter() - start)
                first = False

    start, before = time.perf_counter(), cpu()
    await asyncio.gather(*(one() for _ in range(count)))
    firsts.sort()
    return {
        "n": count,
        "ok": len(firsts),
        "n_errors": count - len(firsts),
        "wall_ms": (time.perf_counter() - start) * 1e3,
        "cpu_ms": (cpu() - before) * 1e3,
        "ttft_p50_ms": firsts[len(firsts) // 2] * 1e3,
        "ttft_p99_ms": firsts[min(len(firsts) - 1, int(0.99 * len(firsts)))] * 1e3,
        "rss_mb": peak_mb(),
    }


async def cold(client: Client, job: dict[str, Any]) -> dict[str, Any]:
    first, texts = None, list[str]()
    async for text in client.stream(job.get("scenario", "hello")):
        first = first or time.monotonic()
        texts.append(text)
    check("hello", "".join(texts))
    return {
        "first_token_at": first,
        "end_at": time.monotonic(),
        "cpu_ms": cpu() * 1e3,
        "rss_mb": peak_mb(),
        "modules": len(sys.modules),
    }


Measure = Callable[[Client, dict[str, Any]], Awaitable[dict[str, Any]]]
MEASURES: dict[str, Measure] = {"seq": sequential, "stream": streamed, "conc": concurrent, "cold": cold}


async def _all(client: Client, job: dict[str, Any]) -> dict[str, Any]:
    results: dict[str, Any] = {}
    await client.setup(job)
    for measure in job["measures"]:
        calibrated = measure["kind"] != "cold"
        before = spin() if calibrated else 0.0
        try:
            result = await MEASURES[measure["kind"]](client, measure)
        except Exception as error:
            if os.environ.get("BENCH_TRACE"):
                raise
            results[measure["id"]] = {"error": f"{type(error).__name__}: {error}"[:400]}
            continue
        if calibrated:
            scale = QUIET_SPIN_MS / ((before + spin()) / 2)
            result |= {f"n{name}": value * scale for name, value in result.items() if "cpu_" in name}
        results[measure["id"]] = result
    await client.close()
    return results


def main(make: type[Client]) -> None:
    """Run the job given as the only argument and print its results."""
    job = json.loads(sys.argv[1])
    results = asyncio.run(_all(make(), job))
    print("\n" + json.dumps({"peer": job.get("peer"), "results": results}), flush=True)
    os._exit(0)
