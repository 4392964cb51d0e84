"""What the configuration files say about rights, and how far a file found in a workspace is believed.

The law: a `pollux.toml` found by search only narrows. What widens (tools, actions, profiles, rules that allow, what
pages may do, whom runbooks start) counts from the file named by `--config` or `POLLUX_CONFIG`, or once a person
accepted the file as it stands. Acceptance is pinned by hash, so a changed file has to be accepted again.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from pollux.config.files import ConfigError, read_bytes
from pollux.config.rights import NO_RIGHTS, Rights, WrittenRunbooks, parse_rights
from pollux.config.settings import Settings
from pollux.config.sources import SECTIONS, ConfigFile, where_it_stands
from pollux.core.frozen import frozen

if TYPE_CHECKING:
    from pollux.core.policy import Rule

TRUST_FILE: Final = "trusted.json"

# Below every other rule of the lowest tier: it then speaks only where no rule does, and cannot soften a denial.
_LAST_WORD: Final = -1_000_000


@frozen
class LeftOut:
    """A part of a workspace's file that does not count, and why."""

    part: str
    reason: str
    is_pending: bool = field(default=False, compare=False)
    """Whether it counts once a person accepts the file."""


@frozen
class Project:
    """The rights in force: the person's own file and what the workspace's file may add to it."""

    workspace: Path
    rights: Rights
    path: Path | None = None
    digest: str | None = None
    """Of the workspace's file as it was read; show it with what is asked of the person, and give it to accept."""
    is_accepted: bool = False
    left_out: tuple[LeftOut, ...] = field(default=())


def load_project(settings: Settings) -> Project:
    """The rights in force in this workspace, filtered by the law above. Raises ConfigError for a file with mistakes."""
    own_file, file = settings.config_file, settings.project_file
    own = parse_rights(own_file.table, tier="user", path=own_file.path) if own_file else NO_RIGHTS
    if file is None:
        return Project(settings.workspace, own)
    digest = _digest(file.content)
    is_accepted = _read_trust(settings.home).get(str(file.path)) == digest
    asked = parse_rights(file.table, tier="workspace", path=file.path)
    left_out = _misplaced(file)
    if not is_accepted:
        asked, widening = _narrowed(asked)
        left_out += widening
    rights, shadowed = _merged(own, asked)
    return Project(settings.workspace, rights, file.path, digest, is_accepted, tuple(left_out + shadowed))


def accept_project(path: Path, home: Path, *, digest: str | None = None) -> str:
    """Remember that a person accepted this file as it stands, and return its digest.

    Give the digest of what the person was shown, and a file changed since then is refused. Raises ConfigError.
    """
    path = where_it_stands(path)
    content = read_bytes(path)
    if content is None:
        raise ConfigError(f"{path} does not exist, so there is nothing to accept")
    found = _digest(content)
    if digest is not None and digest != found:
        raise ConfigError(f"{path} has changed since it was shown. Look at it again, then accept it")
    _write_trust(home, _read_trust(home) | {str(path): found})
    return found


def _narrowed(asked: Rights) -> tuple[Rights, list[LeftOut]]:
    reason = "only an accepted or explicitly named file may widen rights"

    def pending(part: str) -> LeftOut:
        return LeftOut(part, reason, is_pending=True)

    left_out = [pending(f"tools.{name}") for name in asked.tools]
    left_out += [pending(f"actions.{name}") for name in asked.actions]
    left_out += [pending(f"profiles.{name}") for name in asked.profiles]
    left_out += [pending(f"rule '{rule.name}'") for rule in asked.rules if rule.decision == "allow"]
    is_bare = asked.serves_pages and not (asked.page_origins or asked.page_plugins or asked.page_profiles)
    left_out += [pending("page")] if is_bare else []
    left_out += [pending(f"page origin {origin}") for origin in asked.page_origins]
    left_out += [pending(f"page plugin {folder}") for folder in asked.page_plugins]
    left_out += [pending(f"page profile {name}") for name in asked.page_profiles]
    left_out += [pending("runbooks")] if asked.runbooks != WrittenRunbooks() else []
    rules = tuple(_only_stricter(rule) for rule in asked.rules if rule.decision != "allow")
    return Rights(rules=rules, limits=asked.limits), left_out


