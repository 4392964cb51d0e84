"""Which control files are in a folder: before a command, to cover them, and after it, to set aside those that it made.

The sandbox binds places and knows no names, so a command can make what is not there. Once it has ended, with all that
it started, whatever it made of these names is renamed, and thereby read by nobody. The law: what cannot be looked at
counts as a control file. So a folder that cannot be listed, or that lies too deep, is kept as a whole.

Of repositories not `.git` counts but what git runs or reads programs from, in every folder that git would take for a
repository's own. So `git init` and `git worktree add` work: what is known to name no program stays where it is.
"""

import os
import re
import secrets
import stat
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain, count
from pathlib import Path
from typing import Final

from pollux.core.frozen import frozen
from pollux.tools.files.guard import HIDDEN, KEPT, REPOSITORY, is_repository
from pollux.tools.files.hooks import hook_places

MOST_FOLDERS: Final = 200_000
MOST_PLACES: Final = 500
"""Mounts take a time that grows with their square: 1.7 s for so many."""
LONGEST: Final = 3_500
"""Of a path in bytes. The system takes none beyond 4,096."""
PACKAGES: Final = frozenset({"node_modules", ".venv", "venv", "__pycache__", ".tox", ".mypy_cache"})
"""Nobody works in these: of what is in them only repositories count, which git enters from outside."""

_HIDDEN: Final = frozenset(HIDDEN)
_KEPT: Final = frozenset(KEPT) - {(".git",)}
_FOLDERS: Final = frozenset(names[0] for names in KEPT if len(names) > 1) | {".git"}
"""What is kept in these is known by its name there: a link by that name leads to other names."""
_OF_GIT: Final = ("config", "config.worktree", "hooks", "commondir")
"""What git runs or reads programs from, in a repository's own folder; and where it says that another one has these."""
_STATE: Final = {
    ("rebase-merge", "git-rebase-todo"): re.compile(
        r"""[ \t]*(\#.*|(pick|p|revert|reword|r|edit|e|squash|s|fixup|f|drop|d|break|b|noop|label|l|reset|t|merge|m
        |update-ref|u)([ \t].*)?)?\r?""",
        re.VERBOSE,
    ),
    ("rebase-merge", "strategy"): re.compile(_STRATEGY := "(ort|recursive|resolve|octopus|ours|subtree)?"),
    ("sequencer", "opts"): re.compile(rf"\[options\]|\s*(strategy = {_STRATEGY}|(?!strategy )[a-z-]+ = [\w./@+= -]*)?"),
    (".git", "bisect_names"): re.compile(r"( '[^'*?\[\]\\]*')*"),
}
"""What git continues a rebase, a cherry-pick or a bisection from: the lines that run nothing. A strategy is a program,
also one of the folder, and what was to be bisected was once evaluated by a shell."""
_STATES: Final = frozenset(folder for folder, _ in _STATE) - {".git"}
_INNER: Final = frozenset({"modules", "worktrees"})
"""In such a folder, what repositories of a repository's own are kept in, complete or not."""
_CONTENT: Final = frozenset({"objects", "refs", "logs"})
NAMES: Final = frozenset(chain(_OF_GIT, map(str.lower, REPOSITORY), *HIDDEN, *KEPT, ("attributes",))) | frozenset(
    chain(*_STATE)
)
_ODD_SECONDS: Final = 2.0
"""A folder that changed so lately may change again without a trace in its time."""
_MOST_KNOWN: Final = 500_000
_LARGEST: Final = 1 << 16
_LONGEST_STATE: Final = 1 << 20

TOO_MANY: Final = (
    "there are too many folders now to look for control files in all of them. The user should look at what was made"
)


@frozen
class Found:
    """`hidden` places are neither read nor written, `kept` ones not written; for a link, with where it leads."""

    hidden: Mapping[str, str] = field(default_factory=dict[str, str])
    kept: Mapping[str, str] = field(default_factory=dict[str, str])
    repositories: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """Of each repository's own folder, the places that are kept in it."""
    is_whole: bool = True
    """Whether the folder was looked through to its end."""


