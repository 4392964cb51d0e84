from collections.abc import Generator

import pytest
from tests.stores.postgres import fresh_database


@pytest.fixture
def database() -> Generator[str]:
    """The address of an empty database, in a cluster that stays up."""
    with fresh_database() as url:
        yield url
