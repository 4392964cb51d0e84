"""One inbox: what an HTTP tool, the command line and a foreign agent ask, side by side, each answered for itself."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.http.site import Person, process
from tests.http.test_serve import caller, models
from tests.runbooks.http.site import asked, begun, config, ended, put
from tests.runbooks.lab import document
from tests.runbooks.test_foreign_agents import worker

MAIL = 'call demo_mail {"to": "bob@example.com", "subject": "Report", "body": "Ready."}'
COMMAND = 'call shell {"command": "echo once >> by-command-line"}'


async def command_line(path: Path, *words: str, **environ: str) -> int:
    """`pollux` as a person runs it; the result is its exit code."""
    env = {"PATH": os.environ["PATH"], "HOME": str(path), "POLLUX_HOME": str(path / "home"), **environ}
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "pollux.cli", *words, cwd=path / "work", env=env,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    return await asyncio.wait_for(started.wait(), 60)


async def inbox(person: Person) -> dict[str, dict[str, Any]]:
    """What waits, by the tool that would run."""
    items = (await person.get("/api/agent/approvals/pending")).body["items"]
    return {item["tool"]: item for item in items}


@pytest.mark.slow
async def test_three_kinds_of_questions_wait_in_one_place_and_each_answer_does_what_it_says(tmp_path: Path):
    environ, folder = {**config(tmp_path), "POLLUX_TOKENS": ""}, tmp_path / "runbooks"
    (tmp_path / "work").mkdir()
    put(folder, "a.atrb", document(worker("work", "append log.txt 1", "append log.txt 2", "say done")))
    async with models() as (_, model), process(tmp_path, **environ, **model) as serving:
        token = (tmp_path / "home/token").read_text().strip()
        async with caller(serving, token) as owner:
            mailing = await owner.run(MAIL)
            assert await command_line(tmp_path, "run", COMMAND, **model) == 3
            runbook = await asked(owner, (await begun(owner, "a.atrb"))["runId"])

            waiting = await inbox(owner)
            assert set(waiting) == {"demo_mail", "shell", "agent_permission"}
            assert waiting["demo_mail"]["args"]["to"] == "bob@example.com"
            assert waiting["shell"]["args"]["command"] == "echo once >> by-command-line"
            assert "append" in waiting["agent_permission"]["preview"].lower()

            # The command line's: the answer is taken here, and gone on with there.
            got = await owner.resolve(waiting["shell"]["id"])
            assert (got.status, got.body["status"]) == (200, "approved")
            assert set(await inbox(owner)) == {"demo_mail", "agent_permission"}
            assert not (tmp_path / "home/outbox.jsonl").exists() and not (folder / "log.txt").exists()

            # The agent's: once yes, once no, by the same route as any other.
            assert (await owner.resolve(waiting["agent_permission"]["id"], query="?wait=0")).status == 200
            second = await asked(owner, runbook["runId"])
            assert (folder / "log.txt").read_text() == "1\n"
            assert (await owner.resolve(second["approvals"][0]["id"], "reject", query="?wait=0")).status == 200
            over = await ended(owner, runbook["runId"])
            assert over["state"] == "completed" and (folder / "log.txt").read_text() == "1\n"

            # The mail: still there, untouched by the others.
            assert set(await inbox(owner)) == {"demo_mail"}
            sent = await owner.resolve(mailing["approvals"][0]["id"])
            assert sent.body["run"]["state"] == "completed"
            assert await inbox(owner) == {}

            assert (await owner.get("/api/agent/audit/verify")).body["valid"] is True
            audit = (await owner.get("/api/agent/audit?limit=100")).body["items"]
        outbox = (tmp_path / "home/outbox.jsonl").read_text().splitlines()
        assert [json.loads(line)["to"] for line in outbox] == ["bob@example.com"]
        assert not (tmp_path / "work/by-command-line").exists()
        assert await command_line(tmp_path, "sessions", "resume", waiting["shell"]["threadId"], **model) == 0
    assert (tmp_path / "work/by-command-line").read_text() == "once\n"
    # What was done, and what a person's no has kept from being done.
    fates = [(entry["toolName"], entry["executionStatus"]) for entry in audit]
    assert [fates.count((tool, "completed")) for tool in ("demo_mail", "agent_permission", "runbook_acp")] == [1, 1, 1]
    assert ("agent_permission", "rejected") in fates
