"""Somebody who asks a server in another process for /healthz again and again, while others send it what costs most."""

import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import closing, contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.waiting import own_time

from pollux.core.frozen import frozen

AT_ONCE = 0.1
ROUNDS = 3
"""A busy machine keeps everybody waiting now and then, but not each time."""
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
class Waits:
    """Seconds that the neighbour waited, by the clock, and as an idle machine would have let them wait."""

    passed: list[float] = field(default_factory=list[float])
    own: list[float] = field(default_factory=list[float])


@frozen
class Server:
    url: str
    process: int


@contextmanager
def server_of(module: str, home: Path) -> Generator[Server]:
    """The server that a module of tests starts in a process of its own, for as long as the block lasts."""
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", module, str(home)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, cwd=Path(__file__).parents[2],
        )  # fmt: skip
    assert process.stdin and process.stdout
    try:
        url = process.stdout.readline().decode().strip()
        assert url, (home / "log").read_text()
        yield Server(url, process.pid)
    finally:
        process.stdin.close()
        process.wait(60)
        process.stdout.close()


@contextmanager
def neighbour(server: Server) -> Generator[Waits]:
    """Asks /healthz again and again."""
    waits, is_over = Waits(), threading.Event()

    def ask() -> None:
        with closing(Client(server.url)) as client:
            while not is_over.wait(0.002):
                began, own = time.monotonic(), own_time(server.process)
                assert client.get("/healthz") == 200
                waits.passed.append(time.monotonic() - began)
                waits.own.append(own_time(server.process) - own)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield waits
    finally:
        is_over.set()
        asking.join()


def p99(seconds: list[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.99)]


def waited(server: Server, send: Callable[[], int]) -> tuple[float, float, set[int]]:
    """How long the neighbour waits while this is sent, by both clocks, and what it is answered with."""
    statuses: set[int] = set()
    with neighbour(server) as waits:
        end = time.monotonic() + LONG_ENOUGH
        while time.monotonic() < end:
            statuses.add(send())
    return p99(waits.passed), p99(waits.own), statuses


def slow_ones(server: Server, sendings: Iterable[tuple[str, Callable[[], int]]], *, expected: set[int]) -> set[str]:
    """What of this makes the neighbour wait, by the server's own time. Prints how long each does."""
    passed: dict[str, float] = {}
    own: dict[str, float] = {}
    for name, send in sendings:
        for _ in range(ROUNDS):
            by_clock, by_itself, statuses = waited(server, send)
            assert statuses <= expected, (name, statuses)
            passed[name] = min(by_clock, passed.get(name, by_clock))
            own[name] = min(by_itself, own.get(name, by_itself))
            if passed[name] < AT_ONCE:
                break
        print(f"{name:60} {passed[name] * 1000:8.1f} ms {own[name] * 1000:8.1f} ms")
    slowest = max(passed, key=lambda name: passed[name])
    print(f"{len(passed)} kinds; the slowest: {slowest}, {passed[slowest] * 1000:.0f} ms by the clock,")
    print(f"{max(own.values()) * 1000:.0f} ms own, {sum(each > AT_ONCE for each in passed.values())} above 100 ms")
    return {name for name, each in own.items() if each > AT_ONCE}
