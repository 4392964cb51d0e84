"""A user edits a question again and again, into the arguments that cost most: /healthz answers at once all the while.

.venv/bin/pytest tests/attack/test_call_floods.py -s -q
"""

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.attack.neighbour import Client, server_of, slow_ones
from tests.attack.test_slow_texts import HOSTILE
from tests.http.site import TOKENS

ABOUT = 1_000_000
"""Bytes: a request may have a few more."""
NUMBER = "~~~~"
"""Where the number of the edit goes: none is quick because the server has met the text before."""
SEVERAL: Mapping[str, Any] = {
    "a hundred marks on each letter": ("e" + "\u0301" * 99 + "\u200b") * 600,
    "letters beyond ASCII": "ü" * 60_000,
    "syllables in parts": "\u1100\u1161" * 30_000,
    "addresses": "a@b.c, " * 8_500,
    "quotes": '"' * 60_000,
    "labels of punycode": "xn--a-ecp.ru, " * 4_300,
}
MANY: Mapping[str, Any] = {
    "numbers": [1.5e300] * 19_000,
    "small texts": [f"{NUMBER}ü@b.c"] * 19_000,
    "lists in objects": [{"a": {"b": ["ü"] * 10}}] * 1_500,
    "names": {f"k{n}ü": "v" for n in range(9_000)},
    "long addresses": [f"{NUMBER}{n}{'ü' * 400}@é.example" for n in range(1_000)],
    "more addresses than anybody compares": [f"{NUMBER}{n}{'ж' * 40}@é.example" for n in range(9_000)],
}


def arguments() -> Mapping[str, Any]:
    found: dict[str, Any] = {f"one text: {name}": NUMBER + text for name, text in HOSTILE.items()}
    for name, text in {**HOSTILE, **SEVERAL}.items():
        found[f"texts: {name}"] = [NUMBER + text] * (ABOUT // (len(json.dumps(text, ensure_ascii=False).encode()) + 1))
    return found | {f"values: {name}": values for name, values in MANY.items()}


@pytest.mark.slow
def test_nothing_that_a_call_holds_keeps_others_waiting(tmp_path: Path):
    with server_of("tests.attack.call_process", tmp_path) as server, closing(Client(server.url)) as ada:
        ada.token = TOKENS["ada"]
        sendings = ((name, editing(ada, {"to": to})) for name, to in arguments().items())
        assert slow_ones(server, sendings, expected={201, 403}) == set()


def editing(ada: Client, args: Mapping[str, Any]) -> Callable[[], int]:
    """Edit a question of a new run into these arguments, and what the edit leads to into the same."""
    asked = ada.post("/api/agent/run", b'{"prompt": "write"}')[1]["approvals"][0]["id"]
    waiting, numbers = [asked], count()
    body = json.dumps({"args": args}, ensure_ascii=False, separators=(",", ":")).encode()

    def edit() -> int:
        numbered = body.replace(NUMBER.encode(), b"%04d" % next(numbers))
        status, told = ada.post(f"/api/agent/approvals/{waiting[-1]}/edit", numbered)
        if status == 201 and told["approval"]:
            waiting.append(told["approval"]["id"])
        return status

    return edit
