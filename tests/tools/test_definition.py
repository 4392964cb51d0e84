"""Tools in the form of a registry: one record, and a function of context and arguments."""

import threading
from typing import Any

import pytest

from pollux.core.errors import ToolExecutionError, ValidationError
from pollux.core.ids import ActionId, Instant, RunId, ThreadId, UserId
from pollux.core.messages import JSON
from pollux.core.tools import Reconciled, ToolContext
from pollux.dispatch.local import LocalDispatcher
from pollux.engine.engine import Engine, Start
from pollux.engine.gate import Toolbox
from pollux.engine.system import SystemClock
from pollux.providers.scripted import ScriptedProvider, call, reply
from pollux.stores.memory import MemoryStore
from pollux.tools.definition import ToolDefinition, ToolExecutionContext, as_tool

Args = dict[str, JSON]

CONTEXT = ToolContext(
    UserId("ada"), "http://localhost", RunId("run_1"), ActionId("act_1_1.0"), ThreadId("thr_1"), Instant(9.0)
)
SCHEMA: Args = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}


async def send(ctx: ToolExecutionContext, args: Args) -> str:
    return f"{ctx.uid} to {args['to']}"


def lone(args: Args) -> str:
    return "takes no context"


def greedy(ctx: ToolExecutionContext, args: Args, more: Args) -> str:
    return "takes too much"


def definition(**changes: Any) -> ToolDefinition:
    members: dict[str, Any] = {
        "name": "send", "description": "Send.", "input_schema": SCHEMA, "side_effect": True, "execute": send,
    }  # fmt: skip
    return ToolDefinition(**{**members, **changes})


def mapping(**changes: Any) -> dict[str, Any]:
    return {
        "name": "send",
        "description": "Send.",
        "inputSchema": SCHEMA,
        "sideEffect": True,
        "defaultApproval": "required",
        "execute": send,
        **changes,
    }


async def test_a_definition_becomes_a_tool_that_runs():
    tool = as_tool(definition())
    assert (tool.spec.name, tool.spec.description, tool.spec.side_effect) == ("send", "Send.", True)
    assert await tool.run(CONTEXT, {"to": "bob"}) == "ada to bob"


async def test_a_mapping_in_camel_case_is_the_same_tool():
    tool = as_tool(mapping())
    assert tool.spec == as_tool(definition()).spec
    assert await tool.run(CONTEXT, {"to": "bob"}) == "ada to bob"


async def test_the_context_has_the_names_of_the_registry():
    def told(ctx: ToolExecutionContext, args: Args) -> ToolExecutionContext:
        return ctx

    ctx: ToolExecutionContext = await as_tool(definition(execute=told)).run(CONTEXT, {"to": "bob"})
    assert (ctx.uid, ctx.origin, ctx.runId, ctx.actionId) == ("ada", "http://localhost", "run_1", "act_1_1.0")
    assert (ctx.threadId, ctx.deadline, ctx.key) == ("thr_1", 9.0, "act_1_1.0")


async def test_a_function_that_is_not_async_runs_in_a_thread():
    def where(ctx: ToolExecutionContext, args: Args) -> str:
        return threading.current_thread().name

    assert await as_tool(definition(execute=where)).run(CONTEXT, {"to": "x"}) != threading.current_thread().name


async def test_a_callable_object_may_be_async_too():
    class Sender:
        async def __call__(self, ctx: ToolExecutionContext, args: Args) -> str:
            return await send(ctx, args)

    assert await as_tool(definition(execute=Sender())).run(CONTEXT, {"to": "bob"}) == "ada to bob"


@pytest.mark.parametrize(
    ("side_effect", "said", "approval", "repeat"),
    [
        (True, None, "required", "once"),
        (True, "not_required", "not_required", "once"),
        (False, None, "not_required", "repeatable"),
        (False, "required", "required", "repeatable"),
    ],
)
def test_what_is_not_said_follows_from_the_side_effect(side_effect: bool, said: Any, approval: str, repeat: str):
    made = definition(side_effect=side_effect, default_approval=said)
    spec = as_tool(made).spec
    assert (made.default_approval, spec.default_approval, spec.repeat) == (approval, approval, repeat)


async def test_the_optional_functions_are_the_tool_s():
    def prepare(args: Args) -> Args:
        return {"to": str(args["to"]).lower()}

    async def look(ctx: ToolExecutionContext, args: Args) -> Reconciled:
        return Reconciled("done", f"{ctx.key} {args['to']}")

    tool = as_tool(
        definition(
            prepare=prepare,
            subjects=lambda args: args["to"],  # pyright: ignore[reportUnknownLambdaType]
            preview=lambda args: f"To {args['to']}",  # pyright: ignore[reportUnknownLambdaType]
            reconcile=look,
            repeat="checkable",
            timeout=3,
        )
    )
    args = tool.prepare({"to": "Bob"})
    assert (args, tool.subjects(args), tool.preview(args)) == ({"to": "bob"}, frozenset({"bob"}), "To bob")
    assert (tool.spec.repeat, tool.spec.timeout) == ("checkable", 3)
    assert await tool.reconcile(CONTEXT, args) == Reconciled("done", "act_1_1.0 bob")


