"""What decides what an agent may do: out of reach of its tools, whatever a rule says. One set, worked out in one place.

`hidden` places are neither read nor written: keys, tokens, the store. `kept` ones are read and not written: policies,
skills, agents' configuration. What tools find by its name anywhere (`.env`, `pollux.toml`, `.git`, runbooks) is listed
in `tools.files.guard`; what is listed here depends on the settings. It makes no difference whether a place exists yet.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from pollux.config import ConfigError, Rights, Settings, load_project
from pollux.config.rights import NO_RIGHTS
from pollux.config.table import FILES
from pollux.core.frozen import frozen
from pollux.tools.files.root import Root
from pollux.tools.shell.agent_shell import Runner
from pollux.tools.shell.sandbox import RECORDS, SECRETS, Sandbox, own_home

SHELL_FILES: Final = tuple(
    ".bash_login .bash_logout .bash_profile .bashrc .inputrc .kshrc .profile .zlogin .zlogout .zprofile .zshenv "
    ".zshrc".split()
)
HIDDEN_HERE: Final = (".env", "config/.gemini.yaml")
KEPT_HERE: Final = tuple(
    "pollux.toml .git/config .git/config.worktree .git/hooks .git/info/attributes .gemini .codex .claude .cursor "
    ".opencode .pollux .mcp.json".split()
)
"""In the folder itself, for the sandbox: it binds places and knows no names."""
ENDINGS: Final = (".atrb", ".runbook.json", ".code-workspace", ".run.xml")
"""How the names of documents end that run commands: runbooks, and tasks of editors. People write them."""


@frozen
class Control:
    """The places, and the stores: whatever begins with a store's name and lies beside it is hidden as well."""

    hidden: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()
    stores: tuple[Path, ...] = ()
    records: Path | None = None
    """Where commands at work are noted, for all processes."""
    missing: tuple[Path, ...] = ()
    """Files that settings name, and that are not there: a command cannot make them while it runs."""

    def runner_at(self, path: Path, sandbox: Sandbox) -> Runner:
        """Runs commands there, with these places covered where there is a sandbox."""
        return Runner(
            path,
            sandbox=sandbox,
            hidden=self.hidden,
            kept=self.kept,
            stores=self.stores,
            reserved=(*HIDDEN_HERE, *KEPT_HERE, *_beneath(path, self.missing)),
            endings=ENDINGS,
            records=self.records,
        )

    def root_at(self, path: Path) -> Root:
        """The folder as an agent's tools see it."""
        return Root(path, protected=self.hidden, readable=self.kept, stores=self.stores, endings=ENDINGS)


def control_of(settings: Settings, root: Path, *, named: Iterable[Path] = ()) -> Control:
    """The control files for an agent that works in this folder. `named` are policies, skills and what else it obeys."""
    root = root.resolve()
    hidden = [settings.home, *_own_config(settings), *(root / name for name in HIDDEN_HERE)]
    rights = _rights(settings)
    by_settings = (*_by_settings(settings), *_programs(rights, root))
    kept = [*named, *by_settings, *_by_rights(rights), *(root / name for name in KEPT_HERE)]
    if settings.project_file is not None:
        kept.append(settings.project_file.path)
    if settings.config is not None:
        kept.append(settings.config.parent)
    home = own_home().resolve()
    if home.is_relative_to(root):
        hidden += [home / name for name in SECRETS]
        kept += [home / name for name in SHELL_FILES]
    # A folder that holds the working folder itself cannot be kept as a whole.
    kept = [place for place in kept if not root.is_relative_to(os.path.realpath(root / place))]
    stores = (settings.store,) if isinstance(settings.store, Path) else ()
    missing = tuple(place for place in by_settings if not os.path.lexists(place))
    return Control((*hidden, *stores), tuple(kept), stores, settings.home / RECORDS, missing)


def _by_settings(settings: Settings) -> Iterator[Path]:
    """Every file that a setting names, whichever there will be: a right, a record or a key may be in it."""
    for name in FILES:
        match getattr(settings, name):
            case Path() as path:
                yield path
            case str() as text if "://" not in text:
                yield Path(text)
            case _:
                pass


def _beneath(root: Path, places: Iterable[Path]) -> Iterator[str]:
    top = os.path.realpath(root)
    for place in places:
        if (real := os.path.realpath(place)).startswith(f"{top}/"):
            yield os.path.relpath(real, top)


def _own_config(settings: Settings) -> Iterator[Path]:
    """It may hold keys."""
    if settings.config is not None:
        yield settings.config
    if settings.config_file is not None:
        yield settings.config_file.path


def _programs(rights: Rights, root: Path) -> Iterator[Path]:
    """The files in the folder that `[runbooks.agents]` starts, or hands to a program as an argument."""
    for agent in rights.runbooks.agents.values():
        for word in (agent["command"], *agent.get("args", [])):
            if "\0" in word:
                continue
            place = Path(os.path.abspath(root / word.rpartition("=")[2]))
            # A link in the folder counts wherever it leads: another one in its place starts something else.
            is_here = any(path.startswith(f"{root}/") for path in (str(place), os.path.realpath(place)))
            if is_here and ("/" in word or place.is_file()):
                yield place


def _by_rights(rights: Rights) -> Iterator[Path]:
    yield from rights.page_plugins
    yield from rights.runbooks.registries
    if rights.runbooks.served is not None:
        yield rights.runbooks.served.folder


def _rights(settings: Settings) -> Rights:
    try:
        return load_project(settings).rights
    except ConfigError:
        # Who needs the rights says what is wrong with them.
        return NO_RIGHTS
