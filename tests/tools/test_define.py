"""Tools made of functions."""

import threading

from pollux.core.ids import ActionId, RunId, ThreadId, UserId
from pollux.core.tools import ToolContext, ToolSpec
from pollux.tools.define import Args, FunctionTool

CONTEXT = ToolContext(UserId("ada"), "", RunId("run_1"), ActionId("act_1_1.0"), ThreadId("thr_1"))
SPEC = ToolSpec("look", "Look.", {"type": "object"})


async def test_a_sync_function_runs_in_a_thread_and_leaves_the_loop_free():
    def where(context: ToolContext, args: Args) -> str:
        return threading.current_thread().name

    assert await FunctionTool(SPEC, where).run(CONTEXT, {}) != threading.current_thread().name


async def test_an_async_function_runs_where_it_is_called():
    async def where(context: ToolContext, args: Args) -> str:
        return f"{threading.current_thread().name} {context.key} {args['a']}"

    told = await FunctionTool(SPEC, where).run(CONTEXT, {"a": 1})
    assert told == f"{threading.current_thread().name} act_1_1.0 1"


async def test_a_sync_function_may_give_something_to_wait_for():
    async def later() -> str:
        return "later"

    assert await FunctionTool(SPEC, lambda context, args: later()).run(CONTEXT, {}) == "later"


async def test_without_a_word_of_its_own_a_tool_shows_its_call_and_cannot_tell_what_became_of_it():
    tool = FunctionTool(SPEC, lambda context, args: None)
    assert tool.preview({"a": 1, "b": "x"}) == "look(a=1, b='x')"
    assert (await tool.reconcile(CONTEXT, {})).outcome == "unknown"
    assert (tool.prepare({"a": 1}), tool.subjects({"a": 1})) == ({"a": 1}, frozenset())
