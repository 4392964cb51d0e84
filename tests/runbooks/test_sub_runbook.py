"""A runbook inside another: what it is given, what it gives back, and what is asked about on either side."""

from hashlib import sha256
from typing import Any

import pytest
from tests.runbooks.lab import ADA, RunbookLab, agent, block, document, ended, script, waiting

from pollux.core.errors import Misfit
from pollux.core.ids import RunId, ThreadId
from pollux.engine.start import Start
from pollux.providers.scripted import reply
from pollux.runbooks.agents.internal import PROFILE


def part(lab: RunbookLab, *blocks: dict[str, Any], name: str = "Part", **props: Any) -> dict[str, Any]:
    """A block that runs a trusted document of these."""
    inner = document(*blocks, name=name)
    (lab.work / "part.runbook.json").write_text(inner)
    lab.accept(inner)
    return block("sub-runbook", "part", runbookPath="part.runbook.json", **props)


def set_to_words(type_: str) -> dict[str, Any]:
    """A block that sets WORDS to what the agent said."""
    return block(type_, "WORDS", value="{{ doc.named['talk'].output.text }}")


@pytest.mark.parametrize("type_", ["var", "env"])
async def test_a_part_asks_about_commands_made_from_the_words_of_an_agent_outside(lab: RunbookLab, type_: str):
    engine, runbooks = await lab.engine(reply("touch made"))
    run_it = part(lab, script("run it", f"{{{{ {type_}.WORDS }}}}"))
    run = await lab.start(runbooks, document(agent("talk", "Hi"), set_to_words(type_), run_it))
    child = await waiting(engine, run.id)
    assert "made from the output of agent: talk" in child.approvals[0].preview
    assert not (lab.work / "made").exists()


async def test_what_a_part_exports_from_an_agents_words_is_asked_about_outside(lab: RunbookLab):
    engine, runbooks = await lab.engine(reply("touch made"))
    talk = part(lab, agent("talk", "Hi"), set_to_words("env"), exportEnv=True)
    run = await lab.start(runbooks, document(talk, script("run it", "{{ env.WORDS }}")))
    run = await waiting(engine, run.id)
    assert "made from the output of agent: talk" in run.approvals[0].preview
    assert not (lab.work / "made").exists()


async def test_a_part_may_be_called_like_what_a_part_exports(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    named = part(lab, script("one", "true"), name='{"env": {}')
    run = await ended(engine, await lab.start(runbooks, document(named, script("two", "true"))))
    assert run.ending is not None and run.ending.status == "completed", run.ending


async def test_a_part_that_is_meant_for_another_machine_is_not_run_on_this_one(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    away = part(lab, block("ssh-connect", "away", userHost="root@there"), script("wipe", "touch made"))
    run = await ended(engine, await lab.start(runbooks, document(away)))
    assert run.ending is not None and "meant for another machine" in run.ending.message, run.ending
    assert not (lab.work / "made").exists()


async def test_a_part_is_gone_on_with_by_the_runbook_around_it(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    run = await ended(engine, await lab.start(runbooks, document(part(lab, script("check", "false")))))
    child = engine.queries.child_of(run.actions[0].id)
    with pytest.raises(Misfit, match=f"{child} is a part of {run.id}. Go on with that one"):
        await runbooks.resume(child, user=ADA, retry="check")


async def test_parts_are_named_so_that_nobody_can_work_it_out(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    run = await ended(engine, await lab.start(runbooks, document(part(lab, script("check", "true")))))
    action = run.actions[0]
    child = await engine.queries.run(engine.queries.child_of(action.id))
    guessed = (sha256(text.encode()).hexdigest()[:24] for text in (action.id, f"{run.thread_id} {action.call.id}"))
    for name, guess in zip((child.id, child.thread_id), guessed, strict=True):
        assert len(name.partition("_")[2]) == 32 and guess not in name


async def test_a_run_under_a_name_that_can_be_worked_out_is_taken_for_no_part(lab: RunbookLab):
    engine, _ = await lab.engine(reply("hello"))
    run_id = RunId("run_" + sha256(b"act_1_1.0").hexdigest()[:24])
    thread = ThreadId("thr_" + sha256(b"thr_1 check").hexdigest()[:24])
    await engine.start(Start("hello", user=ADA, profile=PROFILE, run_id=run_id, thread_id=thread, create=True))
    assert engine.queries.child_of("act_1_1.0") != run_id
    assert engine.queries.thread_beneath(ThreadId("thr_1"), "check") != thread


async def test_a_part_that_is_tried_again_goes_on_where_it_stopped(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    blocks = (script("pay", "echo paid >> log"), script("check", "[ -e may ]"), script("end", "echo end >> log"))
    source = document(part(lab, *blocks), script("last", "echo last >> log"))
    run = await ended(engine, await lab.start(runbooks, source))
    assert run.ending is not None and run.ending.status == "failed"
    (lab.work / "may").touch()
    (lab.work / "part.runbook.json").unlink()
    run = await ended(engine, await runbooks.resume(run.id, user=ADA, retry="part"))
    assert run.ending is not None and run.ending.status == "completed", run.ending
    assert (lab.work / "log").read_text().split() == ["paid", "end", "last"]
