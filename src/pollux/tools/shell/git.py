"""git as agents run it: nothing that a repository's own configuration names as a command is run.

A repository can name programs in its configuration: hooks, a monitor, filters, drivers of diffs and merges. The folder
brings it along, so it counts as little as a script in it. Configuration of the person and of the machine is left alone.

Two steps, because some of the keys hold names that only the repository knows: `ALWAYS` holds for every child, also for
git that a script starts; `answers` takes back what git says this repository sets, and the repositories inside of it:
git looks into those by itself. It is git that reads all of these files, by `QUESTION`: we would read them otherwise.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pollux.core.errors import ToolError
from pollux.core.frozen import frozen
from pollux.tools.shell.programs import SUBCOMMANDS

_SUBCOMMANDS: Final = SUBCOMMANDS["git"]
_GIT: Final = re.compile(r"\bgit\b")
_STARTERS: Final = frozenset({"gh", "go"})
"""Known programs that start it by themselves."""
_SUBMODULE: Final = re.compile(r"submodule\.(.*)\.[^.]*", re.IGNORECASE | re.DOTALL)

MOST: Final = 1000
"""Of the commands that one repository's configuration may name."""
MOST_INNER: Final = 500
"""Of the repositories inside of one."""
MOST_BYTES: Final = 8 << 20
"""Of what git says."""
NO_FILE: Final = 125
"""How the question ends where it is no file that git would read."""
SECONDS: Final = 60.0
"""For git to say it."""

HOOK: Final = "hooks/reference-transaction"
"""By this name the repository's own hook stands among what it sets: no setting is called so."""

# For each repository two lists, an empty word behind each: what is set, by scope; its folder, and what `.gitmodules`
# sets, wherever git may look for that. Behind those of the first one, the places of the repositories inside of it.
_LOOK: Final = rf"""
look() {{
    "$@" config --list --show-scope --null
    code=$?
    for folder in "$("$@" rev-parse --absolute-git-dir)" "$("$@" rev-parse --path-format=absolute --git-common-dir)"; do
        [ ! -x "$folder/hooks/reference-transaction" ] || printf 'local\000%s\000' '{HOOK}'
    done 2>/dev/null
    printf '\000'
    if top=$("$@" rev-parse --show-toplevel 2>/dev/null && echo .); then
        top=${{top%??}}
        printf '%s\000' "$top"
        [ -f "$top/.gitmodules" ] || [ ! -e "$top/.gitmodules" ] || exit {NO_FILE}
        "$@" config --file "$top/.gitmodules" --list --name-only --null 2>/dev/null
        "$@" config --blob :.gitmodules --list --name-only --null 2>/dev/null
        "$@" config --blob HEAD:.gitmodules --list --name-only --null 2>/dev/null
    fi
    printf '\000'
    return $code
}}
"""
_OUTER: Final = f"""{_LOOK}
look "$@" || exit
if [ -n "$top" ] && cd -- "$top"; then
    find . -path ./.git -prune -o -name .git -prune -print0 2>/dev/null
fi
exit 0
"""
_INNER: Final = f"""{_LOOK}
git=$1
shift
unset GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY
export GIT_DIR=.git
for place do
    (cd -- "$place" && look "$git") 2>/dev/null
    [ $? != {NO_FILE} ] || exit {NO_FILE}
done
exit 0
"""

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
    # What gc.recentObjectsHook names cannot be answered.
    "gc.auto": "0",
    "maintenance.auto": "false",
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
        r"core\.alternaterefscommand": "",
        r"gpg\.program|gpg\..*\.program": "false",
        r"gpg\.ssh\.defaultkeycommand": "false",
        r"(log|format)\.(showsignature)": "false",
        r"submodule\..*\.update": "checkout",
        r"submodule\..*\.ignore": "dirty",
        r"submodule\..*\.fetchrecursesubmodules": "false",
        r"(tar\..*|imap(\..*)?)\.(command|tunnel)": "false",
        r"sendemail\.(.*\.)?(.*cmd|smtpserver)": "false",
        r"(instaweb\.(httpd|browser)|guitool\..*\.cmd)": "false",
        r"alias\..*": "version",
    }.items()
)


