"""Described actions as tools: what a model hears of, under which name, and what passes the gate."""

from typing import Any

import pytest
from tests.actions.lab import CONTEXT, acting, echo, looking

from pollux import Agent, Approve, Reject
from pollux.core.errors import ToolError, ValidationError
from pollux.core.messages import JSON
from pollux.core.tools import ToolContext
from pollux.engine.gate import Toolbox
from pollux.sdk.events import ApprovalRequired
from pollux.testing import ScriptedModel, call, reply
from pollux.tools.actions import ActionError, ActionMetadata, ActionRegistry, action, action_tools

TAKES: dict[str, JSON] = {
    "type": "object",
    "properties": {"productId": {"type": "string"}, "count": {"type": "integer", "default": 1}},
    "required": ["productId"],
}


def described(registry: ActionRegistry, *names: str, output: JSON = None) -> ActionRegistry:
    for name in names:
        registry.set_metadata(name, ActionMetadata(name, f"Do {name}.", TAKES, output))
    return registry


def shop(*names: str) -> ActionRegistry:
    return described(ActionRegistry(acting(name, echo) for name in names), *names)


def names_of(registry: ActionRegistry, **options: Any) -> dict[str, str]:
    return {name: tool.action for name, tool in action_tools(registry, **options).items()}


def test_only_described_actions_are_offered():
    registry = described(ActionRegistry([acting("a", lambda: 1), acting("b", lambda: 1)]), "b")
    assert names_of(registry) == {"action_b": "b"}


def test_the_agent_s_own_actions_are_never_offered():
    registry = shop("geminiAgent.sendMessage", "geminiAgent.submitToolResults", "geminiAgents.x", "cart.add")
    assert set(names_of(registry).values()) == {"geminiAgents.x", "cart.add"}
    assert set(names_of(registry, own={"cart.add", "geminiAgent.*"}).values()) == {"geminiAgents.x"}


def test_dots_become_underscores_and_names_that_are_alike_are_told_apart():
    registry = shop("a_b", "a.b", "a-b", "a.b.c")
    assert names_of(registry) == {
        "action_a-b": "a-b",
        "action_a_b": "a.b",
        "action_a_b_c": "a.b.c",
        "action_a_b_2": "a_b",
    }


def test_names_do_not_depend_on_the_order_of_registration():
    assert names_of(shop("a_b", "a.b")) == names_of(shop("a.b", "a_b"))


def test_a_long_name_is_cut_and_still_unlike_the_others():
    long = [f"{'a' * 60}.{end}" for end in ("one", "two", "six")]
    names = names_of(shop(*long))
    assert len(names) == 3 and all(len(name) <= 64 for name in names)
    assert sorted(names.values()) == sorted(long)


def test_a_name_that_somebody_else_has_is_not_taken():
    assert names_of(shop("a.b"), taken={"action_a_b", "action_a_b_2"}) == {"action_a_b_3": "a.b"}


def test_an_approval_of_one_namesake_is_none_of_the_other():
    before = action_tools(shop("a_b", "x"))
    after = action_tools(shop("a.b", "a_b", "x"))
    assert (before["action_a_b"].action, after["action_a_b"].action) == ("a_b", "a.b")
    assert before["action_a_b"].spec.schema_hash != after["action_a_b"].spec.schema_hash
    assert before["action_x"].spec.schema_hash == after["action_x"].spec.schema_hash


def test_what_the_handler_says_of_itself_is_what_the_policy_knows():
    registry = ActionRegistry([acting("act", echo, repeat="keyed", timeout=5)])
    registry.register(looking("look", echo))
    tools = action_tools(described(registry, "act", "look"))
    act, look = tools["action_act"].spec, tools["action_look"].spec
    assert (act.side_effect, act.default_approval, act.repeat, act.timeout) == (
        True,
        "required",
        "keyed",
        5,
    )
    assert (look.side_effect, look.default_approval, look.repeat) == (False, "not_required", "repeatable")
    assert (look.description, look.input_schema) == ("Do look.", TAKES)


def test_a_person_reads_the_action_s_name_and_its_arguments():
    tool = action_tools(shop("cart.add"))["action_cart_add"]
    args = Toolbox([tool]).prepare("action_cart_add", {"productId": "p1"})
    assert args == {"productId": "p1", "count": 1}
    assert tool.preview(args) == "cart.add(productId='p1', count=1)"


def test_arguments_that_do_not_fit_are_told_before_anybody_is_asked():
    tool = action_tools(shop("cart.add"))["action_cart_add"]
    for wrong in ({}, {"productId": 1}, {"productId": "x", "count": "many"}):
        with pytest.raises(ValidationError):
            Toolbox([tool]).prepare("action_cart_add", wrong)
        with pytest.raises(ValidationError):
            tool.prepare({**wrong})


async def test_a_refusal_is_for_the_model_to_read():
    @action
    def add(product_id: str, count: int) -> None:
        raise ActionError("SOLD_OUT", "there is none left")

    tool = action_tools(described(ActionRegistry([add]), "add"))["action_add"]
    with pytest.raises(ToolError, match="there is none left") as problem:
        await tool.run(CONTEXT, {"productId": "p1", "count": 1})
    assert problem.value.code == "SOLD_OUT"


async def test_an_exception_stays_one_so_that_the_engine_knows_that_nobody_knows():
    @action
    def add(product_id: str, count: int) -> None:
        raise ConnectionResetError

    tool = action_tools(described(ActionRegistry([add]), "add"))["action_add"]
    with pytest.raises(ConnectionResetError):
        await tool.run(CONTEXT, {"productId": "p1", "count": 1})


async def test_what_was_done_is_not_said_to_have_failed_because_its_answer_does_not_fit():
    wrong = {"type": "string"}
    act = described(ActionRegistry([acting("act", echo)]), "act", output=wrong)
    look = described(ActionRegistry([looking("look", echo)]), "look", output=wrong)
    answer = await action_tools(act)["action_act"].run(CONTEXT, {"productId": "p1"})
    assert answer["done"] is True and "outputSchema" in answer["problem"]
    with pytest.raises(ToolError, match="outputSchema"):
        await action_tools(look)["action_look"].run(CONTEXT, {"productId": "p1"})


@pytest.mark.parametrize(("agrees", "sent"), [(True, ["ada: p1"]), (False, [])])
async def test_a_side_effect_waits_for_a_person(agrees: bool, sent: list[str]):
    done: list[str] = []
    asked: list[str] = []

    @action("cart.add")
    def add(product_id: str, count: int, context: ToolContext) -> str:
        done.append(f"ada: {product_id}" if context.user else "nobody")
        return "added"

    def answer(question: ApprovalRequired) -> Approve | Reject:
        asked.append(question.preview)
        return Approve() if agrees else Reject("no")

    tools = action_tools(described(ActionRegistry([add]), "cart.add"))
    model = ScriptedModel(call("action_cart_add", {"productId": "p1"}), reply("done"))
    async with Agent("Help.", tools=list(tools.values()), model=model, on_approval=answer) as agent:
        await agent.send("Add p1")
    assert (done, asked) == (sent, ["cart.add(product_id='p1', count=1)"])
