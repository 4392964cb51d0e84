"""Two ways to resolve a path, and one meaning."""

import errno
import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tools.files.world import build

from pollux.core.errors import PolluxError
from pollux.tools.files import reach
from pollux.tools.files.names import Names
from pollux.tools.files.reach import Reach, best_reach, by_openat2, by_walk, has_openat2

NAMES = st.sampled_from(
    ".. .. src deep er leaf.txt notes.txt out up here inner inner_up chain1 loop1 abs_in abs_out winding dangling fifo "
    "missing root outside secret.txt many45".split()
)


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


@pytest.mark.skipif(not has_openat2(), reason="the kernel has no openat2")
@settings(max_examples=1_000, deadline=None)
@given(names=st.lists(NAMES, max_size=8).map(tuple), follow=st.booleans())
def test_the_walk_arrives_where_the_kernel_does(top: int, names: Names, follow: bool):
    assert _ended(by_walk, top, names, follow=follow) == _ended(by_openat2, top, names, follow=follow)


@pytest.mark.skipif(not has_openat2(), reason="the kernel has no openat2")
def test_a_file_that_is_replaced_while_it_is_opened_has_the_names_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "x").write_text("old")
    look = os.fstat

    def replaced(fd: int) -> os.stat_result:
        (tmp_path / "x").unlink(missing_ok=True)
        return look(fd)

    top = os.open(tmp_path, os.O_RDONLY)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fstat", replaced)
        reached = by_openat2(top, ("x",), follow=True)
    assert (reached.names, os.read(reached.fd, 9)) == (("x",), b"old")
    os.close(reached.fd)
    os.close(top)


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EPERM])
def test_where_the_kernel_refuses_the_call_the_walk_takes_over(monkeypatch: pytest.MonkeyPatch, code: int):
    def refused(top: int, path: str, flags: int, resolve: int) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(reach, "_openat2", refused)
    has_openat2.cache_clear()
    try:
        assert best_reach() is by_walk
    finally:
        has_openat2.cache_clear()


def test_a_walk_that_goes_deeper_than_any_path_ends(tmp_path: Path):
    deep = "/".join(["d"] * 70)
    (tmp_path / deep / deep).mkdir(parents=True)
    os.symlink(deep, tmp_path / "half")
    os.symlink(deep, tmp_path / deep / "rest")
    fd = os.open(tmp_path, os.O_RDONLY)
    assert _ended(by_walk, fd, ("half", "rest"), follow=True) == ("ENAMETOOLONG",)
    os.close(fd)
