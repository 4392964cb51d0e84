"""A run that was erased between being found and being taken on is no trouble."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.engine.builders import mail
from tests.page.site import page_site

from pollux.core.ids import RunId
from pollux.engine.ports import RunRow
from pollux.providers.scripted import ScriptedProvider, call
from pollux.stores.memory import MemoryStore


class Remembering(MemoryStore):
    """Tells of a run that was owed work when it was looked for, and is gone by now."""

    gone: RunRow | None = None

    async def owed(self) -> Sequence[RunRow]:
        return [*await super().owed(), *([self.gone] if self.gone else [])]


async def test_recovery_after_erasure_logs_no_traceback(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    store = Remembering()
    async with page_site(tmp_path, ScriptedProvider(call("click-buy", {})), tools=[mail()], store=store) as site:
        page = await site.page()
        await page.say("buy one")
        (row,) = await store.open_runs()
        store.gone = replace(row, run_id=RunId("run_gone"), driver="")
        with caplog.at_level(logging.INFO):
            await site.engine.recover()
    assert "its content was erased" in caplog.text
    assert "Traceback" not in caplog.text and not [each for each in caplog.records if each.levelno > logging.INFO]
