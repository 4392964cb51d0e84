"""A foreign id costs what an unknown one costs: whose it is comes out of an index, before a word of it is read."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.http.site import settings_in
from tests.http.test_id_swap import CASES, script_for, things_of
from tests.runbooks.http.site import put, runbook_site
from tests.runbooks.lab import document, script

from pollux.bootstrap import open_store
from pollux.stores.reading import Db, Readers
from pollux.tools.demo_mail import demo_mail

WORDS = re.compile(r"\b(?:FROM|JOIN) (?:events|content|messages)\b")
"""Where a store keeps what was said and done."""


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement with which a store is asked, as SQLite runs it."""
    asked: list[str] = []
    take: Any = vars(Readers)["_take"]

    def traced(readers: Readers) -> Db:
        db: Db = take(readers)
        db.set_trace_callback(asked.append)
        return db

    monkeypatch.setattr(Readers, "_take", traced)
    return asked


async def test_nothing_of_a_foreign_thing_is_read_to_find_out_whose_it_is(tmp_path: Path, statements: list[str]):
    store = open_store(settings_in(tmp_path))
    tools = [demo_mail(tmp_path / "outbox.jsonl")]
    put(tmp_path / "runbooks", "a.atrb", document(script("one", "touch done")))
    async with runbook_site(tmp_path, script_for("ada"), tools=tools, store=store, burst=10_000) as here:
        hers = await things_of(here.ada, "ada", has_runbooks=True)
        await here.ada.get(f"/api/agent/runs/{hers.run}")
        assert [each for each in statements if WORDS.search(each)], "her own are read by such statements"
        asked = 0
        for (method, place), asks in CASES.items():
            for real, never in zip(asks(hers), asks(hers.unknown()), strict=True):
                costs: list[list[str]] = []
                for ask in (real, never):
                    statements.clear()
                    got = await here.bob.send(method, ask.path, ask.body)
                    assert got.status == ask.status
                    costs.append([without_ids(each) for each in statements])
                    if ask.status == 404:
                        assert not [each for each in statements if WORDS.search(each)], (method, ask.path)
                assert costs[0] == costs[1], (method, place)
                asked += 1
        print(f"{asked} pairs of a foreign and an unknown id")
        assert asked > 80


def without_ids(statement: str) -> str:
    return re.sub(r"[0-9a-f]{24}[\w.]*|\d+\.\d+", "ID", statement)
