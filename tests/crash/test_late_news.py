"""A process hears of another's commits a moment late. What it is told meanwhile is judged by what is in the store."""

import asyncio
from pathlib import Path

from tests.crash.outside import RULES, Fault, Outside, make_tools
from tests.crash.worker import KEY, USER
from tests.engine.watching import seated
from tests.waiting import HANG_SECONDS, until

from pollux.core.ids import RunId
from pollux.core.profile import Profile
from pollux.core.tools import ToolContext
from pollux.dispatch.local import LocalDispatcher
from pollux.engine.engine import Engine, Start
from pollux.engine.model import ModelRequest
from pollux.engine.ports import News
from pollux.engine.system import SystemClock
from pollux.providers.scripted import Answer, ScriptedProvider, call, reply
from pollux.stores.sqlite import SqliteStore


class DeafStore(SqliteStore):
    """Never hears of what others write."""

    async def changed_elsewhere(self) -> News:
        return await asyncio.get_running_loop().create_future()


async def test_an_approval_that_this_process_has_not_heard_of_can_be_answered_here(tmp_path: Path):
    asked = asyncio.Event()

    async def when_asked(request: ModelRequest) -> Answer:
        await asked.wait()
        return call("keyed")

    async with (
        asyncio.timeout(HANG_SECONDS),
        engine_on(SqliteStore, tmp_path, ScriptedProvider(when_asked, reply("Done."))) as driving,
        engine_on(DeafStore, tmp_path, ScriptedProvider(reply("Done."))) as deaf,
    ):
        run = await driving.start(Start("go", USER))
        watching = asyncio.ensure_future(deaf.wait_settled(run.id))
        # It knows the run as it is now.
        await until(lambda: vars(deaf)["_ledger"].feeds)
        asked.set()
        await driving.wait_settled(run.id)
        (question,) = await deaf.queries.approvals(USER)
        assert question.action.approval is not None
        await deaf.resolve(question.action.approval.id, "approved", by="tester")
        await watching
        assert (await deaf.wait_settled(run.id)).status == "completed"


async def test_a_run_that_was_abandoned_unheard_is_taken_on(tmp_path: Path):
    asked = asyncio.Event()

    async def when_asked(request: ModelRequest) -> Answer:
        await asked.wait()
        return call("keyed")

    async def never(request: ModelRequest) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets that event")

    async with asyncio.timeout(HANG_SECONDS), engine_on(DeafStore, tmp_path, ScriptedProvider(reply("Done."))) as deaf:
        async with engine_on(SqliteStore, tmp_path, ScriptedProvider(when_asked, never)) as driving:
            run = await driving.start(Start("go", USER))
            asked.set()
            run = await driving.wait_settled(run.id)
            watching = asyncio.ensure_future(anext(deaf.watch(run.id, after=run.version)))
            await seated(deaf, 1)
            await driving.resolve(run.approvals[0].id, "approved", by="tester")
            await until(lambda: _is_done(driving, run.id))
        # The one that drove is gone in the middle of a model call; all that we heard of is the question.
        assert await deaf.recover() == 1
        assert (await deaf.wait_settled(run.id)).status == "completed"
        await watching


async def _is_done(engine: Engine, run_id: RunId) -> bool:
    """Whether the run's action is."""
    return bool((await engine.queries.run(run_id)).done)


def engine_on(store: type[SqliteStore], directory: Path, provider: ScriptedProvider) -> Engine:
    clock = SystemClock()
    tools = make_tools(Outside(directory), Fault(), no_child)
    return Engine(
        store=store(directory / "pollux.db", key=KEY),
        providers=lambda model: provider,
        tools=tools,
        profiles={"default": Profile(tools=tuple(tool.spec.name for tool in tools))},
        rules=RULES,
        clock=clock,
        dispatcher=LocalDispatcher(clock),
    )


async def no_child(context: ToolContext) -> None:
    raise AssertionError("nothing here begins a child run")
