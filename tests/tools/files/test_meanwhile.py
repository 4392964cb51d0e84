"""What somebody else does between one step and the next, step by step. `test_race.py` tries the same by chance."""

import errno
import os
from contextlib import suppress
from pathlib import Path

import pytest
from tests.tools.files.world import NEEDS_OPENAT2, WAYS, Way

from pollux.core.errors import PolicyError, ToolError
from pollux.tools.files.names import Names
from pollux.tools.files.root import Root


@pytest.fixture(params=WAYS)
def root(tmp_path: Path, request: pytest.FixtureRequest) -> Root:
    way: Way = request.param
    (tmp_path / "root").mkdir()
    return Root(tmp_path / "root", way=way)


@pytest.fixture
def kernel(tmp_path: Path) -> Root:
    (tmp_path / "root").mkdir()
    return Root(tmp_path / "root", way="openat2")


def _rename_at_the_next_look(patched: pytest.MonkeyPatch, old: Path, new: Path) -> None:
    look = os.fstat

    def moved(fd: int) -> os.stat_result:
        with suppress(FileNotFoundError):
            old.rename(new)
        return look(fd)

    patched.setattr(os, "fstat", moved)


@NEEDS_OPENAT2
def test_a_file_that_is_moved_out_while_it_is_opened_is_outside(kernel: Root, monkeypatch: pytest.MonkeyPatch):
    kernel.write("x", b"")
    _rename_at_the_next_look(monkeypatch, kernel.path / "x", kernel.path.parent / "root-x")
    with pytest.raises(PolicyError, match="outside the working folder"):
        kernel.read("x")


@NEEDS_OPENAT2
def test_a_file_that_is_replaced_while_it_is_opened_is_read_as_it_was(kernel: Root, monkeypatch: pytest.MonkeyPatch):
    kernel.write("x", b"old")
    (kernel.path.parent / "new").write_bytes(b"new")
    _rename_at_the_next_look(monkeypatch, kernel.path.parent / "new", kernel.path / "x")
    assert kernel.read("x") == b"old"


@NEEDS_OPENAT2
def test_a_key_that_is_replaced_while_it_is_opened_is_not_read(kernel: Root, monkeypatch: pytest.MonkeyPatch):
    (kernel.path / ".env").write_bytes(b"key")
    os.symlink(".env", kernel.path / "link")
    (kernel.path.parent / "new").touch()
    _rename_at_the_next_look(monkeypatch, kernel.path.parent / "new", kernel.path / ".env")
    with pytest.raises(PolicyError, match="kept from tools"):
        kernel.read("link")


@NEEDS_OPENAT2
def test_a_file_that_is_protected_by_the_time_it_is_opened_is_not_read(kernel: Root, monkeypatch: pytest.MonkeyPatch):
    kernel.write("x", b"")
    _rename_at_the_next_look(monkeypatch, kernel.path / "x", kernel.path / ".env")
    with pytest.raises(PolicyError, match="kept from tools"):
        kernel.read("x")


@NEEDS_OPENAT2
def test_a_folder_that_is_moved_while_it_is_walked_has_the_name_it_was_found_by(
    kernel: Root, monkeypatch: pytest.MonkeyPatch
):
    kernel.write("a/x", b"")

    def enter(names: Names) -> bool:
        _rename_at_the_next_look(monkeypatch, kernel.path / "a", kernel.path / "b")
        return True

    assert [entry.path for entry in kernel.walk(enter=enter)] == ["a", "a/x"]
    assert not (kernel.path / "a").exists()


def test_a_link_that_takes_the_place_of_a_folder_is_not_walked(root: Root):
    root.write("a/x", b"")
    root.write("b/y", b"")

    def enter(names: Names) -> bool:
        if names == ("a",):
            (root.path / "a").rename(root.path / "c")
            os.symlink("b", root.path / "a")
        return True

    assert [entry.path for entry in root.walk(enter=enter)] == ["a", "b", "b/y"]


def test_a_link_that_takes_the_place_of_a_folder_just_made_is_not_written_through(
    root: Root, monkeypatch: pytest.MonkeyPatch
):
    (root.path / "docs").mkdir()
    make = os.mkdir

    def swapped(name: str, *, dir_fd: int) -> None:
        make(name, dir_fd=dir_fd)
        os.rmdir(name, dir_fd=dir_fd)
        os.symlink("docs", name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", swapped)
    with pytest.raises(ToolError, match="nothing is written through symbolic links"):
        root.write("new/x", b"")
    assert os.listdir(root.path / "docs") == []


def test_a_folder_that_somebody_else_makes_first_is_used(root: Root, monkeypatch: pytest.MonkeyPatch):
    make = os.mkdir

    def late(name: str, *, dir_fd: int) -> None:
        make(name, dir_fd=dir_fd)
        make(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", late)
    root.write("new/x", b"ours")
    assert root.read("new/x") == b"ours"


def test_an_edit_is_refused_when_somebody_else_wrote_meanwhile(root: Root):
    root.write("x", b"old")

    def slow(content: bytes) -> bytes:
        (root.path / "x").write_bytes(b"theirs")
        return b"ours"

    with pytest.raises(ToolError, match="changed by somebody else"):
        root.edit("x", slow)
    assert root.read("x") == b"theirs"


def test_an_edit_is_refused_when_somebody_else_removed_the_file_meanwhile(root: Root):
    root.write("x", b"old")

    def slow(content: bytes) -> bytes:
        (root.path / "x").unlink()
        return b"ours"

    with pytest.raises(ToolError, match="changed by somebody else"):
        root.edit("x", slow)
    assert root.read("x") is None


@NEEDS_OPENAT2
def test_where_proc_is_taken_away_nothing_is_written(kernel: Root, monkeypatch: pytest.MonkeyPatch):
    def missing(path: str) -> str:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    monkeypatch.setattr(os, "readlink", missing)
    with pytest.raises(ToolError, match="nothing at this path"):
        kernel.write("a/x", b"")
    assert os.listdir(kernel.path) == []
