"""Handlers held against the files that describe them."""

from pathlib import Path
from typing import Any, Literal, TypedDict

import pytest
from tests.actions.lab import EXAMPLE, HEAD, acting, echo, look, put, write

from pollux.core.tools import ToolContext
from pollux.tools.actions import Handler, action, handlers_at, query, read_plugin
from pollux.tools.actions.checking import check_handler, check_plugin


class Place(TypedDict):
    city: str
    zip: int


def findings(folder: Path, handler: Handler[..., Any], rest: str) -> list[str]:
    """What is found, errors marked so, without the places."""
    file = look(folder, rest)
    found = check_handler(handler, file)
    assert all(str(each).startswith(f"{__file__}:") for each in found)
    return [f"{each.kind}: {each.text}".replace(str(file.path), "FILE") for each in found]


@query
def fits(a: str, b: int = 1, *, context: ToolContext, c_d: list[str] | None = None) -> str:
    return a


def test_a_handler_that_fits_gives_nothing_to_say(tmp_path: Path):
    rest = "inputSchema: {type: object, properties: {a: {type: string}, b: {type: integer}, cD: {type: array, "
    assert findings(tmp_path, fits, rest + "items: {type: string}}}, required: [a]}\n") == []


def test_a_parameter_that_is_missing_is_found(tmp_path: Path):
    assert findings(tmp_path, fits, "inputSchema:\n  a: string\n  b?: number\n  cD?: string[]\n  e: string\n") == [
        "note: fits: b is a number, and the handler takes whole ones only (FILE:5)",
        "error: fits: e (FILE:7) is in inputSchema, but the handler has no such parameter",
    ]


def test_a_parameter_that_nobody_gives_is_found(tmp_path: Path):
    assert set(findings(tmp_path, fits, "inputSchema: {b: number}\n")) == {
        "note: fits: b is a number, and the handler takes whole ones only (FILE:3)",
        "error: fits: the parameter a is not in inputSchema, so nobody gives it",
        "note: fits: the parameter c_d is not in inputSchema: it always has its default",
    }


def test_what_may_be_missing_needs_a_default(tmp_path: Path):
    rest = "inputSchema:\n  a?: string\n  b?: number\n  cD?: string[]\n"
    said = "error: fits: a (FILE:4) may be missing, but the parameter a has no default"
    assert said in findings(tmp_path, fits, rest)
    rest = "inputSchema: {type: object, properties: {a: {type: string, default: x}, b: {type: integer}}}\n"
    assert not [each for each in findings(tmp_path, fits, rest) if each.startswith("error")]


@query
def typed(
    text: str = "",
    number: float = 0,
    flag: bool = False,
    choice: Literal["a", "b"] = "a",
    many: list[int] | None = None,
    place: Place | None = None,
    free: dict[str, Any] | None = None,
    anything: Any = None,
    either: int | str = 0,
) -> None: ...


@pytest.mark.parametrize(
    ("member", "said"),
    [
        ("text: string", ""),
        ("text: number", "error: text is number, but the handler takes string"),
        ("text: enum(a | b)", ""),
        ("text: string[]", "error: text is array, but the handler takes string"),
        ("number: number", ""),
        ("number: boolean", "error: number is boolean, but the handler takes number"),
        ("flag: string", "error: flag is string, but the handler takes boolean"),
        ("choice: enum(a | b)", ""),
        ("choice: enum(a | c)", "error: choice may be 'c', which the handler does not take"),
        ("choice: string", "error: choice is any string, but the handler takes only some values"),
        ("many: number[]", ""),
        ("many: string", "error: many is string, but the handler takes array or null"),
        ("place: {city: string, zip: number}", ""),
        ("free: {city: string}", ""),
        ("free: record(string)", ""),
        ("anything: {city: string}", ""),
        ("either: string", ""),
        ("either: boolean", "error: either is boolean, but the handler takes integer or string"),
    ],
)
def test_types_that_do_not_agree_are_found(tmp_path: Path, member: str, said: str):
    found = findings(tmp_path, typed, f"inputSchema:\n  {member}\n")
    told = [each for each in found if "always has its default" not in each]
    assert told == ([said.replace(": ", ": typed: ", 1) + " (FILE:4)"] if said else [])


def test_types_are_looked_into_however_deep(tmp_path: Path):
    @query
    def deep(places: list[Place]) -> None: ...

    rest = "inputSchema:\n  places:\n    - city: number\n      zip?: number\n      street: string\n"
    assert sorted(findings(tmp_path, deep, rest)) == [
        "error: deep: places[].city is number, but the handler takes string (FILE:4)",
        "error: deep: places[].street is in inputSchema, but the handler's type has no such member (FILE:4)",
        "error: deep: places[].zip may be missing, but the handler's type needs it (FILE:4)",
        "note: deep: places[].zip is a number, and the handler takes whole ones only (FILE:4)",
    ]


def test_a_handler_that_takes_the_whole_input_is_held_to_its_type(tmp_path: Path):
    @action
    def move(input: Place) -> None: ...

    assert findings(tmp_path, move, "inputSchema: {city: string, zip: string}\n") == [
        "error: move: zip is string, but the handler takes integer (FILE:3)"
    ]


def test_a_handler_that_takes_anything_takes_this(tmp_path: Path):
    @action
    def whatever(input: dict[str, Any]) -> None: ...

    for handler in (whatever, acting("open", echo)):
        assert check_handler(handler, look(tmp_path, "inputSchema: {a: string}\n")) == []


def test_every_listed_action_needs_a_handler_and_others_are_worth_a_note(tmp_path: Path):
    put(tmp_path, HEAD + "inputSchema: {a: string}\n")
    put(tmp_path, "name: [", "broken.jay-action")
    write(
        tmp_path,
        plugin__yaml="""\
        name: shop
        contracts: [{name: card, contract: card.jay-contract}]
        actions:
          - {name: look, action: look.jay-action}
          - {name: broken, action: broken.jay-action}
          - {name: gone, action: gone.jay-action}
          - {name: named, action: look.jay-action}
          - plain
        """,
    )
    handlers = [acting("shop.look", echo), acting("named", echo), acting("more", echo)]
    told = [str(finding).replace(str(tmp_path), "") for finding in check_plugin(read_plugin(tmp_path), handlers)]
    assert told[0].startswith("/broken.jay-action:1: expected YAML")
    assert told[1:5] == [
        "/plugin.yaml:6: expected 'gone.jay-action' inside of the plugin's folder, found no such file there",
        "/plugin.yaml:7: named: expected the same name in the file that describes it, found look",
        "/plugin.yaml:8: plain: expected a handler of this name, found none",
        "/plugin.yaml:2: card: expected the contract card.jay-contract, found no such file",
    ]
    assert [line.partition("note: ")[2] for line in told[5:]] == [
        "more: no .jay-action describes it, so no model hears of it"
    ]


def test_the_example_is_in_order(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(EXAMPLE)  # pyright: ignore[reportUnknownMemberType]
    found = check_plugin(read_plugin(EXAMPLE), handlers_at("shop_actions"))
    assert [finding for finding in found if finding.kind == "error"] == []
