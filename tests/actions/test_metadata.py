"""Files that describe an action, in both forms."""

from pathlib import Path
from typing import Any

import pytest
from tests.actions.lab import EXAMPLE, HEAD, look, put, samples

from pollux.core.messages import JSON
from pollux.engine import schemas
from pollux.tools.actions import load_action_metadata
from pollux.tools.actions.metadata import read_action

STRING = {"type": "string"}


def test_the_first_form_is_kept_as_it_is_written():
    metadata = load_action_metadata(EXAMPLE / "actions/search-products.jay-action")
    assert (metadata.name, metadata.description[:10]) == ("searchProducts", "Search the")
    properties: dict[str, Any] = metadata.input_schema["properties"]
    assert list(properties) == ["query", "limit"]
    assert properties["limit"]["default"] == 10
    assert metadata.output_schema is not None and metadata.output_schema["type"] == "array"


def test_the_compact_form_becomes_json_schema():
    metadata = load_action_metadata(str(EXAMPLE / "actions/add-to-cart.jay-action"))
    assert metadata.input_schema == {
        "type": "object",
        "properties": {
            "productId": STRING,
            "quantity": {"type": "number"},
            "giftWrap": {"type": "string", "enum": ["none", "paper", "box"]},
        },
        "required": ["productId"],
    }
    assert metadata.output_schema is not None and metadata.output_schema["required"] == ["items", "total"]


@pytest.mark.parametrize(
    ("written", "schema"),
    [
        ("string", STRING),
        ("number", {"type": "number"}),
        ("boolean", {"type": "boolean"}),
        ("enum(a | b)", {"type": "string", "enum": ["a", "b"]}),
        ("enum (a|b c)", {"type": "string", "enum": ["a", "b c"]}),
        ("enum(yes | no)", {"type": "string", "enum": ["yes", "no"]}),
        ("string[]", {"type": "array", "items": STRING}),
        ("string[][]", {"type": "array", "items": {"type": "array", "items": STRING}}),
        ("enum(a | b)[]", {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}),
        ("[string]", {"type": "array", "items": STRING}),
        ("[{}]", {"type": "array", "items": {"type": "object"}}),
        ("[[number]]", {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}),
        ("{}", {"type": "object"}),
        ("{b: string}", {"type": "object", "properties": {"b": STRING}, "required": ["b"]}),
        ("{b?: string}", {"type": "object", "properties": {"b": STRING}}),
        ("record(boolean)", {"type": "object", "additionalProperties": {"type": "boolean"}}),
        (
            "record(record(number)[])",
            {
                "type": "object",
                "additionalProperties": {
                    "type": "array",
                    "items": {"type": "object", "additionalProperties": {"type": "number"}},
                },
            },
        ),
        ("'string'", STRING),
    ],
)
def test_every_word_of_the_compact_form(tmp_path: Path, written: str, schema: JSON):
    metadata = look(tmp_path, f"inputSchema:\n  a: {written}\n").metadata
    assert metadata.input_schema == {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    assert look(tmp_path, f"outputSchema: {written}\n").metadata.output_schema == schema


def test_a_file_comes_with_its_content_and_never_as_a_path(tmp_path: Path):
    schema: Any = look(tmp_path, "inputSchema:\n  photo: file\n").metadata.input_schema["properties"]["photo"]
    assert schema["required"] == ["name", "data"] and "path" not in schema["properties"]


def test_members_keep_their_order_and_only_those_without_a_mark_are_required(tmp_path: Path):
    schema = look(tmp_path, "inputSchema:\n  z: string\n  a?: string\n  m: string\n").metadata.input_schema
    assert (list(schema["properties"]), schema["required"]) == (["z", "a", "m"], ["z", "m"])


@pytest.mark.parametrize("written", ["", "inputSchema: {}\n", "inputSchema:\n", "inputSchema: ~\n"])
def test_an_action_may_take_nothing(tmp_path: Path, written: str):
    metadata = look(tmp_path, written).metadata
    assert (metadata.input_schema, metadata.output_schema) == ({"type": "object", "properties": {}}, None)


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("inputSchema: {type: object, properties: {a: {type: string}}}", "schema"),
        ("inputSchema: {type: object}", "schema"),
        ("inputSchema: {type: string, a: string}", "compact"),
        ("inputSchema: {properties: {a: string}}", "compact"),
        ("outputSchema: {type: array, items: {type: string}}", "schema"),
        ("inputSchema: {}\noutputSchema: {type: object, properties: {a: {type: string}}}", "schema"),
        ("outputSchema: {properties: {a: {type: string}}}", "schema"),
        ("outputSchema: {items: [{id: string}], total: number}", "compact"),
        ("outputSchema: {items: {id: string}}", "compact"),
        ("outputSchema: {type: string, message?: string}", "compact"),
        ("outputSchema: {type: string}", "compact"),
    ],
)
def test_the_form_is_decided_once_by_the_input_or_else_by_the_output(tmp_path: Path, written: str, form: str):
    assert look(tmp_path, written).form == form


def test_a_byte_order_mark_and_the_line_ends_of_windows_are_nothing_special(tmp_path: Path):
    text = HEAD + "inputSchema:\n  a: string\n"
    path = tmp_path / "look.jay-action"
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert load_action_metadata(path) == load_action_metadata(put(tmp_path, text, "other.jay-action"))


def test_words_mean_what_they_mean_in_json(tmp_path: Path):
    file = look(tmp_path, "inputSchema: {type: object, properties: {a: {enum: [yes, no, on, 2020-01-01, 1_0, true]}}}")
    assert file.metadata.input_schema["properties"]["a"]["enum"] == ["yes", "no", "on", "2020-01-01", "1_0", True]


def test_an_alias_stands_for_what_it_names(tmp_path: Path):
    file = look(tmp_path, "inputSchema:\n  a: &place {city: string}\n  b?: *place\n")
    properties = file.metadata.input_schema["properties"]
    assert (
        properties["a"] == properties["b"] == {"type": "object", "properties": {"city": STRING}, "required": ["city"]}
    )


def test_a_key_of_a_later_jay_is_passed_over(tmp_path: Path):
    assert look(tmp_path, "cacheable: true\nauth: [visitor]\ninputSchema: {a: string}\n").metadata.name == "look"


def test_references_within_a_schema_are_followed(tmp_path: Path):
    file = look(
        tmp_path,
        """
        inputSchema:
          type: object
          properties:
            a: {$ref: '#/$defs/place'}
          $defs:
            place: {type: object, properties: {city: {type: string}}}
        """,
    )
    schemas.check(schemas.validator(file.metadata.input_schema), {"a": {"city": "Paris"}})


def test_jay_s_own_files_load():
    file = read_action(samples() / "send-message.jay-action")
    assert file.form == "compact"
    assert list(file.metadata.input_schema["properties"]) == ["message", "history", "toolDefinitions", "pageState"]
    assert file.metadata.output_schema is not None
    assert file.metadata.output_schema["required"] == ["type", "history"]
