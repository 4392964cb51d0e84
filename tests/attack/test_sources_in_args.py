"""What a value was made from is a fact of its call: an approval with other arguments drops none of it."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from tests.runbooks.lab import ADA, RunbookLab, agent, block, document, script, waiting

from pollux.core.policy import Rule
from pollux.providers.scripted import reply

WORDS = "{{ doc.named['talk'].output.text }}"
SET = {
    "env": block("env", "WORDS", value=WORDS),
    "var": block("var", "WORDS", value=WORDS),
    "editor": block("editor", "keep", variableName="WORDS", code=WORDS),
}


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncGenerator[RunbookLab]:
    lab = RunbookLab(tmp_path)
    yield lab
    await lab.close()


@pytest.mark.parametrize("type_", ["env", "var", "editor"])
async def test_an_edit_does_not_change_whose_words_a_value_is_made_of(lab: RunbookLab, type_: str):
    engine, runbooks = await lab.engine(reply("touch made"))
    used = script("run it", f"{{{{ {'env' if type_ == 'env' else 'var'}.WORDS }}}}")
    rules = (Rule("require_approval", tool=f"runbook_{type_}", tier="admin"),)
    source = document(agent("talk", "Hi"), SET[type_], used)
    lab.accept(source)
    run = await runbooks.start(lab.opening(source), user=ADA, more=rules)
    run = await waiting(engine, run.id)
    args = run.open[0].args
    assert "sources" not in args
    await engine.edit(run.approvals[0].id, {**args, "sources": []}, by="ada")
    run = await waiting(engine, run.id)
    await engine.resolve(run.approvals[0].id, "approved", by="ada")
    run = await waiting(engine, run.id)
    assert run.open[0].tool == "runbook_script" and "made from the output of agent: talk" in run.approvals[0].preview
    assert not (lab.work / "made").exists()


@pytest.mark.parametrize("type_", ["env", "var"])
async def test_an_edit_does_not_change_what_a_part_is_told_of_its_values(lab: RunbookLab, type_: str):
    engine, runbooks = await lab.engine(reply("touch made"))
    inner = document(script("run it", f"{{{{ {type_}.WORDS }}}}"), name="Part")
    (lab.work / "part.runbook.json").write_text(inner)
    lab.accept(inner)
    part = block("sub-runbook", "part", runbookPath="part.runbook.json")
    rules = (Rule("require_approval", tool="runbook_sub", tier="admin"),)
    source = document(agent("talk", "Hi"), SET[type_], part)
    lab.accept(source)
    run = await runbooks.start(lab.opening(source), user=ADA, more=rules)
    run = await waiting(engine, run.id)
    args: dict[str, Any] = run.open[0].args
    assert not any(name.endswith("_sources") for name in args)
    await engine.edit(run.approvals[0].id, {**args, "env_sources": {}, "variable_sources": {}}, by="ada")
    run = await waiting(engine, run.id)
    await engine.resolve(run.approvals[0].id, "approved", by="ada")
    child = await waiting(engine, run.id)
    assert "made from the output of agent: talk" in child.approvals[0].preview
    assert not (lab.work / "made").exists()
