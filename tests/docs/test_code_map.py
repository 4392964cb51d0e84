"""The map of the code names what is there: every package, and every function of the walk in its file."""

import ast
import re
from collections.abc import Iterator
from typing import Final

import pytest
from tests.docs.test_snippets import REPOSITORY

SOURCE: Final = REPOSITORY / "src/pollux"
MAP: Final = (REPOSITORY / "docs/reference/code-map.md").read_text()
STEPS: Final = sorted(set(re.findall(r"^\| `([\w/]+\.py)` \| `([\w.]+)` \|", MAP, re.MULTILINE)))


def test_every_package_is_on_the_map_and_no_other():
    listed = re.findall(r"^\| `(\w+)` \|", MAP, re.MULTILINE)
    assert sorted(listed) == sorted(place.parent.name for place in SOURCE.glob("*/__init__.py"))


@pytest.mark.parametrize(("file", "function"), STEPS)
def test_each_function_of_the_walk_is_where_the_map_says(file: str, function: str):
    assert function in set(functions_of(ast.parse((SOURCE / file).read_text())))


def functions_of(node: ast.AST, prefix: str = "") -> Iterator[str]:
    for below in ast.iter_child_nodes(node):
        match below:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield prefix + name
            case ast.ClassDef(name=name):
                yield from functions_of(below, f"{prefix}{name}.")
            case _:
                pass
