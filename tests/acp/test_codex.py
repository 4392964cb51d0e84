"""Codex as an ACP agent, against a small server of ours that stands for its model: an agent that we did not write."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Final

import pytest
from tests.acp.from_npm import installed
from tests.acp.responses import responding
from tests.acp.talking import Notes
from tests.tools.shell.living import living, new_mark

from pollux.acp import AgentCommand, Answer, converse

pytestmark = pytest.mark.interop

VERSION: Final = "0.16.0"
CONFIG: Final = """
model = "gpt-5.5"
model_provider = "ours"
approval_policy = "on-request"
sandbox_mode = "read-only"
[model_providers.ours]
name = "ours"
base_url = {url}
wire_api = "responses"
env_key = "OUR_KEY"
"""


@pytest.fixture(scope="module")
def program() -> Path:
    """Installed once into the virtual environment."""
    return installed("@zed-industries/codex-acp", VERSION) / "node_modules/.bin/codex-acp"


class Codex:
    """One with a home and a workspace of its own."""

    def __init__(self, program: Path, root: Path, url: str) -> None:
        self.workspace, home = root / "workspace", root / "home"
        for place in (self.workspace, home):
            place.mkdir()
        (home / "config.toml").write_text(CONFIG.format(url=json.dumps(url)))
        self.mark = new_mark()
        env = {"CODEX_HOME": str(home), "HOME": str(home), "OUR_KEY": "demo-key", "MARK": self.mark, "NO_BROWSER": "1"}
        self._command = AgentCommand((os.fspath(program),), env, os.fspath(self.workspace))

    async def __call__(self, prompt: str, client: Notes | None = None, **options: Any) -> Answer:
        try:
            return await converse(self._command, prompt=prompt, client=client or Notes(), timeout=60, **options)
        finally:
            assert living(self.mark) == {}


@pytest.fixture
async def codex(program: Path, tmp_path: Path) -> AsyncGenerator[Codex]:
    async with responding() as url:
        yield Codex(program, tmp_path, url)


async def test_an_answer_is_streamed(codex: Codex):
    answer = await codex("hi")
    assert (answer.text, answer.stop_reason) == ("Hello there.", "end_turn")
    assert answer.usage and answer.usage.context_used == 15


async def test_a_permitted_command_is_run_and_told_as_asked(codex: Codex):
    client = Notes("allow_once")
    answer = await codex("run: touch touched", client)
    assert answer.text == "It is done."
    assert [request.kind for request in client.requests] == ["execute"]
    [call] = [call for call in answer.tool_calls if call.kind == "execute"]
    assert call.asked and (codex.workspace / "touched").exists()


async def test_a_refused_command_is_not_run(codex: Codex):
    answer = await codex("run: touch touched", Notes("reject_once"))
    assert answer.stop_reason == "cancelled" and not (codex.workspace / "touched").exists()


async def test_a_cancelled_permission_runs_nothing(codex: Codex):
    client = Notes(decision=None)
    call = asyncio.create_task(codex("run: touch touched", client))
    await asyncio.wait_for(client.asked.wait(), 60)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not (codex.workspace / "touched").exists()
