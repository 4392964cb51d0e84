"""The file tools as the model and the policy meet them."""

import os
from pathlib import Path
from typing import Any

import pytest

from pollux.core.errors import ToolError, ValidationError
from pollux.core.ids import ActionId, RunId, ThreadId, UserId
from pollux.core.policy import Facts, PolicyRequest, Rule, decide
from pollux.core.tools import ToolContext
from pollux.engine.gate import Toolbox
from pollux.tools.files import toolset
from pollux.tools.files.root import Root
from pollux.tools.files.toolset import file_tools

FACTS = Facts(user=UserId("ada"), interface="sdk", profile="default")
CONTEXT = ToolContext(UserId("ada"), "", RunId("run_1"), ActionId("act_1_1.0"), ThreadId("thr_1"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "root" / "src").mkdir(parents=True)
    (tmp_path / "root" / "notes.txt").write_text("one two\n")
    return tmp_path / "root"


@pytest.fixture
def tools(place: Path) -> Toolbox:
    return Toolbox(file_tools(Root(place)))


async def call(tools: Toolbox, name: str, **args: Any) -> Any:
    return await tools[name].run(CONTEXT, tools.prepare(name, args))


async def test_the_results_have_the_shapes_that_models_know(tools: Toolbox, place: Path):
    assert await call(tools, "read_file", path="notes.txt") == {"content": "one two\n"}
    assert await call(tools, "write_file", path="src/☃.py", content="été") == {"path": "src/☃.py", "bytes": 5}
    assert await call(tools, "replace", path="notes.txt", old="two", new="2") == {
        "path": "notes.txt",
        "replacements": 1,
    }
    assert await call(tools, "list_directory", path=".") == {
        "entries": [{"name": "notes.txt", "type": "file"}, {"name": "src", "type": "directory"}],
        "count": 2,
    }
    assert await call(tools, "glob", pattern="**/*.py") == {"paths": ["src/☃.py"], "count": 1}
    matches = [{"path": "notes.txt", "line": 1, "text": "one 2"}]
    assert await call(tools, "search", pattern="one", path=".") == {"matches": matches, "count": 1}
    assert (place / "notes.txt").read_text() == "one 2\n"


async def test_the_folder_is_meant_where_no_path_is_given(tools: Toolbox):
    assert (await call(tools, "list_directory"))["count"] == 2
    assert (await call(tools, "search", pattern="two"))["count"] == 1
    assert tools.prepare("search", {"pattern": "x"}) == {"pattern": "x", "path": "."}


async def test_a_missing_file_is_told_to_the_model(tools: Toolbox):
    with pytest.raises(ToolError, match="there is no file at this path"):
        await call(tools, "read_file", path="missing.txt")
    with pytest.raises(ToolError, match="nothing at this path"):
        await call(tools, "replace", path="missing.txt", old="a", new="b")


async def test_a_place_that_is_not_unique_is_not_replaced(tools: Toolbox, place: Path):
    (place / "notes.txt").write_text("x = 1\nx = 1\n")
    with pytest.raises(ToolError, match="2 times"):
        await call(tools, "replace", path="notes.txt", old="x = 1", new="x = 2")
    assert (place / "notes.txt").read_text() == "x = 1\nx = 1\n"


async def test_a_long_list_is_cut_with_a_word_about_it(tools: Toolbox, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(toolset, "MAX_LISTED", 1)
    told = await call(tools, "list_directory", path=".")
    assert told["count"] == 1 and "more than 1 entries" in told["note"]


@pytest.mark.parametrize(
    ("path", "prepared"), [("./a//b", "a/b"), ("src/../a", "a"), (".", "."), ("{root}/a", "a"), ("{root}", ".")]
)
def test_the_path_is_settled_before_anybody_is_asked(tools: Toolbox, place: Path, path: str, prepared: str):
    args = tools.prepare("read_file", {"path": path.replace("{root}", str(place))})
    assert args == {"path": prepared}
    assert tools["read_file"].subjects(args) == {prepared}


@pytest.mark.parametrize(
    ("name", "args", "words"),
    [
        ("read_file", {"path": "../x"}, "outside the working folder"),
        ("read_file", {"path": "/etc/passwd"}, "outside the working folder"),
        ("read_file", {"path": ".env"}, "kept from tools"),
        ("read_file", {"path": ""}, "path"),
        ("read_file", {"path": "a", "encoding": "latin-1"}, "member that is not expected"),
        ("list_directory", {"path": ".."}, "outside the working folder"),
        ("glob", {"pattern": "../*"}, "outside the working folder"),
        ("glob", {"pattern": "{a,b}" * 9}, "at most 64 ways"),
        ("glob", {"pattern": "x" * 2000}, "pattern"),
        ("search", {"pattern": "x", "path": "../.."}, "outside the working folder"),
        ("write_file", {"path": "pollux.toml", "content": ""}, "not written by tools"),
        ("write_file", {"path": ".git/hooks/pre-commit", "content": ""}, "not written by tools"),
        ("write_file", {"path": ".", "content": ""}, "the working folder itself"),
        ("write_file", {"path": "a", "content": "\0"}, "content: expected text without NUL"),
        ("write_file", {"path": "a", "content": "x" * 10_000_001}, "content: expected at most 10,000,000 characters"),
        ("write_file", {"path": "a"}, "content"),
        ("replace", {"path": "a", "old": "", "new": "x"}, "old"),
        ("replace", {"path": "a", "old": "x", "new": "x"}, "nothing to change"),
        ("replace", {"path": "a", "old": "x", "new": "\0"}, "new: expected text without NUL"),
    ],
)
def test_bad_arguments_are_refused_before_anybody_is_asked(tools: Toolbox, name: str, args: dict[str, Any], words: str):
    with pytest.raises(ValidationError, match=words):
        tools.prepare(name, args)


def test_reading_asks_nobody_and_writing_does(tools: Toolbox):
    modes = {name: decide(PolicyRequest(tool.spec, {}, FACTS), [], []).mode for name, tool in tools.items()}
    assert modes == {
        "read_file": "allow",
        "list_directory": "allow",
        "glob": "allow",
        "search": "allow",
        "write_file": "require_approval",
        "replace": "require_approval",
    }


def test_a_rule_about_a_path_meets_every_spelling_of_it(tools: Toolbox):
    rules = [Rule("deny", tool="write_file", subjects=("src/*",)), Rule("allow", tool="write_file", priority=-1)]
    for path, mode in {"src/a.py": "deny", "./docs/../src/a.py": "deny", "docs/a.py": "allow"}.items():
        args = tools.prepare("write_file", {"path": path, "content": ""})
        tool = tools["write_file"]
        request = PolicyRequest(tool.spec, args, FACTS, tool.subjects(args))
        assert decide(request, rules, []).mode == mode


@pytest.mark.parametrize(
    ("pattern", "subject"), [("src/deep/*.py", "src/deep"), ("src/**/x/*.py", "src"), ("*.py", "."), ("{a,b}/c/*", ".")]
)
def test_the_subject_of_a_glob_is_the_folder_it_begins_in(tools: Toolbox, pattern: str, subject: str):
    assert tools["glob"].subjects(tools.prepare("glob", {"pattern": pattern})) == {subject}


def test_a_preview_shows_where_and_how_much(tools: Toolbox):
    write, replace = tools["write_file"], tools["replace"]
    assert write.preview({"path": "a.txt", "content": "été\n"}) == "Write 6 bytes to a.txt\n\nété\n"
    assert write.preview({"path": "a.txt", "content": "x" * 5000}).endswith("x\n…")
    assert replace.preview({"path": "a.txt", "old": "one", "new": "two"}) == "Change a.txt\n\n- one\n+ two"


async def test_an_interrupted_write_is_looked_up(tools: Toolbox, place: Path):
    tool = tools["write_file"]
    args = tools.prepare("write_file", {"path": "new.txt", "content": "ours"})
    assert (await tool.reconcile(CONTEXT, args)).outcome == "not_done"
    (place / "new.txt").write_text("ours")
    found = await tool.reconcile(CONTEXT, args)
    assert (found.outcome, found.result) == ("done", {"path": "new.txt", "bytes": 4})
    (place / "new.txt").write_text("theirs")
    assert (await tool.reconcile(CONTEXT, args)).outcome == "unknown"


async def test_an_interrupted_replacement_is_looked_up(tools: Toolbox, place: Path):
    tool = tools["replace"]
    args = tools.prepare("replace", {"path": "notes.txt", "old": "two", "new": "three"})
    assert (await tool.reconcile(CONTEXT, args)).outcome == "not_done"
    await tool.run(CONTEXT, args)
    found = await tool.reconcile(CONTEXT, args)
    assert (found.outcome, found.result) == ("done", {"path": "notes.txt", "replacements": 1})
    (place / "notes.txt").unlink()
    assert (await tool.reconcile(CONTEXT, args)).outcome == "unknown"


async def test_writing_tools_take_turns_and_are_looked_up_after_a_crash(tools: Toolbox):
    specs = {name: tools[name].spec for name in ("write_file", "replace")}
    assert {(spec.side_effect, spec.repeat, spec.parallel) for spec in specs.values()} == {(True, "checkable", False)}


async def test_a_link_made_after_the_approval_does_not_move_the_write(tools: Toolbox, place: Path, tmp_path: Path):
    (tmp_path / "outside").mkdir()
    args = tools.prepare("write_file", {"path": "src/new.txt", "content": "ours"})
    (place / "src").rmdir()
    os.symlink(tmp_path / "outside", place / "src")
    with pytest.raises(Exception, match="outside the working folder"):
        await tools["write_file"].run(CONTEXT, args)
    assert list((tmp_path / "outside").iterdir()) == []
