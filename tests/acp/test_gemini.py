"""Google's Gemini CLI as an ACP agent, against `pollux emulator gemini`: an agent that we did not write."""

import asyncio
import re
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from tests.acp.talking import AGENTS, Notes
from tests.interop.peers import GeminiCli, Missing, Served, installed_cli, serving
from tests.tools.shell.living import living, new_mark

from pollux.acp import AgentCommand, AgentFailed, Answer, Capabilities, TextChunk, converse

pytestmark = pytest.mark.interop

FILES = Capabilities(read_files=True, write_files=True)


@pytest.fixture(scope="module")
def program() -> Path:
    try:
        return installed_cli()
    except Missing as reason:
        pytest.skip(f"the Gemini CLI cannot be had: {reason}")


@pytest.fixture
def served() -> Generator[Served]:
    with serving() as emulator:
        yield emulator


class Gemini:
    """One with a home and a workspace of its own."""

    def __init__(self, cli: GeminiCli) -> None:
        self.workspace = cli.workspace
        self._cli = cli
        self.mark = new_mark()
        env = {name: value for name, value in cli.environment("demo").items() if name != "PATH"}
        argv = (str(cli.program), "--acp", "-m", "gemini-3.8-flash")
        self._command = AgentCommand(argv, {**env, "MARK": self.mark}, str(cli.workspace))

    async def __call__(self, prompt: str, client: Notes | None = None, **options: Any) -> Answer:
        settings: dict[str, Any] = {"capabilities": Capabilities(), "timeout": 120}
        try:
            return await converse(self._command, prompt=prompt, client=client or Notes(), **(settings | options))
        finally:
            assert living(self.mark) == {}

    def age(self) -> None:
        """Give its sessions names of an earlier minute: it empties one that is loaded in the minute it was begun in."""
        for session in self._cli.sessions:
            session.rename(session.with_name(re.sub(r"T\d\d-\d\d-", "T00-00-", session.name)))


@pytest.fixture
def gemini(program: Path, served: Served, tmp_path: Path) -> Gemini:
    cli = GeminiCli(program, tmp_path, served.url)
    cli.settle_in()
    return Gemini(cli)


def writing(path: Path, content: str = "marzipan") -> str:
    return f'call write_file {{"file_path": "{path}", "content": "{content}"}}'


async def test_an_answer_is_streamed(gemini: Gemini):
    client = Notes()
    answer = await gemini("count to 5", client)
    assert (answer.text, answer.stop_reason) == ("1\n2\n3\n4\n5", "end_turn")
    assert sum(isinstance(update, TextChunk) for update in client.updates) > 1
    assert (answer.agent_name, answer.agent_version) == ("gemini-cli", "0.61.0")
    assert answer.usage and answer.usage.input_tokens and answer.usage.output_tokens


async def test_a_permitted_write_goes_through_the_client(gemini: Gemini):
    client, path = Notes("allow_once"), gemini.workspace / "new.txt"
    answer = await gemini(writing(path), client, capabilities=FILES)
    assert client.files == {str(path): "marzipan"}
    assert [request.kind for request in client.requests] == ["edit"]
    [call] = answer.tool_calls
    assert (call.kind, call.status, call.asked) == ("edit", "completed", True)


async def test_a_refused_write_is_not_made(gemini: Gemini):
    client, path = Notes("reject_once"), gemini.workspace / "new.txt"
    await gemini(writing(path), client, capabilities=FILES)
    assert (len(client.requests), client.files, path.exists()) == (1, {}, False)


async def test_a_command_is_asked_about_and_run_by_the_agent(gemini: Gemini):
    client = Notes("allow_once")
    await gemini('call run_shell_command {"command": "touch touched"}', client)
    assert [request.kind for request in client.requests] == ["execute"]
    assert (gemini.workspace / "touched").exists()


async def test_a_cancelled_permission_runs_nothing(gemini: Gemini):
    client = Notes(decision=None)
    call = asyncio.create_task(gemini('call run_shell_command {"command": "touch touched"}', client))
    await asyncio.wait_for(client.asked.wait(), 120)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not (gemini.workspace / "touched").exists()


async def test_a_session_is_gone_on_with(gemini: Gemini, served: Served):
    first = await gemini("say marzipan")
    assert first.text == "marzipan"
    gemini.age()
    second = await gemini("say almonds", load=first.session_id)
    assert (second.text, second.session_id) == ("almonds", first.session_id)
    said = str(served.turns[-1]["body"]["contents"])
    assert "say marzipan" in said and "say almonds" in said


async def test_an_unknown_session_is_refused(gemini: Gemini):
    with pytest.raises(AgentFailed, match="refused session/load") as caught:
        await gemini("say x", load="00000000-0000-4000-8000-000000000000")
    assert caught.value.kind == "refused"


async def test_mcp_servers_are_passed_through(gemini: Gemini):
    server = {
        "name": "scales",
        "command": sys.executable,
        "args": [str(AGENTS / "mcp_server.py")],
        "env": [{"name": "WEIGHT", "value": "3 pounds"}],
    }
    client = Notes("allow_once")
    answer = await gemini('call mcp_scales_weigh {"thing": "marzipan"}', client, mcp_servers=[server])
    assert "marzipan weighs 3 pounds" in answer.text
