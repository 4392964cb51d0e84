"""However many visitors come at once, and whatever they bring: together they spend what a day allows, and no more."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.http.site import site
from tests.page.site import Page, PageSite, page_site
from tests.stores.postgres import fresh_database
from tests.waiting import until

from pollux.asgi.budget import BYTES_OF_A_TOKEN
from pollux.asgi.visits import STRANGER
from pollux.core.ids import UserId
from pollux.core.messages import Message, Text, ToolCall, Usage
from pollux.engine.model import Done, ModelEvent, ModelRequest
from pollux.providers.scripted import ScriptedProvider
from pollux.stores.postgres.store import PostgresStore
from pollux.stores.sqlite import SqliteStore

KEY = b"k" * 32
LONG = "long " * 3_000


class Greedy(ScriptedProvider):
    """Costs what it reads, and says all that it may. Answers when it is allowed to, or wants a click first."""

    def __init__(self, *, clicks: bool = False) -> None:
        super().__init__()
        self.clicks = clicks
        self.asked = 0
        self.may_answer = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        self.asked += 1
        said = [turn.text for turn in request.turns] + [json.dumps(dict(tool.input_schema)) for tool in request.tools]
        read = sum(map(len, (request.system, *said))) // BYTES_OF_A_TOKEN
        await self.may_answer.wait()
        used = Usage(input=read, output=request.max_output_tokens or 0)
        if self.clicks and request.turns[-1].role == "user":
            call = ToolCall(f"c{self.asked}", "click-buy", {})
            yield call
            yield Done("tool_calls", Message("assistant", (call,)), Usage(input=read, output=10))
        else:
            yield Done("end", Message("assistant", (Text("x"),)), used)


async def said_at_once(model: Greedy, pages: list[Page], message: str = "hi") -> list[int]:
    """What each is answered with. The model answers none before all have been let in, or refused."""
    async with asyncio.TaskGroup() as group:
        said = [group.create_task(page.post("/api/page/send-message", page.sending(message))) for page in pages]
        await until(lambda: sum(task.done() for task in said) + model.asked == len(pages))
        model.may_answer.set()
    return [task.result()[0] for task in said]


async def spent(here: PageSite) -> int:
    return (await here.engine.queries.spent(UserId(STRANGER), 0, is_prefix=True)).used


@pytest.mark.parametrize(("day", "message", "least"), [(10_000, "hi", 2), (100_000, LONG, 3), (1_000_000, "hi", 40)])
async def test_visitors_who_come_at_once_share_what_is_left(day: int, message: str, least: int, tmp_path: Path):
    model = Greedy()
    async with page_site(tmp_path, model, visitor_tokens_per_day=day) as here:
        statuses = await said_at_once(model, [await here.page() for _ in range(40)], message)
        assert set(statuses) <= {200, 429}
        assert statuses.count(200) >= least
        assert day // 3 < await spent(here) <= day


async def test_what_waiting_runs_may_still_spend_counts_after_a_restart(tmp_path: Path):
    day, model = 20_000, Greedy(clicks=True)
    model.may_answer.set()
    waiting: list[tuple[Page, str]] = []
    store = SqliteStore(tmp_path / "pollux.db", key=KEY)
    async with page_site(tmp_path, model, store=store, visitor_tokens_per_day=day) as here:
        while True:
            page = await here.page()
            page.origin = here.url
            status, told = await page.post("/api/page/send-message", page.sending("press Buy"))
            if status == 429:
                break
            waiting.append((page, told["calls"][0]["id"]))
            page.history = told["history"]
    assert len(waiting) >= 3
    store = SqliteStore(tmp_path / "pollux.db", key=KEY)
    near = [waiting[0][0].origin]
    async with page_site(tmp_path, model, store=store, origins=near, visitor_tokens_per_day=day) as here:
        assert (await (await here.page()).post("/api/page/send-message", {"message": "hi"}))[0] == 429
        for page, call_id in waiting:
            page.url, page.http = here.url, here.http
            assert (await page.answer({"callId": call_id, "result": "clicked"}))["message"] == "x"
        assert day // 3 < await spent(here) <= day
        # They have ended, and what they did not use is free again.
        assert (await (await here.page()).post("/api/page/send-message", {"message": "hi"}))[0] == 200


async def test_what_would_cost_more_to_read_than_a_run_may_use_is_refused_before_it_begins(tmp_path: Path):
    async with page_site(tmp_path, ScriptedProvider(), visitor_tokens_per_day=8_000) as here:
        page = await here.page()
        status, told = await page.post("/api/page/send-message", page.sending(LONG))
        assert (status, told["error"]["code"]) == (429, "budget")
        assert "Say less" in told["error"]["message"]


async def test_what_a_user_begins_at_once_shares_their_day_too(tmp_path: Path):
    day, model = 100_000, Greedy()
    async with site(tmp_path, model, tokens_per_day=day) as here:
        async with asyncio.TaskGroup() as group:
            begun = [group.create_task(here.ada.post("/api/agent/run", {"prompt": LONG})) for _ in range(20)]
            await until(lambda: sum(task.done() for task in begun) + model.asked == len(begun))
            model.may_answer.set()
        assert {task.result().status for task in begun} == {200, 429}
        assert day // 2 < (await here.engine.queries.spent(UserId("ada"), 0)).used <= day
        assert (await here.bob.post("/api/agent/run", {"prompt": LONG})).status == 200


@pytest.mark.slow
async def test_servers_of_one_database_agree_on_what_is_left(tmp_path: Path):
    day, models = 100_000, [Greedy(), Greedy()]
    with fresh_database() as url:
        async with AsyncExitStack() as stack:
            servers: list[PageSite] = []
            for number, model in enumerate(models):
                (home := tmp_path / str(number)).mkdir()
                store = PostgresStore(url, key=KEY, heads=tmp_path / "heads.jsonl")
                opened = page_site(home, model, store=store, visitor_tokens_per_day=day)
                servers.append(await stack.enter_async_context(opened))
            pages = [[await here.page() for _ in range(30)] for here in servers]
            statuses = await asyncio.gather(*map(said_at_once, models, pages))
            assert {status for each in statuses for status in each} == {200, 429}
            assert day // 3 < await spent(servers[0]) <= day
