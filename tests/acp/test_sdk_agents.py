"""Agents made with the protocol's own SDKs, for Python and for TypeScript. The second one is its published example."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Final

import pytest
from tests.acp.from_npm import installed
from tests.acp.talking import AGENTS, ALL, Notes
from tests.waiting import HANG_SECONDS

from pollux.acp import AgentCommand, Answer, Decision, ToolCallSeen, converse

REPOSITORY: Final = Path(__file__).parents[2]
VERSION: Final = "1.9.0"
EXAMPLE: Final = "node_modules/@agentclientprotocol/sdk/dist/examples/agent.js"

FIRST: Final = (
    "I'll help you with that. Let me start by reading some files to understand the current situation."
    " Now I understand the project structure. I need to make some changes to improve it."
)
ALLOWED: Final = " Perfect! I've successfully updated the configuration. The changes have been applied."
REJECTED: Final = " I understand you prefer not to make that change. I'll skip the configuration update."


async def test_an_agent_made_with_the_python_sdk_gets_all_that_it_was_granted():
    client = Notes()
    command = AgentCommand((sys.executable, str(AGENTS / "with_sdk.py")), {}, "/")
    servers = [{"name": "m", "command": "/bin/m", "args": list[str](), "env": list[str]()}]
    answer = await converse(
        command, prompt="hi", client=client, capabilities=ALL, mcp_servers=servers, timeout=HANG_SECONDS
    )
    assert json.loads(answer.text) == {
        "servers": ["m"], "allowed": True, "read": "written", "output": "out", "ended": "SIGTERM",
    }  # fmt: skip
    assert answer.tool_calls == (ToolCallSeen("c1", "Edit it", "edit", "completed", asked=True),)
    assert client.files == {"/new": "written"}


@pytest.mark.slow
async def test_the_typescript_sdk_s_example_agent_is_allowed_refused_and_cancelled():
    allowed, rejected, stopped = Notes("allow_once"), Notes("reject_once"), Notes(decision=None)
    calls = [asyncio.create_task(example(client)) for client in (allowed, rejected, stopped)]
    await asyncio.wait_for(stopped.asked.wait(), HANG_SECONDS)
    calls[2].cancel()
    yes, no, cancelled = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(yes, Answer) and isinstance(no, Answer)
    assert (yes.text, yes.stop_reason) == (FIRST + ALLOWED, "end_turn")
    assert (no.text, no.stop_reason) == (FIRST + REJECTED, "end_turn")
    assert isinstance(cancelled, asyncio.CancelledError) and stopped.cancelled == 1
    reading = ToolCallSeen("call_1", "Reading project files", "read", "completed", asked=False)
    title = "Modifying critical configuration file"
    assert yes.tool_calls == (reading, ToolCallSeen("call_2", title, "edit", "completed", asked=True))
    assert no.tool_calls == (reading, ToolCallSeen("call_2", title, "edit", "pending", asked=True))
    [request] = allowed.requests
    assert request.locations == ("/home/user/project/config.json",) and set(request.options) == set[Decision](
        ("allow_once", "reject_once")
    )


async def example(client: Notes) -> Answer:
    command = AgentCommand(("node", str(program())), {}, os.fspath(REPOSITORY))
    return await converse(command, prompt="hi", client=client, capabilities=ALL, timeout=60)


def program() -> Path:
    """The example: among what web/ is built with, or installed once into the virtual environment. Skips without it."""
    ours = REPOSITORY / "web" / EXAMPLE
    return ours if ours.exists() else installed("@agentclientprotocol/sdk", VERSION) / EXAMPLE