# Of these the first value counts, or all of them, so that none of ours does.
_CANNOT_BE_ANSWERED: Final = re.compile(
    r"remote\..*\.(uploadpack|receivepack|vcs)|core\.gitproxy|gc\.recentobjectshook"
    r"|lfs\.(extension\..*\.(clean|smudge)|customtransfer\..*\.(path|args))",
    re.IGNORECASE | re.DOTALL,
)

_FETCHING: Final = frozenset("clone fetch ls-remote pull remote submodule".split())
"""Take from another repository: its hooks are not run."""
_PUSHING: Final = re.compile(r"\b(push|send-pack|subtree|archive)\b|^gh$")
_HOOKED: Final = re.compile(r"\b(bisect|remote|send-pack)\b|^gh$")
"""Parts of git that read no `core.hooksPath` before they change references."""

_PARAMETERS: Final = "GIT_CONFIG_PARAMETERS"


def _parameters(settings: Iterable[tuple[str, str]]) -> str:
    """As git hands its own `-c` on to the programs that it starts, also to those in submodules."""
    # Newer versions take the name apart from the value, which matters only to a name that holds a `=`.
    pairs = (f"{_quoted(key)}={_quoted(value)}" if "=" in key else _quoted(f"{key}={value}") for key, value in settings)
    return " ".join(pairs)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''").replace("!", "'\\!'") + "'"


ALWAYS: Final = {
    _PARAMETERS: _parameters(_FIXED.items()),
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
}
"""The environment of every child."""
WHILE_ASKING: Final = {"GIT_ALLOW_PROTOCOL": "none"}
"""With it, git that does not know GIT_NO_LAZY_FETCH fetches nothing either."""


def guarded(named: Mapping[str, str], settings: Iterable[tuple[str, str]] = ()) -> dict[str, str]:
    """What git finds around it: what always holds, these settings, and what was `named` for the child, which wins."""
    own = " ".join(filter(None, (_parameters([*_FIXED.items(), *settings]), named.get(_PARAMETERS, ""))))
    return {**ALWAYS, **named, _PARAMETERS: own}


def may_run(argv: Sequence[str]) -> bool:
    """Whether git may be started by this command, as far as its words tell."""
    return any(_GIT.search(word) for word in argv) or any(word.rpartition("/")[2] in _STARTERS for word in argv)


def question(argv: Sequence[str], git: str) -> list[str]:
    """The command that asks what the repository sets that a git command is about. `git` is the program that is asked.

    The other one may be a file of the folder: nothing of it is run here.
    """
    return ["/bin/sh", "-c", _OUTER, "sh", git, *_own_options(argv[1:])]


def inner_question(places: Iterable[str], git: str) -> list[str]:
    """The same for repositories inside of one."""
    return ["/bin/sh", "-c", _INNER, "sh", git, *places]


def transport(argv: Sequence[str]) -> list[tuple[str, str]]:
    """What keeps a push from a repository on this machine: it would run hooks, and be given none of our settings."""
    is_known = not is_git(argv) or _subcommand(argv) in _FETCHING
    return [] if is_known and not any(map(_PUSHING.search, argv)) else [("protocol.file.allow", "never")]


def check_hooks(argv: Sequence[str], repositories: Iterable["Repository"]) -> None:
    """Raises ToolError where this command may run a hook of one of these, whatever is set."""
    known = _SUBCOMMANDS.direct | _SUBCOMMANDS.named
    is_known = not is_git(argv) or _subcommand(argv) in known
    if any(HOOK in each.sets for each in repositories) and (not is_known or any(map(_HOOKED.search, argv))):
        raise ToolError(
            "this repository runs its hook reference-transaction with this command, and git has no setting against it."
            " Nothing was run. Ask the user to run the command, or to remove the hook"
        )


