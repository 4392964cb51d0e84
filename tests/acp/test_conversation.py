"""A prompt and its answer: what the agent finds, what it may ask, and what comes of it."""

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.acp.talking import ALL, Notes, all_closed, descriptors, failure, heard, scripted, talk
from tests.waiting import HANG_SECONDS, until

from pollux.acp import (
    AgentCommand,
    AgentUsage,
    Capabilities,
    Decision,
    Limits,
    PermissionRequest,
    Terminal,
    TextChunk,
    ThoughtChunk,
    ToolCallEnded,
    ToolCallSeen,
    ToolCallStarted,
    converse,
)
from pollux.acp.process import HURRIED_CLOSE_SECONDS, HURRIED_STOP_SECONDS
from pollux.core.errors import PolicyError, ValidationError


async def test_a_prompt_is_answered_in_pieces_and_as_a_whole():
    client = Notes()
    answer = await talk("echo", prompt="marzipan?", client=client)
    assert (answer.text, answer.stop_reason) == ("You said: marzipan?", "end_turn")
    assert (answer.agent_name, answer.agent_version, answer.session_id) == ("scripted", "1.2.3", "s1")
    assert client.updates == [TextChunk("You said: "), TextChunk("marzipan?")]


async def test_the_system_prompt_stands_before_the_prompt():
    assert (await talk("echo", system="Be brief.", prompt="hi")).text == "You said: Be brief.\n\nhi"


async def test_the_agent_is_told_who_we_are_and_what_was_granted(tmp_path: Path):
    log = tmp_path / "log"
    servers = [{"name": "m", "command": "/bin/m", "args": ["-x"], "env": [{"name": "A", "value": "1"}]}]
    granted = Capabilities(read_files=True)
    await talk("echo", env={"HEARD": str(log)}, capabilities=granted, mcp_servers=servers)
    initialize, new, prompt = heard(log)
    assert initialize["params"]["protocolVersion"] == 1
    assert initialize["params"]["clientInfo"]["name"] == "pollux"
    assert initialize["params"]["clientCapabilities"] == {
        "fs": {"readTextFile": True, "writeTextFile": False},
        "terminal": False,
    }
    assert new["params"] == {"cwd": "/", "mcpServers": servers}
    assert prompt["params"] == {"sessionId": "s1", "prompt": [{"type": "text", "text": "hi"}]}


