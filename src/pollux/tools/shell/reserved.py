"""Control files in the folder itself that do not exist: their places are taken while a command runs.

An empty folder stands there, so that no command can make them. git lists no empty folders, and those who watch the
folder look for files. It is removed at the end; what a crash leaves, the next command removes.
"""

import fcntl
import os
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Final

FOLDERS: Final = frozenset(".gemini .codex .claude .cursor .opencode .pollux hooks".split())
"""Names that may be meant for a folder. An empty one of another name was left by a crash."""


@contextmanager
def taken(root: Path, names: Iterable[str]) -> Generator[tuple[Path, ...]]:
    """Those of these names in the folder that are not there, each taken until the end."""
    real = os.path.realpath(root)
    # Whoever else runs commands here, in another process, still needs what we have made.
    folder = os.open(real, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_SH)
        with _lock:
            places = tuple(place for name in names if _take(place := Path(real, name), Path(real)))
        try:
            yield places
        finally:
            with _lock:
                _release(places, is_last=_is_alone(folder))
    finally:
        os.close(folder)


_lock: Final = Lock()
_holders: dict[Path, int] = {}
_made: set[Path] = set()
"""Folders that were made on the way to a place."""


def _take(place: Path, root: Path) -> bool:
    if place in _holders:
        _holders[place] += 1
        return True
    missing = [folder for folder in reversed(place.parents) if not os.path.lexists(folder)]
    there = missing[0].parent if missing else place.parent
    if ".git" in place.parts and not (root / ".git").is_dir():
        # Nothing keeps a folder from becoming a repository; where it is one, its own files are kept.
        return False
    with suppress(OSError):
        if Path(os.path.realpath(there)).is_relative_to(root):
            for folder in missing:
                folder.mkdir(mode=0o755)
                _made.add(folder)
            if _make(place) or _is_left(place):
                _holders[place] = 1
                return True
    return False


def _make(place: Path) -> bool:
    """Whether it was made. git wants files within its own folder."""
    try:
        if ".git" in place.parts:
            os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        else:
            place.mkdir(mode=0o700)
    except FileExistsError:
        return False
    return True


def _is_left(place: Path) -> bool:
    """Whether a crash left it: an empty folder where a file is meant."""
    return place.name not in FOLDERS and stat.S_ISDIR(os.lstat(place).st_mode) and not os.listdir(place)


def _release(places: Iterable[Path], *, is_last: bool) -> None:
    for place in places:
        _holders[place] -= 1
        if _holders[place]:
            continue
        del _holders[place]
        with suppress(OSError):
            found = os.lstat(place)
            if is_last and stat.S_ISDIR(found.st_mode):
                os.rmdir(place)
            elif is_last and stat.S_ISREG(found.st_mode) and found.st_size == 0:
                os.unlink(place)
            # Made for it, or empty before: nothing is lost with it.
            for folder in place.parents:
                if folder not in _made and not (folder == place.parent and folder.name in ("config", "info")):
                    break
                os.rmdir(folder)
                _made.discard(folder)


def _is_alone(folder: int) -> bool:
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