def control_files(
    root: str, *, endings: tuple[str, ...] = (), most: int = MOST_FOLDERS, since: Found | None = None
) -> Found:
    """The control files beneath this folder, those closest to it first.

    Given what was found before a command, folders that it closed `since` are made readable.
    """
    hidden: dict[str, str] = {}
    kept: dict[str, str] = {}
    repositories: dict[str, list[str]] = {}
    tops = [str(above) for above in Path(root).parents]
    todo = deque([(root, False, False, False)])
    for number in count():
        if not todo or number == most:
            break
        here, is_in_kept, is_in_packages, is_of_git = todo.popleft()
        try:
            folder = _folder(here, endings, opens=since is not None and here not in since.kept)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            kept[here] = ""
            continue
        above, _, name = here.rpartition("/")
        name = name.casefold()
        is_in_packages = is_in_packages or name in PACKAGES
        is_of_git = (is_of_git and name not in _CONTENT) or (name in _INNER and above in repositories)
        covered: set[str] = set()
        if ".git" in folder.names or is_repository(folder.names):
            tops.append(here)
        if folder.names or name == ".git":
            spelled = {each: each.casefold() for each in folder.names}
            # What is called `.git` may be completed later.
            if not is_in_kept and (is_of_git or name == ".git" or is_repository(folder.names)):
                repositories[here] = []
            for each, fold in spelled.items():
                place = f"{here}/{each}"
                repository = _repository(here, each, is_folder=each in folder.folders)
                if repository in repositories:
                    if _state_lines(place) and _is_harmless(place):
                        continue
                    repositories[repository].append(place)
                elif is_in_packages:
                    continue
                elif not _HIDDEN.isdisjoint(named := ((fold,), (name, fold))):
                    hidden[place] = _target(place)
                    continue
                elif is_in_kept or not (
                    not _KEPT.isdisjoint(named)
                    or fold.endswith(endings)
                    or (fold in _FOLDERS and each not in folder.folders)
                ):
                    continue
                kept[place] = _target(place)
                covered.add(each)
        todo.extend(
            (f"{here}/{each}", is_in_kept or each in covered, is_in_packages, is_of_git) for each in folder.folders
        )
    for place in dict.fromkeys(place for top in tops for place in hook_places(top, root)):
        # By another spelling it is guarded, and set aside, where it leads.
        above = os.path.dirname(place)
        if is_within(place, root) and os.path.lexists(place) and os.path.realpath(above) == above:
            kept[place] = _target(place)
    return Found(hidden, kept, repositories, is_whole=not todo)


def _repository(here: str, name: str, *, is_folder: bool) -> str:
    """Whose programs this says, if that is a repository's own folder."""
    above, _, folder = here.rpartition("/")
    fold, folder = name.casefold(), folder.casefold()
    if fold in _OF_GIT or fold == "bisect_names" or (fold in _STATES and not is_folder):
        return here
    return above if (folder, fold) == ("info", "attributes") or (folder, fold) in _STATE else ""


def _state_lines(place: str) -> re.Pattern[str] | None:
    """The lines that run nothing there, if git would continue from it."""
    folder, name = place.casefold().rsplit("/", 2)[1:]
    return _STATE.get((".git" if name == "bisect_names" else folder, name))


def is_within(place: str, folder: str) -> bool:
    """Whether it is this folder, or beneath it. Both are real paths."""
    return place == folder or place.startswith(f"{folder}/")


def looks_alike(one: str, in_one: Found, other: str, in_other: Found) -> bool:
    """Whether one of two folders is in the other, and whatever is in it counts there as it does by itself."""
    outer, inner, found = (one, other, in_one) if is_within(other, one) else (other, one, in_other)
    names = inner[len(outer) :].split("/")[1:]
    above = ("/".join((outer, *names[:number])) for number in range(len(names)))
    is_plain = PACKAGES.union(*KEPT).isdisjoint(map(str.casefold, names))
    return is_within(inner, outer) and is_plain and found.repositories.keys().isdisjoint(above)


def _target(place: str) -> str:
    try:
        return os.readlink(place)
    except OSError:
        return ""


@frozen
class _Folder:
    """What one folder holds: the folders, and what else may count."""

    mark: tuple[int, int, int]
    folders: tuple[str, ...]
    names: tuple[str, ...]


_known: Final[dict[tuple[str, tuple[str, ...]], _Folder]] = {}
"""What was found earlier. Whatever is made, removed or renamed in a folder changes its time, which no program sets."""


def _folder(place: str, endings: tuple[str, ...], *, opens: bool) -> _Folder:
    """Raises OSError for a folder that cannot be looked at."""
    if len(os.fsencode(place)) > LONGEST:
        raise OSError("too deep")
    now, found = time.time_ns(), os.stat(place, follow_symlinks=False)
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(place)
    mark = (found.st_dev, found.st_ino, found.st_ctime_ns)
    known = _known.get((place, endings))
    if known is not None and known.mark == mark:
        return known
    folders: list[str] = []
    names: list[str] = []
    if not os.access(place, os.R_OK | os.X_OK):
        if not opens:
            raise PermissionError(place)
        _open(place)
    with os.scandir(place) as entries:
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                folders.append(name)
            fold = name.casefold()
            if fold in NAMES or fold.endswith(endings):
                names.append(name)
    folder = _Folder(mark, tuple(folders), tuple(names))
    if found.st_ctime_ns < now - _ODD_SECONDS * 1e9 and len(_known) < _MOST_KNOWN:
        _known[place, endings] = folder
    return folder


