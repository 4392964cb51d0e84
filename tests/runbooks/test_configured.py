"""What the person's own configuration gives our agents in runbooks: tools for all of them, and profiles by name."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runbooks.lab import ADA, RunbookLab, agent, document, ended, id_of, waiting

from pollux.core.errors import Misfit, ValidationError
from pollux.core.policy import Rule
from pollux.core.profile import Limits, Profile
from pollux.core.run import Run
from pollux.core.tools import Tool, ToolContext, ToolSpec
from pollux.engine.engine import Engine
from pollux.providers.scripted import Step, call, reply
from pollux.runbooks.agents.internal import Outfits
from pollux.tools.define import Args, FunctionTool

ALWAYS = {"readFiles": True, "writeFiles": True, "alwaysAllowTools": True}
NOTES = Profile(
    "notes",
    "You keep notes.",
    model="scripted-notes",
    tools=("save_note", "read_file", "shell"),
    rules=(Rule("allow", tool="shell", profile="notes", tier="user"),),
    limits=Limits(model_calls=3, seconds=60, approval_seconds=30),
)


def noted(saved: list[str], name: str = "save_note", *, side_effect: bool = True) -> Tool:
    def run(context: ToolContext, args: Args) -> str:
        saved.append(str(args["text"]))
        return "saved"

    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    return FunctionTool(ToolSpec(name, "Save a note.", schema, side_effect=side_effect), run)


def save(text: str, name: str = "save_note") -> Any:
    return call(name, {"text": text})


async def engine_of(lab: RunbookLab, outfits: Outfits, *steps: Step, tools: tuple[Tool, ...] = ()) -> Any:
    return await lab.engine(*steps, outfits=outfits, tools=tools)


async def child_of(engine: Engine, run: Run, name: str = "us") -> Run:
    [action] = [each for each in run.actions if each.call.id == id_of(name)]
    return await engine.queries.run(engine.queries.child_of(action.id))


async def test_an_agent_has_the_tools_of_the_configuration_and_is_asked_about_their_effects(tmp_path: Path):
    lab, saved = RunbookLab(tmp_path), list[str]()
    tools = (noted(saved), noted(saved, "look_up", side_effect=False))
    outfits = Outfits(("save_note", "look_up"))
    engine, runbooks = await engine_of(lab, outfits, save("a", "look_up"), save("b"), reply("Done."), tools=tools)
    run = await lab.start(runbooks, document(agent("us", "Go.")))
    asked = await waiting(engine, run.id)
    assert saved == ["a"] and [each.tool for each in asked.open] == ["save_note"]
    await engine.resolve(asked.approvals[0].id, "approved", by=ADA)
    assert (await ended(engine, run)).status == "completed" and saved == ["a", "b"]
    await lab.close()


async def test_always_allow_tools_of_a_trusted_document_covers_no_tool_of_the_configuration(tmp_path: Path):
    lab, saved = RunbookLab(tmp_path), list[str]()
    source = document(agent("us", "Go.", capabilities=ALWAYS))
    lab.accept(source)
    write = call("write_file", {"path": "a.txt", "content": "x"})
    engine, runbooks = await engine_of(
        lab, Outfits(("save_note",)), write, save("b"), reply("Done."), tools=(noted(saved),)
    )
    run = await lab.start(runbooks, source, trusted=False)
    asked = await waiting(engine, run.id)
    assert (lab.work / "a.txt").exists() and [each.tool for each in asked.open] == ["save_note"] and not saved
    await lab.close()


async def test_an_agent_that_began_before_there_were_such_tools_has_none(tmp_path: Path):
    """The rules of earlier versions allowed an agent whatever it was offered."""
    lab, saved = RunbookLab(tmp_path), list[str]()
    _, runbooks = await engine_of(lab, Outfits(("save_note",)), tools=(noted(saved),))
    assert "save_note" not in runbooks.profiles["runbook-agent"].tools
    assert "save_note" in runbooks.profiles["runbook-agent:"].tools
    await lab.close()


async def test_a_profile_gives_instructions_model_tools_rules_and_limits(tmp_path: Path):
    lab, saved = RunbookLab(tmp_path), list[str]()
    outfits = Outfits(("other",), {"notes": NOTES})
    engine, runbooks = await engine_of(
        lab, outfits, save("a"), reply("Done."), tools=(noted(saved), noted([], "other"))
    )
    block = agent("us", "Go.", source={"type": "internal", "profile": "notes"}, capabilities={"readFiles": True})
    run = await lab.start(runbooks, document(block))
    asked = await waiting(engine, run.id)
    child = await child_of(engine, await engine.queries.run(run.id))
    assert (child.profile, child.model, child.limits) == ("runbook-agent:notes", "scripted-notes", NOTES.limits)
    assert "You keep notes." in child.instructions and asked.approvals[0].scopes == ("tool",)
    # What the block's capabilities switch off, no profile gives.
    offered = {"get_runbook_document", "get_block_docs", "save_note", "read_file", "shell"}
    assert set(engine.profiles[child.profile].tools) == offered
    await engine.resolve(asked.approvals[0].id, "approved", by=ADA)
    assert (await ended(engine, run)).status == "completed" and saved == ["a"]
    await lab.close()


async def test_what_a_blocks_capabilities_switch_off_no_profile_gives(tmp_path: Path):
    lab = RunbookLab(tmp_path)
    command = call("shell", {"command": "touch made"})
    engine, runbooks = await engine_of(
        lab, Outfits(profiles={"notes": NOTES}), command, reply("Done."), tools=(noted([]),)
    )
    block = agent("us", "Go.", source={"type": "internal", "profile": "notes"}, capabilities={"readFiles": True})
    run = await ended(engine, await lab.start(runbooks, document(block)))
    assert run.status == "completed" and not (lab.work / "made").exists()
    await lab.close()


async def test_a_run_names_the_profile_of_agents_that_name_none(tmp_path: Path):
    lab = RunbookLab(tmp_path)
    outfits = Outfits(profiles={"notes": NOTES, "other": Profile("other", model="")})
    engine, runbooks = await engine_of(lab, outfits, reply("One."), reply("Two."), tools=(noted([]),))
    plain = agent("us", "Go.", source={"type": "internal"})
    named = agent("them", "Go.", source={"type": "internal", "profile": "other"})
    run = await ended(engine, await lab.start(runbooks, document(plain, named), profile="notes"))
    children = [await child_of(engine, run, name) for name in ("us", "them")]
    assert [(each.profile, each.model) for each in children] == [
        ("runbook-agent:notes", "scripted-notes"), ("runbook-agent:other", "scripted"),
    ]  # fmt: skip
    await lab.close()


def test_files_and_commands_are_the_blocks_to_give_and_a_profile_may_narrow_them():
    some, none = Profile("some", tools=("save_note", "glob", "runbook_script")), Profile("none", tools=("save_note",))
    found = Outfits(profiles={"some": some, "none": none}).profiles_of("m", ["runbook_script"])
    assert found["runbook-agent:some"].tools == ("get_runbook_document", "get_block_docs", "glob", "save_note")
    assert {"glob", "shell", "save_note"} <= set(found["runbook-agent:none"].tools)


@pytest.mark.parametrize("profile", ["runbook-agent", "runbook-*", "notes", "no*"])
@pytest.mark.parametrize("decision", ["deny", "require_approval"])
async def test_rules_for_a_profile_hold_wherever_it_is_used(profile: str, decision: Any, tmp_path: Path):
    rule = Rule(decision, tool="save_note", profile=profile, tier="user")
    outfits = Outfits(("save_note",), {"notes": NOTES}, (rule,))
    profiles = outfits.profiles_of("m", ())
    assert any(each.decision == decision and each.profile == "*" for each in profiles["runbook-agent:notes"].rules)
    is_for_all = profile.startswith("runbook")
    assert bool(profiles["runbook-agent:"].rules) == is_for_all


async def test_a_profile_that_is_not_there_stops_the_block_and_says_which_there_are(tmp_path: Path):
    lab = RunbookLab(tmp_path)
    engine, runbooks = await engine_of(lab, Outfits(profiles={"notes": NOTES}))
    block = agent("us", "Go.", source={"type": "internal", "profile": "nots"})
    run = await ended(engine, await lab.start(runbooks, document(block)))
    assert run.ending is not None and "Unknown profile 'nots'. Your configuration has: notes" in run.ending.message
    with pytest.raises(ValidationError, match="has: none"):
        Outfits().chosen("notes")
    await lab.close()


@pytest.mark.parametrize("name", ["gmail_send", "runbook_script"])
async def test_a_tool_that_runbooks_do_not_have_is_named_before_the_agent_starts(name: str, tmp_path: Path):
    lab = RunbookLab(tmp_path)
    outfits = Outfits(profiles={"notes": Profile("notes", model="", tools=(name,))})
    engine, runbooks = await engine_of(lab, outfits)
    block = agent("us", "Go.", source={"type": "internal", "profile": "notes"})
    run = await ended(engine, await lab.start(runbooks, document(block)))
    assert run.ending is not None and name in run.ending.message and "do not have here" in run.ending.message
    await lab.close()


async def test_the_question_about_a_block_shows_the_profile_and_its_tools(tmp_path: Path):
    lab = RunbookLab(tmp_path)
    engine, runbooks = await engine_of(
        lab, Outfits(("other",), {"notes": NOTES}), tools=(noted([]), noted([], "other"))
    )
    blocks = agent("us", "Go.", source={"type": "internal", "profile": "notes"}), agent("them", "Go.")
    run = await lab.start(runbooks, document(*blocks), trusted=False)
    asked = await waiting(engine, run.id)
    assert "profile: notes\ntools of your configuration: save_note\n" in asked.approvals[0].preview
    await lab.close()
    _, plain = await engine_of(RunbookLab(tmp_path), Outfits(("other",)), tools=(noted([], "other"),))
    [tool] = [each for each in plain.tools if each.spec.name == "runbook_agent"]
    args = tool.prepare({"name": "us", "model": "m", "prompt": "Go."})
    assert "tools of your configuration: other" in tool.preview(args)


async def test_an_agent_that_was_asked_about_with_other_tools_is_asked_about_again(tmp_path: Path):
    """The configuration changed between the question and its answer, and with it what the person was shown."""
    lab, saved = RunbookLab(tmp_path), list[str]()
    block = agent("us", "Go.", source={"type": "internal", "profile": "notes"}, capabilities={"readFiles": True})
    narrow = replace(NOTES, tools=("read_file",))
    engine, runbooks = await engine_of(lab, Outfits(profiles={"notes": narrow}))
    run = await lab.start(runbooks, document(block), trusted=False)
    asked = (await waiting(engine, run.id)).approvals[0]
    await lab.close()
    engine, _ = await engine_of(
        lab, Outfits(profiles={"notes": NOTES}), save("b"), reply("Done."), tools=(noted(saved),)
    )
    with pytest.raises(Misfit, match="the tool has changed since you were asked"):
        await engine.resolve(asked.id, "approved", by=ADA, args_hash=asked.args_hash)
    again = (await waiting(engine, run.id)).approvals[0]
    assert again.id != asked.id and "tools of your configuration: save_note\n" in again.preview
    await lab.close()
