"""Which program an agent's command starts: found as the system finds it, and known by its file.

A person accepts a command by its words. What the words mean depends on the PATH, on links, and on files beside the
document: so it is worked out when they accept it, shown, remembered, and compared each time the agent is started.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.runbooks.documents import AcpSource, Runbook, agent_of
from pollux.runbooks.settings import AgentEntry, entry_of, resolve
from pollux.runbooks.templates import has_tags
from pollux.tools.shell.environment import child_environment

Programs = tuple[tuple[str, str], ...]
"""Each word of a command that means a file, and that file: its path, and its content where that can change."""

NOT_FOUND: Final = "not found"
LARGEST: Final = 64 << 20
"""Of a file that is read. A larger one is known by its size and time."""
LONGEST_ARGUMENT: Final = 16 << 10
"""Of an argument, in which programs are looked for."""
_WORD: Final = re.compile(r"[^\s\"'`;&|()<>{}$=,\\]+")
LONGEST_LINE: Final = 256
"""Of a script's first line, which names its interpreter."""


def programs_of(runbook: Runbook, *, directory: str, folder: str, registry: Mapping[str, AgentEntry]) -> Programs:
    """The programs that the agents of a document would start now."""
    found: list[tuple[str, str]] = []
    for block in runbook.blocks:
        config = agent_of(block) if block.type == "agent" else None
        if config is None or not isinstance(config.source, AcpSource):
            continue
        place = config.working_directory or ""
        argv = resolve(config.source.command, config.source.args, registry)
        entry = entry_of(config.source.command, registry)
        env = {**(entry.env if entry else {}), **config.source.env}
        at = directory if has_tags(place) else str(Path(directory, Path(place).expanduser()))
        for command in (argv, *servers_of(block.props.get("mcpServers"))):
            found += started_by(command, env=env, directory=at, folder=folder)
    return tuple(dict.fromkeys(found))


def servers_of(servers: JSON) -> list[list[str]]:
    """The commands of MCP servers that an agent starts itself."""
    found: list[list[str]] = []
    for each in cast("list[JSON]", servers) if isinstance(servers, list) else []:
        told = cast("dict[str, JSON]", each) if isinstance(each, dict) else {}
        args = cast("list[JSON]", given) if isinstance(given := told.get("args"), list) else []
        if told.get("command"):
            found.append([str(told["command"]), *map(str, args)])
    return found


def started_by(argv: Sequence[str], *, env: Mapping[str, str], directory: str, folder: str) -> Programs:
    """The program, what interprets it, and the files that its arguments name. `folder` is the document's."""
    words = [word for word in argv if "\0" not in word]
    if not words:
        return ()

    def known(word: str, program: str | None) -> Programs:
        inner = [(each, located(each, env=env, directory=directory)) for each in _interpreters(program or os.devnull)]
        return tuple(
            (each, _described(path, folder) if path else NOT_FOUND) for each, path in [(word, program), *inner]
        )

    found = [*known(words[0], located(words[0], env=env, directory=directory))]
    for word in words[1:]:
        if len(word) > LONGEST_ARGUMENT:
            raise ValidationError(f"an argument of an agent's command has more than {LONGEST_ARGUMENT:,} characters")
        path = os.path.join(directory, word.partition("=")[2] if word.startswith("-") else word)
        if word and os.path.isfile(path):
            found.append((word, _described(path, folder)))
        # A launcher or a shell starts what its arguments name: each word that means a program here may be that one.
        for inner in dict.fromkeys(_WORD.findall(word)):
            if program := located(inner, env=env, directory=directory):
                found += known(inner, program)
    return tuple(dict.fromkeys(found))


def located(word: str, *, env: Mapping[str, str], directory: str) -> str | None:
    """The file that starts when this word is a command there. None where there is none."""
    if "/" in word:
        path = os.path.join(directory, word)
        return path if os.path.isfile(path) else None
    places = child_environment(os.environ, env).get("PATH", os.defpath).split(os.pathsep)
    paths = (os.path.join(directory, place, word) for place in places)
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)


def differences(found: Iterable[tuple[str, str]], accepted: Iterable[tuple[str, str]]) -> list[str]:
    """What is not as it was accepted, in words for people."""
    known: dict[str, list[str]] = {}
    for word, file in accepted:
        known.setdefault(word, []).append(file)
    return [
        f"{word} is {file}; accepted was {' or '.join(known.get(word, ['nothing of that name']))}"
        for word, file in found
        if file not in known.get(word, ())
    ]


def _described(path: str, folder: str) -> str:
    real = os.path.realpath(path)
    if not real.startswith(folder.rstrip(os.sep) + os.sep):
        return real
    # What lies beside the document may be changed by whoever can change the document: its content counts too.
    return f"{real} ({_content(real)})"


def _content(path: str) -> str:
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode) or state.st_size > LARGEST:
                return f"{state.st_size} bytes of {state.st_mtime_ns}"
            return f"sha256 {hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError:
        return "unreadable"


def _interpreters(path: str) -> Iterator[str]:
    """What the first line of a script names: a program, or `env` and the one that it looks for."""
    line = b""
    with suppress(OSError), open(path, "rb") as file:
        line = file.read(LONGEST_LINE)
    if not line.startswith(b"#!"):
        return
    words = line[2:].splitlines()[0].decode("utf-8", "replace").split() if line[2:].splitlines() else []
    if words:
        yield words[0]
    if words and os.path.basename(words[0]) == "env":
        yield from (word for word in words[1:] if not word.startswith("-") and "=" not in word)