def _open(place: str) -> None:
    """Whoever may not list a folder may still enter it: git would."""
    folder = os.open(place, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.chmod(f"/proc/self/fd/{folder}", stat.S_IMODE(os.fstat(folder).st_mode) | stat.S_IRWXU)
    finally:
        os.close(folder)


# After a command


def set_aside(root: str, before: Found, after: Found) -> tuple[str, ...]:
    """Rename what was made since, and say so, in words for the model and for people."""
    return (*_set_aside(root, before, after), *([] if after.is_whole else [TOO_MANY]))


def _set_aside(root: str, before: Found, after: Found) -> Iterator[str]:
    for place in _made(before, after):
        shown = os.path.relpath(place, root).encode("utf-8", "replace").decode()
        try:
            name = _renamed(root, place).encode("utf-8", "replace").decode()
        except FileNotFoundError:
            continue
        except OSError:
            yield f"{shown} decides what may run here and could not be set aside. The user should look at it"
        else:
            yield f"{shown} decides what may run here, so it was set aside as {name}. Only the user may rename it"


def _made(before: Found, after: Found) -> Iterator[str]:
    were, of_git = {**before.hidden, **before.kept}, set(chain(*after.repositories.values()))
    for place, target in {**after.hidden, **after.kept}.items():
        if place not in of_git and were.get(place) != target and not _is_harmless(place):
            yield place
    for folder, places in after.repositories.items():
        made = [place for place in places if were.get(place) != after.kept[place] and not _is_harmless(place)]
        if made and folder not in before.repositories and "/.git/" not in f"{folder}/".casefold():
            # What else is in it may be somebody's own `config` or `hooks`. Without this it is no repository.
            yield f"{folder}/HEAD"
        else:
            yield from made


def _renamed(root: str, place: str) -> str:
    """The name that it has now. No link is followed: other commands may be at work in the folder."""
    *folders, name = os.path.relpath(place, root).split(os.sep)
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for each in folders:
            inner = os.open(each, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            os.close(folder)
            folder = inner
        if os.stat(name, dir_fd=folder, follow_symlinks=False).st_uid != os.geteuid():
            # No command can give a file away: somebody else made it meanwhile.
            raise FileNotFoundError(name)
        new = f"{name[:200]}.set-aside-{secrets.token_hex(4)}"
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=folder)
        return new
    finally:
        os.close(folder)


_LINE: Final = re.compile(
    r"""\[(core|user|(remote|branch)[ ]"[\w./-]+")\]
    | \s*(
        repositoryformatversion\ =\ 0
        | (filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks)\ =\ (true|false)
        | url\ =\ ((https|ssh|git)://\w|\w[\w.-]*@[\w.-]+:\w|/)[\w./~:@%+-]*
        | fetch\ =\ \+refs/heads/\*:refs/remotes/[\w./-]+/\*
        | (remote|merge|name|email)\ =\ [\w./@+ -]+
    )?""",
    re.VERBOSE,
)
"""Of a repository's configuration: lines as git writes them, that name no program."""


def _is_harmless(place: str) -> bool:
    """Whether it is empty, or a part of a repository that has git run nothing and read nothing else.

    What can be written by another name as well is not, whatever it holds.
    """
    folder, name = os.path.split(place)
    try:
        if _is_empty(place):
            return True
        match name.casefold():
            case ".git":
                # It says where the repository is: in this folder, where that is looked at, or where nobody wrote it.
                return stat.S_ISREG(os.stat(place, follow_symlinks=False).st_mode)
            case fold if fold in ("config", "config.worktree") or _state_lines(place):
                return not risky_lines(place)
            case "commondir":
                # Of a worktree: the repository's own folder is two above it, and is looked at as such.
                return os.path.basename(os.path.dirname(folder)) == "worktrees" and _text(place) in ("../..", "../..\n")
            case "hooks":
                with os.scandir(place) as hooks:
                    is_plain = all(
                        each.name.endswith(".sample") and each.is_file(follow_symlinks=False) for each in hooks
                    )
                return is_plain and not os.path.islink(place)
            case _:
                return False
    except (OSError, ValueError):
        return False


def risky_lines(place: str) -> tuple[str, ...]:
    """The lines of a repository's configuration that may name a program; of what cannot be read, one that says so.

    So of what git continues from.
    """
    try:
        if state := _state_lines(place):
            lines = _text(place, encoding="latin-1", most=_LONGEST_STATE).split("\n")
            return tuple(line for line in lines if not state.fullmatch(line))
        return tuple(line for line in _text(place).splitlines() if not _LINE.fullmatch(line))
    except (OSError, ValueError):
        return ("unreadable",)


def _is_empty(place: str) -> bool:
    """So are the places that commands at work have taken. Raises OSError."""
    found = os.stat(place, follow_symlinks=False)
    if stat.S_ISDIR(found.st_mode):
        return not os.listdir(place)
    return stat.S_ISREG(found.st_mode) and found.st_size == 0 and found.st_nlink == 1


def _text(place: str, *, encoding: str = "ascii", most: int = _LARGEST) -> str:
    """Raises OSError and ValueError for what is no short text."""
    with open(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise ValueError("no file, or one of several names")
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError("too long")
    return content.decode(encoding)
