"""A file's content is replaced at once, and the file stays what it was otherwise."""

import os
import stat
from collections.abc import Generator
from pathlib import Path

import pytest

from pollux.core.errors import ToolError
from pollux.tools.files.put import check_replaceable, current, put


@pytest.fixture
def folder(tmp_path: Path) -> Generator[int]:
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


@pytest.mark.parametrize("mode", [0o444, 0o555, 0o400, 0o000])
def test_a_file_that_nobody_may_write_is_not_replaced(tmp_path: Path, folder: int, mode: int):
    (tmp_path / "x").touch()
    (tmp_path / "x").chmod(mode)
    with pytest.raises(ToolError, match="read-only"):
        check_replaceable(current(folder, "x"))


@pytest.mark.parametrize("mode", [0o200, 0o020, 0o002, 0o664])
def test_a_file_that_somebody_may_write_is_replaced(tmp_path: Path, folder: int, mode: int):
    (tmp_path / "x").touch()
    (tmp_path / "x").chmod(mode)
    check_replaceable(current(folder, "x"))


def test_where_nothing_is_anything_may_be_put(folder: int):
    assert current(folder, "x") is None
    check_replaceable(None)


def test_the_content_is_on_the_disk_before_it_takes_the_name_and_then_the_name_is(
    tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch
):
    told: list[tuple[bool, int, bool]] = []

    def sync(fd: int) -> None:
        found = os.fstat(fd)
        told.append((os.path.samestat(found, os.fstat(folder)), found.st_size, (tmp_path / "x").exists()))

    monkeypatch.setattr(os, "fsync", sync)
    put(folder, "x", b"content", old=None)
    assert told == [(False, 7, False), (True, os.fstat(folder).st_size, True)]


def test_a_name_that_cannot_be_made_to_last_is_no_failure(tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch):
    def fails_for_folders(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "fsync", fails_for_folders)
    put(folder, "x", b"content", old=None)
    assert (tmp_path / "x").read_bytes() == b"content"


def test_a_file_that_is_being_replaced_is_private_until_it_has_its_own_mode_again(
    tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "x").touch()
    (tmp_path / "x").chmod(0o664)
    modes: list[int] = []
    give = os.fchmod

    def give_mode(fd: int, mode: int) -> None:
        modes.append(stat.S_IMODE(os.fstat(fd).st_mode))
        give(fd, mode)

    monkeypatch.setattr(os, "fchmod", give_mode)
    put(folder, "x", b"", old=current(folder, "x"))
    assert (modes, stat.S_IMODE((tmp_path / "x").stat().st_mode)) == ([0o600], 0o664)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_stays_its_owner_s(tmp_path: Path, folder: int):
    (tmp_path / "x").touch()
    os.chown(tmp_path / "x", 12_345, 12_346)
    put(folder, "x", b"", old=current(folder, "x"))
    found = (tmp_path / "x").stat()
    assert (found.st_uid, found.st_gid) == (12_345, 12_346)


def test_bits_that_lend_the_owner_s_rights_are_not_kept(tmp_path: Path, folder: int):
    (tmp_path / "x").touch()
    (tmp_path / "x").chmod(0o4755)
    put(folder, "x", b"", old=current(folder, "x"))
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o755
