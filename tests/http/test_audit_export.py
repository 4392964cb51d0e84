"""The audit filtered, and given away whole: as lines, or as a table that no spreadsheet works out."""

import csv
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.http.scenes import mail, refused, to
from tests.http.site import Person, site

from pollux.core.policy import Rule
from pollux.engine.ports import AuditFact, Change
from pollux.http import audit
from pollux.stores.sqlite import SqliteStore
from pollux.testing import FakeClock, call, reply
from pollux.testing import scripted as model

AUDIT, EXPORT = "/api/agent/audit", "/api/agent/audit/export"


async def seqs(person: Person, query: str = "") -> list[int]:
    got = await person.get(f"{AUDIT}?limit=100{query}")
    assert got.status == 200, got
    return [each["seq"] for each in got.body["items"]]


async def exported(person: Person, query: str = "") -> list[dict[str, Any]]:
    got = await person.get(f"{EXPORT}{query}")
    assert got.status == 200, got
    assert got.headers["content-disposition"] == 'attachment; filename="pollux-audit.jsonl"'
    assert "no-store" in got.headers["cache-control"]
    return [json.loads(line) for line in got.body.splitlines()]


async def test_the_audit_is_filtered_by_what_is_asked_for(tmp_path: Path):
    steps = [step for name in ("bob", "eve") for step in (call(*to(name)), reply("Sent."))]
    clock = FakeClock()
    store = SqliteStore(tmp_path / "pollux.db", key=b"k" * 32)
    async with site(tmp_path, model(*steps), tools=[mail()], rules=[Rule("allow")], store=store, clock=clock) as here:
        runs: list[str] = []
        for name in ("bob", "eve"):
            clock.advance(3_600)
            runs.append((await here.ada.run(f"email {name}"))["runId"])
        items = (await here.ada.get(AUDIT)).body["items"]
        assert len(items) == 6

        def of(name: str, value: str) -> list[int]:
            return [each["seq"] for each in items if each[name] == value]

        assert await seqs(here.ada, "&kind=started") == of("kind", "started") and len(of("kind", "started")) == 2
        assert await seqs(here.ada, "&status=completed") == of("executionStatus", "completed")
        assert await seqs(here.ada, "&tool=send_mail") == await seqs(here.ada)
        assert await seqs(here.ada, "&tool=other") == []
        assert await seqs(here.ada, f"&runId={runs[0]}") == of("runId", runs[0])
        assert await seqs(here.ada, f"&runId={runs[0]}&kind=decided") == of("runId", runs[0])[-1:]
        later = items[0]["at"]
        assert await seqs(here.ada, f"&since={later}") == of("runId", runs[1])
        assert await seqs(here.ada, f"&until={later}") == of("runId", runs[0])
        assert await seqs(here.ada, "&since=2999-01-01") == [] == await seqs(here.ada, "&until=1970-01-01")
        page = (await here.ada.get(f"{AUDIT}?kind=started&limit=1")).body
        rest = (await here.ada.get(f"{AUDIT}?kind=started&limit=1&before={page['next']}")).body
        assert [page["items"][0]["seq"], rest["items"][0]["seq"]] == of("kind", "started") and rest["next"] is None
        assert await exported(here.ada, f"?runId={runs[1]}") == [
            each for each in items[::-1] if each["runId"] == runs[1]
        ]
        for wrong in ("since=yesterday", "until=1", "since=", "kind=", "format=xml"):
            refused(await here.ada.get(f"{EXPORT}?{wrong}"), 400, "invalid")


async def test_everything_of_a_user_is_given_oldest_first_however_much_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(audit, "PIECE", 7)
    async with site(tmp_path, model(), store=SqliteStore(tmp_path / "pollux.db", key=b"k" * 32)) as here:
        assert await exported(here.ada) == []
        for number in range(50):
            facts = tuple(AuditFact(1_000.0 + number, "started", user, run_id="run_x") for user in ("ada", "bob"))
            await here.engine._store.commit(Change(audit=facts))  # pyright: ignore[reportPrivateUsage]
        told = await exported(here.ada)
        assert [each["user"] for each in told] == ["ada"] * 50
        assert [each["seq"] for each in told] == sorted(each["seq"] for each in told)
        assert told[-1] == (await here.ada.get(f"{AUDIT}?limit=1")).body["items"][0]


@pytest.mark.parametrize("value", ["'x'", "1e300", "9e999", "-1e12", "x'ff'"])
async def test_a_time_that_is_none_hides_no_entry(tmp_path: Path, value: str):
    async with site(tmp_path, model(), store=SqliteStore(tmp_path / "pollux.db", key=b"k" * 32)) as here:
        facts = tuple(AuditFact(1_000.0, "started", "ada", run_id="run_x", started_at=1_000.0) for _ in range(3))
        await here.engine._store.commit(Change(audit=facts))  # pyright: ignore[reportPrivateUsage]
        with closing(sqlite3.connect(tmp_path / "pollux.db")) as db:
            db.execute("DROP TRIGGER audit_refuses_update")
            db.execute(f"UPDATE audit SET at = {value}, started_at = {value} WHERE seq = 2")
            db.commit()
        assert await seqs(here.ada) == [3, 2, 1]
        assert [each["seq"] for each in await exported(here.ada)] == [1, 2, 3]
        assert len((await here.ada.get(f"{EXPORT}?format=csv")).body.splitlines()) == 4
        verified = (await here.ada.get(f"{AUDIT}/verify")).body
        assert not verified["valid"] and "update: entry 2 changed after being written" in verified["problems"]


async def test_a_table_holds_nothing_that_a_spreadsheet_would_work_out(tmp_path: Path):
    nasty = ('=HYPERLINK("http://evil.example","x")', "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", 'a "quoted", one')
    async with site(tmp_path, model()) as here:
        for each in nasty:
            fact = AuditFact(1_000.0, "started", "ada", tool_name=each, by="two\nlines")
            await here.engine._store.commit(Change(audit=(fact,)))  # pyright: ignore[reportPrivateUsage]
        got = await here.ada.get(f"{EXPORT}?format=csv")
        items = await exported(here.ada)
    assert got.headers["content-type"].startswith("text/csv")
    assert got.headers["content-disposition"] == 'attachment; filename="pollux-audit.csv"'
    names, *told = csv.reader(io.StringIO(got.body.decode(), newline=""))
    assert names == list(items[0])
    tools = [row[names.index("toolName")] for row in told]
    assert tools == [*(f"'{each}" for each in nasty[:-1]), nasty[-1]]
    assert [row[names.index("by")] for row in told] == ["two\nlines"] * len(nasty)
    assert [row[names.index("hash")] for row in told] == [each["hash"] for each in items]
