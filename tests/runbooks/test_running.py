"""Documents run: each block once, in order, with what the ones before it gave out."""

import asyncio
from dataclasses import replace

import pytest
from tests.runbooks.lab import (
    ADA,
    RunbookLab,
    agent,
    block,
    document,
    ended,
    id_of,
    outputs,
    script,
    states,
    told,
    waiting,
)

from pollux.core.errors import Misfit, ValidationError
from pollux.providers.scripted import call, chunks, reply


async def test_a_trusted_document_runs_to_its_end(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    source = document(
        script("first", "echo one; echo two >&2"),
        block("paragraph", "words"),
        script("second", "echo got {{ doc.named['first'].output.stdout | trim }}", outputVariable="said"),
        script("third", "echo {{ var.said }} again"),
    )
    run = await lab.start(runbooks, source)
    events = await told(engine, runbooks, run)
    assert outputs(events, "third")["stdout"] == "got one again\n"
    assert events[-1]["data"]["status"] == "completed" and events[-1]["data"]["summary"] == "Test: 3 blocks done."
    shown = "".join(each["data"].get("stdout", "") for each in events if each["type"] == "blockOutput")
    assert shown == "one\ngot one\ngot one again\n"


async def test_a_document_that_nobody_trusts_asks_about_each_block_that_acts(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, document(block("var", "x", value="5"), script("act", "touch made")), trusted=False)
    run = await waiting(engine, run.id)
    assert not (lab.work / "made").exists()
    assert run.action_of_approval(run.approvals[0].id).tool == "runbook_script"  # pyright: ignore[reportOptionalMemberAccess]
    await engine.resolve(run.approvals[0].id, "approved", by="ada")
    assert (await ended(engine, run)).status == "completed" and (lab.work / "made").exists()


async def test_a_rejected_block_ends_the_run_and_can_be_tried_again(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    source = document(script("before", "echo x >> count"), script("act", "touch made"))
    run = await lab.start(runbooks, source, trusted=False)
    run = await waiting(engine, run.id)
    await engine.resolve(run.approvals[0].id, "approved", by="ada")
    run = await waiting(engine, run.id)
    await engine.resolve(run.approvals[0].id, "rejected", by="ada", feedback="not yet")
    run = await ended(engine, run)
    assert run.ending is not None and run.ending.code == "rejected"
    with pytest.raises(Misfit) as undecided:
        await runbooks.resume(run.id, user=ADA)
    act = id_of("act")
    assert undecided.value.code == "needs_decision" and str(undecided.value) == (
        f"block 'act' ({act}) was rejected by ada, and has not run: not yet. `--retry {act}` asks about it again,"
        f" `--skip {act}` goes on without it"
    )
    again = await runbooks.resume(run.id, user=ADA, retry=id_of("act"))
    again = await waiting(engine, again.id)
    await engine.resolve(again.approvals[0].id, "approved", by="ada")
    assert (await ended(engine, again)).status == "completed"
    assert (lab.work / "count").read_text() == "x\n" and (lab.work / "made").exists()


async def test_a_failed_block_stops_the_run_until_somebody_says_how_to_go_on(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    source = document(script("one", "echo x >> count"), script("bad", "exit 3"), script("last", "touch end"))
    run = await ended(engine, await lab.start(runbooks, source))
    assert run.ending is not None and run.ending.code == "block_failed" and "exit code 3" in run.ending.message
    with pytest.raises(Misfit, match="--retry"):
        await runbooks.resume(run.id, user=ADA)
    with pytest.raises(ValidationError, match="expected the block that stopped"):
        await runbooks.resume(run.id, user=ADA, skip=id_of("one"))
    again = await ended(engine, await runbooks.resume(run.id, user=ADA, retry=id_of("bad")))
    assert again.ending is not None and again.ending.code == "block_failed"
    skipped = await ended(engine, await runbooks.resume(again.id, user=ADA, skip="bad"))
    assert skipped.status == "completed" and skipped.text == "Test: 2 blocks done, 1 passed over."
    assert (lab.work / "count").read_text() == "x\n" and (lab.work / "end").exists()
    with pytest.raises(Misfit, match="to its end"):
        await runbooks.resume(skipped.id, user=ADA)


async def test_an_agent_s_words_are_a_later_block_s_input(lab: RunbookLab):
    engine, runbooks = await lab.engine(chunks(["All is ", "well."]))
    source = document(
        script("look", "echo disk 40%"),
        agent("judge", "Is this fine? {{ doc.named['look'].output.stdout }}"),
        block("env", "verdict", value="{{ doc.previous.output.text }}"),
        script("say", 'echo "$verdict" {{ doc.named["judge"].output.inputTokens }}'),
    )
    run = await lab.start(runbooks, source)
    run = await waiting(engine, run.id)
    # The count of its tokens is an agent's output too, and it would be a part of a command.
    assert "made from the output of agent: judge" in run.open[0].preview
    await engine.resolve(run.approvals[0].id, "approved", by="ada")
    events = await told(engine, runbooks, run)
    assert outputs(events, "say")["stdout"] == "All is well. 10\n"
    judged = outputs(events, "judge")
    assert judged["text"] == "All is well." and judged["success"] is True
    assert judged["durationSeconds"] == judged["duration_seconds"] and judged["tokenUsage"]["outputTokens"] == 5
    assert states(events, "judge")[-1] == "completed"


async def test_an_agent_s_answer_at_the_output_limit_is_marked_in_the_block_s_result(lab: RunbookLab):
    engine, runbooks = await lab.engine(chunks(["Half of"], stop="length"), reply("All of it."))
    source = document(agent("half", "Say much."), agent("whole", "Say all."))
    events = await told(engine, runbooks, await lab.start(runbooks, source))
    half, whole = outputs(events, "half"), outputs(events, "whole")
    assert (half["text"], half["success"]) == ("Half of", True)
    marks = ("finishReason", "finish_reason", "incomplete", "cut")
    assert [half[name] for name in marks] == ["length", "length", True, False]
    assert [whole[name] for name in ("finishReason", "incomplete", "cut")] == [None, False, False]


async def test_the_capabilities_of_an_agent_block_are_its_tools_and_rules(lab: RunbookLab):
    (lab.work / "notes.txt").write_text("buy milk")
    engine, runbooks = await lab.engine(
        call("read_file", {"path": "notes.txt"}),
        call("write_file", {"path": "done.txt", "content": "milk"}),
        call("shell", {"command": "rm notes.txt"}),
        reply("done"),
    )
    may = {"readFiles": True, "writeFiles": True}
    run = await lab.start(runbooks, document(agent("shopper", "Do it.", capabilities=may)))
    child = await waiting(engine, run.id)
    assert child.parent is not None and child.parent.root == run.id
    assert child.open[0].tool == "write_file"
    await engine.resolve(child.approvals[0].id, "approved", by="ada")
    events = await told(engine, runbooks, run)
    assert (lab.work / "done.txt").read_text() == "milk" and (lab.work / "notes.txt").exists()
    asked = [each["data"]["toolName"] for each in events if each["type"] == "agentToolApprovalRequired"]
    assert asked == ["write_file"]
    ran = [each["name"] for each in outputs(events, "shopper")["toolCallsExecuted"] if each["approved"]]
    assert ran == ["read_file", "write_file"]


async def test_an_agent_reads_the_runbook_and_cannot_change_it(lab: RunbookLab):
    engine, runbooks = await lab.engine(
        call("get_runbook_document"), call("get_block_docs", {"type": "script"}), reply("read")
    )
    source = document(agent("reader", "What is this?", capabilities={"readFiles": True}), name="Mine")
    run = await ended(engine, await lab.start(runbooks, source))
    assert run.status == "completed"
    child = await engine.queries.run(engine.queries.child_of(run.actions[0].id))
    results = [part for message in child.messages if message.role == "tool" for part in message.parts]
    assert "Mine" in str(results[0]) and "exit_code" in str(results[1])
    offered = set(runbooks.profiles["runbook-agent"].tools)
    assert not offered & {"insert_blocks", "update_block", "replace_blocks"}


async def test_an_agent_that_takes_too_long_has_timed_out(lab: RunbookLab):
    import asyncio

    async def forever(request: object):
        await asyncio.sleep(1000)
        return reply("late")

    engine, runbooks = await lab.engine(forever)
    run = await lab.start(runbooks, document(agent("slow", "Think.", timeoutSeconds=1)))
    events = await told(engine, runbooks, run)
    assert states(events, "slow")[-1] == "timedOut"
    assert outputs(events, "slow")["success"] is False and outputs(events, "slow")["text"] == ""


async def test_without_a_model_anywhere_that_is_said(lab: RunbookLab):
    engine, runbooks = await lab.engine(model="")
    source = document(agent("lost", "Hello", source={"type": "internal", "model": None}))
    run = await ended(engine, await lab.start(runbooks, source))
    assert run.ending is not None and "No model configured" in run.ending.message


async def test_a_part_of_a_runbook_is_a_run_of_its_own(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    inner = document(block("env", "INNER", value="yes"), script("deep", "echo $OUTER; touch deep"), name="Inner")
    (lab.work / "inner.runbook.json").write_text(inner)
    lab.accept(inner)
    source = document(
        block("env", "OUTER", value="around"),
        block("sub-runbook", "part", runbookPath="inner.runbook.json", exportEnv=True),
        script("after", "echo inner=$INNER"),
    )
    run = await lab.start(runbooks, source)
    events = await told(engine, runbooks, run)
    assert outputs(events, "deep")["stdout"] == "around\n" and outputs(events, "after")["stdout"] == "inner=yes\n"
    within = {each["data"].get("within") for each in events if each["data"].get("blockId") == id_of("deep")}
    assert within == {id_of("part")}


async def test_a_runbook_inside_itself_is_refused(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    source = document(block("sub-runbook", "self", runbookPath="self.runbook.json"))
    (lab.work / "self.runbook.json").write_text(source)
    run = await ended(engine, await lab.start(runbooks, source))
    assert run.ending is not None and "would never end" in run.ending.message


async def test_blocks_for_another_machine_are_not_run_on_this_one(lab: RunbookLab):
    _, runbooks = await lab.engine()
    with pytest.raises(ValidationError, match="another machine"):
        await lab.start(
            runbooks, document(block("ssh-connect", "there", userHost="root@example.com"), script("x", "true"))
        )


async def test_a_pause_asks_even_where_the_document_is_trusted(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, document(block("pause", "wait"), script("go", "touch gone")))
    run = await waiting(engine, run.id)
    assert run.open[0].tool == "runbook_pause" and not (lab.work / "gone").exists()
    await engine.resolve(run.approvals[0].id, "approved", by="ada")
    assert (await ended(engine, run)).status == "completed"


async def test_what_an_agent_says_does_not_become_a_command_unasked(lab: RunbookLab):
    engine, runbooks = await lab.engine(reply("$(touch stolen)"))
    source = document(agent("poet", "Write."), script("say", "echo {{ doc.previous.output.text }}"))
    run = await waiting(engine, (await lab.start(runbooks, source)).id)
    assert "$(touch stolen)" in str(run.open[0].args["code"])
    await engine.resolve(run.approvals[0].id, "rejected", by="ada")
    assert (await ended(engine, run)).status == "failed" and not (lab.work / "stolen").exists()


async def test_our_own_agent_works_beneath_the_runbook_and_nowhere_else(lab: RunbookLab):
    (lab.work / "sub").mkdir()
    engine, runbooks = await lab.engine(reply("inside"))
    inside = await ended(engine, await lab.start(runbooks, document(agent("in", "Hello", workingDirectory="sub"))))
    child = await engine.queries.run(engine.queries.child_of(inside.actions[0].id))
    assert inside.status == "completed" and "Work in the folder sub" in child.instructions
    outside = await ended(engine, await lab.start(runbooks, document(agent("out", "Hello", workingDirectory="/"))))
    assert outside.ending is not None and "workingDirectory must lie beneath" in outside.ending.message


async def test_a_part_that_is_tried_again_goes_on_where_it_stopped(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    inner = document(
        script("one", "echo one >> log"),
        script("two", "echo two >> log; [ -e go ]"),
        block("env", "SET", value="by the part"),
        name="Inner",
    )
    (lab.work / "inner.runbook.json").write_text(inner)
    lab.accept(inner)
    source = document(
        block("sub-runbook", "part", runbookPath="inner.runbook.json", exportEnv=True),
        script("last", "echo $SET >> log"),
    )
    run = await ended(engine, await lab.start(runbooks, source))
    assert run.status == "failed"
    with pytest.raises(Misfit, match="goes on inside it, with the block there that stopped"):
        await runbooks.resume(run.id, user=ADA)
    still = await ended(engine, await runbooks.resume(run.id, user=ADA, retry="part"))
    assert still.status == "failed"
    (lab.work / "go").touch()
    done = await ended(engine, await runbooks.resume(run.id, user=ADA, retry="part"))
    assert done.status == "completed"
    assert (lab.work / "log").read_text().splitlines() == ["one", "two", "two", "two", "by the part"]


async def test_a_part_whose_document_has_changed_goes_on_as_it_was(lab: RunbookLab):
    def save(code: str) -> None:
        inner = document(script("one", "echo one >> log"), script("two", code))
        (lab.work / "inner.runbook.json").write_text(inner)
        lab.accept(inner)

    engine, runbooks = await lab.engine()
    outer = document(block("sub-runbook", "part", runbookPath="inner.runbook.json"), name="Outer")
    save("exit 1")
    run = await ended(engine, await lab.start(runbooks, outer))
    save("true")
    again = await ended(engine, await runbooks.resume(run.id, user=ADA, retry="part"))
    assert again.status == "failed" and (lab.work / "log").read_text() == "one\n"


async def test_a_request_without_an_answer_is_told_in_words_and_not_sent_again(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        source = document(block("http", "send", verb="POST", url=f"{url}/"))
        run = await ended(engine, await lab.start(runbooks, source))
    assert run.ending is not None and run.ending.code == "outcome_unknown"
    said = run.actions[0].outcome.message if run.actions[0].outcome else ""
    assert said.startswith(f"{url} gave no answer: ") and "The POST request was on its way" in said
    assert said.endswith("; it may or may not have happened")


async def test_the_model_of_a_run_is_for_agents_that_name_none_in_parts_too(lab: RunbookLab):
    engine, runbooks = await lab.engine(reply("a"), reply("b"), reply("c"), model="")
    unnamed = {"source": {"type": "internal"}}
    inner = document(agent("in", "Hello", **unnamed))
    (lab.work / "inner.runbook.json").write_text(inner)
    lab.accept(inner)
    part = block("sub-runbook", "part", runbookPath="inner.runbook.json")
    source = document(agent("named", "Hello"), agent("unnamed", "Hello", **unnamed), part, name="Outer")
    events = await told(engine, runbooks, await lab.start(runbooks, source, model="other"))
    assert events[-1]["data"]["status"] == "completed"
    rows = await engine.queries.runs(ADA, limit=10)
    models = [(await engine.queries.run(row.run_id)).model for row in reversed(rows) if row.profile == "runbook-agent"]
    assert models == ["scripted", "other", "other"]
    failed = await ended(engine, await lab.start(runbooks, document(agent("unnamed", "Hello", **unnamed))))
    assert failed.ending is not None and failed.ending.message.startswith("No model configured")


async def test_a_block_that_has_succeeded_is_not_run_by_whoever_looked_before(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    source = document(script("first", "true"), script("pay", "echo paid >> log; [ -e may ]"))
    run = await ended(engine, await lab.start(runbooks, source))
    (lab.work / "may").touch()
    late = lab.opening(source, retried=(id_of("pay"),))
    await ended(engine, await runbooks.resume(run.id, user=ADA, retry="pay"))
    start = replace(runbooks.beginning(late, user=ADA), thread_id=run.thread_id)
    run = await ended(engine, await engine.start(start))
    assert run.ending is not None and run.ending.status == "completed"
    assert (lab.work / "log").read_text() == "paid\n" * 2
