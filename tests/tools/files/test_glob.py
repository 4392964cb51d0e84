"""Files by a pattern of names."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollux.core.errors import ValidationError
from pollux.tools.files import glob as module
from pollux.tools.files.glob import branches_of, glob
from pollux.tools.files.root import Root

FILES = [
    "a.py",
    "b.txt",
    ".hidden",
    "src/a.py",
    "src/b.ts",
    "src/deep/a.py",
    "src/deep/c.tsx",
    "odd/[x].py",
    ".git/a.py",
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Root:
    place = tmp_path_factory.mktemp("glob")
    for path in FILES:
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).touch()
    os.symlink("src", place / "linked")
    os.symlink("a.py", place / "linked.py")
    return Root(place)


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("*.py", ["a.py", "linked.py"]),
        ("**/*.py", ["a.py", "linked.py", "odd/[x].py", "src/a.py", "src/deep/a.py"]),
        ("src/**", ["src/a.py", "src/b.ts", "src/deep/a.py", "src/deep/c.tsx"]),
        ("src/**/a.py", ["src/a.py", "src/deep/a.py"]),
        ("**/deep/*", ["src/deep/a.py", "src/deep/c.tsx"]),
        ("**/**/deep/**/*.py", ["src/deep/a.py"]),
        ("src/*.{ts,tsx}", ["src/b.ts"]),
        ("**/{b,c}.{ts,tsx,txt}", ["b.txt", "src/b.ts", "src/deep/c.tsx"]),
        ("{src/deep,odd}/*", ["odd/[x].py", "src/deep/a.py", "src/deep/c.tsx"]),
        ("?.txt", ["b.txt"]),
        ("[ab].*", ["a.py", "b.txt"]),
        ("[!a].*", ["b.txt"]),
        ("odd/[[]x].py", ["odd/[x].py"]),
        (".*", [".hidden"]),
        ("linked/*", []),
        (".git/*", []),
        ("src", []),
        ("A.PY", []),
        ("missing/**", []),
    ],
)
def test_a_pattern_finds_the_files_that_fit_by_path(root: Root, pattern: str, paths: list[str]):
    assert list(glob(root, pattern).paths) == paths


def test_too_many_are_cut_with_a_word_about_it(root: Root, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_FOUND", 2)
    found = glob(root, "**")
    assert (found.paths, found.note) == ((".hidden", "a.py"), "these are the first 2 of 10; narrow the pattern")


def test_a_tree_that_is_too_large_is_cut_with_a_word_about_it(root: Root, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_WALKED", 3)
    assert "stopped after looking at 3" in glob(root, "**/*.tsx").note


def test_folders_in_which_nothing_can_fit_are_not_opened(root: Root, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_WALKED", 14)
    assert glob(root, "src/deep/*.py") == module.Found(("src/deep/a.py",))


def test_braces_that_multiply_are_refused():
    with pytest.raises(ValidationError, match="at most 64 ways"):
        branches_of("{a,b}" * 20)
    assert branches_of("{a,{b,c}}x{}{d}") == ["ax{}{d}", "bx{}{d}", "cx{}{d}"]


@pytest.mark.slow
def test_a_pattern_of_many_stars_takes_no_longer_than_others(tmp_path: Path):
    place = tmp_path / "/".join(["a"] * 60)
    place.mkdir(parents=True)
    (place / ("a" * 200)).touch()
    root = Root(tmp_path)
    assert glob(root, "/".join(["**", "a"] * 30) + "/b").paths == ()
    assert glob(root, "**/" + "*a" * 100 + "b").paths == ()


@settings(max_examples=300, deadline=None)
@given(pattern=st.text(alphabet="ab./*?[]!{},-\\", min_size=1, max_size=30))
def test_no_pattern_fails_inside(root: Root, pattern: str):
    try:
        found = glob(root, pattern)
    except ValidationError:
        return
    assert set(found.paths) <= {*FILES, "linked", "linked.py"}
