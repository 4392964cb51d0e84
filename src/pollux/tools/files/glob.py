"""Find files by a pattern of names: `*`, `?`, `[a-z]` within a name, `**` for any folders, `{a,b}` for either.

Answers are sorted by path. Links are named where they match and never followed; `.git` is left alone. The pattern
advances one name at a time, so folders in which nothing can match are not even opened.
"""

import re
from fnmatch import translate
from typing import Final

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.tools.files.names import Names
from pollux.tools.files.root import MAX_WALKED, Root

MAX_FOUND: Final = 1_000
MAX_BRANCHES: Final = 64

_BRACES: Final = re.compile(r"\{([^{}]*,[^{}]*)\}")

Step = re.Pattern[str] | None
"""What one name must look like. None stands for `**`: any number of folders."""

State = frozenset[tuple[int, int]]
"""How far each branch of the pattern has come."""


@frozen
class Found:
    """The paths, and what to know about them: that there are more, for example."""

    paths: tuple[str, ...]
    note: str = ""


def glob(root: Root, pattern: str) -> Found:
    """The files and links beneath the root that fit. Raises ValidationError for what is no pattern."""
    branches = [_steps(branch) for branch in branches_of(pattern)]
    states: dict[Names, State] = {(): _settled(branches, frozenset((number, 0) for number in range(len(branches))))}

    def enter(names: Names) -> bool:
        states[names] = _advanced(branches, states[names[:-1]], names[-1])
        return bool(states[names]) and names[-1] != ".git"

    paths: list[str] = []
    walked = 0
    for entry in root.walk(limit=MAX_WALKED, enter=enter):
        walked += 1
        parent = tuple(entry.path.split("/")[:-1])
        if entry.type != "directory" and _fits(branches, _advanced(branches, states[parent], entry.name)):
            paths.append(entry.path)
    return Found(tuple(sorted(paths)[:MAX_FOUND]), _note(len(paths), walked))


def branches_of(pattern: str) -> list[str]:
    """The pattern without braces: one for each way to choose. Raises ValidationError for too many."""
    branches = [pattern]
    while any(_BRACES.search(branch) for branch in branches):
        branches = [chosen for branch in branches for chosen in _chosen(branch)]
        if len(branches) > MAX_BRANCHES:
            raise ValidationError(f"pattern: expected at most {MAX_BRANCHES} ways to choose between braces")
    return list(dict.fromkeys(branches))


def _chosen(branch: str) -> list[str]:
    braces = _BRACES.search(branch)
    if braces is None:
        return [branch]
    return [branch[: braces.start()] + choice + branch[braces.end() :] for choice in braces[1].split(",")]


def _steps(branch: str) -> tuple[Step, ...]:
    names = [name for name in branch.split("/") if name not in ("", ".")]
    return tuple(None if name == "**" else re.compile(translate(name)) for name in names)


def _advanced(branches: list[tuple[Step, ...]], state: State, name: str) -> State:
    reached: set[tuple[int, int]] = set()
    for branch, at in state:
        if at == len(branches[branch]):
            continue
        step = branches[branch][at]
        if step is None:
            reached.add((branch, at))
        elif step.match(name):
            reached.add((branch, at + 1))
    return _settled(branches, frozenset(reached))


def _settled(branches: list[tuple[Step, ...]], state: State) -> State:
    """With every `**` also passed over: it may stand for no folder at all."""
    reached = set(state)
    for branch, start in state:
        at = start
        while at < len(branches[branch]) and branches[branch][at] is None:
            at += 1
            reached.add((branch, at))
    return frozenset(reached)


def _fits(branches: list[tuple[Step, ...]], state: State) -> bool:
    return any(at == len(branches[branch]) for branch, at in state)


def _note(found: int, walked: int) -> str:
    if walked >= MAX_WALKED:
        return f"stopped after looking at {MAX_WALKED:,} files and folders; begin the pattern with a folder"
    if found > MAX_FOUND:
        return f"these are the first {MAX_FOUND:,} of {found:,}; narrow the pattern"
    return ""
