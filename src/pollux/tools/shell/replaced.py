"""Covered files that somebody replaced while a command was at work, as editors do and `git config` does.

A cover lies on a file, not on its name: the new file has none, and from then on the command can read and write it.
The command is stopped at once (`watching.py`), and what it could reach until then is named afterwards. A repository's
configuration in which git now finds other lines that may name a program counts as made by the command: the person's
next git would run it.
"""

import os
import stat
from collections.abc import Collection, Iterable
from typing import Final

from pollux.core.frozen import frozen
from pollux.tools.shell.control_files import is_within, risky_lines

_WITH_PROGRAMS: Final = ("config", "config.worktree", "git-rebase-todo", "strategy", "opts", "bisect_names")


@frozen
class Covered:
    """A file as it was before the command."""

    device: int
    inode: int
    lines: tuple[str, ...]
    """Of a repository's configuration, and what git continues from: those that may name a program."""


def covered(places: Iterable[str]) -> dict[str, Covered]:
    """The files in these places. A folder is not replaced as easily, and what is in it is covered with it."""
    found = {place: _covered(place) for place in map(os.path.realpath, places)}
    return {place: file for place, file in found.items() if file is not None}


def _covered(place: str) -> Covered | None:
    try:
        found = os.stat(place, follow_symlinks=False)
    except OSError:
        return None
    may_name = os.path.basename(place).casefold() in _WITH_PROGRAMS
    lines = risky_lines(place) if may_name and stat.S_ISREG(found.st_mode) else ()
    return Covered(found.st_dev, found.st_ino, lines) if stat.S_ISREG(found.st_mode) else None


def replaced(before: dict[str, Covered], new: Collection[str] = ()) -> dict[str, bool]:
    """Those that are other files now, and whether git may run something new because of it.

    Those in the `new` places are, also where the system gave a new file the number of the one before.
    """
    after = covered(before)
    return {
        place: file.lines != before[place].lines
        for place, file in after.items()
        if (file.device, file.inode) != (before[place].device, before[place].inode)
        or any(is_within(place, each) for each in new)
    }


def words(root: str, place: str) -> str:
    """What to say of one, for the model and for people."""
    changed = f"{shown(root, place)} was replaced while the command was at work, which could then change it"
    return f"{changed}. The user should look at it"


def shown(root: str, place: str) -> str:
    """Its path in the root, as text that every reader can print."""
    return os.path.relpath(place, root).encode("utf-8", "replace").decode()
