"""What stays out of reach although it lies beneath the root: our own configuration, keys, and what git would execute.

Judged by the names where a path arrives, without links, and as a file system that knows no case would compare them.
Whether the thing exists makes no difference: otherwise it could be written first.

- hidden, neither read nor written nor searched: `.env`, and the paths given as `protected` (keys, the store);
- kept, read but not written: `pollux.toml`, `config/.gemini.yaml`, everything in `.git` and `.git` itself (hooks and
  configuration there are commands that the next `git status` would run), and the paths given as `readable`.
"""

from typing import Final

from pollux.core.errors import PolicyError
from pollux.core.frozen import frozen
from pollux.tools.files.names import Names, folded

HIDDEN: Final[tuple[Names, ...]] = ((".env",),)
KEPT: Final[tuple[Names, ...]] = (("pollux.toml",), ("config", ".gemini.yaml"), (".git",))


@frozen
class Guard:
    """Who says no. `hidden` and `kept` are folded paths from the root, in addition to what is protected everywhere."""

    hidden: tuple[Names, ...] = ()
    kept: tuple[Names, ...] = ()

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
        if _is_in(spelled, KEPT) or _is_beneath(spelled, self.kept):
            raise PolicyError(
                "this path decides what may run here and is not written by tools. Ask the user to change it",
                code="protected",
            )

    def may_read(self, names: Names) -> bool:
        """Whether the path may be read, searched and entered."""
        spelled = tuple(folded(name) for name in names)
        return not _is_in(spelled, HIDDEN) and not _is_beneath(spelled, self.hidden)


def _is_in(names: Names, places: tuple[Names, ...]) -> bool:
    """Whether the path is one of these places or beneath it, wherever in the tree that lies."""
    return any(names[start : start + len(place)] == place for place in places for start in range(len(names)))


def _is_beneath(names: Names, places: tuple[Names, ...]) -> bool:
    return any(names[: len(place)] == place for place in places)