def _subcommand(argv: Sequence[str]) -> str:
    own = _own_options(argv[1:], is_whole=True)
    return next(iter(argv[1 + len(own) :]), "")


def is_git(argv: Sequence[str]) -> bool:
    return bool(argv) and argv[0].rpartition("/")[2] == "git"


def _own_options(words: Sequence[str], *, is_whole: bool = False) -> list[str]:
    """Those before the subcommand, which say what repository is meant; or all of them."""
    options: list[str] = []
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            break
        options.append(word)
        if word in ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix"):
            options += [next(rest, "")]
    left_out = () if is_whole else ("-p", "--paginate", "--version", "--help", "-h", "-v")
    return [word for word in options if word not in left_out]


@frozen
class Repository:
    """What git says of one: where it is, the names that it sets, and what the person sets for such names."""

    folder: str
    sets: frozenset[str]
    modules: frozenset[str]
    """The names that `.gitmodules` sets."""
    persons: tuple[tuple[str, str], ...]


def heard(listed: str) -> tuple[list[Repository], list[str]]:
    """What git has said of repositories, and the places of those inside. Raises ToolError for what cannot be read."""
    lists: list[list[str]] = [[]]
    for word in listed.split("\0")[:-1]:
        if word:
            lists[-1].append(word)
        else:
            lists.append([])
    found = [_repository(*pair) for pair in zip(lists[:-1:2], lists[1::2], strict=False)]
    inside = [os.path.join(found[0].folder, os.path.dirname(place)) for place in lists[-1]]
    if any("\ufffd" in name for each in found for name in (each.folder, *each.sets, *each.modules, *inside)):
        raise ToolError("this repository's names are not all UTF-8. Nothing was run")
    if len(inside) > MOST_INNER:
        raise ToolError(f"this folder holds more than {MOST_INNER} repositories. Run git in a smaller one")
    return found, inside


def _repository(config: Sequence[str], rest: Sequence[str]) -> Repository:
    words = [(scope, *entry.partition("\n")) for scope, entry in zip(config[::2], config[1::2], strict=False)]
    # A name without a value means true.
    persons = tuple(
        (name, value if between else "true")
        for scope, name, between, value in words
        if scope in ("system", "global") and not _SUBMODULE.fullmatch(name) and _answer(name) is not None
    )
    sets = frozenset(name for scope, name, _, _ in words if scope in ("local", "worktree"))
    return Repository(rest[0] if rest else "", sets, frozenset(rest[1:]), persons)


def answers(outer: Repository, inner: Sequence[Repository] = ()) -> list[tuple[str, str]]:
    """The settings that take their commands from the names that these repositories set.

    What the person sets for the same name holds. Raises ToolError for what cannot be answered.
    """
    for name in filter(_CANNOT_BE_ANSWERED.fullmatch, sorted(outer.sets)):
        raise ToolError(f"this repository sets {name}, a command that git would run. Ask the user to remove it")
    for each in inner:
        if each.folder and os.path.commonpath((each.folder, outer.folder)) != outer.folder:
            raise ToolError(f"a repository in this folder has its files in {each.folder}. Ask the user to look at it")
    named = {name for each in (outer, *inner) for name in (*each.sets, *each.modules)}
    parts = {found[1] for name in named if (found := _SUBMODULE.fullmatch(name))}
    named |= {f"submodule.{part}.{key}" for part in parts for key in ("ignore", "fetchRecurseSubmodules")}
    found = [(name, value) for name in sorted(named) if (value := _answer(name)) is not None]
    if len(found) > MOST:
        raise ToolError("this repository's configuration names more commands than can be taken out. Nothing was run")
    return [
        pair for name, value in found for pair in ((name, value), *(own for own in outer.persons if own[0] == name))
    ]


def _answer(name: str) -> str | None:
    return next((value for pattern, value in _COMMANDS if pattern.fullmatch(name)), None)
