"""What every adapter shares: the two tools, the verbs, and the one job that a process does before it ends.

Runs in each framework's own environment, so it imports the standard library alone; and little of it, since a cold
start must show the framework. One JSON job as the only argument, one JSON line as the last output.
"""

import asyncio
import json
import os
import resource
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

MODEL = "gemini-2.5-flash"
QUIET_SPIN_MS = 6.2
JOB: dict[str, Any] = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}


def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


def send_email(to: str, body: str) -> str:
    """Send an e-mail."""
    deliver(f"{to}: {body}")
    return "sent"


def deliver(line: str) -> None:
    """What happens outside: a line in the outbox, on the disk. No framework has a hand in it."""
    if JOB.get("sending"):
        # A mail service takes its time, long enough for a second approval to come in between.
        (outbox().parent / "sending").touch()
        time.sleep(JOB["sending"])
    with open(outbox(), "a") as mails:
        mails.write(line + "\n")
        mails.flush()
        os.fsync(mails.fileno())
    if JOB.get("die"):
        # The mail is out, and nobody has been told.
        os.kill(os.getpid(), signal.SIGKILL)


def outbox() -> Path:
    return Path(JOB["folder"]) / "outbox"


class Peer:
    """One framework. `ask`, `approve` and `resume` are the story; `run` and `stream` are what is timed."""

    async def open(self, base: str, folder: Path | None) -> None:
        """An agent with both tools, `send_email` behind an approval. Without a folder nothing is kept."""
        raise NotImplementedError

    async def ask(self) -> str:
        """Send the prompt `mail` until the approval is wanted. Returns all that another process must know."""
        raise NotImplementedError

    async def approve(self, ticket: str) -> str:
        """Say yes to the waiting question and go on to the end. Returns how it ended."""
        raise NotImplementedError

    async def resume(self, ticket: str) -> str:
        """Go on after a crash, the way the framework documents it. Returns how it ended."""
        raise NotImplementedError

    async def run(self, prompt: str) -> str:
        """A new conversation: the prompt, and the text of the answer."""
        raise NotImplementedError

    def stream(self, prompt: str) -> AsyncIterator[str]:
        raise NotImplementedError


def main(make: type[Peer]) -> None:
    result = asyncio.run(_do(make()))
    print("\n" + json.dumps(result), flush=True)
    # Threads of a framework's own must not hold up the end.
    os._exit(0)


async def _do(peer: Peer) -> Any:
    folder = Path(JOB["folder"]) if JOB.get("folder") else None
    await peer.open(JOB["base"], folder)
    match JOB["verb"]:
        case "ask":
            return {"ticket": await peer.ask()}
        case "approve" | "resume" as verb:
            _wait_for_the_other()
            try:
                return {"ended": await getattr(peer, verb)(JOB["ticket"])}
            except Exception as problem:  # noqa: BLE001 - a refusal is an outcome, too
                return {"ended": f"{type(problem).__name__}: {problem}"[:300]}
        case "cost":
            return {str(rounds): await _cost(peer, rounds, times) for rounds, times in JOB["rounds"]}
        case "cold":
            return await _cold(peer)
        case verb:
            raise SystemExit(f"no such verb: {verb}")


def _wait_for_the_other() -> None:
    """Where two approve at once, both stand ready before either begins."""
    if JOB.get("together"):
        print("READY", flush=True)
        sys.stdin.readline()


async def _cost(peer: Peer, rounds: int, times: int) -> float:
    """CPU of one model call and what belongs to it, in milliseconds, in a conversation of so many tool rounds."""

    async def once() -> None:
        text = await peer.run(f"rounds-{rounds}")
        if text.strip() != f"Did {rounds} rounds.":
            raise AssertionError(f"{rounds} rounds: got {text!r}")

    await once()
    before, start = spin(), cpu()
    for _ in range(times):
        await once()
    spent = (cpu() - start) / times / (rounds + 1) * 1e3
    return spent * QUIET_SPIN_MS / ((before + spin()) / 2)


async def _cold(peer: Peer) -> dict[str, float]:
    first, texts = None, list[str]()
    async for text in peer.stream("hello"):
        if text:
            first = first or time.monotonic()
            texts.append(text)
    if "".join(texts) != "Hello from the model." or first is None:
        raise AssertionError(f"got {texts!r}")
    return {"first": first, "cpu_ms": cpu() * 1e3, "rss_mb": peak_mb()}


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_mb() -> float:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def spin() -> float:
    """A fixed piece of pure Python, in milliseconds of CPU: the same work costs more on a busy machine."""
    before, seen, total = cpu(), dict[int, int](), 0
    for i in range(60_000):
        seen[i & 255] = i
        total += len(str(i))
    return (cpu() - before) * 1e3
