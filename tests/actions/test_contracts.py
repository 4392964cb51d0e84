"""Contracts that an action's file imports."""

from pathlib import Path
from typing import Any

import pytest
from tests.actions.lab import look, put, samples, write

from pollux.tools.actions.documents import FileError
from pollux.tools.actions.metadata import read_action
from pollux.tools.actions.typescript import typescript_of

CARD = """
    name: product-card
    tags:
      - {tag: id, type: data, dataType: string, required: true}
      - {tag: price, type: data, dataType: number}
      - {tag: stock level, type: [data, variant], dataType: enum (in | out)}
      - {tag: added, dataType: Date}
      - {tag: buy, type: interactive, elementType: HTMLButtonElement}
      - tag: options
        type: sub-contract
        repeated: true
        tags:
          - {tag: label, type: data, dataType: string}
"""
USES = "import:\n  card: product-card.jay-contract\n"


def output(folder: Path, rest: str) -> Any:
    return look(folder, USES + rest).metadata.output_schema


def test_a_contract_says_what_a_component_shows_and_not_what_can_be_clicked(tmp_path: Path):
    put(tmp_path, CARD, "product-card.jay-contract")
    assert output(tmp_path, "outputSchema: card\n") == {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "price": {"type": "number"},
            "stockLevel": {"type": "string", "enum": ["in", "out"]},
            "added": {"type": "string"},
            "options": {
                "type": "array",
                "items": {"type": "object", "properties": {"label": {"type": "string"}}},
            },
        },
        "required": ["id"],
    }


def test_a_contract_may_be_missing_a_list_or_a_record(tmp_path: Path):
    put(tmp_path, CARD, "product-card.jay-contract")
    assert output(tmp_path, "outputSchema: card?\n")["anyOf"][1] == {"type": "null"}
    assert output(tmp_path, "outputSchema:\n  - card\n")["items"]["required"] == ["id"]
    assert output(tmp_path, "outputSchema: card[]\n") == output(tmp_path, "outputSchema:\n  - card\n")
    assert output(tmp_path, "outputSchema: record(card)\n")["additionalProperties"]["required"] == ["id"]
    assert "anyOf" in output(tmp_path, "outputSchema:\n  best?: card?\n")["properties"]["best"]


def test_a_contract_is_found_elsewhere_in_the_plugin_and_imported_from_there(tmp_path: Path):
    write(tmp_path, plugin__yaml="name: shop\n")
    put(tmp_path, CARD, "lib/contracts/product-card.jay-contract")
    file = look(tmp_path / "lib/actions", USES + "outputSchema: card?\n")
    assert typescript_of(file) == (
        "import { ProductCardViewState } from '../contracts/product-card.jay-contract';\n\n"
        "export interface LookInput {}\n\n"
        "export type LookOutput = ProductCardViewState | null;\n"
    )


def test_a_contract_outside_of_the_plugin_is_not_read(tmp_path: Path):
    put(tmp_path, CARD, "product-card.jay-contract")
    inner = tmp_path / "plugin"
    write(inner, plugin__yaml="name: shop\n")
    for name in ("../product-card.jay-contract", "link.jay-contract"):
        (inner / "link.jay-contract").unlink(missing_ok=True)
        (inner / "link.jay-contract").symlink_to(tmp_path / "product-card.jay-contract")
        with pytest.raises(FileError, match="expected the contract"):
            look(inner, f"import:\n  card: {name}\noutputSchema: card\n")


def test_a_contract_that_contains_itself_ends_somewhere(tmp_path: Path):
    put(
        tmp_path,
        """
        name: comment
        tags:
          - {tag: text, type: data, dataType: string}
          - {tag: answers, type: sub-contract, repeated: true, link: ./comment}
        """,
        "product-card.jay-contract",
    )
    put(
        tmp_path,
        "name: comment\ntags:\n  - {tag: more, type: sub-contract, link: ./comment.jay-contract}\n",
        "comment.jay-contract",
    )
    shown = output(tmp_path, "outputSchema: card\n")
    assert shown["properties"]["answers"]["items"]["properties"]["more"] == {"type": "object"}


@pytest.mark.parametrize(
    ("contract", "line", "said"),
    [
        ("name: card\n", 1, "expected `tags`"),
        ("name: card\ntags: {a: b}\n", 2, "a list of tags"),
        ("name: card\ntags:\n  - a\n", 3, "expected a tag"),
        ("name: card\ntags:\n  - type: data\n", 3, "expected text as `tag`"),
        ("name: card\ntags:\n  - {tag: a, type: date}\n", 3, "expected a type of tag"),
        ("name: card\ntags:\n  - tag: a\n    type: data\n    dataType: money\n", 5, "found 'money'"),
        ("name: card\ntags:\n  - {tag: a}\n  - {tag: a}\n", 4, "once"),
        ("name: card\ntags:\n  - {tag: a, type: sub-contract}\n", 3, "`tags` or `link`"),
        ("name: card\ntags:\n  - {tag: a, type: sub-contract, link: ./none}\n", 3, "found none"),
        ("name: card\ntags: [\n", 2, "expected YAML"),
    ],
)
def test_a_broken_contract_is_told_with_its_own_line(tmp_path: Path, contract: str, line: int, said: str):
    path = put(tmp_path, contract, "product-card.jay-contract")
    with pytest.raises(FileError, match=said) as problem:
        look(tmp_path, USES + "outputSchema: card\n")
    assert str(problem.value).startswith(f"{path}:{line}: "), problem.value


def test_jay_s_own_contract_is_read(tmp_path: Path):
    text = (samples() / "gemini-chat.jay-contract").read_text()
    put(tmp_path, text, "product-card.jay-contract")
    file = read_action(put(tmp_path, f"name: look\ndescription: Look.\n{USES}outputSchema: card\n"))
    assert file.metadata.output_schema is not None
    shown = file.metadata.output_schema["properties"]
    assert shown["messages"]["items"]["properties"]["role"] == {"type": "string", "enum": ["user", "assistant"]}
    assert {"messageInput", "isLoading", "errorMessage"} < shown.keys() and "sendMessage" not in shown
