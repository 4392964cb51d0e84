"""git as agents run it: nothing that a repository's own configuration names as a command is run.

A repository can name programs in its configuration: hooks, a monitor, filters, drivers of diffs and merges. The folder
brings it along, so it counts as little as a script in it. Configuration of the person and of the machine is left alone.

Two steps, because some of the keys hold names that only the repository knows: `ALWAYS` holds for every child, also for
git that a script starts; `overrides` answers the names that git says this repository sets.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from pollux.core.errors import ToolError
from pollux.engine.untrusted import read_file

_GIT: Final = re.compile(r"\bgit\b")
_LISTED: Final = ("config", "--list", "--show-scope", "--name-only", "--null")

_SUBMODULE: Final = re.compile(r'\[\s*submodule\s+"((?:[^"\\\n]|\\.)*)"\s*\]', re.IGNORECASE)
LARGEST: Final = 1 << 20
"""Of a `.gitmodules` that is read."""
MOST: Final = 1000
"""Of the commands that one repository's configuration may name."""

# An external diff gets: path, old file, hash, mode, new file, hash, mode.
_PLAIN_DIFF: Final = 'f() { diff -u "$2" "$5"; true; }; f'

_FIXED: Final = {
    "safe.bareRepository": "explicit",
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "protocol.ext.allow": "never",
    # A submodule has configuration of its own: no git is started in it.
    "diff.ignoreSubmodules": "dirty",
    "diff.submodule": "short",
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "push.recurseSubmodules": "no",
}

_COMMANDS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), value)
    for pattern, value in {
        r"filter\..*\.(clean|smudge|process)": "",
        r"filter\..*\.required": "false",
        r"diff\..*\.command|diff\.external": _PLAIN_DIFF,
        r"diff\..*\.textconv": "cat",
        r"merge\..*\.driver": "false",
        r"(difftool|mergetool|browser|man)\..*\.(cmd|path)": "false",
        r"remote\..*\.promisor": "false",
        r"credential(\..*)?\.helper": "",
        r"trailer\..*\.(command|cmd)": "true",
        r"hook\..*\.command": "true",
        r"pager\..*": "false",
        r"core\.pager|interactive\.difffilter": "cat",
        r"core\.(editor|askpass)|sequence\.editor": "false",
        r"core\.sshcommand": "ssh",
        r"core\.(gitproxy|alternaterefscommand)": "",
        r"gpg\.program|gpg\..*\.program": "false",
        r"gpg\.ssh\.defaultkeycommand": "false",
        r"(log|format)\.(showsignature)": "false",
        r"submodule\..*\.update": "checkout",
        r"submodule\..*\.ignore": "dirty",
        r"submodule\..*\.fetchrecursesubmodules": "false",
        r"alias\..*": "version",
    }.items()
)


# Of these the first value counts, so that none of ours does.
_FIRST_COUNTS: Final = re.compile(r"remote\..*\.(uploadpack|receivepack)", re.IGNORECASE | re.DOTALL)


def _parameters(settings: Mapping[str, str]) -> str:
    """As git hands its own `-c` on to the programs that it starts, also to those in submodules."""
    # Newer versions take the name apart from the value, which matters only to a name that holds a `=`.
    pairs = (
        f"{_quoted(key)}={_quoted(value)}" if "=" in key else _quoted(f"{key}={value}")
        for key, value in settings.items()
    )
    return " ".join(pairs)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''").replace("!", "'\\!'") + "'"


ALWAYS: Final = {
    "GIT_CONFIG_PARAMETERS": _parameters(_FIXED),
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
}
"""The environment of every child."""


def question(argv: Sequence[str]) -> list[str] | None:
    """The command that asks git what the repository sets, where this one may run git."""
    if not any(_GIT.search(word) for word in argv):
        return None
    at = next((at for at, word in enumerate(argv) if word.rpartition("/")[2] == "git"), None)
    if at is None:
        return ["git", *_LISTED]
    options: list[str] = []
    rest = iter(argv[at + 1 :])
    for word in rest:
        if not word.startswith("-"):
            break
        options.append(word)
        if word in ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env"):
            options += [next(rest, "")]
    kept = [word for word in options if word not in ("-p", "--paginate", "--version", "--help", "-h", "-v")]
    return [argv[at], *kept, *_LISTED]


def submodules(folder: Path) -> list[str]:
    """What `.gitmodules` could set for its submodules: stronger than our settings for all of them."""
    for place in (folder, *folder.parents):
        try:
            text = (read_file(place / ".gitmodules", most=LARGEST) or b"").decode("utf-8", "replace")
        except (OSError, ValueError):
            text = ""
        names = (re.sub(r"\\(.)", r"\1", name) for name in _SUBMODULE.findall(text))
        if text or (place / ".git").exists():
            return [f"submodule.{name}.{key}" for name in names for key in ("ignore", "fetchRecurseSubmodules")]
    return []


def overrides(listed: str, *, is_whole: bool, also: Iterable[str] = ()) -> dict[str, str]:
    """The environment that takes their commands from the names that a repository sets, `also` from these.

    Raises ToolError for what cannot be answered.
    """
    words = listed.split("\0")
    own = {name for scope, name in zip(words[::2], words[1::2], strict=False) if scope in ("local", "worktree")}
    for name in filter(_FIRST_COUNTS.fullmatch, sorted(own)):
        raise ToolError(f"this repository sets {name}, a command that git would run. Ask the user to remove it")
    answers = dict(_answered({*own, *also}))
    if not is_whole or len(answers) > MOST:
        raise ToolError("this repository's configuration names more commands than can be taken out. Nothing was run")
    return {"GIT_CONFIG_PARAMETERS": _parameters({**_FIXED, **answers})}


def _answered(names: Iterable[str]) -> Iterable[tuple[str, str]]:
    for name in sorted(names):
        for pattern, value in _COMMANDS:
            if pattern.fullmatch(name):
                yield name, value
                break
