"""The page's tools: named so that every model takes them, bounded, and never in the place of the server's."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollux.core.errors import ValidationError
from pollux.page.declared import LARGEST, LONGEST_DESCRIPTION, MOST, Declared, declared, tools_hash

SCHEMA = {"type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"]}


def tool(name: Any = "look", description: Any = "Look.", schema: Any = SCHEMA) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": schema, "category": "page-automation"}


def why(found: Declared) -> str:
    (left,) = found.left_out
    return left.why


def test_a_tool_of_the_page_is_offered_as_it_was_declared_and_runs_there():
    found = declared([tool("search-products", "Search.")])
    (spec,) = found.tools
    assert (spec.name, spec.description, spec.input_schema) == ("search-products", "Search.", SCHEMA)
    assert (spec.where, spec.side_effect, spec.default_approval) == ("page", True, "not_required")
    assert found.names == {"search-products": "search-products"} and found.left_out == ()


def test_generic_tools_come_first_then_the_pages_own_then_those_of_single_controls():
    names = ["click-buy", "search", "toggle-dark", "fill-input", "fill-name", "compare", "trigger-interaction"]
    found = declared([tool(name) for name in names])
    assert [spec.name for spec in found.tools] == [
        "fill-input",
        "trigger-interaction",
        "search",
        "compare",
        "click-buy",
        "toggle-dark",
        "fill-name",
    ]


def test_of_too_many_the_least_useful_are_left_out_and_named():
    found = declared([tool(f"click-b{number}") for number in range(MOST)] + [tool("search")])
    assert len(found.tools) == MOST and found.tools[0].name == "search"
    assert [(left.name, left.why) for left in found.left_out] == [
        (f"click-b{MOST - 1}", f"only {MOST} tools are offered")
    ]


@pytest.mark.parametrize("name", ["cart.add", "añadir", "two words", "9lives", "x" * 65, "🛒", "a/b", "-a", "a\nb"])
def test_a_name_that_models_would_refuse_is_replaced_and_leads_back(name: str):
    found = declared([tool(name)])
    (spec,) = found.tools
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", spec.name) and found.names[spec.name] == name
    # The same in every request: a stored conversation calls it so.
    assert declared([tool("other"), tool(name)]).names[spec.name] == name


def test_names_that_differ_only_in_what_was_replaced_stay_apart():
    found = declared([tool("a.b"), tool("a b"), tool("a/b")])
    assert len(found.tools) == 3 and sorted(found.names.values()) == ["a b", "a.b", "a/b"]


def test_a_name_made_to_look_like_a_replaced_one_stays_apart():
    (replaced,) = declared([tool("a.b")]).tools
    for order in ([tool("a.b"), tool(replaced.name)], [tool(replaced.name), tool("a.b")]):
        found = declared(order)
        assert len({spec.name for spec in found.tools}) == 2
        assert sorted(found.names.values()) == sorted(["a.b", replaced.name])


@pytest.mark.parametrize(
    "name", ["action_cart_add", "Action_cart_add", "action-x", "gmail_send", "GMAIL-SEND", "read-page-state"]
)
def test_a_tool_named_like_one_of_the_servers_gets_another_name(name: str):
    found = declared([tool(name)], taken=["gmail_send", "action_cart_add"])
    (spec,) = found.tools
    assert spec.name == f"page_{name}" and found.names == {spec.name: name}


def test_also_a_long_one_and_one_whose_other_name_is_taken():
    long = "action_" + "x" * 57
    found = declared([tool(long), tool("search")], taken=["search", "page_search"])
    assert all(len(spec.name) <= 64 and not spec.name.startswith("action_") for spec in found.tools)
    assert {spec.name for spec in found.tools}.isdisjoint({"search", "page_search"})
    assert sorted(found.names.values()) == sorted([long, "search"])


def test_what_is_declared_twice_is_offered_once():
    found = declared([tool("look", "First."), tool("look", "Second.")])
    assert [spec.description for spec in found.tools] == ["First."] and why(found) == "it was declared before"


def test_a_long_description_is_cut_and_says_so():
    (spec,) = declared([tool(description="x" * (LONGEST_DESCRIPTION + 7))]).tools
    assert spec.description == "x" * LONGEST_DESCRIPTION + "… (7 more characters cut)"


@pytest.mark.parametrize("name", ["get-page-state", "list-interactions"])
def test_what_the_instructions_tell_is_no_tool(name: str):
    assert why(declared([tool(name)])) == "what it would tell is in the instructions"


@pytest.mark.parametrize(
    "name",
    ["fill-message-input", "click-send-message", "click-toggle-expand", "fill-messageInput", "click-gemini-chat-close"],
)
def test_the_chats_own_controls_are_no_tools(name: str):
    assert why(declared([tool(name)])) == "it works the chat's own controls"


def test_the_chats_own_controls_are_not_among_the_choices_either():
    choices = ["buy", "p1/remove", "messageInput", "gemini-chat/close", '["chat","sendMessage"]', ["toggleExpand"]]
    schema: Any = {"type": "object", "properties": {"coordinate": {"enum": choices}}}
    (spec,) = declared([tool("trigger-interaction", schema=schema)]).tools
    assert spec.input_schema["properties"]["coordinate"]["enum"] == ["buy", "p1/remove"]
    assert schema["properties"]["coordinate"]["enum"] == choices
    schema["properties"]["coordinate"]["enum"] = ["messageInput"]
    assert declared([tool("press", schema=schema)]).tools == ()


def nested(levels: int) -> Any:
    return {"type": "object", "properties": {"a": nested(levels - 1)}} if levels else {"type": "string"}


BAD: list[tuple[Any, str]] = [
    ("object", "JSON Schema of type"),
    ([], "JSON Schema of type"),
    (True, "JSON Schema of type"),
    ({"type": "string"}, "JSON Schema of type"),
    ({"type": "object", "properties": {"a": {"type": "strange"}}}, "not JSON Schema"),
    ({"type": "object", "properties": []}, "not JSON Schema"),
    ({"type": "object", "properties": {"a": {"$ref": "https://evil.example/s.json"}}}, "another document"),
    ({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}, "another document"),
    ({"type": "object", "allOf": [{"$dynamicRef": "other.json#x"}]}, "another document"),
    ({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}, "must name a definition"),
    ({"type": "object", "properties": {"a": {"$ref": "#"}}}, "must name a definition"),
    ({"type": "object", "properties": {"a": {"$dynamicRef": "#/$defs/n"}}, "$defs": {"n": {}}}, "must name a"),
    ({"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {}}}, "no other"),
    ({"type": "object", "properties": {"a": {"$id": "http://x/", "$ref": "#/$defs/n"}}, "$defs": {"n": {}}}, "no $id"),
    (nested(12), "nests deeper than"),
    ({"type": "object", "properties": {"a": {"enum": ["x" * 100] * 100}}}, "larger than"),
]


@pytest.mark.parametrize(("schema", "said"), BAD)
def test_a_tool_whose_schema_cannot_be_used_is_left_out_and_spoils_no_other(schema: Any, said: str):
    found = declared([tool("bad", schema=schema), tool("good")])
    assert [spec.name for spec in found.tools] == ["good"] and said in why(found)


def test_a_tool_without_a_schema_takes_no_arguments_and_one_without_a_type_takes_an_object():
    plain, untyped = declared([tool("a", schema=None), tool("b", schema={"properties": {}})]).tools
    assert plain.input_schema == untyped.input_schema == {"type": "object", "properties": {}}


def test_references_within_the_schema_are_fine():
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "number"}}}
    assert declared([tool(schema=schema)]).left_out == ()


@pytest.mark.parametrize("name", [None, "", "  ", 7, [], "x" * 501])
def test_a_tool_without_a_usable_name_is_left_out(name: Any):
    assert "needs a name" in why(declared([tool(name)]))


def test_all_together_have_a_limit():
    big = {"type": "object", "description": "x" * 8_000}
    found = declared([tool(f"t{number}", schema=big) for number in range(20)] + [tool("click-small")])
    assert sum(len(json.dumps(spec.input_schema)) for spec in found.tools) <= LARGEST
    assert found.tools[-1].name == "click-small" and "together" in found.left_out[0].why


NO_LISTS: list[Any] = [None, {}, "x", 1, ["x"], [None], [[]], [{}] * 1_001]


@pytest.mark.parametrize("definitions", NO_LISTS)
def test_what_is_no_list_of_tools_is_refused(definitions: Any):
    for function in (declared, tools_hash):
        with pytest.raises(ValidationError, match="expected"):
            function(definitions)


def test_the_hash_of_tools_follows_what_they_are_and_not_their_order():
    one, other = tool("a"), tool("b", schema={"properties": {}, "type": "object"})
    turned = tool("b", schema={"type": "object", "properties": {}})
    assert tools_hash([one, other]) == tools_hash([turned, one])
    assert len({tools_hash(each) for each in ([], [one], [other], [one, one], [one, other])}) == 5
    assert tools_hash([tool(description="Look!")]) != tools_hash([tool()])


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
DEFINITIONS = st.lists(st.builds(tool, st.text() | JSONS, JSONS, JSONS))


@pytest.mark.slow
@settings(deadline=None)
@given(DEFINITIONS, st.lists(st.text(), max_size=3))
def test_whatever_a_page_declares_every_tool_has_a_fitting_name_of_its_own(definitions: Any, taken: list[str]):
    found = declared(definitions, taken=taken)
    names = [spec.name for spec in found.tools]
    assert len(set(names)) == len(names) and set(names).isdisjoint(taken)
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", name) for name in names)
    assert not any(name.startswith("action_") for name in names)
    assert len(found.tools) + len(found.left_out) == len(definitions) and set(found.names) == set(names)
