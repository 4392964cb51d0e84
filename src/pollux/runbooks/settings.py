"""Which agents runbooks know by name, and what a new agent block begins with.

A block without a time-out has none of its own: the defaults here fill new blocks only.
"""

import json
import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Final, cast

from pollux.config.rights import Rights, WrittenRunbooks
from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.engine.exposure import require_private
from pollux.engine.untrusted import read_file
from pollux.runbooks.documents import AgentCapabilities, new_block

LARGEST_REGISTRY: Final = 4 << 20
DEFAULT_TIMEOUT: Final = 300

_ID: Final = re.compile(r"[a-z][a-z0-9-]{0,63}")
_MACHINES: Final = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}


@frozen
class AgentEntry:
    """A program that speaks the Agent Client Protocol, as the registry has it."""

    command: str
    args: tuple[str, ...] = ()
    description: str = ""
    env: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def argv(self) -> tuple[str, ...]:
        return (self.command, *self.args)


DEFAULT_AGENTS: Final[Mapping[str, AgentEntry]] = {
    "gemini": AgentEntry("gemini", ("--acp",), "Gemini CLI (Google)"),
    "claude": AgentEntry("claude-agent-acp", (), "Claude Code (Anthropic)"),
    "codex": AgentEntry("codex-acp", (), "Codex CLI (OpenAI)"),
}


@frozen(kw_only=True)
class AgentSettings:
    """The registry of agents, and the defaults of new agent blocks."""

    agents: Mapping[str, AgentEntry] = field(default_factory=lambda: dict(DEFAULT_AGENTS))
    default_timeout: int = DEFAULT_TIMEOUT
    default_capabilities: AgentCapabilities = AgentCapabilities(read_files=True)

    def new_agent(self, *, id: str, name: str, source: Mapping[str, JSON], prompt: str) -> dict[str, JSON]:
        """An agent block that was not there before, as documents have it."""
        props: dict[str, JSON] = {
            "name": name,
            "source": dict(source),
            "prompt": prompt,
            "capabilities": self.default_capabilities.as_json(),
            "timeoutSeconds": self.default_timeout,
        }
        return new_block("agent", props, id=id)


def agent_settings(rights: Rights) -> AgentSettings:
    """The settings in force: the shipped agents, those of registry files, then those that `[runbooks]` names.

    Raises ValidationError for a registry file that cannot be used.
    """
    written = rights.runbooks
    agents = dict(DEFAULT_AGENTS)
    for path in written.registries:
        agents.update(read_registry(path))
    agents.update({name: _entry(table) for name, table in written.agents.items()})
    return AgentSettings(
        agents=agents,
        default_timeout=written.default_timeout or DEFAULT_TIMEOUT,
        default_capabilities=_capabilities(written),
    )


def resolve(command: str, args: Iterable[str], registry: Mapping[str, AgentEntry]) -> tuple[str, ...]:
    """What to start: a bare word that is in the registry means that agent, with the block's arguments behind."""
    entry = entry_of(command, registry)
    return (command, *args) if entry is None else (*entry.argv, *args)


def entry_of(command: str, registry: Mapping[str, AgentEntry]) -> AgentEntry | None:
    """The agent of the registry that this command means, if it means one."""
    return None if "/" in command or "\\" in command else registry.get(command)


def _entry(table: Mapping[str, Any]) -> AgentEntry:
    args: Any = table.get("args", [])
    return AgentEntry(table["command"], (args,) if isinstance(args, str) else tuple(args), table.get("description", ""))


def _capabilities(written: WrittenRunbooks) -> AgentCapabilities:
    names = written.default_capabilities
    if names is None:
        return AgentCapabilities(read_files=True)
    return AgentCapabilities(
        read_files="readFiles" in names,
        write_files="writeFiles" in names,
        execute_commands="executeCommands" in names,
        always_allow_tools="alwaysAllowTools" in names,
    )


# Files of the ACP registry


