"""The SQLite store: the conformance suite."""

from pathlib import Path

import pytest

from pollux.stores.sqlite import SqliteStore
from pollux.testing.store_suite import StoreFactory, StoreSuite


class TestSqlite(StoreSuite):
    @pytest.fixture
    def store_factory(self, tmp_path: Path) -> StoreFactory:
        return lambda: SqliteStore(tmp_path / "pollux.db", key=b"k" * 32, heads=tmp_path / "heads.jsonl")
