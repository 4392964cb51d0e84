"""A server alone on PostgreSQL: nobody is there who does nothing else, so it takes the jobs itself. Two seconds."""

from pathlib import Path

import pytest
from tests.hosts.errands import Errand
from tests.hosts.fleet import fleet
from tests.hosts.judge import judge
from tests.hosts.world import KINDS

pytestmark = pytest.mark.slow


async def test_a_server_without_workers_does_what_it_is_asked_for(tmp_path: Path, database: str):
    errands = [Errand(f"wish-{kind}", kind=kind) for kind in KINDS]
    async with fleet(tmp_path, database) as here:
        [server] = await here.start("serve")
        for errand in errands:
            await errand.do(here)
            assert errand.told["status"] == "completed"
            # Announced once, begun once: by the one that had planned it.
            assert here.world.attempts(errand.wish) == [server.pid]
        assert (await judge(here, errands)).problems == []
