"""The memory store: the conformance suite."""

import pytest

from pollux.stores.memory import MemoryStore
from pollux.testing.store_suite import StoreFactory, StoreSuite


class TestMemory(StoreSuite):
    @pytest.fixture
    def store_factory(self) -> StoreFactory:
        return lambda: MemoryStore(key=b"k" * 32)

    @pytest.fixture
    def outlives_its_object(self) -> bool:
        return False
