"""A page talks to a server, and any worker goes on with what it said: the page is in the journal. Three seconds."""

from pathlib import Path

import aiohttp
import pytest
from tests.hosts.fleet import fleet
from tests.page.site import Page

pytestmark = pytest.mark.slow


async def test_a_page_s_turn_is_gone_on_with_by_another_worker_than_the_one_that_began_it(
    tmp_path: Path, database: str
):
    # A connection for each request: a server closes one that was idle for a while, maybe just when it is used again.
    connector = aiohttp.TCPConnector(force_close=True)
    async with fleet(tmp_path, database) as here, aiohttp.ClientSession(connector=connector) as http:
        # First, so that the server takes no job itself.
        [worker] = await here.start("worker")
        [server] = await here.start("serve")
        page = await Page(server.url, http).open()
        told = await page.say('call click-buy {"coordinate": "mug"}')
        [wanted] = told["calls"]
        assert wanted["args"] == {"coordinate": "mug"}
        await worker.kill()
        await here.start("worker")
        page.state = {"viewState": {"cart": 1}}
        told = await page.answer({"callId": wanted["id"], "result": '{"clicked": true}'})
        assert told["type"] == "response"
        # What the page declared is known to whoever reads the journal: nobody has told the second worker of it.
        assert "clicked" in str(told["history"])
