"""What servers and workers log of a store that is away: a line for each kind of trouble, and no traceback."""

import asyncio
import os
import re
from collections import Counter
from pathlib import Path

import aiohttp
import pytest
from tests.hosts.errands import Errand
from tests.hosts.fleet import fleet, until
from tests.http.site import TOKENS, Person, process
from tests.stores.postgres import own_cluster
from tests.waiting import HANG_SECONDS

pytestmark = pytest.mark.slow

STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (?P<level>[A-Z]+) (?P<said>.*)")
MOST = 3
"""So often at most one and the same is told of an outage that is over within a minute."""


def judge(log: str) -> Counter[str]:
    """How often each trouble is told, by its module and first words."""
    lines = [line for line in log.splitlines() if not line.startswith("pollux: ")]
    found = [STAMP.fullmatch(line) for line in lines]
    assert "Traceback" not in log
    assert None not in found, [line for line, match in zip(lines, found, strict=True) if match is None]
    troubles = [match["said"] for match in found if match and match["level"] in ("WARNING", "ERROR")]
    told = Counter(re.sub(r"\(req_\w+\)|0x\w+|\(\d+ times.*", "", trouble)[:70] for trouble in troubles)
    assert all(times <= MOST for times in told.values()), told
    return told


async def test_servers_and_workers_tell_a_lost_database_in_one_line_each(tmp_path: Path):
    with own_cluster() as cluster, cluster.database() as url:
        async with fleet(tmp_path, url) as here:
            await here.start("worker")
            [server] = await here.start("serve")
            errands = [Errand(f"wish-{number}", takes=(0.0, 1.0)) for number in range(8)]
            doing = [asyncio.create_task(errand.do(here)) for errand in errands]
            await until(lambda: all(here.world.attempts(errand.wish) for errand in errands))
            await asyncio.to_thread(cluster.stop)
            # Long enough for all of them to find out, again and again.
            for _ in range(40):
                assert (await here.person("ada", server).get("/readyz")).status == 503
                assert (await here.person("ada", server).get("/api/agent/runs")).status == 503
            await until(lambda: all("still lost" in member.log.read_text() for member in here.members))
            await until(lambda: any("trying again" in member.log.read_text() for member in here.members))
            await asyncio.to_thread(cluster.start)
            async with asyncio.timeout(4 * HANG_SECONDS):
                await asyncio.gather(*doing)
            for member in here.members:
                told = judge(member.log.read_text())
                assert any("the line to the database was lost: e" in each for each in told), told


async def test_a_server_tells_a_lost_file_in_one_line(tmp_path: Path):
    async with process(tmp_path) as serving, aiohttp.ClientSession() as http:
        store, ada = tmp_path / "home" / "pollux.db", Person(http, serving.url, TOKENS["ada"])
        os.rename(store, tmp_path / "elsewhere")
        for _ in range(40):
            got = await ada.post("/api/agent/run", {"prompt": "hello"})
            assert (got.status, got.code) == (503, "store_error")
        os.rename(tmp_path / "elsewhere", store)
        assert (await ada.get("/readyz")).status == 200
        await serving.stop()
        told = judge(serving.talk)
        assert any("where it was opened" in line for line in serving.talk.splitlines()), told
