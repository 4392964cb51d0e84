"""Sessions: listed, gone on with, forked and deleted; those of Gemini CLI from copies."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.sdk.conftest import Bench
from tests.sdk.test_agent import add

from pollux import Agent, SessionNotFound, ValidationError
from pollux.core.errors import Misfit
from pollux.testing import call, reply

SESSION = "0b1c2d3e-4f50-4a6b-8c7d-9e0f1a2b3c4d"


def gemini_file(bench: Bench, *lines: object, name: str = "session-2026-11-01T10-00-0b1c2d3e.jsonl") -> Path:
    """A session file of Gemini CLI for the bench's project."""
    home = bench.home / ".gemini"
    (home / "tmp" / "work" / "chats").mkdir(parents=True, exist_ok=True)
    (home / "projects.json").write_text(json.dumps({"projects": {str(bench.cwd): "work"}}))
    path = home / "tmp" / "work" / "chats" / name
    path.write_text("".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines))
    return path


META = {
    "sessionId": SESSION,
    "projectHash": "h",
    "startTime": "2026-11-01T10:00:00.000Z",
    "lastUpdated": "2026-11-01T10:05:00.000Z",
    "kind": "main",
}
ASKED = {"id": "u1", "timestamp": "2026-11-01T10:00:01.000Z", "type": "user", "content": "My name is Ada."}
SAID = {"id": "g1", "timestamp": "2026-11-01T10:00:02.000Z", "type": "gemini", "content": "Hello Ada."}


async def test_sessions_are_listed_last_updated_first(bench: Bench):
    first = bench.agent(reply("1"))
    await first.send("The first question of all")
    second = bench.agent(reply("2"))
    await second.send("Another one")
    listed = await second.list_sessions()
    assert [(info.session_id, info.message_count, info.summary) for info in listed] == [
        (second.session_id, 2, "Another one"),
        (first.session_id, 2, "The first question of all"),
    ]
    assert listed[0].file_path.endswith("pollux.db") and listed[0].start_time.endswith("Z")
    await first.aclose()
    await second.aclose()


async def test_other_projects_are_listed_when_asked_for(bench: Bench):
    elsewhere = bench.path / "elsewhere"
    elsewhere.mkdir()
    async with bench.agent(reply("1"), cwd=elsewhere) as other:
        await other.send("From elsewhere")
    async with bench.agent(reply("2")) as agent:
        await agent.send("From here")
        assert [info.summary for info in await agent.list_sessions()] == ["From here"]
        assert [info.summary for info in await agent.list_sessions(all=True)] == ["From here", "From elsewhere"]
        assert len(await agent.list_sessions(all=True, limit=1)) == 1


async def test_a_session_is_gone_on_with_by_its_id(bench: Bench):
    async with bench.agent(reply("Hello Ada.")) as before:
        await before.send("I am Ada.")
    async with bench.agent(reply("Ada."), session_id=before.session_id) as after:
        await after.send("Who am I?")
        assert after.session_id == before.session_id
    assert [message.text for message in bench.model.requests[0].turns] == ["I am Ada.", "Hello Ada.", "Who am I?"]


async def test_an_unknown_session_is_said_to_be_unknown(bench: Bench):
    agent = bench.agent(session_id="thr_nothing")
    with pytest.raises(SessionNotFound, match="list_sessions"):
        await agent.send("?")
    await agent.aclose()


async def test_a_fork_goes_its_own_way(bench: Bench):
    async with bench.agent(reply("one"), reply("two")) as agent:
        await agent.send("1")
        await agent.send("2")
        whole, begun = await agent.fork_session(), await agent.fork_session(upto=2)
    async with bench.agent(reply("forked"), session_id=begun) as fork:
        await fork.send("3")
    assert [message.text for message in bench.model.requests[0].turns] == ["1", "one", "3"]
    async with bench.agent(session_id=whole) as copy, bench.agent(session_id=agent.session_id) as old:
        assert (
            [m.text for m in await copy.history()] == [m.text for m in await old.history()] == ["1", "one", "2", "two"]
        )


async def test_a_deleted_session_is_gone(bench: Bench):
    async with bench.agent(reply("secret")) as agent:
        await agent.send("A secret")
    async with bench.agent() as other:
        await other.delete_session(agent.session_id)
        assert await other.list_sessions() == []
        with pytest.raises(SessionNotFound):
            await other.delete_session(agent.session_id)
    gone = bench.agent(session_id=agent.session_id)
    with pytest.raises(SessionNotFound):
        await gone.history()
    await gone.aclose()
    database = (bench.home.parent / "pollux_home" / "pollux.db").read_bytes()
    assert b"A secret" not in database


async def test_a_session_at_work_is_not_deleted(bench: Bench):
    from tests.sdk.test_approvals import SEND, send

    async with bench.agent(SEND, tools=[send], on_approval="defer") as agent:
        await agent.send("Mail Bob")
        with pytest.raises(Misfit, match="is open"):
            await agent.delete_session()


async def test_the_full_history_can_be_read(bench: Bench):
    async with bench.agent(call("add", {"a": 1, "b": 1}), reply("2"), tools=[add]) as agent:
        await agent.send("1 + 1?")
        assert [message.role for message in await agent.history()] == ["user", "assistant", "tool", "assistant"]


async def test_usage_and_cost_are_counted_for_the_session(bench: Bench):
    from pollux import Price

    prices = {"scripted": Price(1_000_000, 2_000_000)}
    async with bench.agent(reply("1"), reply("2"), prices=prices) as agent:
        result = await agent.send("?")
        assert (result.usage.total, result.cost) == (15, 20.0)
        await agent.send("?")
        spent = await agent.usage()
    assert (spent.usage.total, spent.cost) == (30, 40.0)


