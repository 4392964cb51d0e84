"""One anonymous visitor sends what costs most, and somebody else asks /healthz: it answers at once all the while.

.venv/bin/pytest tests/attack/test_page_floods.py -s -q
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.attack.neighbour import Client, server_of, slow_ones, waited
from tests.attack.page_floods import FLOODS
from tests.attack.schema_bombs import BOMBS, tool

pytestmark = pytest.mark.slow


def sendings() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, (schema, _) in BOMBS.items():
        yield f"schema: {name}", {"message": name, "toolDefinitions": [tool(schema)]}
    for name, members in FLOODS.items():
        yield f"request: {name}", {"message": "hi", **members}


def test_nothing_that_a_visitor_sends_keeps_others_waiting(tmp_path: Path):
    with server_of("tests.attack.page_process", tmp_path) as server, closing(Client(server.url)) as visitor:
        visitor.visit()
        calm, _ = waited(server, sending(visitor, {"message": "hi"}))
        print(f"p99 of /healthz without them: {calm.own * 1000:.0f} ms own")
        bodies = ((name, sending(visitor, body)) for name, body in (*sendings(), *forged(visitor)))
        assert slow_ones(server, bodies, expected={200, 400}) == set()


def sending(visitor: Client, body: Mapping[str, Any]) -> Callable[[], int]:
    sent = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    assert len(sent) < 1 << 20
    return lambda: visitor.post("/api/page/send-message", sent)[0]


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
