"""Claude's agent over ACP, against `pollux emulator`: an agent that we did not write. It needs Node 22."""

import asyncio
import os
import re
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest
from tests.acp.from_npm import installed
from tests.acp.talking import Notes
from tests.interop.peers import Served, serving
from tests.tools.shell.living import living, new_mark

from pollux.acp import AgentCommand, Answer, TextChunk, converse

pytestmark = pytest.mark.interop

VERSION: Final = "0.99.1"
OLDEST_NODE: Final = 22


@pytest.fixture(scope="module")
def program() -> Path:
    """Installed once into the virtual environment, where Node is new enough. Skips elsewhere, and says why."""
    node = shutil.which("node") or pytest.skip("node is not installed (apt-get install nodejs)")
    told = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=True).stdout
    if int(re.sub(r"^v(\d+)\..*", r"\1", told.strip())) < OLDEST_NODE:
        pytest.skip(f"claude-agent-acp needs Node {OLDEST_NODE} or newer, found {told.strip()}")
    return installed("@agentclientprotocol/claude-agent-acp", VERSION) / "node_modules/.bin/claude-agent-acp"


class Claude:
    """One with a home and a workspace of its own, that asks about whatever it does."""

    def __init__(self, program: Path, root: Path, url: str) -> None:
        self.workspace, home = root / "workspace", root / "home"
        for place in (self.workspace, home):
            place.mkdir()
        self.mark = new_mark()
        env = {
            "HOME": str(home),
            "CLAUDE_CONFIG_DIR": str(home),
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "demo-key",
            "ANTHROPIC_MODEL": "claude-opus-5",
            "ANTHROPIC_SMALL_FAST_MODEL": "claude-opus-5",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            # It refuses to work for root, unless told that nothing outside can be harmed.
            "IS_SANDBOX": "1",
            "MARK": self.mark,
        }
        self._command = AgentCommand((os.fspath(program),), env, os.fspath(self.workspace))

    async def __call__(self, prompt: str, client: Notes | None = None, **options: Any) -> Answer:
        try:
            return await converse(self._command, prompt=prompt, client=client or Notes(), timeout=120, **options)
        finally:
            assert living(self.mark) == {}


@pytest.fixture
def served() -> Generator[Served]:
    with serving() as emulator:
        yield emulator


@pytest.fixture
def claude(program: Path, served: Served, tmp_path: Path) -> Claude:
    return Claude(program, tmp_path, served.url)


async def test_an_answer_is_streamed_and_what_it_reads_unasked_is_told(claude: Claude):
    client, note = Notes(), claude.workspace / "note.txt"
    note.write_text("marzipan\n")
    answer = await claude(f'call Read {{"file_path": "{note}"}}', client)
    assert "marzipan" in answer.text and answer.stop_reason == "end_turn"
    assert sum(isinstance(update, TextChunk) for update in client.updates) > 1
    [call] = answer.tool_calls
    assert (call.kind, call.status, call.asked, client.requests) == ("read", "completed", False, [])
    assert answer.usage and answer.usage.input_tokens and answer.usage.output_tokens
    assert (answer.agent_name, answer.agent_version) == ("@agentclientprotocol/claude-agent-acp", VERSION)


async def test_a_permitted_command_is_run_and_told_as_asked(claude: Claude):
    client = Notes("allow_once")
    answer = await claude('call Bash {"command": "touch touched"}', client)
    assert [request.kind for request in client.requests] == ["execute"]
    [call] = [call for call in answer.tool_calls if call.kind == "execute"]
    assert call.asked and (claude.workspace / "touched").exists()


async def test_a_refused_command_is_not_run(claude: Claude):
    client = Notes("reject_once")
    await claude('call Bash {"command": "touch touched"}', client)
    assert len(client.requests) == 1 and not (claude.workspace / "touched").exists()


async def test_a_cancelled_permission_runs_nothing(claude: Claude):
    client = Notes(decision=None)
    call = asyncio.create_task(claude('call Bash {"command": "touch touched"}', client))
    await asyncio.wait_for(client.asked.wait(), 120)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not (claude.workspace / "touched").exists()
