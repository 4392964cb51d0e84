"""Where git finds a repository's hooks, if `core.hooksPath` names another folder than its own.

git runs what is there at the person's next commit. Read from the files that git reads, without running it: those of the
repository, of the person and of the machine, and whatever they include, under any condition. In doubt it is such a
folder: a key of this name counts in every section.
"""

import os
import re
import stat
from collections.abc import Iterator
from typing import Final

HOOKS: Final = tuple(
    "applypatch-msg commit-msg fsmonitor-watchman p4-changelist p4-post-changelist p4-pre-submit p4-prepare-changelist "
    "post-applypatch post-checkout post-commit post-index-change post-merge post-receive post-rewrite post-update "
    "pre-applypatch pre-auto-gc pre-commit pre-merge-commit pre-push pre-rebase pre-receive prepare-commit-msg "
    "proc-receive push-to-checkout reference-transaction sendemail-validate update".split()
)
_DEEPEST: Final = 10
"""Of files that include one another, as git allows."""
_LARGEST: Final = 8 << 20
_KEY: Final = re.compile(
    r'^[ \t\r\ufeff]*(?:\[(?:[^]\n"]|"(?:\\.|[^"\\\n])*")*\][ \t\r]*)*(hookspath|path)[ \t\r]*='
    r"((?:[^\\\n]|\\(?s:.))*)",
    re.IGNORECASE | re.MULTILINE,
)
"""A value goes on behind a backslash at the end of its line. So may another one before it, which is not looked at."""
_PIECE: Final = re.compile(r'"((?:\\.|[^"\\])*)"?|\\(.)|([;#].*)|([^"\\;#]+)', re.DOTALL)


def hook_places(top: str, root: str) -> Iterator[str]:
    """The folders that hold hooks of the repository whose files are in `top`, and the files that its configuration
    includes, as they are spelled and where they lead.

    One that holds `root` or `top` itself cannot be kept as a whole: then the hooks that may be in it.
    """
    git = _own_folder(top)
    if git is None:
        return
    files = [os.path.join(folder, name) for folder in {git, _common(git)} for name in ("config", "config.worktree")]
    for value in {value for file in (*_persons(), *files) for value in _set_in(file)}:
        spelled = os.path.normpath(os.path.join(top, os.path.expanduser(value)))
        for place in dict.fromkeys((spelled, os.path.realpath(spelled))):
            if any(os.path.commonpath((place, each)) == place for each in (root, top)):
                yield from (os.path.join(place, name) for name in HOOKS)
            else:
                yield place


def _own_folder(top: str) -> str | None:
    """The repository's own folder. A file of that name says where it is."""
    place = os.path.join(top, ".git")
    if os.path.isdir(place):
        return place
    said = _text(place)
    if said.startswith("gitdir:"):
        return os.path.join(top, said.removeprefix("gitdir:").strip())
    return top if os.path.isfile(os.path.join(top, "HEAD")) else None


def _common(git: str) -> str:
    """Of a worktree: the folder that it shares with others."""
    return os.path.normpath(os.path.join(git, _text(os.path.join(git, "commondir")).strip()))


def _persons() -> Iterator[str]:
    yield "/etc/gitconfig"
    home = os.path.expanduser("~")
    yield os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "git", "config")
    yield os.path.join(home, ".gitconfig")
    yield from filter(None, map(os.environ.get, ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")))


def _set_in(file: str, depth: int = 0) -> Iterator[str]:
    """What is set for hooks, and which files are included."""
    for found in _KEY.finditer(_text(file).replace("\r\n", "\n")):
        value = _value(found[2])
        if found[1].casefold() == "hookspath":
            yield value
        elif depth < _DEEPEST:
            included = os.path.normpath(os.path.join(os.path.dirname(file), os.path.expanduser(value)))
            if not os.path.isdir(included):
                # It may name programs as well as the file that includes it.
                yield included
                yield from _set_in(included, depth + 1)


def _value(written: str) -> str:
    """Without its quotes and what is a comment."""
    value = ""
    for quoted, escaped, comment, plain in _PIECE.findall(re.sub(r"(\\\\)|\\\n", r"\1", written)):
        if comment:
            break
        value += re.sub(r"\\(.)", r"\1", quoted) + escaped + plain
    return value.strip()


def _text(place: str) -> str:
    """What is in the file; nothing where it cannot be read."""
    try:
        with open(os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return ""
            return file.read(_LARGEST).decode("utf-8", "surrogateescape").replace("\0", "")
    except (OSError, ValueError):
        return ""
