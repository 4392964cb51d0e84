"""What runs documents on this machine, with what the settings say. The command line and the server make the same."""

from dataclasses import replace
from pathlib import Path

from pollux.bootstrap import LARGEST_KEY, make_home
from pollux.config import ConfigError, Settings, load_project
from pollux.config.profiles import profiles_of, tools_named
from pollux.config.rights import Rights, ServedRunbooks
from pollux.control import control_of
from pollux.core.errors import ValidationError
from pollux.core.profile import DEFAULT_MODEL, Limits
from pollux.core.redact import Secret
from pollux.engine.untrusted import read_file
from pollux.runbooks.agents.internal import LIMITS, Outfits
from pollux.runbooks.runtime import Runbooks, make_runbooks
from pollux.runbooks.settings import AgentSettings, agent_settings
from pollux.runbooks.trust import Trust


def runbooks_of(settings: Settings, directory: Path) -> Runbooks:
    """What runs documents in this directory. Where we keep our own keys and journals, nothing is read or written."""
    control = control_of(settings, directory)
    return make_runbooks(
        root=control.root_at(directory),
        runner=control.runner_at(directory, settings.sandbox),
        roots=lambda path: control_of(settings, Path(path)).root_at(Path(path)),
        agents=agents_of(settings).agents,
        model=settings.model or DEFAULT_MODEL,
        trust=Trust(settings.home),
        secrets=secrets_of(settings),
        outfits=outfits_of(load_project(settings).rights, replace(LIMITS, **settings.answers)),
    )


def outfits_of(rights: Rights, limits: Limits) -> Outfits:
    """What the configuration gives our own agents. Raises ConfigError for a profile that cannot be read."""
    named = profiles_of(rights, model="", defaults=limits, tools=(), known=tools_named(rights))
    return Outfits(tuple(rights.tools), {name: named[name] for name in rights.profiles}, rights.rules, limits)


def secrets_of(settings: Settings) -> tuple[Secret, ...]:
    """What no block may put into a journal: the keys of the settings, and this machine's own token."""
    try:
        token = (read_file(settings.home / "token", most=LARGEST_KEY) or b"").decode().strip()
    except (OSError, ValueError):
        return settings.secrets()
    return (*settings.secrets(), *([Secret(token)] if token else []))


def kept_by(settings: Settings) -> list[Path]:
    """What is ours alone."""
    return [settings.home, *([settings.store] if isinstance(settings.store, Path) else [])]


def agents_of(settings: Settings) -> AgentSettings:
    """The agents that the person's own configuration knows, and what new blocks begin with."""
    return agent_settings(load_project(settings).rights)


def served_by(settings: Settings) -> ServedRunbooks | None:
    """What is served over HTTP; None where nothing is."""
    return load_project(settings).rights.runbooks.served


def served_runbooks(settings: Settings) -> Runbooks | None:
    """What a server, or a worker beside it, runs documents with. None where no folder is served. Raises ConfigError."""
    served = served_by(settings)
    if served is None:
        return None
    make_home(settings.home)
    try:
        return runbooks_of(settings, served.folder)
    except ValidationError as problem:
        raise ConfigError(f"folder of [runbooks]: {problem}") from problem
