"""Nothing outside the root is read, written or listed, whatever the path says."""

import asyncio
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.tools.files.hostile import ABSOLUTE, ALL, PROTECTED, TRAVERSAL, UNWRITABLE
from tests.tools.files.world import KEY, SECRET, WAYS, Way, World, build, filled

from pollux.core.errors import PolicyError, PolluxError, ToolError, ValidationError
from pollux.core.ids import ActionId, RunId, ThreadId, UserId
from pollux.core.tools import ToolContext
from pollux.engine.gate import Toolbox
from pollux.tools.files.root import Root
from pollux.tools.files.toolset import file_tools

CONTEXT = ToolContext(UserId("ada"), "", RunId("run_1"), ActionId("act_1_1.0"), ThreadId("thr_1"))
REFUSED = {"outside_root", "protected", "tool_call_failure"}
WORDS = "written by a tool"


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    return request.param


@pytest.fixture
def world(tmp_path: Path) -> World:
    return build(tmp_path)


def _attempts(root: Root, path: str) -> dict[str, Callable[[], Any]]:
    """Everything that can be asked of the root itself."""
    return {
        "read": lambda: root.read(path),
        "stat": lambda: root.stat(path) and "",
        "list": lambda: root.list(path),
        "walk": lambda: list(root.walk(path)),
        "write": lambda: root.write(path, WORDS.encode()),
        "edit": lambda: root.edit(path, lambda content: content.replace(b"canary", b"changed")),
    }


def _calls(path: str) -> list[tuple[str, dict[str, str]]]:
    """Everything that a model can ask of the tools."""
    return [
        ("read_file", {"path": path}),
        ("list_directory", {"path": path}),
        ("glob", {"pattern": path}),
        ("glob", {"pattern": f"{path}/**"}),
        ("search", {"pattern": "canary", "path": path}),
        ("write_file", {"path": path, "content": WORDS}),
        ("replace", {"path": path, "old": "canary", "new": "changed"}),
    ]


def _code(attempt: Callable[..., Any], *args: Any) -> str:
    try:
        attempt(*args)
    except PolluxError as problem:
        return problem.code
    return "answered"


async def _call(tools: Toolbox, name: str, args: dict[str, str]) -> Any:
    return await tools[name].run(CONTEXT, tools.prepare(name, args))


def test_the_corpus_is_large_and_names_no_path_twice():
    assert len(ALL) >= 150
    assert [path for path, count in Counter(ALL).items() if count > 1] == []


def test_no_hostile_path_leads_out_of_the_root(world: World, way: Way):
    root, before, guarded = world.open(way), world.beyond(), world.guarded()
    ended: Counter[str] = Counter()
    for template in ALL:
        for name, attempt in _attempts(root, filled(template, world)).items():
            try:
                told = repr(attempt())
                ended["answered"] += 1
            except PolluxError as problem:
                told = str(problem)
                ended[problem.code] += 1
            assert SECRET not in told and KEY not in told, (name, template)
            assert world.beyond() == before, (name, template)
            assert world.guarded() == guarded, (name, template)
    print(f"{way}: {len(ALL)} paths × 6 attempts, 0 escapes; {dict(ended)}")
    assert ended["outside_root"] > 200 and ended["protected"] > 200 and ended["answered"] > 200


@pytest.mark.slow
def test_no_hostile_call_of_a_tool_leads_out_of_the_root(world: World, way: Way):
    tools, before, guarded = Toolbox(file_tools(world.open(way))), world.beyond(), world.guarded()
    calls = [call for template in ALL for call in _calls(filled(template, world))]
    ended: Counter[str] = Counter()

    async def try_all() -> None:
        for name, args in calls:
            try:
                told = repr(await _call(tools, name, args))
                ended["answered"] += 1
            except PolluxError as problem:
                told = str(problem)
                ended[problem.code] += 1
            assert SECRET not in told and KEY not in told, (name, args)

    asyncio.run(try_all())
    assert world.beyond() == before
    assert world.guarded() == guarded
    print(f"{way}: {len(calls)} calls, 0 escapes; {dict(ended)}")


def test_a_path_that_leaves_the_root_raises_whether_or_not_anything_is_there(world: World, way: Way):
    root = world.open(way)
    for template in (*TRAVERSAL, *ABSOLUTE):
        path = filled(template, world)
        codes = {_code(root.read, path), _code(root.write, path, b""), _code(root.list, path)}
        assert codes == {"outside_root"}, template


def test_what_holds_keys_is_neither_read_nor_written(world: World, way: Way):
    root = world.open(way)
    for template in PROTECTED:
        path = filled(template, world)
        assert {_code(root.read, path), _code(root.write, path, b"")} <= REFUSED, template


def test_our_own_settings_and_git_s_are_not_written(world: World, way: Way):
    root, guarded = world.open(way), world.guarded()
    before = sorted(str(path) for path in world.root.rglob("*"))
    for template in UNWRITABLE:
        assert _code(root.write, filled(template, world), b"changed") in REFUSED, template
    assert world.guarded() == guarded
    assert sorted(str(path) for path in world.root.rglob("*")) == before


def test_our_own_settings_are_protected_before_they_exist(tmp_path: Path, way: Way):
    root = Root(tmp_path, protected=["keys"], way=way)
    for path in ("pollux.toml", ".env", "config/.gemini.yaml", ".git/hooks/post-merge", "keys", "keys/seal.key"):
        with pytest.raises(PolicyError, match="Ask the user"):
            root.write(path, b"")
    assert list(tmp_path.iterdir()) == []


def test_our_own_settings_can_be_read(world: World, way: Way):
    root = world.open(way)
    assert [root.read(path) for path in ("pollux.toml", ".git/config")] == [b"inside"] * 2
    with pytest.raises(PolicyError, match="may hold keys"):
        root.read("config/.gemini.yaml")


@pytest.mark.parametrize("path", ["fifo", "socket", "device", "zero"])
def test_what_is_no_file_is_not_opened(world: World, way: Way, path: str):
    if not os.path.lexists(world.root / path):
        pytest.skip("only root can make a device")
    with pytest.raises((ToolError, PolicyError)):
        world.open(way).read(path)
    with pytest.raises((ToolError, PolicyError)):
        world.open(way).write(path, b"")


def test_paths_that_are_none_are_refused_in_words(world: World, way: Way):
    root = world.open(way)
    for path, words in {
        "": "empty",
        "a\0b": "U\\+0000",
        "a\nb": "U\\+000A",
        "\ud800": "surrogate",
        "x" * 256: "255 bytes",
        "x" * 5000: "4095 bytes",
        "~/x": "not expanded",
        "a/" * 200: "128 names",
    }.items():
        with pytest.raises(ValidationError, match=words):
            root.read(path)
