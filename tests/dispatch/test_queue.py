"""The dispatcher on Procrastinate: the conformance suite, on a real server."""

from collections.abc import AsyncGenerator

import pytest
from tests.dispatch.queue_lab import QueueLab
from tests.stores.postgres import fresh_database

from pollux.testing.dispatcher_suite import DispatcherSuite

pytestmark = pytest.mark.slow


class TestQueue(DispatcherSuite):
    @pytest.fixture
    async def lab(self) -> AsyncGenerator[QueueLab]:
        with fresh_database() as url:
            lab = QueueLab(url)
            yield lab
            await lab.close()
