"""Commands and files from an agent's own tools, and the tool sets: what runs, what asks, what is blocked."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.sdk.conftest import Bench
from tests.waiting import HANG_SECONDS, until

from pollux import Rule, RunFailed, SessionContext, files, shell, tool
from pollux.sdk.events import ApprovalRequired
from pollux.testing import call, reply

DENIED = "the policy refused this call: it needs approval, and there is nobody to ask"
GIT = '[[rules]]\ndecision = "allow"\ntool = "shell"\ncommands = ["echo", "git status"]\n'


def policy(bench: Bench, text: str = GIT) -> Path:
    path = bench.path / "policy.toml"
    path.write_text(text)
    return path


def yes(question: ApprovalRequired) -> bool:
    return True


def running(*, side_effect: bool = False) -> Any:
    """A tool that runs what it is told by the session's shell."""

    @tool(side_effect=side_effect)
    async def run(command: list[str], context: SessionContext) -> dict[str, object]:
        """Run a command."""
        line = command[0] if len(command) == 1 else command
        result = await context.shell.exec(line)
        return {"code": result.exit_code, "out": result.stdout, "blocked": result.blocked, "reason": result.reason}

    return run


async def result_of(bench: Bench, command: list[str], **options: Any) -> dict[str, Any]:
    side_effect = options.pop("side_effect", False)
    steps = [call("run", {"command": command}), reply("ok")]
    async with bench.agent(*steps, tools=[running(side_effect=side_effect)], **options) as agent:
        return (await agent.send("?")).tool_calls[0].result


async def test_a_tool_that_claims_no_side_effect_runs_no_command_without_a_rule(bench: Bench):
    found = await result_of(bench, ["echo hello"])
    assert (found["code"], found["blocked"]) == (126, True)
    assert "side_effect=True" in found["reason"] and "allow the command by a rule" in found["reason"]


async def test_a_rule_allows_a_command_by_its_words(bench: Bench):
    found = await result_of(bench, ["echo 'hello there'"], policy=policy(bench))
    assert (found["code"], found["out"]) == (0, "hello there\n")


async def test_an_argv_is_judged_and_run_as_it_is(bench: Bench):
    found = await result_of(bench, ["echo", "$(id)", ";"], policy=policy(bench))
    assert (found["code"], found["out"]) == (0, "$(id) ;\n")


async def test_what_is_more_than_one_simple_command_is_blocked(bench: Bench):
    found = await result_of(bench, ["echo hello; touch owned"], policy=policy(bench))
    assert (found["code"], found["blocked"]) == (126, True)
    assert not (bench.cwd / "owned").exists()


async def test_a_call_that_was_approved_runs_its_commands(bench: Bench):
    found = await result_of(bench, ["echo a && echo b"], side_effect=True, on_approval=yes)
    assert (found["code"], found["out"]) == (0, "a\nb\n")


async def test_what_a_rule_forbids_is_blocked_even_there(bench: Bench):
    forbids = policy(bench, '[[rules]]\ndecision = "deny"\ntool = "shell"\ncommands = ["rm"]\n')
    found = await result_of(bench, ["echo a; rm -r x"], side_effect=True, on_approval=yes, policy=forbids)
    assert (found["code"], found["blocked"], found["reason"]) == (126, True, "a rule forbids it")


def noting(*, side_effect: bool = False) -> Any:
    @tool(side_effect=side_effect)
    async def note(path: str, context: SessionContext) -> str:
        """Write a note."""
        await context.fs.write_file(path, "milk")
        return "written"

    return note


@pytest.mark.parametrize(
    ("side_effect", "rule", "wrote"),
    [
        (False, None, False),
        (False, Rule("allow", tool="write_file", subjects=("notes/*",)), True),
        (False, Rule("allow", tool="write_file", subjects=("drafts/*",)), False),
        (True, None, True),
        (True, Rule("deny", tool="write_file", subjects=("notes/*",)), False),
    ],
)
async def test_a_tool_writes_files_under_the_rule_that_its_commands_follow(
    bench: Bench, side_effect: bool, rule: Rule | None, wrote: bool
):
    steps = [call("note", {"path": "./notes/today.md"}), reply("ok")]
    policy = [rule] if rule else []
    made = noting(side_effect=side_effect)
    async with bench.agent(*steps, tools=[made], policy=policy, on_approval=yes) as agent:
        use = (await agent.send("?")).tool_calls[0]
    assert (bench.cwd / "notes/today.md").exists() == wrote
    assert (use.error is None) == wrote
    if not wrote and not side_effect:
        assert use.error and "side_effect=True" in use.error and "allow write_file by a rule" in use.error