async def test_the_agent_finds_the_named_environment_and_no_other(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOME_API_KEY", "secret")
    said = json.loads((await talk("says_env", env={"NAMED": "1"})).text)
    assert said["cwd"] == "/"
    assert "NAMED" in said["env"] and "PATH" in said["env"] and "SOME_API_KEY" not in said["env"]


async def test_every_kind_of_update_is_told_and_unknown_ones_do_no_harm():
    client = Notes()
    answer = await talk("everything", client=client)
    assert (answer.text, answer.stop_reason) == ("ab\ufffd!\ufffd", "max_tokens")
    assert answer.usage == AgentUsage(input_tokens=3, output_tokens=4, context_used=15, context_size=1000)
    assert answer.tool_calls == (
        ToolCallSeen("c1", "Read it", "read", "completed", asked=False),
        ToolCallSeen("c2", "", "other", "failed", asked=False),
    )
    kinds = [type(update) for update in client.updates]
    assert kinds[0] is ThoughtChunk and kinds.count(ToolCallStarted) == 1 and kinds.count(ToolCallEnded) == 2


# Permissions.


@pytest.mark.parametrize(
    ("decision", "chosen"),
    [("allow_once", "yes"), ("allow_always", "always"), ("reject_once", "no"), ("cancelled", None)],
)
async def test_a_permission_is_answered_with_the_option_of_its_kind(decision: Decision, chosen: str | None):
    client = Notes(decision)
    answer = await talk("asks", client=client)
    outcome = {"outcome": "selected", "optionId": chosen} if chosen else {"outcome": "cancelled"}
    assert json.loads(answer.text) == {"outcome": outcome}
    [request] = client.requests
    assert (request.tool_call_id, request.title, request.kind) == ("c1", "touch it", "execute")
    assert set(request.options) == {"allow_once", "allow_always", "reject_once"}
    assert answer.tool_calls == (ToolCallSeen("c1", "touch it", "execute", "pending", asked=True),)


async def test_options_that_nobody_knows_are_answered_cancelled_and_nobody_is_asked():
    client = Notes()
    odd: Any = {"options": [{"optionId": "x", "name": "X", "kind": "allow_forever"}, 3, {"kind": "allow_once"}]}
    assert json.loads((await talk("asks", json.dumps(odd), client=client)).text) == {
        "outcome": {"outcome": "cancelled"}
    }
    assert client.requests == []


async def test_what_the_client_fails_with_ends_the_conversation():
    class Failing(Notes):
        async def permission(self, request: PermissionRequest) -> Decision:
            raise RuntimeError("the store is gone")

    with pytest.raises(RuntimeError, match="the store is gone"):
        await talk("waits_for_permission", client=Failing())


async def test_an_input_of_any_depth_can_be_asked_about():
    client = Notes()
    await talk("deep", client=client)
    assert "[too deep]" in json.dumps(client.requests[0].raw_input)


async def test_more_requests_at_a_time_than_allowed_are_refused(tmp_path: Path):
    log, client = tmp_path / "log", Notes(decision=None)
    env = {"HEARD": str(log)}
    call = asyncio.create_task(talk("asks_without_end", "40", client=client, limits=Limits(requests=10), env=env))
    await until(lambda: log.exists() and log.read_bytes().count(b'"error"') == 30)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert len(client.requests) == client.cancelled == 10


# Files and terminals.


@pytest.mark.parametrize(
    ("path", "name", "reply"),
    [
        ("/a", "scripted", {"result": {"content": "text"}}),
        ("/none", "scripted", {"error": {"code": -32002, "message": "Resource not found", "data": {"uri": "/none"}}}),
        ("/none", "gemini-cli", {"result": {"content": ""}}),
        ("relative", "scripted", {"error": {"code": -32602, "message": "path must be an absolute path"}}),
    ],
)
async def test_a_file_is_read_through_the_client(path: str, name: str, reply: Any):
    client = Notes(files={"/a": "text"})
    params = json.dumps({"path": path, "line": 3, "limit": None})
    answer = await talk("requests", "fs/read_text_file", params, name, client=client)
    assert json.loads(answer.text) == reply
    assert path == "relative" or client.reads == [(path, 3, None)]


async def test_a_file_is_written_through_the_client():
    client = Notes()
    answer = await talk("requests", "fs/write_text_file", '{"path": "/b", "content": "new"}', client=client)
    assert json.loads(answer.text) == {"result": {}} and client.files == {"/b": "new"}
    answer = await talk("requests", "fs/write_text_file", '{"path": "/b"}', client=client)
    assert json.loads(answer.text)["error"]["code"] == -32602


async def test_a_refusal_of_ours_is_told_to_the_agent_and_the_conversation_goes_on():
    class Refusing(Notes):
        async def write_text_file(self, path: str, content: str) -> None:
            raise PolicyError("files of this folder are not to be written")

        async def read_text_file(self, path: str, line: int | None, limit: int | None) -> str:
            raise IsADirectoryError(21, "Is a directory")

    answer = await talk("requests", "fs/write_text_file", '{"path": "/b", "content": ""}', client=Refusing())
    assert json.loads(answer.text)["error"]["message"] == "files of this folder are not to be written"
    answer = await talk("requests", "fs/read_text_file", '{"path": "/b"}', client=Refusing())
    assert json.loads(answer.text)["error"]["message"] == "Is a directory"


@pytest.mark.parametrize("method", ["fs/read_text_file", "fs/write_text_file", "terminal/create", "unknown"])
async def test_what_was_not_granted_does_not_exist(method: str):
    answer = await talk(
        "requests", method, '{"path": "/a", "content": "", "command": "ls"}', capabilities=Capabilities()
    )
    assert json.loads(answer.text)["error"]["code"] == -32601


async def test_a_file_that_is_too_large_for_a_message_is_refused():
    client = Notes(files={"/a": "x" * 200_000})
    answer = await talk(
        "requests", "fs/read_text_file", '{"path": "/a"}', client=client, limits=Limits(line_bytes=100_000)
    )
    assert "too large" in json.loads(answer.text)["error"]["message"]


async def test_a_terminal_lives_until_it_is_released_or_everything_ends():
    client = Notes()
    answer = await talk("terminal", client=client)
    assert json.loads(answer.text) == [
        {"output": "out", "truncated": True, "exitStatus": {"exitCode": 3}},
        {"signal": "SIGTERM"},
        {},
        {},
        -32602,
    ]
    first, left_open = client.terminals
    assert first.made == ("ls", ("-l",), {"A": "1"}, "/", 10)
    assert (first.done, left_open.done) == (["kill", "release"], ["release"])


@pytest.mark.parametrize(
    ("params", "limits", "code"),
    [
        ('{"command": ""}', Limits(), -32602),
        ('{"command": "ls", "cwd": "relative"}', Limits(), -32602),
        ('{"command": "ls"}', Limits(terminals=0), -32603),
    ],
)
async def test_a_terminal_that_cannot_be_is_refused(params: str, limits: Limits, code: int):
    answer = await talk("requests", "terminal/create", params, limits=limits)
    assert json.loads(answer.text)["error"]["code"] == code


async def test_a_terminal_that_was_opened_too_late_is_released():
    class Slow(Notes):
        async def terminal(
            self,
            command: str,
            args: tuple[str, ...],
            env: Mapping[str, str],
            cwd: str | None,
            output_byte_limit: int | None,
        ) -> Terminal:
            self.asked.set()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(1000)
            return await super().terminal(command, args, env, cwd, output_byte_limit)

    client = Slow()
    call = asyncio.create_task(talk("requests", "terminal/create", '{"command": "ls"}', client=client))
    await asyncio.wait_for(client.asked.wait(), HANG_SECONDS)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert [each.done for each in client.terminals] == [["release"]]


# Sessions.


async def test_a_loaded_session_s_replay_is_no_part_of_the_answer():
    client = Notes()
    answer = await talk("loads", load="old", client=client, limits=Limits(replay_quiet_seconds=0.3))
    assert (answer.text, answer.session_id) == ("new text", "old")
    assert client.updates == [TextChunk("new text")]


async def test_an_agent_that_cannot_load_is_not_asked_to():
    failed = await failure("no_session", load="old")
    assert (failed.kind, "cannot go on with an earlier session" in str(failed)) == ("refused", True)


async def test_an_mcp_server_that_the_agent_does_not_take_is_said_so():
    server: Any = {"type": "http", "name": "m", "url": "http://127.0.0.1:1/", "headers": []}
    failed = await failure("echo", mcp_servers=[server])
    assert failed.kind == "refused" and "over http" in str(failed)


async def test_what_is_said_and_asked_after_the_answer_does_not_count():
    client = Notes()
    answer = await talk("late", client=client)
    assert (answer.text, client.requests) == ("in time", [])


async def test_a_last_line_without_an_end_counts():
    assert (await talk("unended")).text == "done"


# What cannot be.


def test_a_command_has_a_program_and_an_absolute_directory():
    with pytest.raises(ValidationError, match="absolute path"):
        AgentCommand(("x",), {}, "relative")
    with pytest.raises(ValidationError, match="no program"):
        AgentCommand((), {}, "/")


@pytest.mark.parametrize("options", [{"timeout": 0}, {"mcp_servers": [{"name": "m"}]}], ids=["timeout", "mcp"])
async def test_what_makes_no_sense_is_refused(options: dict[str, Any]):
    with pytest.raises(ValidationError):
        await talk("echo", **options)


@pytest.mark.slow
async def test_many_conversations_at_once_leave_no_descriptors():
    await talk("echo")
    before = descriptors()
    answers = await asyncio.gather(*(talk("echo", prompt=str(number)) for number in range(20)))
    assert [answer.text for answer in answers] == [f"You said: {number}" for number in range(20)]
    await all_closed(before)


# Stopped.


async def test_a_cancelled_conversation_tells_the_agent_and_answers_what_it_asked(tmp_path: Path):
    log, client = tmp_path / "log", Notes(decision=None)
    # Who has said its last word is not waited for any longer: an engine gives a tool that it stopped two seconds.
    limits = Limits(cancel_seconds=1000)
    call = asyncio.create_task(talk("waits_for_permission", client=client, env={"HEARD": str(log)}, limits=limits))
    await asyncio.wait_for(client.asked.wait(), HANG_SECONDS)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    *_, cancel, reply = heard(log)
    assert (cancel["method"], cancel["params"]) == ("session/cancel", {"sessionId": "s1"})
    assert reply["result"] == {"outcome": {"outcome": "cancelled"}}
    assert client.cancelled == 1


async def test_what_ends_after_a_cancellation_is_still_told():
    client = Notes()
    call = asyncio.create_task(talk("polite", client=client, limits=Limits(cancel_seconds=1000)))
    await asyncio.wait_for(client.told.wait(), HANG_SECONDS)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert [type(update) for update in client.updates] == [ToolCallStarted, ToolCallEnded]


@pytest.mark.slow
@pytest.mark.parametrize("cancels", [1, 2, 5])
async def test_a_stubborn_agent_is_gone_within_two_seconds_of_a_cancellation(cancels: int):
    assert Limits().cancel_seconds + HURRIED_CLOSE_SECONDS + HURRIED_STOP_SECONDS < 2

    async def is_gone_in_time() -> bool:
        client = Notes()
        call = asyncio.create_task(talk("stubborn", client=client))
        await asyncio.wait_for(client.told.wait(), HANG_SECONDS)
        began = time.monotonic()
        for _ in range(cancels):
            call.cancel()
            # Each finds it at another point of its end.
            await asyncio.sleep(0.05)
        with pytest.raises(asyncio.CancelledError):
            await call
        return time.monotonic() - began < 2.5

    # Who waits for longer somewhere is never as quick. A slow machine is, sooner or later.
    await until(is_gone_in_time)


@pytest.mark.parametrize("steps", range(0, 12, 2))
async def test_a_conversation_cancelled_while_it_begins_leaves_nothing_open(steps: int):
    before = descriptors()
    call = asyncio.create_task(converse(scripted("echo"), prompt="hi", client=Notes(), capabilities=ALL))
    for _ in range(steps):
        await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await all_closed(before)


async def test_a_directory_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(Exception, match="gone") as caught:
        await converse(scripted("echo", cwd=os.fspath(tmp_path / "gone")), prompt="hi", client=Notes())
    assert getattr(caught.value, "kind", "") == "spawn"
