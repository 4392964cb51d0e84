"""The environment of a child: what every program needs, and what was named for it. Secrets are not among it."""

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from pollux.tools.shell import git

PASSED_ON = frozenset(
    """PATH HOME USER LOGNAME SHELL LANG LANGUAGE LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_MONETARY LC_NUMERIC LC_TIME
    TZ TERM COLORTERM NO_COLOR TMPDIR SSL_CERT_FILE SSL_CERT_DIR""".split()
)
"""All that a child inherits. By exact names: a pattern such as LC_* would pass whatever is called so."""


def child_environment(base: Mapping[str, str], named: Mapping[str, str]) -> dict[str, str]:
    """What a child gets to see of `base`, and all of `named`; its git runs nothing that a repository names.

    Proxies are not passed on: their addresses often hold a password. Of the PATH only absolute entries are, lest a
    program's name means a file of the folder that it happens to run in.
    """
    passed = {name: value for name, value in base.items() if name in PASSED_ON}
    if "PATH" in passed:
        entries = passed["PATH"].split(os.pathsep)
        passed["PATH"] = os.pathsep.join(entry for entry in entries if os.path.isabs(entry))
    return {**passed, **git.guarded(named)}


def installed_path(path: str, folder: Path) -> str:
    """The PATH without the places where somebody else puts programs: in the folder, or writable by all."""
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if _is_installed_place(entry, folder))


def is_installed(name: str, *, path: str, folder: Path) -> bool:
    """Whether a program of this name is in a place of the PATH that the agent cannot write."""
    return installed(name, path=path, folder=folder) is not None


def is_first_installed(name: str, *, path: str, folder: Path) -> bool:
    """Whether this whole PATH leads to such a program, and no earlier place of it is one that the agent can write."""
    for entry in path.split(os.pathsep):
        if not _is_installed_place(entry, folder):
            return False
        if shutil.which(name, path=entry) is not None:
            return is_installed(name, path=entry, folder=folder)
    return False


def installed(name: str, *, path: str, folder: Path) -> str | None:
    """Where that program is."""
    for entry in path.split(os.pathsep):
        found = shutil.which(name, path=entry) if os.path.isabs(entry) else None
        if found is not None and _is_installed_place(entry, folder):
            return None if is_writable_by_others(found) or _is_within(found, folder) else found
    return None


def _is_installed_place(entry: str, folder: Path) -> bool:
    return os.path.isabs(entry) and not _is_within(entry, folder) and not is_writable_by_others(entry)


def _is_within(place: str, folder: Path) -> bool:
    return Path(os.path.realpath(place)).is_relative_to(os.path.realpath(folder))


def is_writable_by_others(place: str) -> bool:
    """Whether every account may change it, as far as can be seen."""
    try:
        return bool(os.stat(place).st_mode & stat.S_IWOTH)
    except (OSError, ValueError):
        return True
