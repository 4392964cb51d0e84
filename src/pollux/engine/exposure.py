"""Who else can change or read a file that speaks for a person: its mode, its owner, and the folders on the way to it.

Grave is what lets any other account of the machine write the file, or read a secret that Pollux keeps: such a file is
refused. The rest is for `pollux doctor`. What an operator's container does on purpose is not grave: files of root, a
mount that is read-only, an empty volume that everybody may write, an owner that has no account here.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from shlex import quote
from typing import Final

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen

MOST_LINKS: Final = 40
NOBODY: Final = 65534
"""The owner of what belongs to no account inside a container."""


@frozen
class Exposure:
    """What is wrong with one file or folder, and the command that corrects it."""

    what: str
    then: str
    is_grave: bool


def exposures(path: Path, *, is_secret: bool = False, is_private: bool = False) -> tuple[Exposure, ...]:
    """What is wrong on the way to this file and with the file itself. Nothing where it is not there.

    A secret is a file that nobody else may read, whatever protects the folders above. A private one is worth a word
    where the way to it is open, too.
    """
    found: list[Exposure] = []
    above: os.stat_result | None = None
    is_open = True
    try:
        for place, state in _way_to(path):
            is_open = is_open and not (stat.S_ISDIR(state.st_mode) and not state.st_mode & stat.S_IXOTH)
            is_shared = above is not None and bool(above.st_mode & stat.S_IWOTH)
            if not stat.S_ISLNK(state.st_mode) or is_shared:
                found += _changeable(place, state)
            above = above if stat.S_ISLNK(state.st_mode) else state
        if above is None or not (stat.S_ISREG(above.st_mode) or stat.S_ISDIR(above.st_mode)):
            return ()  # A pipe or a device is not read.
        if is_secret and stat.S_ISREG(above.st_mode):
            found += _readable(path, path.stat())
        if is_private and is_open and above.st_mode & stat.S_IROTH:
            said = f"{path} can be read by everybody on this machine"
            found.append(Exposure(said, f"chmod o-r {quote(str(path))}", False))
        is_fixed = bool(found) and bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        # What cannot be looked at cannot be read either, and that is said elsewhere.
        return ()
    # Nobody in here can write there, whatever the mode says.
    return tuple(Exposure(each.what, each.then, each.is_grave and not is_fixed) for each in found)


def grave(places: Iterable[Path], *, is_secret: bool = False) -> str:
    """What is grave, each with the command that corrects it; empty where nothing is."""
    found = dict.fromkeys(each for place in places for each in exposures(place, is_secret=is_secret) if each.is_grave)
    return "; ".join(f"{each.what}. Run: {each.then}" for each in found)


def require_private(*places: Path, is_secret: bool = False) -> None:
    """Raises ValidationError where another account could change one of these, or read it if it is a secret."""
    if problem := grave(places, is_secret=is_secret):
        raise ValidationError(problem, code="config")


def _way_to(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Every folder and link on the way, then what it leads to. Raises OSError."""
    at = Path("/")
    yield at, os.lstat(at)
    ahead = [*reversed(path.absolute().parts[1:])]
    links = 0
    while ahead:
        name = ahead.pop()
        if name == "..":
            at = at.parent
            continue
        place = at / name
        state = os.lstat(place)
        yield place, state
        if not stat.S_ISLNK(state.st_mode):
            at = place
            continue
        links += 1
        if links > MOST_LINKS:
            return
        target = Path(os.readlink(place))
        at = Path("/") if target.is_absolute() else at
        ahead += reversed(target.parts[1:] if target.is_absolute() else target.parts)


def _changeable(place: Path, state: os.stat_result) -> Iterator[Exposure]:
    mode, is_folder, name = state.st_mode, stat.S_ISDIR(state.st_mode), quote(str(place))
    if state.st_uid not in _trusted():
        who = _account(state.st_uid)
        said = f"{place} belongs to another user ({who or state.st_uid})"
        yield Exposure(said, f"chown -h {os.geteuid()} {name}", bool(who))
    if stat.S_ISLNK(mode) or (is_folder and mode & stat.S_ISVTX):
        return  # Who may write to a sticky folder cannot replace what is another's; owners are looked at one by one.
    if mode & stat.S_IWOTH:
        is_volume = is_folder and state.st_uid == 0 and os.path.ismount(place)
        yield Exposure(f"{place} can be changed by everybody on this machine", f"chmod o-w {name}", not is_volume)
    elif mode & stat.S_IWGRP and not _is_private(state.st_gid):
        yield Exposure(f"{place} can be changed by the group {state.st_gid}", f"chmod g-w {name}", False)


def _readable(place: Path, state: os.stat_result) -> Iterator[Exposure]:
    then = f"chmod 600 {quote(str(place))}"
    if state.st_mode & stat.S_IROTH:
        # What root put there for us was put there so; we could not change it.
        is_ours = state.st_uid == os.geteuid()
        yield Exposure(f"{place} holds a secret that everybody on this machine can read", then, is_ours)
    elif state.st_mode & stat.S_IRGRP and not _is_private(state.st_gid):
        yield Exposure(f"{place} holds a secret that the group {state.st_gid} can read", then, False)


def _trusted() -> set[int]:
    """Whose files are ours or the machine's. With sudo, also those of the person who may be root anyway."""
    own = os.geteuid()
    by = os.environ.get("SUDO_UID", "") if own == 0 else ""
    return {own, 0, *([int(by)] if by.isascii() and by.isdigit() and len(by) < 11 else [])}


@cache
def _account(uid: int) -> str:
    """The name of an account on this machine; empty where nobody has it, as for files from a container's host."""
    import pwd

    if uid == NOBODY:
        return ""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return ""


@cache
def _is_private(gid: int) -> bool:
    """Whether the group is the person's own, as where everybody has one of the same name and umask is 002."""
    import grp
    import pwd

    try:
        account, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    is_own = account.pw_gid == gid and group.gr_name == account.pw_name
    return is_own and set(group.gr_mem) <= {account.pw_name}
