"""Types for Python: modules that can be imported and that the type checker takes."""

import subprocess
import sys
import typing
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NotRequired, get_type_hints, is_typeddict

import pytest
from tests.actions.lab import EXAMPLE, REPOSITORY, look, put, samples

from pollux.tools.actions.metadata import ActionFile, read_action
from pollux.tools.actions.python_types import python_name_of, python_of


def imported(action: ActionFile) -> Any:
    module = ModuleType("types_of_an_action")
    exec(compile(python_of(action), "types_of_an_action.py", "exec"), vars(module))
    return module


def test_a_module_has_the_input_and_the_output_as_typed_dicts():
    module = imported(read_action(EXAMPLE / "actions/add-to-cart.jay-action"))
    assert get_type_hints(module.AddToCartInput, include_extras=True) == {
        "productId": str,
        "quantity": NotRequired[float],
        "giftWrap": NotRequired[Literal["none", "paper", "box"]],
    }
    assert is_typeddict(module.AddToCartOutputItemsItem)
    assert module.__doc__.startswith("Types of the action addToCart.")


def test_an_output_that_is_no_object_is_another_name_for_what_it_is():
    module = imported(read_action(EXAMPLE / "actions/search-products.jay-action"))
    assert module.SearchProductsOutput == list[module.SearchProductsOutputItem]
    assert get_type_hints(module.SearchProductsInput, include_extras=True)["limit"] == NotRequired[int]


def test_every_kind_of_type(tmp_path: Path):
    put(tmp_path, "name: card\ntags: [{tag: id}]\n", "card.jay-contract")
    file = look(
        tmp_path,
        """
        import: {card: card.jay-contract}
        inputSchema:
          a: record(number)
          b: {}
          c: file
          d: card?
          e: [[boolean]]
          f: card
        """,
    )
    module = imported(file)
    hints = get_type_hints(module.LookInput)
    assert hints["a"] == dict[str, float] and hints["b"] == dict[str, Any] and hints["e"] == list[list[bool]]
    assert hints["c"] is module.JayFile and hints["f"] is module.CardViewState
    assert hints["d"] == module.CardViewState | None


def test_members_that_python_cannot_name_keep_their_names(tmp_path: Path):
    file = look(tmp_path, "inputSchema:\n  class: string\n  a-b?: number\n  __c: string\n  'it\"s': string\n")
    assert list(get_type_hints(imported(file).LookInput)) == ["class", "a-b", "__c", 'it"s']


def test_two_objects_never_have_one_name(tmp_path: Path):
    file = look(tmp_path, "inputSchema:\n  a_b: {x: string}\n  aB: {y: string}\n  a-b: {z: string}\n")
    hints = get_type_hints(imported(file).LookInput)
    assert len({hint.__name__ for hint in hints.values()}) == 3


def test_a_number_with_a_fraction_is_no_literal(tmp_path: Path):
    file = look(tmp_path, "inputSchema: {type: object, properties: {a: {enum: [0.5, 1]}}}")
    assert get_type_hints(imported(file).LookInput)["a"] is typing.Any


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("send-message", "send_message_action.py"),
        ("sendMessage", "send_message_action.py"),
        ("2fa", "_2fa_action.py"),
    ],
)
def test_the_module_is_called_after_the_file(tmp_path: Path, name: str, module: str):
    path = put(tmp_path, "name: look\ndescription: Look.\n", f"{name}.jay-action")
    assert python_name_of(read_action(path)) == module


@pytest.mark.slow
def test_the_type_checker_takes_the_modules(tmp_path: Path):
    put(tmp_path, "name: card\ntags: [{tag: id}]\n", "card.jay-contract")
    rest = "import: {card: card.jay-contract}\ninputSchema: {str: string, class?: 'file[]', x: 'card?', y: {}}\n"
    files = [read_action(path) for path in sorted(EXAMPLE.glob("actions/*.jay-action"))]
    files += [look(tmp_path, rest + "outputSchema: [{a: enum(x | y), list: 'string[]'}]\n")]
    files += [read_action(path) for path in samples().glob("*.jay-action")]
    for file in files:
        (tmp_path / python_name_of(file)).write_text(python_of(file))
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict", "pythonVersion": "3.11"}')
    checker = Path(sys.executable).with_name("pyright")
    done = subprocess.run([checker, "-p", tmp_path], capture_output=True, text=True, cwd=REPOSITORY, check=False)
    assert done.returncode == 0, done.stdout
