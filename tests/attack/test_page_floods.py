"""One anonymous visitor sends what costs most, and somebody else asks /healthz: it answers at once all the while.

.venv/bin/pytest tests/attack/test_page_floods.py -s -q
"""

import http.client
import json
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.attack.page_floods import FLOODS
from tests.attack.page_process import page_process
from tests.attack.schema_bombs import BOMBS, tool
from tests.waiting import own_time

from pollux.core.frozen import frozen

pytestmark = pytest.mark.slow

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

    def visit(self) -> None:
        self.token = self.post("/api/page/session", b"{}")[1]["token"]


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


def waited(server: Server, visitor: Client, body: bytes) -> tuple[float, float, set[int]]:
    """How long the neighbour waits while this is sent, by both clocks, and what it is answered with."""
    statuses: set[int] = set()
    with neighbour(server) as waits:
        end = time.monotonic() + LONG_ENOUGH
        while time.monotonic() < end:
            statuses.add(visitor.post("/api/page/send-message", body)[0])
    return p99(waits.passed), p99(waits.own), statuses


def sendings() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, (schema, _) in BOMBS.items():
        yield f"schema: {name}", {"message": name, "toolDefinitions": [tool(schema)]}
    for name, members in FLOODS.items():
        yield f"request: {name}", {"message": "hi", **members}


def test_nothing_that_a_visitor_sends_keeps_others_waiting(tmp_path: Path):
    with page_process(tmp_path) as (url, process), closing(Client(url)) as visitor:
        server = Server(url, process)
        visitor.visit()
        calm, _, _ = waited(server, visitor, b'{"message": "hi"}')
        passed: dict[str, float] = {}
        own: dict[str, float] = {}
        for name, body in (*sendings(), *forged(visitor)):
            sent = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
            assert len(sent) < 1 << 20, name
            for _ in range(ROUNDS):
                by_clock, by_itself, statuses = waited(server, visitor, sent)
                assert statuses <= {200, 400}, (name, statuses)
                passed[name] = min(by_clock, passed.get(name, by_clock))
                own[name] = min(by_itself, own.get(name, by_itself))
                if passed[name] < AT_ONCE:
                    break
            print(f"{name:60} {passed[name] * 1000:8.1f} ms {own[name] * 1000:8.1f} ms")
    slowest = max(passed, key=lambda name: passed[name])
    print(f"\n{len(passed)} kinds of request; p99 of /healthz without them: {calm * 1000:.0f} ms,")
    print(f"under the slowest ({slowest}): {passed[slowest] * 1000:.0f} ms, {len(late(passed))} above 100 ms")
    assert late(own) == {}


def late(seconds: Mapping[str, float]) -> dict[str, float]:
    return {name: each for name, each in seconds.items() if each > AT_ONCE}


def forged(visitor: Client) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A history that was given here, and changed into something large."""
    _, told = visitor.post("/api/page/send-message", b'{"message": "hi"}')
    first, *rest = told["history"]
    parts: list[tuple[str, dict[str, Any]]] = [
        ("numbers", {"functionResponse": {"id": "c", "name": "act", "response": {"output": [0] * 300_000}}}),
        ("lists", {"functionResponse": {"id": "c", "name": "act", "response": {"output": [[]] * 200_000}}}),
        ("texts", {"text": "\N{LATIN SMALL LETTER E WITH ACUTE}" * 150_000}),
    ]
    for name, part in parts:
        yield f"history: {name}", {"message": "hi", "history": [{**first, "parts": [part]}, *rest]}
