"""What templates read of a block that failed and was passed over: its duration, what it asked for, and no `none`."""

from typing import Any

import pytest
from tests.runbooks.lab import ADA, RunbookLab, agent, block, document, ended, outputs, script, told, waiting
from tests.runbooks.test_foreign_agents import until, worker

from pollux.core.run import Run
from pollux.engine.engine import Engine
from pollux.providers.scripted import call
from pollux.runbooks.runtime import Runbooks

AGENT = (
    "{{ o.success }} [{{ o.error }}] [{{ o.text }}] [{{ o.inputTokens }}] {{ o.durationSeconds == o.duration_seconds }}"
    " {% for each in o.toolCallsExecuted %}{{ each.name }}: {{ each.approved }}{% endfor %} {{ o.durationSeconds }}"
)


def with_reader(bad: dict[str, Any], template: str) -> str:
    """The document: a block `bad`, and one that reads its output."""
    whole = "{% set o = doc.named['bad'].output %}" + template
    return document(bad, script("read", f"cat <<'END'\n{whole}\nEND"))


async def read_after_skip(engine: Engine, runbooks: Runbooks, run: Run) -> tuple[str, dict[str, Any]]:
    """What is read, and what was told of the block when it failed."""
    failed = await ended(engine, run)
    assert failed.status == "failed", failed.ending
    before = outputs(await told(engine, runbooks, failed), "bad")
    over = await runbooks.resume(run.id, user=ADA, skip="bad")
    over = await until(engine, over, lambda run: bool(run.approvals or run.ending))
    for approval in over.approvals:
        await engine.resolve(approval.id, "approved", by=ADA)
    over = await ended(engine, over)
    assert over.status == "completed", over.ending
    return outputs(await told(engine, runbooks, over), "read")["stdout"].strip(), before


async def test_a_foreign_agent_that_timed_out_has_its_duration_and_what_it_asked_for(lab: RunbookLab):
    pytest.importorskip("acp")
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, with_reader(worker("bad", "append log.txt x", timeoutSeconds=1), AGENT))
    said, before = await read_after_skip(engine, runbooks, run)
    words, _, seconds = said.rpartition(" ")
    assert float(seconds) == before["durationSeconds"] >= 1.0
    assert words.startswith("false [") and "[]" in words and "[] [] true Append to log.txt: false" in words
    assert "none" not in said


async def test_an_agent_of_ours_that_timed_out_has_its_duration_and_what_it_asked_for(lab: RunbookLab):
    write = call("write_file", {"path": "made.txt", "content": "made"})
    engine, runbooks = await lab.engine(write)
    bad = agent("bad", "Write.", timeoutSeconds=1, capabilities={"readFiles": True, "writeFiles": True})
    said, before = await read_after_skip(engine, runbooks, await lab.start(runbooks, with_reader(bad, AGENT)))
    words, _, seconds = said.rpartition(" ")
    assert float(seconds) == before["durationSeconds"] >= 1.0
    assert "[] [] true write_file: false" in words and "none" not in said


async def test_a_script_that_was_rejected_has_no_exit_code_and_no_words_for_it(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    source = with_reader(script("bad", "true"), "[{{ o.exit_code }}] [{{ o.stdout }}] {{ o.exit_code | default('-') }}")
    run = await lab.start(runbooks, source, trusted=False)
    asked = await waiting(engine, run.id)
    await engine.resolve(asked.approvals[0].id, "rejected", by=ADA)
    said, _ = await read_after_skip(engine, runbooks, run)
    assert said == "[] [] -"


async def test_a_request_that_was_not_answered_has_its_duration_and_no_status(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    bad = block("http", "bad", url="http://127.0.0.1:9/", verb="GET")
    run = await lab.start(runbooks, with_reader(bad, "[{{ o.status }}] [{{ o.body_json }}] {{ o.durationSeconds }}"))
    said, before = await read_after_skip(engine, runbooks, run)
    words, _, seconds = said.rpartition(" ")
    assert words == "[] []" and float(seconds) == before["duration_seconds"] > 0


async def test_a_block_that_ran_and_failed_reads_as_it_ended(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, with_reader(script("bad", "echo out; exit 3"), "{{ o.exit_code }} {{ o.stdout }}"))
    assert (await read_after_skip(engine, runbooks, run))[0] == "3 out"
