"""A tool that an own agent in a runbook may use for its session: that agent, that session, and nothing beside it."""

from pathlib import Path
from typing import Any

import pytest
from tests.http.site import Site
from tests.runbooks.http.site import ENDED, answered, asked, begun, ended, put, runbook_site, seen
from tests.runbooks.lab import agent, document

from pollux.core.ids import ThreadId, UserId
from pollux.core.policy import Rule
from pollux.core.profile import Profile
from pollux.engine.model import Provider
from pollux.engine.start import Start
from pollux.testing import call, reply
from pollux.testing import scripted as model

MAY = {"readFiles": True, "writeFiles": True, "executeCommands": True}


def write(name: str) -> Any:
    return call("write_file", {"path": name, "content": "x"})


async def asked_for(
    folder: Path, provider: Provider, *blocks: dict[str, Any], rules: tuple[Rule, ...] = (), **answer: Any
) -> list[dict[str, Any]]:
    """Every question of a trusted document; the first one gets this answer, the others a plain yes."""
    found: list[dict[str, Any]] = []
    async with runbook_site(folder, provider, lines=('users = ["ada"]',), rules=rules) as here:
        put(folder / "runbooks", "a.atrb", document(*blocks))
        run_id = (await begun(here.ada, "a.atrb"))["runId"]
        while (run := await asked(here.ada, run_id))["state"] not in ENDED:
            (question,) = run["approvals"]
            got = await answered(here.ada, run, **(answer if not found else {}))
            assert got.status == 200, got
            found.append(question)
        assert run["state"] == "completed", run
    return found


def us(name: str = "us", **changes: Any) -> dict[str, Any]:
    return agent(name, "Do it.", capabilities={**MAY, **changes})


async def test_remember_is_for_the_tool_whatever_its_arguments_until_the_agent_ends(tmp_path: Path):
    steps = model(write("a.txt"), write("b.txt"), reply("Done."), write("c.txt"), reply("Done."))
    questions = await asked_for(tmp_path, steps, us("one"), us("two"), remember=True)
    # The agent of the other block is another session.
    assert [each["args"]["path"] for each in questions] == ["a.txt", "c.txt"]
    assert questions[0]["scopes"] == ["tool", "session", "document"]


async def test_remember_for_these_arguments_asks_about_others(tmp_path: Path):
    steps = model(write("a.txt"), write("a.txt"), write("b.txt"), reply("Done."))
    questions = await asked_for(tmp_path, steps, us(), remember=True, scope="session")
    assert [each["args"]["path"] for each in questions] == ["a.txt", "b.txt"]


async def test_a_tool_without_arguments_can_be_remembered(tmp_path: Path):
    look = call("get_runbook_document", {})
    questions = await asked_for(tmp_path, model(look, look, reply("Done.")), us(readFiles=False), remember=True)
    assert [(each["tool"], each["scopes"]) for each in questions] == [("get_runbook_document", ["tool"])]


async def test_another_tool_is_asked_about(tmp_path: Path):
    steps = model(write("a.txt"), call("shell", {"command": "touch b"}), reply("Done."))
    questions = await asked_for(tmp_path, steps, us(), remember=True)
    assert [each["tool"] for each in questions] == ["write_file", "shell"]


async def test_a_command_that_cannot_be_read_to_its_end_is_asked_about_each_time(tmp_path: Path):
    strange = call("shell", {"command": "touch b" + "; true" * 5_000})
    steps = model(call("shell", {"command": "touch a"}), call("shell", {"command": "touch d"}), strange, reply("Done."))
    questions = await asked_for(tmp_path, steps, us(), remember=True)
    assert [each["args"]["command"][:7] for each in questions] == ["touch a", "touch b"]
    assert "tool" not in questions[1]["scopes"]


AFTER_READING = Rule("require_approval", tool="write_file", provenance=("tool:read_file",), tier="user")
SECRET = Rule("deny", tool="write_file", subjects=("secret*",), tier="user")
GENERAL = Rule("require_approval", tool="write_file", tier="user", priority=5)


@pytest.mark.parametrize("general", [(), (GENERAL,)])
async def test_what_a_rule_asks_because_of_what_was_read_is_asked_each_time(general: tuple[Rule, ...], tmp_path: Path):
    steps = model(
        write("a.txt"), write("b.txt"), call("read_file", {"path": "a.txt"}), write("c.txt"), write("d.txt"),
        reply("Done."),
    )  # fmt: skip
    questions = await asked_for(tmp_path, steps, us(), rules=(AFTER_READING, *general), remember=True)
    assert [(each["args"]["path"], "tool" in each["scopes"]) for each in questions] == [
        ("a.txt", True), ("c.txt", False), ("d.txt", False),
    ]  # fmt: skip