def _only_stricter(rule: "Rule") -> "Rule":
    from dataclasses import replace

    return rule if rule.decision == "deny" else replace(rule, tier="default", priority=_LAST_WORD)


def _merged(own: Rights, asked: Rights) -> tuple[Rights, list[LeftOut]]:
    reason = "your own configuration file defines it"
    shadowed = [LeftOut(f"tools.{name}", reason) for name in asked.tools if name in own.tools]
    shadowed += [LeftOut(f"actions.{name}", reason) for name in asked.actions if name in own.actions]
    shadowed += [LeftOut(f"profiles.{name}", reason) for name in asked.profiles if name in own.profiles]
    agents = asked.runbooks.agents
    shadowed += [LeftOut(f"runbooks.agents.{name}", reason) for name in agents if name in own.runbooks.agents]
    limits = {name: min(own.limits.get(name, bound), bound) for name, bound in asked.limits.items()}
    merged = Rights(
        tools={**asked.tools, **own.tools},
        profiles={**asked.profiles, **own.profiles},
        rules=own.rules + asked.rules,
        limits={**own.limits, **limits},
        serves_pages=own.serves_pages or asked.serves_pages,
        page_origins=tuple(dict.fromkeys(own.page_origins + asked.page_origins)),
        actions={**asked.actions, **own.actions},
        page_plugins=tuple(dict.fromkeys(own.page_plugins + asked.page_plugins)),
        page_profiles={**asked.page_profiles, **own.page_profiles},
        runbooks=_merged_runbooks(own.runbooks, asked.runbooks),
    )
    return merged, shadowed


def _merged_runbooks(own: WrittenRunbooks, asked: WrittenRunbooks) -> WrittenRunbooks:
    capabilities = own.default_capabilities
    return WrittenRunbooks(
        agents={**asked.agents, **own.agents},
        # The last file that names an agent is the one that counts.
        registries=tuple(dict.fromkeys(asked.registries + own.registries)),
        default_timeout=own.default_timeout or asked.default_timeout,
        default_capabilities=asked.default_capabilities if capabilities is None else capabilities,
        # Whole or not at all: who may run what is in a folder was not said of another folder.
        served=own.served or asked.served,
    )


def _misplaced(file: ConfigFile) -> list[LeftOut]:
    reason = "a workspace does not set this; put it in the environment or in your own configuration file"
    allowed = SECTIONS | {"model", "system_prompt"}
    return [LeftOut(key, reason) for key in file.table if key not in allowed]


# What was accepted


def _digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def _read_trust(home: Path) -> dict[str, str]:
    import json

    from pollux.engine.exposure import grave

    path = home / TRUST_FILE
    content = read_bytes(path)
    if content is None:
        return {}
    if exposed := grave([path]):
        raise ConfigError(exposed)
    problem = ConfigError(f"{path} is damaged. Remove it, and accept your projects again")
    try:
        document: Any = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise problem from error
    projects = cast(dict[str, Any], document).get("projects") if isinstance(document, dict) else None
    if not isinstance(projects, dict):
        raise problem
    # An entry that is no text equals no digest, so it accepts nothing.
    return cast(dict[str, str], projects)


def _write_trust(home: Path, projects: Mapping[str, str]) -> None:
    import json
    import os
    import tempfile

    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A new file moved into place: a reader sees the old list or the new one. mkstemp makes it mode 0600.
        descriptor, name = tempfile.mkstemp(dir=home, prefix=TRUST_FILE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"version": 1, "projects": dict(sorted(projects.items()))}, file, indent=2)
        Path(name).replace(home / TRUST_FILE)
    except OSError as error:
        raise ConfigError(f"{home} cannot be written ({error.strerror}). Check POLLUX_HOME") from error
