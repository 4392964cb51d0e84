"""The shape of the source: what may import what, and what the core may not know."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import grimp
import pytest

REPOSITORY: Final = Path(__file__).parent.parent
SOURCE: Final = REPOSITORY / "src/pollux"
CORE_FILES: Final = sorted((SOURCE / "core").rglob("*.py"))

# What the standard library offers a pure function. A module missing here is not forbidden for ever: add it when it
# reads no clock, draws no chance, starts nothing and touches nothing outside.
PURE: Final = frozenset(
    "abc base64 bisect collections copy dataclasses datetime decimal difflib enum fnmatch fractions functools hashlib "
    "heapq hmac ipaddress itertools json keyword math numbers operator re string struct textwrap types typing "
    "unicodedata urllib.parse __future__".split()
)

# What reaches outside from a module that is otherwise pure.
IMPURE_NAMES: Final = frozenset({"open", "input", "print", "exec", "eval", "__import__", "breakpoint"})
CLOCKS: Final = frozenset({"now", "utcnow", "today"})


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    return grimp.build_graph("pollux", cache_dir=None)


def test_the_import_contracts_hold():
    # In a process of its own: the linter sets up logging, and silences every logger that was there before.
    linter = Path(sys.executable).with_name("lint-imports")
    found = subprocess.run([linter, "--no-cache"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("package", ["providers", "stores", "dispatch"])
def test_only_bootstrap_picks_adapters(imports: grimp.ImportGraph, package: str):
    allowed = (f"pollux.{package}", "pollux.bootstrap", "pollux.testing")
    assert list(_importers(imports, f"pollux.{package}", allowed=allowed)) == []


def test_shipped_code_never_imports_what_is_shipped_for_tests(imports: grimp.ImportGraph):
    assert list(_importers(imports, "pollux.testing", allowed=("pollux.testing",))) == []


def test_no_module_reaches_for_the_package_s_own_front_door(imports: grimp.ImportGraph):
    # The front door is lazy and stands above every layer; importing it from inside would hide a cycle.
    assert list(_importers(imports, "pollux", allowed=(), with_children=False)) == []


@pytest.mark.parametrize("path", CORE_FILES, ids=lambda path: path.name)
def test_the_core_is_pure(path: Path):
    found = set(_impurities(ast.parse(path.read_text())))
    # As dataclass does: it writes a constructor, from the names of a class's own fields.
    known = {name for name in found if path.name == "frozen.py" and name.startswith("exec()")}
    assert found == known


@pytest.mark.parametrize(
    "line",
    [
        "import asyncio",
        "import time",
        "from os import environ",
        "import urllib.request",
        "from urllib import request",
        "import msgspec",
        "from pollux.engine import ports",
        "from . import ids",
        "async def act(): return 1",
        "async def act():\n    'Acts.'\n    await other()",
        "open('x')",
        "datetime.now()",
    ],
)
def test_the_check_for_purity_notices_what_it_should(line: str):
    assert list(_impurities(ast.parse(line)))


def test_the_purity_list_names_modules_of_the_standard_library():
    assert {name.partition(".")[0] for name in PURE} <= sys.stdlib_module_names


def test_no_source_file_has_grown_far_beyond_one_idea():
    lengths = {path.relative_to(SOURCE): len(path.read_text().splitlines()) for path in SOURCE.rglob("*.py")}
    assert {str(path): length for path, length in lengths.items() if length > 500} == {}


def _importers(
    graph: grimp.ImportGraph, package: str, *, allowed: tuple[str, ...], with_children: bool = True
) -> Iterator[str]:
    modules = {module for module in graph.modules if module == package or module.startswith(f"{package}.")}
    for module in sorted(modules if with_children else modules & {package}):
        for importer in sorted(graph.find_modules_that_directly_import(module)):
            if not any(importer == name or importer.startswith(f"{name}.") for name in allowed):
                yield f"{importer} imports {module}"


def _impurities(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (f"import {alias.name}" for alias in names if not _is_pure(alias.name))
            case ast.ImportFrom(module=module, level=level) if level or not _is_pure(module or ""):
                yield f"from {'.' * level}{module or ''} import …"
            # A port may be declared here; what it does is written elsewhere.
            case ast.AsyncFunctionDef(name=name) if not _is_declaration(node):
                yield f"async def {name}"
            case ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                yield f"await in line {node.lineno}"
            case ast.Call(func=ast.Name(id=name)) if name in IMPURE_NAMES:
                yield f"{name}() in line {node.lineno}"
            case ast.Call(func=ast.Attribute(attr=name)) if name in CLOCKS:
                yield f".{name}() in line {node.lineno}"
            case _:
                pass


def _is_declaration(function: ast.AsyncFunctionDef) -> bool:
    return all(isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) for line in function.body)


def _is_pure(module: str) -> bool:
    parts = module.split(".")
    names = {".".join(parts[:length]) for length in range(1, len(parts) + 1)}
    return parts[:2] == ["pollux", "core"] or bool(names & PURE)
