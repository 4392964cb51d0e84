"""A run that a newer version has gone on with: this one leaves it as it is, says so, and goes on with the others."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.engine.builders import (
    ADA,
    TO_BOB,
    HeldTool,
    Lab,
    answer,
    approve,
    ask,
    kinds,
    mail,
    question,
    watched,
)
from tests.waiting import HANG_SECONDS, until

from pollux.core.errors import Draining, TooNew
from pollux.core.policy import Rule
from pollux.core.run import Run
from pollux.engine.feed import Item
from pollux.providers.scripted import call, reply
from pollux.wire.versions import VERSION

NEWER = [("RunPainted", VERSION), ("RunClaimed", VERSION + 1)]
"""A kind of event that only a newer version knows, and one that it has marked: there is more to it than we know."""


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    lab = Lab("sqlite", tmp_path)
    yield lab
    await lab.close()


@pytest.mark.parametrize(("kind", "version"), NEWER)
async def test_it_is_neither_read_nor_answered_nor_recovered_and_the_others_are(
    lab: Lab, tmp_path: Path, kind: str, version: int
):
    engine = await lab.engine(call("send_mail", TO_BOB), call("send_mail", TO_BOB), reply("Sent."), tools=[mail()])
    newer, known = await answer(engine), await answer(engine)
    _append(tmp_path, newer, kind, version)
    before = _rows(tmp_path, newer)
    for asked in (
        engine.queries.run(newer.id),
        engine.resolve(question(newer).id, "approved", by=ADA),
        engine.cancel(newer.id, by=ADA),
        engine.recover(newer.id),
        watched(engine, newer),
    ):
        with pytest.raises(TooNew, match="Update Pollux"):
            await asked
    assert {row.run_id for row in await engine.queries.runs(ADA)} == {newer.id, known.id}
    assert [question.run.id for question in await engine.queries.approvals(ADA)] == [known.id]
    await engine.recover()
    assert (await approve(engine, known)).text == "Sent."
    assert _rows(tmp_path, newer) == before


async def test_who_watches_it_is_sent_elsewhere_and_who_watches_others_sees_them_end(lab: Lab, tmp_path: Path):
    engine = await lab.engine(call("send_mail", TO_BOB), call("send_mail", TO_BOB), reply("Sent."), tools=[mail()])
    newer, known = await answer(engine), await answer(engine)
    watching = [engine.watch(run.id) for run in (newer, known)]
    for each in watching:
        # Both have read what there is before the newer version writes.
        await anext(each)
    both = [asyncio.create_task(_rest(each)) for each in watching]
    _append(tmp_path, newer, *NEWER[0])
    with pytest.raises(Draining, match="watch the run from another"):
        await both[0]
    # By another process, so that it must be heard of.
    elsewhere = await lab.engine(reply("Sent."), tools=[mail()])
    await approve(elsewhere, known)
    assert type(getattr((await both[1])[-1], "event", None)).__name__ == "RunCompleted"


async def test_what_its_tool_did_here_is_left_to_be_found_out_as_after_a_crash(lab: Lab, tmp_path: Path):
    slow = HeldTool("send_mail", side_effect=True, repeat="keyed")
    engine = await lab.engine(call("send_mail", TO_BOB), tools=[slow], rules=[Rule("allow")])
    run = await ask(engine)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
    _append(tmp_path, run, *NEWER[1])
    slow.let_go.set()
    await until(lambda: not _is_driven(engine, run))
    assert [row[1] for row in _rows(tmp_path, run)][-2:] == ["ActionStarted", "RunClaimed"]


async def test_a_thread_with_words_of_a_newer_kind_is_not_spoken_in(lab: Lab, tmp_path: Path):
    engine = await lab.engine(reply("One."), reply("Other."))
    first = await answer(engine)
    _say(tmp_path, first, {"role": "assistant", "parts": [{"type": "hologram", "depth": 3}]})
    await engine.close()
    engine = await lab.engine(reply("Other."))
    run = await ask(engine, "and?", thread_id=first.thread_id)
    assert (await answer(engine, "elsewhere")).text == "Other."
    await until(lambda: not _is_driven(engine, run))
    # Begun by us, but not failed: a newer process asks the model.
    assert await kinds(engine, run) == ["RunStarted", "RunClaimed", "ModelCalled"]
    with pytest.raises(TooNew, match="hologram"):
        await engine.recover(run.id)
    assert (await engine.queries.run(run.id)).version == 3
    await settle_nothing(engine, run)


async def _rest(watching: AsyncIterator[Item]) -> list[Item]:
    """What a watcher still sees until the run has ended."""
    async with asyncio.timeout(HANG_SECONDS):
        return [item async for item in watching]


async def settle_nothing(engine: Any, run: Run) -> None:
    """It is still open, and owed to whoever can do it."""
    (row,) = [row for row in await engine.queries.runs(ADA) if row.run_id == run.id]
    assert (row.status, row.owed) == ("planning", True)


def _is_driven(engine: Any, run: Run) -> bool:
    return engine._ledger.is_driven(run.id)  # pyright: ignore[reportPrivateUsage]


def _append(folder: Path, run: Run, kind: str, version: int) -> None:
    """What a newer version wrote."""
    facts = json.dumps({"epoch": run.epoch, "driver": "drv_newer", "colour": "red", "at": 1.0})
    with closing(sqlite3.connect(folder / "pollux.db", isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        (last,) = db.execute("SELECT version FROM runs WHERE run_id = ?", (run.id,)).fetchone()
        db.execute("INSERT INTO events VALUES (?, ?, ?, ?, 1.0, ?)", (f"r:{run.id}", last + 1, kind, version, facts))
        db.execute("UPDATE runs SET version = ? WHERE run_id = ?", (last + 1, run.id))
        db.execute("COMMIT")


def _say(folder: Path, run: Run, message: dict[str, Any]) -> None:
    """What was said last in the run's thread, in other words."""
    with closing(sqlite3.connect(folder / "pollux.db", isolation_level=None)) as db:
        said = "SELECT digest FROM messages WHERE thread_id = ? ORDER BY seq DESC LIMIT 1"
        (digest,) = db.execute(said, (run.thread_id,)).fetchone()
        db.execute("UPDATE content SET body = ? WHERE digest = ?", (json.dumps(message).encode(), digest))


def _rows(folder: Path, run: Run) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "pollux.db")) as db:
        return db.execute("SELECT seq, kind, v, facts FROM events WHERE stream = ?", (f"r:{run.id}",)).fetchall()
