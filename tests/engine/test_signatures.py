"""Thought signatures come back byte for byte through the journal, a restart and another provider's turn.

The emulator refuses a request whose signature is missing or altered, as the real service does: it is the judge here.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.engine.builders import ADA, KEY, FakeTool, mail
from tests.waiting import HANG_SECONDS

from pollux.core.ids import ThreadId
from pollux.dispatch.local import LocalDispatcher
from pollux.emulator import Emulator, run_emulator
from pollux.engine.engine import Engine, Start
from pollux.engine.model import Provider
from pollux.engine.system import SystemClock
from pollux.providers.gemini import GeminiProvider
from pollux.providers.openai import OpenAIProvider
from pollux.stores.sqlite import SqliteStore

GEMINI = "gemini-3.8-flash"


@asynccontextmanager
async def engine_on(path: Path, emulator: Emulator, *tools: FakeTool) -> AsyncGenerator[Engine]:
    """An engine of its own on the same file: what it knows, it has read."""
    gemini, other = GeminiProvider("a-key", emulator.url), OpenAIProvider("a-key", f"{emulator.url}/v1")
    clock = SystemClock()

    def providers(model: str) -> Provider:
        return gemini if model == GEMINI else other

    async with Engine(
        store=SqliteStore(path, key=KEY),
        providers=providers,
        tools=tools,
        clock=clock,
        dispatcher=LocalDispatcher(clock),
    ) as engine:
        yield engine
    await gemini.close()
    await other.close()


def signatures(body: dict[str, Any]) -> list[str]:
    return [
        part["thoughtSignature"]
        for content in body["contents"]
        for part in content["parts"]
        if "functionCall" in part and "thoughtSignature" in part
    ]


@pytest.mark.parametrize("live", [True, False], ids=["streamed", "whole"])
async def test_an_approval_after_a_restart_goes_on_with_the_signature_that_was_stored(tmp_path: Path, live: bool):
    path = tmp_path / "pollux.db"
    words = 'call send_mail {"to": "bob@example.com", "body": "héllo \\u2713"}'
    async with run_emulator(port=0) as emulator:
        async with engine_on(path, emulator, mail()) as engine:
            run = await engine.start(Start(words, user=ADA, model=GEMINI, live=live))
            run = await engine.wait_settled(run.id, seconds=HANG_SECONDS)
            assert run.status == "awaiting_confirmation"
        async with engine_on(path, emulator, mail()) as engine:
            await engine.resolve(run.approvals[0].id, "approved", by="ada")
            run = await engine.wait_settled(run.id, seconds=HANG_SECONDS)
        last = emulator.requests[-1].body
    assert run.status == "completed", run.ending
    assert last is not None and len(signatures(last)) == 1


async def test_a_thread_changes_provider_and_comes_back(tmp_path: Path):
    look = FakeTool("look")
    thread: ThreadId | None = None
    async with run_emulator(port=0) as emulator:
        for model in (GEMINI, "gpt-5", GEMINI, GEMINI):
            async with engine_on(tmp_path / "pollux.db", emulator, look) as engine:
                run = await engine.start(Start("call look {}", user=ADA, model=model, thread_id=thread))
                run = await engine.wait_settled(run.id, seconds=HANG_SECONDS)
                thread = run.thread_id
            assert run.status == "completed", (model, run.ending)
    assert len(look.ran) == 4
