"""What stays out of reach although it lies beneath the root: our own configuration, keys, and what git would execute.

Judged by the names where a path arrives, without links, and as a file system that knows no case would compare them.
Whether the thing exists makes no difference: otherwise it could be written first.

- hidden, neither read nor written nor searched: `.env`, `config/.gemini.yaml`, and the paths given as `protected`
  (keys, the store);
- kept, read but not written: `pollux.toml`, everything in `.git` and `.git` itself (hooks and configuration there are
  commands that git would run), what hooks are kept in elsewhere, the configuration of agents and editors, skills, and
  the paths given as `readable`; and what lies in a repository of another name, or would make a folder one, or in a
  repository's `core.hooksPath`, which `Root` looks up.
"""

from collections.abc import Collection
from typing import Final

from pollux.core.errors import PolicyError
from pollux.core.frozen import frozen
from pollux.tools.files.names import Names, folded

HIDDEN: Final[tuple[Names, ...]] = ((".env",), ("config", ".gemini.yaml"))
AGENTS: Final = (
    ".aider.conf.yaml .aider.conf.yml .aider.model.settings.yml .amazonq .amp .augment .claude .codebuddy .codex "
    ".continue .copilot .crush .crush.json .cursor .factory .gemini .goose .junie .kilocode .kiro .mcp.json .opencode "
    ".qwen .roo .trae .windsurf crush.json opencode.json opencode.jsonc"
).split()
"""Where agents read programs, permissions and hooks in the folder they start in. Not texts for models: AGENTS.md."""
EDITORS: Final[tuple[Names, ...]] = (
    (".idea", "runconfigurations"),
    *((".vscode", f"{name}.json") for name in ("launch", "mcp", "settings", "tasks")),
    *((name,) for name in (".zed", ".devcontainer", ".devcontainer.json")),
)
"""Where editors read programs that they start."""
MERCURIAL: Final[tuple[Names, ...]] = tuple((".hg", name) for name in ("hgrc", "hgrc-not-shared", "sharedpath"))
HOOKS: Final = (
    *".githooks .husky .lefthook .pre-commit-config.yaml".split(),
    *(
        f"{name}.{ending}"
        for name in ".lefthook .lefthook-local lefthook lefthook-local".split()
        for ending in "json toml yaml yml".split()
    ),
)
"""What git's hooks are kept in by custom, and what hooks of well-known tools run."""
KEPT: Final[tuple[Names, ...]] = (
    (".clinerules", "hooks"),
    (".github", "hooks"),
    *((name,) for name in ("pollux.toml", "skill.md", ".git", ".pollux", *AGENTS, *HOOKS)),
    *EDITORS,
    *MERCURIAL,
)

REPOSITORY: Final = ("HEAD", "objects", "refs", "commondir")
"""What of a folder decides whether git takes it for a repository's own, whatever its name."""


def is_repository(names: Collection[str]) -> bool:
    """Whether git would, with these in it: then what lies in it is what git runs, as in `.git`."""
    folded_ = {name.casefold() for name in names}
    return "head" in folded_ and ("commondir" in folded_ or {"objects", "refs"} <= folded_)


@frozen
class Guard:
    """Who says no. The paths are folded and from the root, in addition to what is protected everywhere.

    Names that end with one of the `endings` are kept too. Beside a path of `stores`, what begins with its name is
    hidden: `x.db-wal`, `x.db.lock`.
    """

    hidden: tuple[Names, ...] = ()
    kept: tuple[Names, ...] = ()
    stores: tuple[Names, ...] = ()
    endings: tuple[str, ...] = ()

    def check_read(self, names: Names) -> None:
        """Raises PolicyError for what must not be read."""
        if not self.may_read(names):
            raise PolicyError(
                "this path may hold keys and is kept from tools. Ask the user for what you need of it",
                code="protected",
            )

    def check_write(self, names: Names) -> None:
        """Raises PolicyError for what must not be written."""
        self.check_read(names)
        spelled = tuple(folded(name) for name in names)
        ends_so = bool(spelled) and spelled[-1].endswith(self.endings)
        if ends_so or _is_in(spelled, KEPT) or _is_beneath(spelled, self.kept):
            raise not_written()

    def may_read(self, names: Names) -> bool:
        """Whether the path may be read, searched and entered."""
        spelled = tuple(folded(name) for name in names)
        return not (
            _is_in(spelled, HIDDEN)
            or _is_beneath(spelled, self.hidden)
            or any(_is_beside(spelled, store) for store in self.stores)
        )


def not_written() -> PolicyError:
    """What to say of a path that is kept."""
    return PolicyError(
        "this path decides what may run here and is not written by tools. Ask the user to change it", code="protected"
    )


def _is_in(names: Names, places: tuple[Names, ...]) -> bool:
    """Whether the path is one of these places or beneath it, wherever in the tree that lies."""
    return any(names[start : start + len(place)] == place for place in places for start in range(len(names)))


def _is_beneath(names: Names, places: tuple[Names, ...]) -> bool:
    return any(names[: len(place)] == place for place in places)


def _is_beside(names: Names, store: Names) -> bool:
    if len(names) < len(store) or names[: len(store) - 1] != store[:-1]:
        return False
    return names[len(store) - 1].startswith((f"{store[-1]}-", f"{store[-1]}."))