def read_registry(path: Path) -> dict[str, AgentEntry]:
    """The agents of a registry file: one agent, a list of them, or the aggregated index. Raises ValidationError.

    An agent that has nothing for this machine is left out.
    """
    try:
        require_private(path)
        content = read_file(path, most=LARGEST_REGISTRY)
    except OSError as problem:
        raise ValidationError(f"the agents registry {path} cannot be read ({problem.strerror})") from None
    if content is None:
        raise ValidationError(f"the agents registry {path} is not there, or is no regular file")
    if len(content) > LARGEST_REGISTRY:
        raise ValidationError(f"the agents registry {path} is larger than {LARGEST_REGISTRY:,} bytes")
    try:
        document: object = json.loads(content)
    except (ValueError, RecursionError):
        raise ValidationError(f"the agents registry {path} is not valid JSON") from None
    return registry_of(document, where=str(path))


def registry_of(document: object, *, where: str = "the agents registry") -> dict[str, AgentEntry]:
    """The agents of a registry document. Raises ValidationError."""
    agents: object = document
    if isinstance(document, dict) and "agents" in document:
        agents = cast("dict[str, object]", document)["agents"]
    elif isinstance(document, dict):
        agents = [cast("dict[str, object]", document)]
    if not isinstance(agents, list):
        raise ValidationError(f"{where}: expected agents with id, description and distribution")
    found: dict[str, AgentEntry] = {}
    for agent in cast("list[object]", agents):
        told = _object(agent, where=where)
        id_ = told.get("id")
        if not isinstance(id_, str) or not _ID.fullmatch(id_):
            raise ValidationError(
                f"{where}: an agent's id is small letters, digits and hyphens, found {str(id_)[:80]!r}"
            )
        entry = _distributed(told, where=f"{id_} of {where}")
        if entry is not None:
            found[id_] = entry
    return found


def _distributed(agent: Mapping[str, object], *, where: str) -> AgentEntry | None:
    """How the agent is started here: by npx, by uvx, or as a program that is installed."""
    ways = _object(agent.get("distribution"), where=f"distribution of {where}")
    words = [agent[key] for key in ("name", "description") if isinstance(agent.get(key), str)]
    description = ": ".join(str(word) for word in words)
    for runner, prefix in (("npx", ("-y",)), ("uvx", ())):
        if runner in ways:
            way = _object(ways[runner], where=f"{runner} of {where}")
            package = _text(way.get("package"), where=f"package of {where}")
            return AgentEntry(
                runner, (*prefix, package, *_texts(way, where=where)), description, _env(way, where=where)
            )
    system = f"{platform.system().lower()}-{_MACHINES.get(platform.machine().lower(), platform.machine().lower())}"
    targets = _object(ways.get("binary"), where=f"distribution of {where}")
    if system not in targets:
        return None
    target = _object(targets[system], where=f"{system} of {where}")
    # Archives are not fetched here: the program is expected where programs are.
    command = Path(_text(target.get("cmd"), where=f"cmd of {where}")).name
    return AgentEntry(command, _texts(target, where=where), description, _env(target, where=where))


def _object(value: object, *, where: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValidationError(f"{where}: expected an object")
    return cast("dict[str, object]", value)


def _text(value: object, *, where: str) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValidationError(f"{where}: expected text")
    return value


def _texts(way: Mapping[str, object], *, where: str) -> tuple[str, ...]:
    args = way.get("args", [])
    if not isinstance(args, list) or not all(isinstance(arg, str) for arg in cast("list[object]", args)):
        raise ValidationError(f"args of {where}: expected a list of texts")
    return tuple(cast("list[str]", args))


def _env(way: Mapping[str, object], *, where: str) -> dict[str, str]:
    env = _object(way.get("env", {}), where=f"env of {where}")
    if not all(isinstance(value, str) for value in env.values()):
        raise ValidationError(f"env of {where}: expected texts")
    return cast("dict[str, str]", env)
