"""Two ways to resolve a path, and one meaning."""

import ctypes
import errno
import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tools.files.world import NEEDS_OPENAT2, build, descriptors

from pollux.core.errors import PolluxError
from pollux.tools.files import reach
from pollux.tools.files.names import MAX_DEPTH, Names
from pollux.tools.files.reach import Reach, best_reach, by_openat2, by_walk, has_openat2

NAMES = st.sampled_from(
    ".. .. src deep er leaf.txt notes.txt out up here inner inner_up chain1 loop1 abs_in abs_out winding dangling fifo "
    "missing root outside secret.txt many45".split()
)
BOTH = pytest.mark.parametrize("way", [pytest.param(by_openat2, marks=NEEDS_OPENAT2), by_walk])


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Generator[int]:
    fd = os.open(build(tmp_path_factory.mktemp("reach")).root, os.O_RDONLY)
    yield fd
    os.close(fd)


def _ended(way: Reach, top: int, names: Names, *, follow: bool) -> tuple[object, ...]:
    try:
        reached = way(top, names, follow=follow)
    except OSError as error:
        return (errno.errorcode[error.errno or 0],)
    except PolluxError as problem:
        return (str(problem),)
    found = os.fstat(reached.fd)
    os.close(reached.fd)
    return found.st_dev, found.st_ino, reached.names


@pytest.mark.slow
@NEEDS_OPENAT2
@settings(max_examples=1_000, deadline=None)
@given(names=st.lists(NAMES, max_size=8).map(tuple), follow=st.booleans())
def test_the_walk_arrives_where_the_kernel_does(top: int, names: Names, follow: bool):
    assert _ended(by_walk, top, names, follow=follow) == _ended(by_openat2, top, names, follow=follow)


@pytest.fixture
def folder(tmp_path: Path) -> Generator[int]:
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


@BOTH
def test_forty_links_are_followed_and_no_more(tmp_path: Path, folder: int, way: Reach):
    (tmp_path / "0").touch()
    for number in range(41):
        os.symlink(str(number), tmp_path / str(number + 1))
    assert _ended(way, folder, ("40",), follow=True)[-1] == ("0",)
    assert _ended(way, folder, ("41",), follow=True) == ("ELOOP",)


def test_a_walk_that_goes_deeper_than_any_path_ends(tmp_path: Path, folder: int):
    half = "/".join("d" * (MAX_DEPTH // 2))
    (tmp_path / half / half / "d").mkdir(parents=True)
    os.symlink(half, tmp_path / "half")
    os.symlink(half, tmp_path / half / "rest")
    assert _ended(by_walk, folder, ("half", "rest"), follow=True)[-1] == ("d",) * MAX_DEPTH
    assert _ended(by_walk, folder, ("half", "rest", "d"), follow=True) == ("ENAMETOOLONG",)


@BOTH
@pytest.mark.skipif(not os.path.exists("/proc/version"), reason="there is no /proc")
def test_what_is_mounted_beneath_a_folder_belongs_to_it(way: Reach):
    top = os.open("/", os.O_RDONLY)
    for follow in (True, False):
        assert _ended(way, top, ("proc", "version"), follow=follow)[-1] == ("proc", "version")
    os.close(top)


@BOTH
def test_a_name_may_end_like_what_the_kernel_says_of_removed_files(tmp_path: Path, folder: int, way: Reach):
    (tmp_path / "x (deleted)").touch()
    assert _ended(way, folder, ("x (deleted)",), follow=True)[-1] == ("x (deleted)",)


@NEEDS_OPENAT2
def test_the_kernel_s_way_is_taken_where_there_is_one_and_trying_it_leaves_nothing_open():
    has_openat2.cache_clear()
    before = descriptors()
    assert best_reach() is by_openat2
    assert has_openat2() is True
    assert descriptors() == before


@pytest.fixture
def afresh() -> Generator[None]:
    """What the kernel can do is found out again, in the test and after it."""
    has_openat2.cache_clear()
    yield
    has_openat2.cache_clear()


@pytest.mark.usefixtures("afresh")
@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EPERM])
def test_where_the_kernel_refuses_the_call_the_walk_takes_over(monkeypatch: pytest.MonkeyPatch, code: int):
    def refused(top: int, path: str, flags: int, resolve: int) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(reach, "_openat2", refused)
    assert best_reach() is by_walk


@pytest.mark.usefixtures("afresh")
def test_where_the_kernel_is_another_the_call_is_not_even_tried(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert best_reach() is by_walk


@NEEDS_OPENAT2
def test_a_kernel_that_keeps_saying_again_is_asked_64_times(folder: int, monkeypatch: pytest.MonkeyPatch):
    asked: list[object] = []

    def busy(*args: object) -> int:
        asked.append(args)
        ctypes.set_errno(errno.EAGAIN)
        return -1

    monkeypatch.setattr(reach, "_syscall", lambda: busy)
    assert _ended(by_openat2, folder, ("x",), follow=True) == ("EAGAIN",)
    assert len(asked) == 64
