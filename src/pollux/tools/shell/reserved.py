"""Files that decide what an agent may do, for the sandbox: it binds places and knows no names.

Those that exist anywhere in the folder are looked up before each command. Those in the folder itself that do not exist
are taken while it runs: an empty folder stands there, so that no command can make them. git lists no empty folders, and
those who watch the folder look for files. It is removed at the end; what a crash leaves, the next command removes.
"""

import fcntl
import os
import stat
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Final

from pollux.core.frozen import frozen
from pollux.tools.files.guard import HIDDEN, KEPT

MOST_FOLDERS: Final = 2_000
MOST_PLACES: Final = 500
FURTHEST: Final = 12
SKIPPED: Final = frozenset({"node_modules", ".venv", "venv", "__pycache__", ".tox", ".mypy_cache"})
GIT: Final = ("config", "config.worktree", "hooks", "info/attributes")
"""What git runs or reads programs from, in a repository's own folder."""

FILES: Final = frozenset({".env", ".gemini.yaml", "pollux.toml", ".mcp.json"})
"""Names that are never meant for a folder."""

_HIDDEN: Final = frozenset(names[-1] for names in HIDDEN if len(names) == 1)
_KEPT: Final = frozenset(names[-1] for names in KEPT)


@frozen
class Found:
    """The control files that are there: `hidden` ones are neither read nor written, `kept` ones not written."""

    hidden: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()


def control_files(root: Path, *, endings: tuple[str, ...] = ()) -> Found:
    """The control files beneath this folder. Deep or very large trees are not looked through to their end."""
    hidden: list[Path] = []
    kept: list[Path] = []
    for number, (place, folders, names) in enumerate(os.walk(root), start=1):
        here = Path(place)
        for name in (*names, *folders):
            if name.casefold() in _HIDDEN:
                hidden.append(here / name)
            elif name == ".git" and name in folders:
                kept += _of_repository(here / name)
            elif name.casefold() in _KEPT or name.casefold().endswith(endings):
                kept.append(here / name)
        if number >= MOST_FOLDERS or len(hidden) + len(kept) >= MOST_PLACES:
            break
        is_far = len(here.parts) - len(root.parts) >= FURTHEST
        folders[:] = [name for name in folders if not is_far and name != ".git" and name not in SKIPPED]
    return Found(tuple(hidden[:MOST_PLACES]), tuple(kept[:MOST_PLACES]))


def _of_repository(git: Path) -> Iterator[Path]:
    yield from (git / name for name in GIT if os.path.lexists(git / name))
    for number, (place, folders, _) in enumerate(os.walk(git / "modules"), start=1):
        yield from (Path(place, name) for name in GIT if os.path.lexists(Path(place, name)))
        folders[:] = [name for name in folders if name not in ("objects", "refs", "logs", "hooks", "info")]
        if number >= MOST_FOLDERS:
            return


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


def _take(place: Path, root: Path) -> bool:
    if place in _holders:
        _holders[place] += 1
        return True
    parent = place.parent
    if ".git" in place.parts and not (root / ".git").is_dir():
        # Nothing keeps a folder from becoming a repository; where it is one, its own files are kept.
        return False
    with suppress(OSError):
        if not os.path.lexists(parent) and parent.parent.is_dir():
            parent.mkdir(mode=0o755)
        if Path(os.path.realpath(parent)).is_relative_to(root) and (_make(place) or _is_left(place)):
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
    return place.name in FILES and stat.S_ISDIR(os.lstat(place).st_mode) and not os.listdir(place)


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
            if place.parent.name in ("config", "info"):
                os.rmdir(place.parent)


def _is_alone(folder: int) -> bool:
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
