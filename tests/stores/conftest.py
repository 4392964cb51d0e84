"""No worker outlives its test, however that ends."""

from collections.abc import Iterator

import pytest
from tests.stores.processes import kill_all


@pytest.fixture(autouse=True)
def _no_worker_is_left() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    yield
    kill_all()
