"""The fixtures that every part of the store suite shares."""

from collections.abc import AsyncGenerator, Callable

import pytest

from pollux.engine.ports import Store

StoreFactory = Callable[[], Store]
"""Makes a store that is not opened yet, at the same place every time."""


class StoreFixtures:
    """`store` is open and empty; `another` is a second object on the same place."""

    @pytest.fixture
    def outlives_its_object(self) -> bool:
        return True

    @pytest.fixture
    async def store(self, store_factory: StoreFactory) -> AsyncGenerator[Store]:
        store = store_factory()
        await store.open()
        yield store
        await store.close()

    @pytest.fixture
    async def another(
        self, store: Store, store_factory: StoreFactory, outlives_its_object: bool
    ) -> AsyncGenerator[Store]:
        if not outlives_its_object:
            pytest.skip("this store keeps nothing beyond its own object")
        other = store_factory()
        await other.open()
        yield other
        await other.close()
