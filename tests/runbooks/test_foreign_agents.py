"""A foreign agent in a block: what it asks for goes through the gate, what it does unasked is written down."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests import waiting as waits
from tests.runbooks.lab import ADA, RunbookLab, agent, document, ended, id_of, outputs, script, states, told, waiting

from pollux.core.run import Run
from pollux.engine.engine import Engine
from pollux.runbooks.rules import LIMITS

pytest.importorskip("acp")

WORKER = [sys.executable, str(Path(__file__).parent / "worker_agent.py")]
EVERYTHING = {"readFiles": True, "writeFiles": True, "executeCommands": True}


def started_by(*argv: str) -> dict[str, Any]:
    return {"type": "acp", "command": argv[0], "args": list(argv[1:]), "env": {}}


def worker(name: str, *lines: str, **props: Any) -> dict[str, Any]:
    """An agent block with the worker, and these orders for it."""
    return agent(name, "\n".join(lines), source=started_by(*WORKER), **{"capabilities": EVERYTHING, **props})


async def answer(engine: Engine, run: Run, decision: Any, **more: Any) -> Run:
    """The run's next question, answered."""
    run = await waiting(engine, run.id)
    return await engine.resolve(run.approvals[0].id, decision, by="ada", **more)


async def until(engine: Engine, run: Run, is_so: Callable[[Run], bool]) -> Run:
    """The run once it is so."""

    async def run_that_is_so() -> Run | None:
        now = await engine.queries.run(run.id)
        return now if is_so(now) else None

    found = await waits.until(run_that_is_so)
    assert found is not None
    return found


def is_done(run: Run, approval_id: str) -> bool:
    """Whether what this approval was about has been done."""
    action = run.action_of_approval(approval_id)
    return action is not None and action.outcome is not None


async def test_its_words_stream_and_become_the_output(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, document(worker("talk", "say one", "say two")))
    events = await told(engine, runbooks, run)
    said = outputs(events, "talk")
    assert said["text"] == "one\ntwo\n" and said["success"] is True and said["inputTokens"] == 3
    assert (
        "".join(
            each["data"].get("stdout", "")
            for each in events
            if each["type"] == "blockOutput" and each["data"]["blockId"] == id_of("talk")
        )
        == "one\ntwo\n"
    )
    assert (
        states(events, "talk")[:3] == ["idle", "initializing", "waiting"] and states(events, "talk")[-1] == "completed"
    )


async def test_a_permission_request_is_a_question_to_a_person(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, document(worker("work", "append log.txt hello", "say done")))
    run = await waiting(engine, run.id)
    assert run.status == "executing" and not (lab.work / "log.txt").exists()
    assert "wants to edit: Append to log.txt" in run.approvals[0].preview
    await answer(engine, run, "approved")
    events = await told(engine, runbooks, run)
    assert (lab.work / "log.txt").read_text() == "hello\n"
    assert outputs(events, "work")["toolCallsExecuted"] == [
        {"name": "Append to log.txt", "approved": True, "resultSummary": "completed"}
    ]
    kinds = [each["type"] for each in events]
    assert "agentToolApprovalRequired" in kinds and "agentToolApprovalResponse" in kinds
    assert {"pendingToolApproval", "executingTool"} <= set(states(events, "work"))


async def test_a_question_and_its_answer_are_told_with_the_same_ids(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, document(worker("work", "append log.txt hello")))
    await answer(engine, run, "approved")
    events = {each["type"]: each["data"] for each in await told(engine, runbooks, run)}
    asked, answered = events["agentToolApprovalRequired"], events["agentToolApprovalResponse"]
    assert [answered[name] for name in ("approvalId", "blockId", "toolCallId")] == [
        asked[name] for name in ("approvalId", "blockId", "toolCallId")
    ]
    assert (answered["approved"], answered["by"]) == (True, "ada")


