"""The PostgreSQL store: the conformance suite, on a real server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.stores.postgres import fresh_database

from pollux.stores.postgres.store import PostgresStore
from pollux.testing.store_suite import StoreFactory, StoreSuite

pytestmark = pytest.mark.slow


class TestPostgres(StoreSuite):
    @pytest.fixture
    def url(self) -> Iterator[str]:
        with fresh_database() as url:
            yield url

    @pytest.fixture
    def store_factory(self, url: str, tmp_path: Path) -> StoreFactory:
        return lambda: PostgresStore(url, key=b"k" * 32, heads=tmp_path / "heads.jsonl")