async def test_a_model_without_a_price_has_no_cost(bench: Bench):
    async with bench.agent(reply("1")) as agent:
        assert (await agent.send("?")).cost is None
        assert (await agent.usage()).cost is None


async def test_sessions_in_memory_leave_no_file(bench: Bench):
    async with bench.agent(reply("1"), store="memory") as agent:
        await agent.send("?")
        (info,) = await agent.list_sessions()
        assert "pollux.db" not in info.file_path
    assert not (bench.home.parent / "pollux_home" / "pollux.db").exists()


async def test_a_store_may_be_named_by_its_path(bench: Bench):
    path = bench.path / "deep" / "mine.db"
    async with bench.agent(reply("1"), store=path) as agent:
        await agent.send("?")
        assert (await agent.list_sessions())[0].file_path == str(path)
    assert path.exists()


async def test_a_session_of_gemini_cli_is_listed_and_gone_on_with_from_a_copy(bench: Bench):
    path = gemini_file(bench, META, ASKED, SAID)
    before = path.read_bytes()
    async with bench.agent(reply("Ada."), session_id=SESSION) as agent:
        (info,) = await agent.list_sessions()
        assert (info.session_id, info.message_count, info.summary) == (SESSION, 2, "My name is Ada.")
        await agent.send("Who am I?")
    assert [message.text for message in bench.model.requests[0].turns] == ["My name is Ada.", "Hello Ada.", "Who am I?"]
    assert path.read_bytes() == before
    async with bench.agent(reply("Ada, still."), session_id=SESSION) as again:
        await again.send("And now?")
        assert len(bench.model.requests[0].turns) == 5
        (info,) = await again.list_sessions()
        assert info.file_path.endswith("pollux.db")


async def test_broken_session_files_are_reported_and_not_hidden(bench: Bench):
    gemini_file(bench, META, ASKED, "{ cut off", name="session-2026-11-01T10-00-aaaaaaaa.jsonl")
    gemini_file(bench, "\x00\x01 nothing at all", name="session-2026-11-01T11-00-bbbbbbbb.jsonl")
    async with bench.agent() as agent:
        listed = {Path(info.file_path).name[-14:-6]: info for info in await agent.list_sessions()}
    assert listed["aaaaaaaa"].problem is not None and listed["aaaaaaaa"].message_count == 1
    assert listed["bbbbbbbb"].problem is not None and listed["bbbbbbbb"].session_id == ""


async def test_a_copy_that_was_deleted_stays_deleted(bench: Bench):
    gemini_file(bench, META, ASKED, SAID)
    async with bench.agent(session_id=SESSION) as agent:
        await agent.delete_session()
        with pytest.raises(SessionNotFound, match="deleted"):
            await agent.send("Still there?")
    with pytest.raises(SessionNotFound, match="deleted here"):
        async with bench.agent(session_id=SESSION):
            pass


async def test_a_file_of_gemini_cli_is_not_ours_to_delete(bench: Bench):
    path = gemini_file(bench, META, ASKED, SAID)
    async with bench.agent() as agent:
        with pytest.raises(SessionNotFound, match="its own"):
            await agent.delete_session(SESSION)
    assert path.exists()


@pytest.mark.parametrize("wrong", [-1, "a", 2.5, True])
async def test_a_fork_up_to_nowhere_is_refused(bench: Bench, wrong: Any):
    async with bench.agent(reply("1")) as agent:
        await agent.send("?")
        with pytest.raises(ValidationError, match="upto must be"):
            await agent.fork_session(upto=wrong)


def test_a_script_that_asks_for_an_unknown_session_ends_with_one_error(bench: Bench):
    code = (
        "import asyncio\nfrom pollux import Agent\nfrom pollux.testing import scripted\n"
        "async def main():\n"
        f"    async with Agent('x', model=scripted(), cwd={str(bench.cwd)!r}, session_id='thr_none') as agent:\n"
        "        pass\nasyncio.run(main())\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.stderr.count("Traceback") == 1 and "SessionNotFound" in found.stderr.splitlines()[-1]


def test_a_script_that_does_not_close_its_agent_ends_without_a_word(bench: Bench):
    code = (
        "import asyncio\nfrom pollux import Agent\nfrom pollux.testing import scripted, reply\n"
        "async def main():\n"
        f"    agent = Agent('x', model=scripted(reply('ok')), cwd={str(bench.cwd)!r})\n"
        "    print((await agent.send('?')).text)\nasyncio.run(main())\n"
    )
    found = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (found.stdout, found.stderr, found.returncode) == ("ok\n", "", 0)


@pytest.mark.parametrize("bad", ["a/b", "..", "a\x00b", "x" * 200, "a b", ".hidden"])
def test_ids_that_are_paths_are_refused(bench: Bench, bad: str):
    with pytest.raises(ValidationError, match="session_id must be an id"):
        Agent("x", cwd=bench.cwd, session_id=bad)


async def test_usage_events_count_tokens_and_cost_over_the_same_span(bench: Bench):
    from pollux import Price

    prices = {"scripted": Price(1_000_000, 2_000_000)}
    async with bench.agent(call("add", {"a": 1, "b": 1}), reply("2"), tools=[add], prices=prices) as agent:
        told = [event async for event in agent.send_stream("?") if event.type == "usage"]
    assert [(each.usage.total, each.call_cost) for each in told] == [(15, 20.0), (15, 20.0)]
    assert [(each.total.total, each.cost) for each in told] == [(15, 20.0), (30, 40.0)]
