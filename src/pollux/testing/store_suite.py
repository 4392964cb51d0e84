"""What every store must do, as tests. A new store is one class and a subclass of StoreSuite with its fixtures.

class TestMine(StoreSuite):
    @pytest.fixture
    def store_factory(self, tmp_path):
        return lambda: MyStore(tmp_path / "store")     # not opened yet; the same place every time

Each test opens what it makes. A store that keeps nothing beyond its own object also overrides `outlives_its_object`
to return False: the tests that open a place twice are then skipped, visibly.
"""

import pytest

from pollux.testing.store_finding import Finding
from pollux.testing.store_fixtures import StoreFactory
from pollux.testing.store_keeping import Keeping
from pollux.testing.store_lasting import Lasting
from pollux.testing.store_telling import Telling

__all__ = ["StoreFactory", "StoreSuite"]


@pytest.mark.asyncio
class StoreSuite(Keeping, Finding, Lasting, Telling):
    """The whole conformance suite."""
