"""Whatever types a file is made of: it loads, its schema takes what fits, and both kinds of source can be read."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.actions.declarations import Declarations

from pollux.core.messages import JSON
from pollux.engine import schemas
from pollux.tools.actions.metadata import read_action
from pollux.tools.actions.python_types import python_of
from pollux.tools.actions.shapes import Atom, Choice, ListOf, Member, RecordOf, Shape, Struct, schema_of, shape_of
from pollux.tools.actions.typescript import typescript_of

SETTINGS: Final = settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
NAMES: Final = st.text("abXYZ_$-é'\" .1:", min_size=1, max_size=6).filter(lambda name: name.strip() == name)
VALUES: Final = st.text("abcXYZ'-é\\1", min_size=1, max_size=5)
ATOMS: Final = st.sampled_from([Atom("string"), Atom("number"), Atom("boolean")])
CHOICES: Final = st.lists(VALUES, min_size=1, max_size=4, unique=True).map(lambda values: Choice(tuple(values)))


def structs(inner: st.SearchStrategy[Shape]) -> st.SearchStrategy[Struct]:
    members = st.lists(st.builds(Member, NAMES, inner, st.booleans()), max_size=4, unique_by=lambda each: each.name)
    return members.map(lambda each: Struct(tuple(each)))


# What can be written in one line, and what takes lists and mappings.
WORDS: Final[st.SearchStrategy[Shape]] = st.recursive(
    ATOMS | CHOICES, lambda inner: st.builds(ListOf, inner) | st.builds(RecordOf, inner), max_leaves=3
)
SHAPES: Final[st.SearchStrategy[Shape]] = st.recursive(
    WORDS, lambda inner: st.builds(ListOf, inner) | structs(inner), max_leaves=8
)


def word(shape: Shape) -> str:
    """The shape in one line."""
    match shape:
        case Atom(name=name):
            return name
        case Choice(values=values):
            return f"enum({' | '.join(values)})"
        case ListOf(item=item):
            assert item is not None
            return f"{word(item)}[]"
        case RecordOf(item=item):
            return f"record({word(item)})"
        case _:
            raise AssertionError(shape)


def written(shape: Shape) -> Any:
    """The shape as the compact form has it."""
    match shape:
        case ListOf(item=item):
            assert item is not None
            return [written(item)]
        case Struct(members=members):
            return {f"{member.name}{'?' * member.is_optional}": written(member.shape) for member in members}
        case _:
            return word(shape)


def fitting(shape: Shape) -> JSON:
    """Some value of the shape."""
    match shape:
        case Atom(name=name):
            return {"string": "x", "number": 1.5, "boolean": True}[name]
        case Choice(values=values):
            return values[0]
        case ListOf(item=item):
            assert item is not None
            return [fitting(item)]
        case RecordOf(item=item):
            return {"any": fitting(item)}
        case Struct(members=members):
            return {member.name: fitting(member.shape) for member in members if not member.is_optional}
        case _:
            raise AssertionError(shape)


@pytest.mark.slow
@SETTINGS
@given(structs(SHAPES), st.none() | SHAPES)
def test_the_compact_form_becomes_a_schema_and_types_that_can_be_read(
    tmp_path: Path, takes: Struct, gives: Shape | None
):
    document = {"name": "look", "description": "Look.", "inputSchema": written(takes)}
    document |= {"outputSchema": written(gives)} if gives is not None else {}
    path = tmp_path / "look.jay-action"
    path.write_text(yaml.safe_dump(document, sort_keys=False, allow_unicode=True))
    file = read_action(path)
    assert (file.form, file.takes, file.gives) == ("compact", takes, gives)
    schemas.check(schemas.validator(file.metadata.input_schema), fitting(takes))
    declared = Declarations(typescript_of(file)).read()
    assert declared == {"LookInput": takes, **({"LookOutput": gives} if gives is not None else {})}
    compile(python_of(file), "look_action.py", "exec")


@pytest.mark.slow
@SETTINGS
@given(structs(SHAPES))
def test_the_first_form_becomes_the_same_types(tmp_path: Path, takes: Struct):
    path = tmp_path / "look.jay-action"
    schema: dict[str, JSON] = {"properties": {}, **schema_of(takes)}
    path.write_text(json.dumps({"name": "look", "description": "Look.", "inputSchema": schema}))
    file = read_action(path)
    assert file.form == "schema" and file.metadata.input_schema == schema
    assert shape_of(schema) == takes
    assert Declarations(typescript_of(file)).read() == {"LookInput": takes}
