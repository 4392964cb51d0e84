"""Lines by a regular expression, and expressions that never end."""

import io
import json
import os
import subprocess
import sys
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from tests.waiting import HANG_SECONDS

from pollux.core.errors import PolicyError, ToolError, ValidationError
from pollux.tools.files import matcher
from pollux.tools.files import search as module
from pollux.tools.files.root import Root
from pollux.tools.files.search import Match, search

ENDLESS = "a" * 40 + "!"


@pytest.fixture
def root(tmp_path: Path) -> Root:
    for path, text in {
        "a.txt": "one\r\ntwo\r\n",
        "src/b.py": "def two():\n    return 2\n",
        "src/deep/c.py": "TWO = 'zwei ☃'\n",
        ".env": "two=secret\n",
        ".git/config": "two\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(text.encode())
    (tmp_path / "image.png").write_bytes(b"\0two\n")
    os.symlink("a.txt", tmp_path / "link.txt")
    return Root(tmp_path)


def test_lines_are_found_with_their_place(root: Root):
    assert search(root, "two").found == (Match("a.txt", 2, "two"), Match("src/b.py", 1, "def two():"))
    assert search(root, r"^\s+return \d$", "src").found == (Match("src/b.py", 2, "    return 2"),)
    assert search(root, "(?i)two.*☃").found == (Match("src/deep/c.py", 1, "TWO = 'zwei ☃'"),)
    assert search(root, "two", "a.txt").found == search(root, "two", "link.txt").found == (Match("a.txt", 2, "two"),)


def test_nothing_found_is_no_error_and_nothing_there_is_one(root: Root):
    assert search(root, "three") == module.Matches(())
    with pytest.raises(ToolError, match="nothing to search"):
        search(root, "two", "missing")
    with pytest.raises(PolicyError, match="kept from tools"):
        search(root, "two", ".env")


@pytest.mark.parametrize(
    "pattern", ["(", "[z-a]", "*", "(?P<a>x)(?P<a>y)", "(?<=a*)b", "x{99999999999}", "(" * 2_000 + ")" * 2_000]
)
def test_what_is_no_expression_is_refused_in_words(root: Root, pattern: str):
    with pytest.raises(ValidationError, match="pattern: expected a Python regular expression"):
        search(root, pattern)


@pytest.mark.slow
def test_an_expression_that_never_ends_is_stopped_and_told(root: Root):
    root.write("a.txt", ENDLESS.encode())
    others = _children()
    with pytest.raises(ToolError, match=r"longer than 1 seconds\. Use a simpler pattern"):
        search(root, "(a+)+$", seconds=1)
    assert _children() <= others


def test_what_was_found_before_an_endless_line_is_not_lost(root: Root):
    root.write("a.txt", b"aaa\n")
    root.write("b.txt", ENDLESS.encode())
    # A slow machine may take longer than a second to come to the first file.
    for seconds in (1, 10):
        with suppress(ToolError):
            found = search(root, "(a+)+$", seconds=seconds)
            break
    else:
        raise AssertionError("it found nothing")
    assert found.found == (Match("a.txt", 1, "aaa"),)
    assert f"stopped after {seconds} seconds" in found.note


def test_the_matching_process_ends_by_itself_when_nobody_kills_it():
    message = json.dumps({"pattern": "(a+)+$"}).encode() + b"\n" + len(ENDLESS).to_bytes(8, "big") + ENDLESS.encode()
    command = [sys.executable, "-I", "-S", matcher.__file__, "1"]
    done = subprocess.run(command, input=message, capture_output=True, timeout=HANG_SECONDS, check=False)
    assert (done.returncode < 0, done.stdout) == (True, b"{}\n")


def test_the_matching_process_gets_nothing_of_our_environment(root: Root, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GEMINI_API_KEY", "canary")
    seen: list[bytes] = []
    killed = subprocess.Popen[bytes].kill

    def look_and_kill(process: subprocess.Popen[bytes]) -> None:
        seen.append(Path(f"/proc/{process.pid}/environ").read_bytes())
        killed(process)

    monkeypatch.setattr(subprocess.Popen, "kill", look_and_kill)
    assert search(root, "two").found
    assert len(seen) == 1 and b"canary" not in seen[0]


def test_many_matches_are_cut_with_a_word_about_it(root: Root):
    root.write("many.txt", b"x\n" * 2_000)
    found = search(root, "x", "many.txt")
    assert (len(found.found), found.found[-1].line) == (500, 500)
    assert "first 500 matches" in found.note


def test_long_lines_are_cut(root: Root):
    root.write("long.txt", b"x" * 20_000 + b"needle")
    assert search(root, "needle").found == ()
    assert len(search(root, "xxx").found[0].text) == matcher.MAX_SHOWN


def test_files_too_large_to_read_are_counted(root: Root):
    with (root.path / "large.log").open("wb") as file:
        file.truncate(100_000_000)
    assert "1 files were not searched: larger than 10 MB" in search(root, "two").note


@pytest.mark.parametrize("bound", ["MAX_READ", "SECONDS"])
def test_a_search_that_reached_its_bounds_says_so(root: Root, monkeypatch: pytest.MonkeyPatch, bound: str):
    if bound == "MAX_READ":
        monkeypatch.setattr(module, "MAX_READ", -1)
    else:
        # Each look at the clock is a minute later.
        monkeypatch.setattr(module, "monotonic", count(step=60).__next__)
    found = search(root, "two", seconds=30)
    assert "stopped before every file was searched" in found.note


def test_a_tree_that_is_too_large_is_cut_with_a_word_about_it(root: Root, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_WALKED", 2)
    assert "stopped after looking at 2" in search(root, "two").note


def test_where_no_process_can_be_started_the_model_hears_what_to_do_instead(
    root: Root, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(ToolError, match="with a command instead"):
        search(root, "two")


def test_the_matcher_answers_file_by_file():
    files = [b"one\ntwo\n", b"\xff two\n", b""]
    asked = b'{"pattern": "tw."}\n' + b"".join(len(file).to_bytes(8, "big") + file for file in files)
    sink = io.BytesIO()
    matcher.serve(io.BytesIO(asked), sink)
    assert [json.loads(line) for line in sink.getvalue().splitlines()] == [{}, [[2, "two"]], [[1, "\ufffd two"]], []]
    sink = io.BytesIO()
    matcher.serve(io.BytesIO(b'{"pattern": "("}\n'), sink)
    assert "missing )" in json.loads(sink.getvalue())["problem"]


def _children() -> set[str]:
    """The processes that we started and that are still there."""
    lists = Path("/proc/self/task").glob("*/children")
    return {child for found in lists for child in found.read_text().split()}
