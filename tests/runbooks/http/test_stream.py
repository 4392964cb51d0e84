"""What a runbook's stream tells: from the beginning for whoever comes late, live for whoever is there."""

import asyncio
import json
from pathlib import Path

import pytest
from tests import waiting
from tests.http.site import Person
from tests.runbooks.http.site import (
    PATIENCE,
    RUNS,
    begun,
    checked,
    ended,
    events,
    put,
    runbook_site,
)
from tests.runbooks.lab import document, script

from pollux.asgi import beats
from pollux.testing import reply, scripted

SLOW = "echo first; while ! test -e go; do sleep 0.02; done; echo last >&2"


async def test_output_is_told_while_the_block_runs(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        put(tmp_path / "runbooks", "a.atrb", document(script("one", SLOW)))
        run = await begun(here.ada, "a.atrb")
        async with asyncio.timeout(PATIENCE), here.ada.open("GET", f"{RUNS}/{run['runId']}/events") as answer:
            assert answer.content_type == "application/x-ndjson"
            told = [checked(await answer.content.readline())]
            while "".join(line["data"].get("stdout", "") for line in told) != "first\n":
                told.append(checked(await answer.content.readline()))
            (tmp_path / "runbooks/go").touch()
            told += [checked(line) async for line in answer.content]
        late = await events(here.ada, run["runId"])
    assert "".join(line["data"].get("stderr", "") for line in told) == "last\n"
    assert told[-1]["type"] == "runbookFinished" and told[-1]["data"]["status"] == "completed"
    facts = [line for line in told if line["type"] != "blockOutput"]
    assert [line for line in late if line["type"] != "blockOutput"] == facts


async def test_whoever_comes_late_is_told_what_a_block_at_work_has_shown_and_nothing_twice(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        put(tmp_path / "runbooks", "a.atrb", document(script("one", f"seq -f 'line %.0f' 5000; {SLOW}")))
        run = await begun(here.ada, "a.atrb")
        async with asyncio.timeout(PATIENCE):
            # The first may be there while it comes; for the others all of it is past.
            _, *late = [await until(here.ada, run["runId"], "first\n") for _ in range(3)]
            (tmp_path / "runbooks/go").touch()
        assert (await ended(here.ada, run["runId"]))["state"] == "completed"
        told = await events(here.ada, run["runId"])
    assert late[0] == late[1] and len(late[0]) <= 16_384
    *lines, last = late[0].splitlines()
    assert lines == [f"line {number}" for number in range(5001 - len(lines), 5001)] and last == "first"
    assert 1_000 < len(lines) < 5_000
    assert not [line for line in told if line["type"] == "blockOutput"], "what is over is in the result"


async def until(person: Person, run_id: str, last: str) -> str:
    """What is put out, up to there."""
    said = ""
    async with person.open("GET", f"{RUNS}/{run_id}/events") as answer:
        while last not in said:
            data = checked(await answer.content.readline())["data"]
            said += data.get("stdout", "") + data.get("stderr", "")
        answer.close()
    return said


async def test_as_server_sent_events_with_a_beat_where_nothing_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(beats, "BEAT_SECONDS", 0.05)
    async with runbook_site(tmp_path) as here:
        put(tmp_path / "runbooks", "a.atrb", document(script("one", SLOW)))
        run = await begun(here.ada, "a.atrb")
        accept = {"Accept": "text/event-stream"}
        async with (
            asyncio.timeout(PATIENCE),
            here.ada.open("GET", f"{RUNS}/{run['runId']}/events", None, accept) as got,
        ):
            assert got.content_type == "text/event-stream"
            text = b""
            while b":\n\n" not in text:
                text += await got.content.readany()
            (tmp_path / "runbooks/go").touch()
            text += await got.content.read()
    frames = [frame for frame in text.decode().split("\n\n") if frame and frame != ":"]
    names = [frame.splitlines()[0].removeprefix("event: ") for frame in frames]
    told = [json.loads(frame.splitlines()[1].removeprefix("data: ")) for frame in frames]
    assert names == [line["type"] for line in told] and names[-1] == "runbookFinished"


async def test_who_hangs_up_stops_nothing_and_leaves_nothing_behind(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        put(tmp_path / "runbooks", "a.atrb", document(script("one", SLOW)))
        run = await begun(here.ada, "a.atrb")
        async with asyncio.timeout(PATIENCE):
            for _ in range(5):
                async with here.ada.open("GET", f"{RUNS}/{run['runId']}/events") as answer:
                    await answer.content.readline()
                    answer.close()
            await waiting.until(
                lambda: not [task for task in asyncio.all_tasks() if "Queue.get" in str(task.get_coro())]
            )
        (tmp_path / "runbooks/go").touch()
        assert (await ended(here.ada, run["runId"]))["state"] == "completed"


async def test_a_run_of_a_prompt_has_no_such_stream(tmp_path: Path):
    async with runbook_site(tmp_path, scripted(reply("Hello."))) as here:
        run = await here.ada.run("say hello")
        for path in (f"{RUNS}/{run['runId']}", f"{RUNS}/{run['runId']}/events"):
            assert (await here.ada.get(path)).status == 404
        assert (await here.ada.post(f"{RUNS}/{run['runId']}/resume", {})).status == 404