async def test_what_a_rule_denies_stays_denied(tmp_path: Path):
    steps = model(write("a.txt"), write("secret.txt"), write("b.txt"), reply("Done."))
    questions = await asked_for(tmp_path, steps, us(), rules=(SECRET,), remember=True)
    assert [each["args"]["path"] for each in questions] == ["a.txt"]
    assert not (tmp_path / "runbooks/secret.txt").exists() and (tmp_path / "runbooks/b.txt").exists()


async def test_once_revoked_the_tool_asks_again_and_it_is_listed_until_then(tmp_path: Path):
    steps = model(write("a.txt"), write("b.txt"), call("shell", {"command": "touch c"}), write("d.txt"), reply("Done."))
    async with runbook_site(tmp_path, steps, lines=('users = ["ada", "bob"]',)) as here:
        put(tmp_path / "runbooks", "a.atrb", document(us()))
        run_id = (await begun(here.ada, "a.atrb"))["runId"]
        first = await asked(here.ada, run_id)
        assert (await answered(here.ada, first, remember=True)).status == 200
        second = await seen_question(here, run_id, "shell")
        (grant,) = (await here.ada.get("/api/agent/grants")).body["items"]
        assert (grant["tool"], grant["subject"], grant["scope"]) == ("write_file", "any arguments", "session")
        assert (await here.bob.get("/api/agent/grants")).body["items"] == []
        assert (await here.ada.send("DELETE", f"/api/agent/grants/{grant['id']}")).status == 200
        assert (await answered(here.ada, second)).status == 200
        third = await seen_question(here, run_id, "write_file")
        assert third["approvals"][0]["args"]["path"] == "d.txt"
        assert (await answered(here.ada, third, approved=False)).status == 200
        await ended(here.ada, run_id)
    assert (tmp_path / "runbooks/b.txt").exists() and not (tmp_path / "runbooks/d.txt").exists()


async def seen_question(here: Site, run_id: str, tool: str) -> dict[str, Any]:
    return await seen(here.ada, run_id, lambda run: [each["tool"] for each in run["approvals"]] == [tool])


async def test_a_scope_that_the_question_does_not_offer_is_refused_and_needs_remember(tmp_path: Path):
    async with runbook_site(tmp_path, model(write("a.txt"), reply("Done."))) as here:
        put(tmp_path / "runbooks", "a.atrb", document(us()))
        run = await asked(here.ada, (await begun(here.ada, "a.atrb"))["runId"])
        assert (await answered(here.ada, run, scope="tool")).status == 400
        assert (await answered(here.ada, run, approved=False, remember=True, scope="tool")).status == 400
        # As long as the question allows.
        assert (await answered(here.ada, run, remember=True, scope="always")).status == 200
        (grant,) = (await here.ada.get("/api/agent/grants")).body["items"]
        assert grant["scope"] == "document"


async def test_a_prompt_in_the_agents_thread_has_nothing_of_its_grant(tmp_path: Path):
    """Somebody else's words in the same session are no agent's inside a document."""
    steps = model(write("a.txt"), reply("Done."), write("b.txt"), reply("Done."))
    profiles = {"default": Profile(tools=("write_file",))}
    async with runbook_site(tmp_path, steps, profiles=profiles) as here:
        put(tmp_path / "runbooks", "a.atrb", document(us()))
        run = await asked(here.ada, (await begun(here.ada, "a.atrb"))["runId"])
        assert (await answered(here.ada, run, remember=True)).status == 200
        await ended(here.ada, run["runId"])
        (grant,) = (await here.ada.get("/api/agent/grants")).body["items"]
        start = Start("Write b.txt.", user=UserId("ada"), thread_id=ThreadId(grant["threadId"]), door="http")
        other = await here.engine.start(start)
        async for _ in here.engine.watch(other.id):
            if (await here.engine.queries.run(other.id)).status == "awaiting_confirmation":
                break
        assert [each.scopes for each in (await here.engine.queries.run(other.id)).approvals] == [("session", "always")]
    assert not (tmp_path / "runbooks/b.txt").exists()
