"""Visitors who ask a server in another process for /healthz again and again, while others send it what costs most."""

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from tests.attack.asking import PAUSE

from pollux.core.frozen import frozen

AT_ONCE = 0.1
ROUNDS = 5
"""What seems slow is sent in so many rounds, of which the middle one counts: a busy machine may stop a thread that
holds the interpreter, which looks like work, but not in most of them.
"""
LONG_ENOUGH = 0.4
"""Seconds for which each is sent again and again."""


class Client:
    """One connection to the server."""

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        self._http = http.client.HTTPConnection(place.hostname or "", place.port, timeout=120)
        self.token = ""

    def get(self, path: str) -> int:
        self._http.request("GET", path)
        response = self._http.getresponse()
        response.read()
        return response.status

    def post(self, path: str, body: bytes) -> tuple[int, Any]:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        self._http.request("POST", path, body, headers if self.token else {"Content-Type": "application/json"})
        response = self._http.getresponse()
        return response.status, json.loads(response.read())

    def close(self) -> None:
        self._http.close()

    def visit(self) -> "Client":
        self.token = self.post("/api/page/session", b"{}")[1]["token"]
        return self


@frozen
class Server:
    url: str
    asking: subprocess.Popen[str]


@frozen
class Waits:
    """Seconds that the neighbours waited, one in a hundred of them, by the server's own time and by the clock."""

    own: float
    passed: float


@contextmanager
def server_of(module: str, home: Path) -> Generator[Server]:
    """The server that a module of tests starts in a process of its own, for as long as the block lasts."""
    with _started(home / "log", module, str(home)) as server:
        url = _said(server).readline().strip()
        assert url, (home / "log").read_text()
        with _started(home / "asking", "tests.attack.asking", url, str(server.pid)) as asking:
            yield Server(url, asking)


@contextmanager
def _started(log: Path, module: str, *words: str) -> Generator[subprocess.Popen[str]]:
    with log.open("wb") as talk:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=talk, cwd=Path(__file__).parents[2], text=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        process.communicate(timeout=60)


def _said(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdout
    return process.stdout


def p99(seconds: Sequence[float]) -> float:
    """How long those waited who waited longest, one in a hundred.

    Who waits does not ask meanwhile: everybody who would have come then counts too, else a standstill is one answer.
    """
    waits = sorted(each - late * PAUSE for each in seconds for late in range(max(1, int(each / PAUSE))))
    return waits[int(len(waits) * 0.99)]


def waited(server: Server, send: Callable[[], int]) -> tuple[Waits, set[int]]:
    """How long the neighbours wait while this is sent, and what it is answered with."""
    statuses: set[int] = set()
    assert server.asking.stdin
    print(file=server.asking.stdin, flush=True)
    end = time.monotonic() + LONG_ENOUGH
    while time.monotonic() < end:
        statuses.add(send())
    print(file=server.asking.stdin, flush=True)
    waits = json.loads(_said(server.asking).readline())
    return Waits(p99([own for _, own in waits]), p99([passed for passed, _ in waits])), statuses


def slow_ones(server: Server, sendings: Iterable[tuple[str, Callable[[], int]]], *, expected: set[int]) -> set[str]:
    """What of this makes the neighbours wait, by the server's own time. Prints how long each does."""
    found: dict[str, Waits] = {}
    for name, send in sendings:
        rounds: list[Waits] = []
        while not rounds or (rounds[0].own >= AT_ONCE and len(rounds) < ROUNDS):
            waits, statuses = waited(server, send)
            assert statuses <= expected, (name, statuses)
            rounds.append(waits)
        middle = sorted(rounds, key=lambda waits: waits.own)[len(rounds) // 2]
        found[name] = middle
        print(f"{name:60} {middle.own * 1000:8.1f} ms own {middle.passed * 1000:8.1f} ms, rounds: {len(rounds)}")
    slowest = max(found, key=lambda name: found[name].own)
    own, passed = found[slowest].own * 1000, max(waits.passed for waits in found.values()) * 1000
    print(f"{len(found)} kinds; the slowest: {slowest}, {own:.0f} ms own; at most {passed:.0f} ms by the clock")
    return {name for name, waits in found.items() if waits.own >= AT_ONCE}
