"""Which programs an agent's command starts, and those that a launcher or a shell in it is to start."""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, cast

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.runbooks.blocks.started import code_of
from pollux.runbooks.documents import AcpSource, Runbook, agent_of
from pollux.runbooks.located import NOT_FOUND, WORD, Programs, described, interpreters, located
from pollux.runbooks.settings import AgentEntry, entry_of, resolve
from pollux.runbooks.templates import has_tags

LONGEST_ARGUMENT: Final = 16 << 10
"""Of an argument, in which programs are looked for."""


def programs_of(
    runbook: Runbook, *, directory: str, places: tuple[str, ...], registry: Mapping[str, AgentEntry]
) -> Programs:
    """The programs that the agents of a document would start now. `places` are the folders that are open to others."""
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
            found += started_by(command, env=env, directory=at, places=(*places, directory, at))
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


def started_by(argv: Sequence[str], *, env: Mapping[str, str], directory: str, places: tuple[str, ...]) -> Programs:
    """The program, what interprets it, and the files that its arguments name. `places` are open to others."""
    words = [word for word in argv if "\0" not in word]
    if not words:
        return ()

    def known(word: str, program: str | None) -> Programs:
        inner = [(each, located(each, env=env, directory=directory)) for each in interpreters(program or os.devnull)]
        return tuple((each, described(path, places) if path else NOT_FOUND) for each, path in [(word, program), *inner])

    found = [*known(words[0], located(words[0], env=env, directory=directory))]
    for word in words[1:]:
        if len(word) > LONGEST_ARGUMENT:
            raise ValidationError(f"an argument of an agent's command has more than {LONGEST_ARGUMENT:,} characters")
        path = os.path.join(directory, word.partition("=")[2] if word.startswith("-") else word)
        if word and os.path.isfile(path):
            found.append((word, described(path, places)))
        # A launcher or a shell starts what its arguments name: each word that means a program here may be that one.
        for inner in dict.fromkeys(WORD.findall(word)):
            if program := located(inner, env=env, directory=directory):
                found += known(inner, program)
    # And what such a shell, or the program itself, is given as code.
    found += code_of(shlex.join(words), env=env, directory=directory, places=places)
    return tuple(dict.fromkeys(found))
