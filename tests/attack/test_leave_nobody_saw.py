"""Leave to edit covers what we write for a foreign agent where a person was shown it: no grant and no rule shows it."""

from pathlib import Path

import pytest
from tests.attack.test_grants_of_agents import questions_of
from tests.runbooks.lab import ADA, RunbookLab, document, waiting
from tests.runbooks.test_foreign_agents import worker

from pollux.core.policy import Rule

pytest.importorskip("acp")


async def test_always_for_edits_writes_no_file_that_nobody_was_shown(tmp_path: Path):
    # The first edit is shown, and its file is written. Of the others the kind is allowed, and the file is asked about.
    assert await questions_of(tmp_path, worker("work", "edit a.txt one", "edit b.txt two", "edit c.txt three")) == 1 + 2


async def test_a_rule_for_what_an_agent_does_by_itself_has_us_write_nothing(tmp_path: Path):
    lab = RunbookLab(tmp_path)
    engine, runbooks = await lab.engine()
    source = document(worker("work", "edit a.txt one"))
    lab.accept(source)
    allowed = Rule("allow", tool="agent_permission", tier="user")
    run = await waiting(engine, (await runbooks.start(lab.opening(source), user=ADA, more=(allowed,))).id)
    assert run.approvals[0].preview == "write a.txt\none"
    assert not (lab.work / "a.txt").exists()
    await lab.close()
