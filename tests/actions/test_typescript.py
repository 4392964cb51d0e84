"""Types for TypeScript, as Jay writes them."""

from pathlib import Path

import pytest
from tests.actions.lab import look, put, samples

from pollux.tools.actions.metadata import read_action
from pollux.tools.actions.typescript import typescript_of


def test_jay_s_own_file_gives_jay_s_own_types_byte_for_byte():
    folder = samples()
    goldens = sorted(folder.glob("*.jay-action.d.ts"))
    assert goldens
    for golden in goldens:
        action = read_action(golden.with_name(golden.name.removesuffix(".d.ts")))
        assert typescript_of(action).encode() == golden.read_bytes()


def test_every_rule_of_the_compact_form(tmp_path: Path):
    file = look(
        tmp_path,
        """
        inputSchema:
          query: string
          limit?: number
          exact: boolean
          sort?: enum(asc | desc)
          tags: string[]
          stock: record(record(boolean))
          filter?: {}
          place:
            city: string
            near?:
              - lat: number
                long: number
          levels: enum(a | b)[]
        outputSchema:
          - id: string
            price?: number
        """,
    )
    assert typescript_of(file) == (
        "export interface LookInput {\n"
        "    query: string;\n"
        "    limit?: number;\n"
        "    exact: boolean;\n"
        "    sort?: 'asc' | 'desc';\n"
        "    tags: Array<string>;\n"
        "    stock: Record<string, Record<string, boolean>>;\n"
        "    filter?: Record<string, unknown>;\n"
        "    place: {\n"
        "        city: string;\n"
        "        near?: Array<{\n"
        "            lat: number;\n"
        "            long: number;\n"
        "        }>;\n"
        "    };\n"
        "    levels: Array<'a' | 'b'>;\n"
        "}\n"
        "\n"
        "export type LookOutput = Array<{\n"
        "    id: string;\n"
        "    price?: number;\n"
        "}>;\n"
    )


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ("{type: string}", "string"),
        ("{type: integer}", "number"),
        ("{type: number}", "number"),
        ("{type: boolean}", "boolean"),
        ("{type: 'null'}", "null"),
        ("{type: array}", "unknown[]"),
        ("{type: array, items: {type: string}}", "Array<string>"),
        ("{type: object}", "Record<string, unknown>"),
        ("{type: object, properties: {}}", "Record<string, unknown>"),
        ("{type: object, additionalProperties: {type: number}}", "Record<string, number>"),
        ("{type: string, enum: [a, b]}", "'a' | 'b'"),
        ("{enum: [1, true, null]}", "1 | true | null"),
        ("{type: [string, 'null']}", "string | null"),
        ("{anyOf: [{type: string}, {type: number}]}", "string | number"),
        ("{}", "unknown"),
        (
            "{type: object, properties: {b: {type: string}}, required: [b]}",
            "{\n        b: string;\n    }",
        ),
    ],
)
def test_every_rule_of_the_first_form(tmp_path: Path, schema: str, written: str):
    file = look(tmp_path, f"inputSchema:\n  type: object\n  properties:\n    a: {schema}\n  required: [a]\n")
    assert typescript_of(file) == f"export interface LookInput {{\n    a: {written};\n}}\n"


@pytest.mark.parametrize(
    ("rest", "written"),
    [
        ("inputSchema: {}\n", ""),
        ("outputSchema: string\n", "export type LookOutput = string;\n"),
        ("outputSchema: {}\n", "export type LookOutput = Record<string, unknown>;\n"),
        ("outputSchema: {type: object, properties: {}}\n", "export interface LookOutput {}\n"),
        ("outputSchema: {a: string}\n", "export interface LookOutput {\n    a: string;\n}\n"),
        ("outputSchema: record(number)\n", "export type LookOutput = Record<string, number>;\n"),
    ],
)
def test_sections_are_joined_by_an_empty_line(tmp_path: Path, rest: str, written: str):
    parts = ["export interface LookInput {}\n", *([written] if written else [])]
    assert typescript_of(look(tmp_path, rest)) == "\n".join(parts)


def test_contracts_are_imported_once_and_only_if_they_are_used(tmp_path: Path):
    for name in ("product-card", "other"):
        put(tmp_path, f"name: {name}\ntags: [{{tag: id}}]\n", f"{name}.jay-contract")
    file = look(
        tmp_path,
        """
        import: {card: product-card.jay-contract, other: other.jay-contract}
        inputSchema:
          like?: card
        outputSchema:
          found:
            - card
          best: card?
        """,
    )
    assert typescript_of(file) == (
        "import { ProductCardViewState } from './product-card.jay-contract';\n"
        "\n"
        "export interface LookInput {\n"
        "    like?: ProductCardViewState;\n"
        "}\n"
        "\n"
        "export interface LookOutput {\n"
        "    found: Array<ProductCardViewState>;\n"
        "    best: ProductCardViewState | null;\n"
        "}\n"
    )


def test_a_file_is_jay_s_own_type(tmp_path: Path):
    written = typescript_of(look(tmp_path, "inputSchema:\n  photos: file[]\n"))
    assert written == (
        "import { JayFile } from '@jay-framework/fullstack-component';\n\n"
        "export interface LookInput {\n    photos: Array<JayFile>;\n}\n"
    )


def test_a_name_that_is_none_is_put_in_quotes(tmp_path: Path):
    written = typescript_of(look(tmp_path, "inputSchema:\n  a-b?: enum(it's | x)\n  größe: string\n"))
    assert "    'a-b'?: 'it\\'s' | 'x';\n    'größe': string;\n" in written


@pytest.mark.parametrize(
    ("name", "pascal"),
    [
        ("sendMessage", "SendMessage"),
        ("send-message", "SendMessage"),
        ("send_message", "SendMessage"),
        ("moodTracker.submitMood", "MoodTrackerSubmitMood"),
        ("getURLFor", "GetUrlFor"),
        ("getV1Products", "GetV1Products"),
        ("top.10.of.2", "Top_10Of_2"),
    ],
)
def test_the_name_is_spelt_as_jay_spells_it(tmp_path: Path, name: str, pascal: str):
    file = read_action(put(tmp_path, f"name: {name}\ndescription: Look.\n"))
    assert typescript_of(file) == f"export interface {pascal}Input {{}}\n"
