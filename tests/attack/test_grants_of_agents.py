"""A grant that an agent inside a document got is that agent's: its block, its command, its program, its place."""

from pathlib import Path
from typing import Any

import pytest
from tests.runbooks.http.site import ENDED, asked, begun, put, runbook_site
from tests.runbooks.lab import agent, block, document
from tests.runbooks.test_foreign_agents import worker

from pollux.engine.model import Provider
from pollux.providers.scripted import ScriptedProvider, call, reply

pytest.importorskip("acp")

LINES = ('users = ["ada"]',)


async def questions_of(folder: Path, *blocks: dict[str, Any], model: Provider | None = None, **others: str) -> int:
    """How many questions a trusted document asks, each answered with "always"."""
    async with runbook_site(folder, model, lines=LINES) as here:
        for name, text in others.items():
            put(folder / "runbooks", f"{name}.atrb", text)
        put(folder / "runbooks", "a.atrb", document(*blocks))
        run_id = (await begun(here.ada, "a.atrb"))["runId"]
        count = 0
        while (run := await asked(here.ada, run_id))["state"] not in ENDED:
            for approval in run["approvals"]:
                # The agent goes on and may ask again: nothing settles meanwhile that could be waited for.
                always = "approve_and_always_allow_recipient"
                answer = await here.ada.resolve(approval["id"], always, query="?wait=0")
                count += answer.status == 200
        assert run["state"] == "completed", run
        return count


async def test_two_agents_of_one_name_are_asked_about_one_by_one(tmp_path: Path):
    first, second = worker("work", "append log.txt 1"), worker("work", "append log.txt 2")
    second["id"] = "5b0f6d0e-2a55-4a4b-8f2b-3f6a7f0c1a05"
    second["props"]["source"]["args"].append("--other-agent")
    assert await questions_of(tmp_path, first, second) == 2


async def test_always_counts_for_all_that_one_agent_asks_of_that_kind(tmp_path: Path):
    assert await questions_of(tmp_path, worker("work", "append log.txt 1", "append log.txt 2")) == 1


@pytest.mark.parametrize("order", ["write note.txt 1", "run touch note.txt"])
async def test_files_and_commands_that_one_agent_may_have_another_may_not(order: str, tmp_path: Path):
    assert await questions_of(tmp_path, worker("first", order), worker("second", order)) == 2


async def test_a_part_that_is_run_twice_asks_in_both_places(tmp_path: Path):
    part = document(worker("inner", "append log.txt 1"), name="Part")
    blocks = (block("sub-runbook", name, runbookPath="part.atrb") for name in ("one", "two"))
    assert await questions_of(tmp_path, *blocks, part=part) == 2 + 2


async def test_agents_of_our_own_in_one_document_are_two(tmp_path: Path):
    write = call("write_file", {"path": "made.txt", "content": "made"})
    model = ScriptedProvider(write, reply("Made."), write, reply("Made."))
    may = {"readFiles": True, "writeFiles": True}
    blocks = (agent(name, "write it", capabilities=may) for name in ("one", "two"))
    assert await questions_of(tmp_path, *blocks, model=model) == 2
