"""What a program finds around it that is started for a model, a foreign agent or a document: one place for all.

The folder may belong to somebody else. A rule by a program's name means the program that is installed, and git runs
nothing that a repository names: so both are seen to here, for whoever starts programs, once what the program is called
has been decided on.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pollux.core.errors import ToolError
from pollux.core.frozen import frozen
from pollux.tools.shell import git
from pollux.tools.shell.environment import (
    child_environment,
    installed,
    installed_path,
    is_first_installed,
    is_installed,
)
from pollux.tools.shell.launchers import inside, is_of_system, reach, relies_on_known
from pollux.tools.shell.process import ShellResult


class Run(Protocol):
    """Runs a program where the one that is made ready will run."""

    async def __call__(
        self, argv: list[str], *, env: Mapping[str, str], timeout: float | None, output_limit: int
    ) -> ShellResult: ...


class GitFailed(ToolError):
    """git says by itself that it cannot work here: with this result."""

    def __init__(self, result: ShellResult) -> None:
        super().__init__(result.stderr.strip() or f"git ended with {result.exit_code}")
        self.result = result


@frozen
class Ready:
    """What is started, and all of its environment."""

    argv: list[str]
    env: dict[str, str]


class Surroundings:
    """Of a program in this folder. `named` is set for it, and wins over what it inherits from `base`.

    A document's scripts find the person's PATH as it is (`keeps_path`). Elsewhere a command that a rule may allow by
    its name runs with a PATH of places alone that the agent cannot write.
    """

    def __init__(
        self,
        folder: Path,
        named: Mapping[str, str],
        base: Mapping[str, str] | None = None,
        *,
        keeps_path: bool = False,
    ) -> None:
        self._folder = folder
        self._named = named
        self._environment = child_environment(os.environ if base is None else base, named)
        self._keeps_path = keeps_path
        self._cuts_path = not keeps_path and "PATH" not in named

    @property
    def path(self) -> str:
        return self._environment.get("PATH", "")

    def is_installed(self, name: str) -> bool:
        """Whether the program that would run by this name is one that no command here can have put there."""
        look = is_installed if self._cuts_path else is_first_installed
        return look(name, path=self.path, folder=self._folder)

    def is_shadowed(self, argv: Sequence[str]) -> bool:
        """Whether the folder may have another program of this name, one that belongs to the system."""
        return bool(argv) and is_of_system(tuple(argv)) and not self.is_installed(argv[0])

    async def ready(self, argv: list[str], run: Run) -> Ready:
        """The program as it is to be started. `run` asks git what the folder sets.

        Raises GitFailed and ToolError where nothing may run.
        """
        env = dict(self._environment)
        if self._cuts_path and relies_on_known(tuple(argv), self.is_installed):
            env["PATH"] = installed_path(self.path, self._folder)
        if (is_git := git.is_git(argv)) or (git.may_run(argv) and not _is_plain(argv)):
            env |= git.guarded(self._named, await self._answers(argv, run, must=is_git))
        return Ready(argv if self._keeps_path else self._placed(argv), env)

    def _placed(self, argv: list[str]) -> list[str]:
        """With the program's path, where the folder might have another of that name."""
        found = installed(argv[0], path=self.path, folder=self._folder) if is_of_system(tuple(argv)) else None
        return argv if found is None else [found, *argv[1:]]

    async def _answers(self, argv: list[str], run: Run, *, must: bool) -> list[tuple[str, str]]:
        # As in `env git -C elsewhere status`. Of `ls ./git` no word is taken for git's.
        run_inside = (each for each in inside(tuple(argv)) if each is not None and not isinstance(each, str))
        about = next((each for each in (argv, *run_inside) if git.is_git(each)), ())
        transport = git.transport(about or argv)
        # What is asked with must not be the folder's, unless all is (in `/`), or the command runs that one anyway.
        path = installed_path(self.path, self._folder) or self.path
        if about and shutil.which("git", path=path) is None:
            path = self.path
        if (program := shutil.which("git", path=path)) is None:
            return transport
        env = {**self._environment, **git.WHILE_ASKING, "PATH": path}

        async def listed(question: list[str], *, must: bool) -> str:
            told = await run(question, env=env, timeout=git.SECONDS, output_limit=git.MOST_BYTES)
            if told.blocked:
                raise ToolError(told.reason)
            if told.timed_out or told.truncated or told.exit_code == git.NO_FILE:
                raise ToolError("what this repository sets could not be read. Nothing was run")
            if told.exit_code and must:
                raise GitFailed(told)
            return told.stdout

        said = await listed(git.question(about, program), must=must)
        found, places = git.heard(said)
        inner, _ = git.heard(await listed(git.inner_question(places, program), must=False)) if places else ([], [])
        if not found:
            return transport
        git.check_hooks(about or argv, [found[0], *([] if about else inner)])
        return [*transport, *git.answers(found[0], inner)]


def _is_plain(argv: list[str]) -> bool:
    """Whether it runs no other program, so that a word that has to do with git is just a word: `ls ./git`."""
    return reach(tuple(argv)) is None
