"""The SQLite store: the conformance suite, and who waits for what it reads."""

import threading
from pathlib import Path
from typing import Any

import pytest

from pollux.core.messages import Blob, Text, user
from pollux.stores import reading
from pollux.stores.sqlite import LIGHT, SqliteStore
from pollux.testing.store_lab import Story
from pollux.testing.store_suite import StoreFactory, StoreSuite


class TestSqlite(StoreSuite):
    @pytest.fixture
    def store_factory(self, tmp_path: Path) -> StoreFactory:
        return lambda: SqliteStore(tmp_path / "pollux.db", key=b"k" * 32, heads=tmp_path / "heads.jsonl")


async def test_nobody_else_waits_while_a_prompt_with_large_files_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store = SqliteStore(tmp_path / "pollux.db", key=b"k" * 32)
    await store.open()
    small, large = Story("small"), Story("large")
    await small.start(store, "hello")
    await large.start(store, user("What is this?", *[Blob("image/png", bytes(LIGHT // 3), "dot.png")] * 3))
    readers: set[threading.Thread] = set()

    def noting(found: Any) -> Any:
        def noted(*args: Any) -> Any:
            readers.add(threading.current_thread())
            return found(*args)

        return noted

    for name in ("decode", "decode_message"):
        monkeypatch.setattr(reading, name, noting(getattr(reading, name)))
    here = threading.current_thread()
    for story, is_here in ((small, True), (large, False)):
        for question in (store.run(story.run.id), store.messages(story.thread.id)):
            readers.clear()
            assert await question
            assert (here in readers) is is_here and len(readers) == 1
    (asked,) = await store.messages(large.thread.id)
    assert [type(part) for part in asked.parts] == [Text, Blob, Blob, Blob]
    await store.close()
