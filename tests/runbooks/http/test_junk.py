"""Bad input never gives a 5xx, and never runs or writes anything."""

import logging
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest
from tests.http.junk import BODIES, QUERIES, VALUES, head
from tests.http.test_junk import AUTH, CLOSE, sent
from tests.runbooks.http.site import RUNS, asked, begun, ended, put, runbook_site
from tests.runbooks.lab import document, id_of, script

from pollux.runbooks.documents import MAX_BYTES
from pollux.runbooks.http.table import ENDPOINTS

FITTING = {
    "PUT /api/runbooks/documents": b'{"source": "[]", "digest": "x"}',
    "PATCH /api/runbooks/documents/blocks/{id}": b'{"props": {}, "digest": "x"}',
    "POST /api/runbooks/runs": b'{"path": "a.atrb", "variables": {}, "digest": "x", "trust": false}',
    "POST /api/runbooks/runs/{id}/resume": b'{"retry": "x", "skip": null}',
    "POST /api/runbooks/runs/{id}/tool-approval": b'{"approvalId": "x", "approved": true, "remember": true}',
}


def bodies(label: str) -> Iterator[bytes]:
    """Bodies that are none, and one that fits with something odd in every place."""
    yield from BODIES.values()
    fitting = msgspec.json.decode(FITTING[label], type=dict[str, msgspec.Raw])
    for name in fitting:
        for value in VALUES.values():
            rest = b", ".join(b'"%s": %s' % (key.encode(), bytes(each)) for key, each in fitting.items() if key != name)
            yield b'{%s"%s": %s}' % (rest + b", " if rest else b"", name.encode(), value)


def test_every_route_that_takes_a_body_is_here():
    assert set(FITTING) == {f"{row.method} {row.path}" for row in ENDPOINTS if row.body}


@pytest.mark.parametrize("label", FITTING)
async def test_no_body_breaks_a_route(label: str, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    method, path = label.split(" ")
    text = document(script("one", "touch done"))
    async with runbook_site(tmp_path, burst=10**6, requests_per_minute=10**9) as here:
        file = put(tmp_path / "runbooks", "a.atrb", text)
        run = await asked(here.ada, (await begun(here.ada, "a.atrb", trust=False))["runId"])
        target = path.replace("{id}", id_of("one") if "blocks" in path else run["runId"])
        target += "?path=a.atrb" if "documents" in path else ""
        for body in bodies(label):
            await sent(here, head(method, target, AUTH, CLOSE, f"Content-Length: {len(body)}"), body)
        again = await asked(here.ada, run["runId"])
        assert again["approvals"] == run["approvals"]
    assert file.read_text() == text and not (tmp_path / "runbooks/done").exists()
    assert [record for record in caplog.records if record.levelno >= logging.ERROR or record.exc_info] == []


async def test_no_query_and_no_id_breaks_a_route(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    async with runbook_site(tmp_path, burst=10**6, requests_per_minute=10**9) as here:
        put(tmp_path / "runbooks", "a.atrb", document(script("one", "true")))
        for row in ENDPOINTS:
            names = [field.encode_name for field in msgspec.structs.fields(row.query)] if row.query else []
            targets = [f"{row.path}?{name}={value.replace('X', name)}" for name in names for value in QUERIES]
            targets += [
                row.path.replace("{id}", quote(odd)) for odd in ("x", "..", "run_", "a" * 500, "\0", "é", "%2e")
            ]
            for target in targets:
                body = FITTING.get(f"{row.method} {row.path}")
                got = await here.ada.send(row.method, target, raw=body, headers={"Content-Type": "application/json"})
                assert got.status < 500, (target, got)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR or record.exc_info] == []


async def test_what_is_too_large_or_too_deep_is_refused_soon(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        file = put(tmp_path / "runbooks", "a.atrb", document(script("one", "true")))
        digest = (await here.ada.get("/api/runbooks/documents?path=a.atrb")).body["digest"]
        laughs = [f"{name}: &{name} [{', '.join(['*' + former] * 9)}]" for former, name in pairwise("abcdefgh")]
        bombs = (
            "x: " + "[" * 10_000,
            "\n".join(["a: &a [x]", *laughs]),
            "[" + ",".join(['{"id": "x", "type": "script", "props": {}}'] * 3_000) + "]",
        )
        for bomb in bombs:
            got = await here.ada.send("PUT", "/api/runbooks/documents?path=a.atrb", {"source": bomb, "digest": digest})
            assert got.status == 400, got
        whole = "#" * (MAX_BYTES + 1)
        file.write_text(whole)
        assert (await here.ada.get("/api/runbooks/documents?path=a.atrb")).status == 400
        (listed,) = (await here.ada.get("/api/runbooks")).body["items"]
        assert listed["error"] and listed["digest"] == ""
        assert (await here.ada.post(RUNS, {"path": "a.atrb"})).status == 400


async def test_variables_are_texts_and_reach_the_blocks(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        put(tmp_path / "runbooks", "a.atrb", document(script("one", "echo {{ var.region | shellquote }} > out")))
        assert (await here.ada.post(RUNS, {"path": "a.atrb", "variables": {"region": 7}})).status == 400
        run = await begun(here.ada, "a.atrb", variables={"region": "eu; touch bad"})
        assert (await ended(here.ada, run["runId"]))["state"] == "completed"
    assert (tmp_path / "runbooks/out").read_text() == "eu; touch bad\n"