async def test_what_nobody_answers_is_denied_and_told_so_and_the_agent_goes_on(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    source = document(worker("work", "append log.txt hello", "say done"))
    lab.accept(source)
    start = runbooks.beginning(lab.opening(source), user=ADA)
    run = await engine.start(replace(start, limits=replace(LIMITS, approval_seconds=0.3)))
    events = await told(engine, runbooks, run)
    (denied,) = [each["data"] for each in events if each["type"] == "agentToolApprovalResponse"]
    assert (denied["approved"], denied["by"], denied["remember"]) == (False, "", False)
    assert "done" in outputs(events, "work")["text"] and not (lab.work / "log.txt").exists()


async def test_a_refused_permission_is_told_by_its_kind_and_the_agent_goes_on(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, document(worker("work", "append log.txt hello", "say done")))
    await answer(engine, run, "rejected")
    events = await told(engine, runbooks, run)
    assert not (lab.work / "log.txt").exists()
    assert "no-way" in outputs(events, "work")["text"] and outputs(events, "work")["success"] is True
    assert outputs(events, "work")["toolCallsExecuted"] == [
        {"name": "Append to log.txt", "approved": False, "resultSummary": "rejected"}
    ]


async def test_leave_for_a_command_is_none_for_it_with_a_variable_set(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    orders = ("run echo ran >> log", "run echo ran >> log", "with PATH=/evil echo ran >> log")
    run = await lab.start(runbooks, document(worker("work", *orders)))
    await answer(engine, run, "approved", scope="session")
    run = await waiting(engine, run.id)
    assert "with PATH set" in run.approvals[0].preview
    assert (lab.work / "log").read_text() == "ran\nran\n"


async def test_a_command_runs_beneath_the_agents_directory(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    (lab.work / "out").symlink_to("/")
    run = await lab.start(runbooks, document(worker("work", "in / pwd", f"in {lab.work}/out pwd")))
    events = await told(engine, runbooks, run)
    assert outputs(events, "work")["text"].count("outside the agent's directory") == 2


async def test_leave_for_an_agent_is_none_for_it_with_more_rights(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    free = {**EVERYTHING, "alwaysAllowTools": True}
    source = document(
        worker("one", "say 1"), worker("two", "say 2"), worker("three", "run touch ran", capabilities=free)
    )
    run = await lab.start(runbooks, source, trusted=False)
    await answer(engine, run, "approved", scope="session")
    run = await until(engine, run, lambda run: bool(run.approvals) and len(run.actions) > 1)
    assert "alwaysAllowTools" in run.approvals[0].preview and not (lab.work / "ran").exists()


@pytest.mark.parametrize("order", ["twice", "disguise"])
async def test_leave_for_one_request_is_none_for_another_of_the_same_id(lab: RunbookLab, order: str):
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, document(worker("work", f"{order} log.txt")))
    run = await until(engine, run, lambda run: len(run.approvals) == 2)
    first, second = run.approvals
    assert "Remove log.txt" in second.preview
    await engine.resolve(first.id, "approved", by="ada")
    if order == "disguise":
        await until(engine, run, lambda run: is_done(run, first.id))
    await engine.resolve(second.id, "rejected", by="ada")
    events = await told(engine, runbooks, run)
    assert "no-way" in outputs(events, "work")["text"]
    assert [each["approved"] for each in outputs(events, "work")["toolCallsExecuted"]] == [False]


async def test_what_a_person_remembers_is_a_grant_for_the_session(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    run = await lab.start(
        runbooks, document(worker("work", "append log.txt 1", "append log.txt 2", "append log.txt 3"))
    )
    await answer(engine, run, "approved", scope="session")
    run = await ended(engine, run)
    assert run.status == "completed" and (lab.work / "log.txt").read_text() == "1\n2\n3\n"
    grants = await engine.queries.grants(ADA)
    assert [(grant.tool, grant.scope) for grant in grants] == [("agent_permission", "session")]


async def test_what_the_block_may_not_do_is_refused_without_asking(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    may = {"readFiles": True}
    run = await lab.start(
        runbooks, document(worker("work", "append log.txt x", "write a.txt x", "run touch b", capabilities=may))
    )
    events = await told(engine, runbooks, run)
    assert not list(lab.work.iterdir())
    assert not [each for each in events if each["type"] == "agentToolApprovalRequired"]
    observed = [each["data"] for each in events if each["type"] == "agentToolObserved"]
    assert [each["status"] for each in observed] == ["refused: writeFiles is off"]


async def test_what_it_does_unasked_is_observed_and_audited(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, document(worker("work", "peek secrets.txt")))
    events = await told(engine, runbooks, run)
    assert [each["data"]["title"] for each in events if each["type"] == "agentToolObserved"] == ["Read secrets.txt"]
    assert [each["approved"] for each in outputs(events, "work")["toolCallsExecuted"]] == [False]
    audit = [(line.kind, line.tool_name) for line in await engine.queries.audit(limit=50)]
    assert ("observed", "acp:read") in audit


async def test_files_and_commands_that_it_asks_us_for_are_ours_and_gated(lab: RunbookLab):
    (lab.work / "in.txt").write_text("read me\n")
    engine, runbooks = await lab.engine()
    run = await lab.start(
        runbooks, document(worker("work", "read in.txt", "write out.txt made", "run echo ran; echo x > cmd.txt"))
    )
    await answer(engine, run, "approved")
    assert run.status != "completed"
    await answer(engine, run, "approved")
    events = await told(engine, runbooks, run)
    assert outputs(events, "work")["text"] == "read me\nwritten: yes\nran\n"
    assert (lab.work / "out.txt").read_text() == "made" and (lab.work / "cmd.txt").exists()


async def test_files_outside_its_directory_are_out_of_reach(lab: RunbookLab):
    (lab.path / "outside.txt").write_text("secret")
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, document(worker("work", "read ../outside.txt", "write ../made.txt x")))
    events = await told(engine, runbooks, run)
    assert (
        "secret" not in outputs(events, "work")["text"]
        and "outside the agent's directory" in outputs(events, "work")["text"]
    )
    assert not (lab.path / "made.txt").exists()


async def test_always_allow_tools_asks_nobody_in_a_trusted_document(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    may = {**EVERYTHING, "alwaysAllowTools": True}
    run = await ended(engine, await lab.start(runbooks, document(worker("work", "append log.txt x", capabilities=may))))
    assert run.status == "completed" and (lab.work / "log.txt").read_text() == "x\n"
    decided = [line for line in await engine.queries.audit(limit=50) if line.tool_name == "agent_permission"]
    assert decided and decided[0].policy_decision == "allow"


async def test_what_it_calls_by_a_kind_that_says_nothing_is_asked_about_where_it_may_not_do_everything(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    may = {**EVERYTHING, "executeCommands": False, "alwaysAllowTools": True}
    run = await lab.start(runbooks, document(worker("work", "vague log.txt x", capabilities=may)))
    assert (await waiting(engine, run.id)).approvals
    assert not (lab.work / "log.txt").exists()


async def test_arguments_that_switch_its_questions_off_are_always_asked_about(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    source = started_by(*WORKER, "--dangerously-skip-permissions")
    run = await lab.start(runbooks, document(agent("work", "say hello", source=source)))
    run = await waiting(engine, run.id)
    assert run.open[0].tool == "runbook_acp" and "--dangerously-skip-permissions" in run.open[0].preview


async def test_an_agent_that_takes_too_long_is_ended(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, document(worker("slow", "say hello", "hang", timeoutSeconds=1)))
    events = await told(engine, runbooks, run)
    assert states(events, "slow")[-1] == "timedOut"
    assert outputs(events, "slow")["success"] is False and outputs(events, "slow")["text"] == ""


async def test_a_cancelled_run_ends_its_agent_and_withdraws_its_question(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, document(worker("work", "append log.txt x")))
    run = await waiting(engine, run.id)
    question = run.approvals[0].id
    await engine.cancel(run.id, by="ada")
    run = await ended(engine, run)
    action = run.action_of_approval(question)
    assert run.status == "cancelled" and action is not None and action.approval is not None
    assert action.approval.status == "withdrawn" and not (lab.work / "log.txt").exists()


async def test_an_agent_that_cannot_be_started_is_a_failed_block(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    lost = agent("lost", "Hello", source=started_by("/nowhere/agent"))
    run = await ended(engine, await lab.start(runbooks, document(lost)))
    assert run.ending is not None and run.ending.code == "block_failed" and "/nowhere/agent" in run.ending.message


async def test_a_dead_driver_leaves_the_agent_s_outcome_unknown_and_its_question_withdrawn(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, document(worker("work", "append log.txt x"), script("after", "touch after")))
    run = await waiting(engine, run.id)
    await engine.close()
    engine, runbooks = await lab.engine()
    await engine.recover()
    run = await ended(engine, run)
    assert run.ending is not None and run.ending.code == "outcome_unknown"
    assert [action.approval.status for action in run.actions if action.approval] == ["withdrawn"]
    again = await runbooks.resume(run.id, user=ADA, skip=id_of("work"))
    assert (await ended(engine, again)).status == "completed" and (lab.work / "after").exists()


async def test_mcp_servers_are_passed_through_and_named_to_whoever_is_asked(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    server: dict[str, Any] = {"name": "notes", "command": "/bin/true", "args": [], "env": []}
    run = await lab.start(runbooks, document(worker("work", "servers", mcpServers=[server])), trusted=False)
    run = await waiting(engine, run.id)
    assert "with the MCP servers notes" in run.open[0].preview
    await engine.resolve(run.approvals[0].id, "approved", by="ada")
    events = await told(engine, runbooks, run)
    assert outputs(events, "work")["text"] == "notes\n"


async def test_of_a_failed_agents_last_lines_only_so_much_is_told(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    loud = started_by("sh", "-c", "head -c 60000 /dev/zero | tr '\\0' e >&2; exit 3")
    run = await ended(engine, await lab.start(runbooks, document(agent("loud", "Hi", source=loud))))
    assert run.ending is not None and "exit code 3" in run.ending.message and len(run.ending.message) < 2_000


async def test_a_directory_that_another_agent_named_is_asked_about(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    place = "{{ doc.named['one'].output.text | trim }}"
    source = document(worker("one", "say /etc"), worker("two", "read hostname", workingDirectory=place))
    run = await waiting(engine, (await lab.start(runbooks, source)).id)
    assert "where the agent would work" in run.approvals[0].reason and "in /etc" in run.approvals[0].preview


async def test_an_agent_that_says_nothing_after_its_prompt_is_waited_for(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, document(worker("still", "hang", timeoutSeconds=1)))
    events = await told(engine, runbooks, run)
    assert states(events, "still") == ["idle", "initializing", "waiting", "timedOut"]


async def test_after_a_cancel_no_other_status_is_told_of_its_agent(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, document(worker("work", "append log.txt x")))
    run = await waiting(engine, run.id)
    await engine.cancel(run.id, by="ada")
    events = await told(engine, runbooks, run)
    assert states(events, "work")[-2:] == ["pendingToolApproval", "cancelled"]


async def test_a_block_without_an_answer_has_its_duration_and_what_its_agent_had_asked_for(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, document(worker("work", "append log.txt x", timeoutSeconds=1)))
    said = outputs(await told(engine, runbooks, run), "work")
    assert 0.9 < said["durationSeconds"] == said["duration_seconds"] < 60
    assert said["toolCallsExecuted"] == said["tool_calls_executed"]
    assert said["toolCallsExecuted"] == [{"name": "Append to log.txt", "approved": False, "resultSummary": "withdrawn"}]


async def test_an_agent_block_without_a_name_is_called_agent(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    unnamed = worker("work", "say hello")
    del unnamed["props"]["name"]
    events = await told(engine, runbooks, await lab.start(runbooks, document(unnamed)))
    named = [each["data"]["name"] for each in events if each["type"] in ("blockStarted", "blockFinished")]
    assert named == ["Agent", "Agent"]


async def test_one_write_is_one_question_and_another_text_is_another_one(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, document(worker("work", "edit a.txt one", "cheat b.txt two")))
    await answer(engine, run, "approved")
    await until(engine, run, lambda run: any("b.txt" in each.preview for each in run.approvals))
    assert (lab.work / "a.txt").read_text() == "one"
    await answer(engine, run, "approved")
    run = await until(engine, run, lambda run: any(each.preview.startswith("write b.txt") for each in run.approvals))
    assert "two!" in run.approvals[0].preview and not (lab.work / "b.txt").exists()
    await answer(engine, run, "rejected")
    events = await told(engine, runbooks, run)
    tools = [each["data"]["args"].get("kind", "write") for each in events if each["type"].endswith("ApprovalRequired")]
    assert tools == ["edit", "edit", "write"]
    audit = [line for line in await engine.queries.audit(limit=90) if line.tool_name == "agent_write_file"]
    assert any(line.policy_decision == "allow" for line in audit)


async def test_what_was_asked_about_under_another_id_is_not_told_as_unasked(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, document(worker("work", "rename a.txt one", "peek b.txt")))
    await answer(engine, run, "approved")
    events = await told(engine, runbooks, run)
    assert outputs(events, "work")["toolCallsExecuted"] == [
        {"name": "Write a.txt", "approved": True, "resultSummary": "completed"},
        {"name": "Read b.txt", "approved": False, "resultSummary": "observed: it was not asked about"},
    ]
    assert [each["data"]["title"] for each in events if each["type"] == "agentToolObserved"] == ["Read b.txt"]


async def test_an_agent_that_stops_because_of_a_rejection_says_so(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, document(worker("work", "quit a.txt one", "say more")))
    await answer(engine, run, "rejected")
    events = await told(engine, runbooks, run)
    finished = next(each["data"] for each in events if each["type"] == "blockFinished")
    assert finished["error"].startswith("the agent stopped because 'Write a.txt' was rejected")
    assert finished["object"]["error"] == finished["error"] and "not allowed" in finished["object"]["text"]
    assert "was rejected" in events[-1]["data"]["error"]


async def test_a_question_ends_with_its_block_where_that_ends_first(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, document(worker("work", "append log.txt x", timeoutSeconds=2)))
    events = {each["type"]: each["data"] for each in await told(engine, runbooks, run)}
    began = events["blockStarted"]["startedAt"]
    assert events["agentToolApprovalRequired"]["expiresAt"] == pytest.approx(began + 2)
