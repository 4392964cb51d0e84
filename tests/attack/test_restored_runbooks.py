"""A backup is put back while a runbook was under way, or had stopped: resumed, no block of it repeats unasked."""

import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.engine.builders import KEY
from tests.runbooks.lab import ADA, RunbookLab, block, document, ended, id_of, script, waiting
from tests.waiting import until

from pollux.core.policy import MAY_BE_DONE
from pollux.engine.adoption import adopt
from pollux.engine.engine import Engine
from pollux.engine.system import SystemClock
from pollux.runbooks.runtime import Runbooks
from pollux.stores.sqlite import SqliteStore

BLOCKS = (
    script("one", "until test -e go; do sleep 0.01; done; test -e fine"),
    script("two", "echo two >> log"),
)


class World:
    """A store in a folder of its own, its backup, and what runs on it."""

    def __init__(self, path: Path) -> None:
        self._folder, self._backup = path / "store", path / "backup"
        self._folder.mkdir()
        self.lab = RunbookLab(path, self.store)

    def store(self) -> SqliteStore:
        return SqliteStore(self._folder / "s.db", key=KEY, heads=self._folder / "heads")

    def back_up(self) -> None:
        shutil.copytree(self._folder, self._backup, ignore=shutil.ignore_patterns("*.lock", "heads", "*-shm"))

    async def restore(self) -> tuple[Engine, Runbooks]:
        """The backup instead of what is there, adopted by a person."""
        await self.lab.close()
        for name in ("s.db", "s.db-wal", "s.db-shm"):
            (self._folder / name).unlink(missing_ok=True)
        shutil.copytree(self._backup, self._folder, dirs_exist_ok=True)
        store = self.store()
        await store.open()
        await adopt(store, by="ada", at=SystemClock().now())
        await store.close()
        return await self.lab.engine()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[World]:
    world = World(tmp_path)
    yield world
    await world.lab.close()


@pytest.mark.parametrize("is_part", [False, True])
async def test_blocks_after_the_one_that_a_restored_runbook_stopped_at_are_asked_about(world: World, is_part: bool):
    lab = world.lab
    engine, runbooks = await lab.engine()
    source = document(*BLOCKS)
    if is_part:
        inner = document(script("two", "echo two >> log"), name="part")
        (lab.work / "part.runbook.json").write_text(inner)
        lab.accept(inner)
        source = document(BLOCKS[0], block("sub-runbook", "part", runbookPath="part.runbook.json"))
    run = await lab.start(runbooks, source)

    async def begun() -> bool:
        return any(action.started for action in (await engine.queries.run(run.id)).actions)

    await until(begun)
    world.back_up()
    (lab.work / "fine").touch()
    (lab.work / "go").touch()
    assert (await ended(engine, run)).status == "completed" and (lab.work / "log").read_text() == "two\n"

    engine, runbooks = await world.restore()
    assert (await ended(engine, run)).status == "failed"
    again = await runbooks.resume(run.id, user=ADA, skip=id_of("one"))
    asked = await waiting(engine, again.id)
    assert MAY_BE_DONE in asked.approvals[0].reason
    assert (lab.work / "log").read_text() == "two\n"


async def test_a_runbook_that_had_stopped_before_the_backup_asks_too(world: World):
    lab = world.lab
    engine, runbooks = await lab.engine()
    (lab.work / "go").touch()
    run = await ended(engine, await lab.start(runbooks, document(*BLOCKS)))
    assert run.status == "failed"
    world.back_up()
    await ended(engine, await runbooks.resume(run.id, user=ADA, skip=id_of("one")))
    assert (lab.work / "log").read_text() == "two\n"

    engine, runbooks = await world.restore()
    again = await runbooks.resume(run.id, user=ADA, skip=id_of("one"))
    asked = await waiting(engine, again.id)
    assert MAY_BE_DONE in asked.approvals[0].reason and (lab.work / "log").read_text() == "two\n"

    # A document that is begun now has done nothing before.
    (lab.work / "fine").touch()
    new = await ended(engine, await lab.start(runbooks, document(*BLOCKS)))
    assert new.status == "completed"