async def test_a_look_at_the_outcome_need_not_be_async():
    def look(ctx: ToolExecutionContext, args: Args) -> Reconciled:
        return Reconciled("not_done")

    tool = as_tool(mapping(reconcile=look, repeat="checkable"))
    assert (await tool.reconcile(CONTEXT, {"to": "x"})).outcome == "not_done"


def test_a_prepare_that_returns_nothing_is_said_to_be_broken():
    tool = as_tool(definition(prepare=lambda args: None))  # pyright: ignore[reportUnknownLambdaType]
    with pytest.raises(ToolExecutionError, match="prepare of tool send must return a dict"):
        tool.prepare({"to": "x"})


def test_arguments_that_the_schema_does_not_name_are_refused():
    with pytest.raises(ValidationError, match="member that is not expected"):
        Toolbox([as_tool(mapping())]).prepare("send", {"to": "x", "bcc": "eve"})


MISTAKES: list[tuple[dict[Any, Any], str]] = [
    ({"name": "send mail"}, "a tool cannot be called 'send mail'"),
    ({"name": 7}, "a tool cannot be called 7"),
    ({"description": " "}, "tool send: description must be text"),
    ({"description": None}, "tool send: description must be text"),
    ({"inputSchema": "x"}, "tool send: inputSchema must be JSON Schema, a dict, found str"),
    ({"inputSchema": {"type": "array"}}, "tool send: inputSchema must describe an object"),
    ({"inputSchema": {}}, "tool send: inputSchema must describe an object"),
    ({"inputSchema": {"type": "object", "properties": 1}}, "tool send: the schema is not JSON Schema"),
    ({"inputSchema": {"type": "object", "x": {1, 2}}}, "tool send: inputSchema is not JSON"),
    ({"sideEffect": "yes"}, "tool send: sideEffect must be True or False, found 'yes'"),
    ({"sideEffect": None}, "tool send: sideEffect must be True or False"),
    ({"defaultApproval": "maybe"}, "tool send: defaultApproval must be one of required, not_required"),
    ({"defaultApproval": ["required"]}, "tool send: defaultApproval must be one of"),
    ({"execute": "rm"}, r"tool send: execute must be a function of \(ctx, args\), found str"),
    ({"execute": lone}, r"tool send: execute must take \(ctx, args\), but \(args.*\) -> str does not"),
    ({"execute": greedy}, r"execute must take \(ctx, args\)"),
    ({"repeat": "twice"}, "tool send: repeat must be one of repeatable, keyed, checkable, once"),
    ({"repeat": "checkable"}, "a checkable tool needs reconcile="),
    ({"prepare": 1}, "tool send: prepare must be a function"),
    ({"subjects": send}, "tool send: subjects must be an ordinary function"),
    ({"timeout": 0}, "tool send: timeout must be a number of seconds above 0"),
    ({"input_schema": {}}, "tool send: there is no member 'input_schema'. The members are: name, descr"),
    ({1: 2}, "tool send: there is no member 1"),
]


@pytest.mark.parametrize(("changes", "said"), MISTAKES)
def test_a_mistake_in_a_mapping_is_named_as_its_author_spelt_it(changes: dict[Any, Any], said: str):
    with pytest.raises(ValidationError, match=said):
        as_tool({**mapping(), **changes})


@pytest.mark.parametrize("key", ["name", "description", "inputSchema", "sideEffect", "execute"])
def test_a_mapping_that_lacks_something_is_told_what_a_tool_needs(key: str):
    members = mapping()
    del members[key]
    with pytest.raises(ValidationError, match=f"{key} missing. A tool needs: name, description, inputSchema, sideEff"):
        as_tool(members)


def test_the_approval_may_be_left_to_the_side_effect():
    members = mapping()
    del members["defaultApproval"]
    assert as_tool(members).spec.default_approval == "required"


def test_a_mistake_in_a_definition_is_said_when_it_is_made():
    with pytest.raises(ValidationError, match="tool send: side_effect must be True or False"):
        definition(side_effect="yes")
    with pytest.raises(ValidationError, match="tool send: input_schema must describe an object"):
        definition(input_schema={"type": "string"})


@pytest.mark.parametrize("thing", [None, send, "send", ["send"], ToolDefinition])
def test_what_is_no_definition_is_refused(thing: object):
    with pytest.raises(ValidationError, match="expected a ToolDefinition or a mapping, found"):
        as_tool(thing)


def test_a_builtin_that_hides_its_signature_is_taken_at_its_word():
    assert as_tool(definition(execute=max)).spec.name == "send"


async def test_in_a_run_a_defined_tool_is_asked_about_and_then_told_who_asks():
    script = ScriptedProvider(call("send", {"to": "bob"}), reply("Sent."))
    async with Engine(
        store=MemoryStore(),
        providers=lambda model: script,
        tools=[as_tool(mapping())],
        dispatcher=LocalDispatcher(SystemClock()),
    ) as engine:
        run = await engine.wait_settled((await engine.start(Start("Send it", user=UserId("ada")))).id)
        approval = run.actions[0].approval
        assert run.status == "awaiting_confirmation" and approval is not None
        await engine.resolve(approval.id, "approved", by="ada")
        run = await engine.wait_settled(run.id)
    assert run.status == "completed"
    assert run.actions[0].outcome is not None and run.actions[0].outcome.result == "ada to bob"