async def test_no_key_reaches_a_command(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GEMINI_API_KEY", "canary-key-123456")
    found = await result_of(bench, ["env"], side_effect=True, on_approval=yes)
    assert found["code"] == 0 and "canary" not in found["out"] and "PATH=" in found["out"]


async def test_the_shell_tool_asks_and_tells_what_came_out(bench: Bench):
    asked: list[ApprovalRequired] = []

    def on_approval(question: ApprovalRequired) -> bool:
        asked.append(question)
        return True

    steps = [call("shell", {"command": "printf abc; exit 3"}), reply("ok")]
    async with bench.agent(*steps, tools=[shell], on_approval=on_approval) as agent:
        result = await agent.send("?")
    assert result.tool_calls[0].result == {"stdout": "abc", "stderr": "", "exit_code": 3}
    assert (asked[0].preview, asked[0].args) == ("$ printf abc; exit 3", {"command": "printf abc; exit 3"})


async def test_the_shell_tool_runs_what_a_rule_allows(bench: Bench):
    steps = [call("shell", {"command": "echo hello"}), call("shell", {"command": "echo a > b"}), reply("ok")]
    async with bench.agent(*steps, tools=[shell], policy=policy(bench)) as agent:
        first, second = (await agent.send("?")).tool_calls
    assert first.result == {"stdout": "hello\n", "stderr": "", "exit_code": 0}
    assert second.error == DENIED
    assert not (bench.cwd / "b").exists()


async def test_the_file_tools_read_freely_and_ask_before_they_write(bench: Bench):
    (bench.cwd / "a.txt").write_text("hello")
    steps = [
        call("read_file", {"path": "a.txt"}),
        call("write_file", {"path": "b.txt", "content": "x"}),
        call("read_file", {"path": "../secret"}),
        reply("ok"),
    ]
    async with bench.agent(*steps, tools=[files]) as agent:
        read, write, outside = (await agent.send("?")).tool_calls
    assert (read.result, write.error) == ({"content": "hello"}, DENIED)
    assert outside.error is not None and not (bench.cwd / "b.txt").exists()


async def test_tool_sets_may_be_named(bench: Bench):
    agent = bench.agent(tools=["files", "shell"])
    assert [each.spec.name for each in agent.tools] == [
        "read_file", "list_directory", "glob", "search", "write_file", "replace", "shell",
    ]  # fmt: skip


async def test_a_tool_set_takes_its_options(bench: Bench):
    steps = [call("shell", {"command": "sleep 1000"}), reply("ok")]
    async with bench.agent(*steps, tools=[shell(timeout=0.2)], policy=Rule("allow", "shell")) as agent:
        found = (await agent.send("?")).tool_calls[0].result
    assert found["exit_code"] == 124 and "error" in found
    from pollux import ValidationError

    with pytest.raises(ValidationError, match="no option 'speed'"):
        shell(speed=2)


async def test_cancelling_ends_every_process_of_a_command(bench: Bench):
    mark = f"1000.{os.getpid()}"
    line = f"setsid sleep {mark} & trap '' TERM; touch began; sleep 1000.{os.getpid()}"
    async with bench.agent(call("shell", {"command": line}), tools=[shell], policy="allow_all") as agent:
        task = asyncio.create_task(agent.send("?"))
        await until((bench.cwd / "began").exists)
        assert await agent.cancel()
        async with asyncio.timeout(HANG_SECONDS):
            with pytest.raises(RunFailed):
                await task
        await until(lambda: not marked(mark))


def marked(mark: str) -> list[str]:
    """The processes that have this word among their arguments."""
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if mark.encode() in path.read_bytes().split(b"\0"):
                found.append(path.parent.name)
    return found


async def test_what_pollux_keeps_is_out_of_reach(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("POLLUX_HOME", str(bench.cwd / ".pollux"))
    steps = [call("read_file", {"path": ".pollux/audit.key"}), reply("ok")]
    async with bench.agent(*steps, tools=[files]) as agent:
        found = (await agent.send("?")).tool_calls[0]
    assert (bench.cwd / ".pollux" / "audit.key").exists()
    assert found.error is not None and "kept from tools" in found.error
