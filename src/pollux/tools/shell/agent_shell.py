"""Commands on behalf of an agent: judged first, then run as a process tree of which nothing survives.

A command that is one simple command of literal words runs by its argv, without a shell: what was judged is what runs.
Everything else goes to bash, with a person's leave or under a policy that allows it whole.
"""

import os
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, cast

from pollux.core.errors import ToolError, ValidationError
from pollux.core.policy import Decision
from pollux.tools.shell.parse import Simple, parse
from pollux.tools.shell.process import CANNOT_RUN, ShellResult
from pollux.tools.shell.sandbox import Box, Sandbox, run_boxed
from pollux.tools.shell.surroundings import GitFailed, Surroundings

OUTPUT_LIMIT: Final = 1_000_000
TIMEOUT: Final = 120.0

Command = str | Sequence[str]
Judge = Callable[[Command], Awaitable[Decision]]
"""The policy's word on a command: anything but "allow" blocks it."""


class Runner:
    """Runs commands in one directory that were decided on before. The places are those of a `Box`."""

    def __init__(
        self,
        cwd: Path,
        *,
        sandbox: Sandbox = "auto",
        hidden: Sequence[Path] = (),
        kept: Sequence[Path] = (),
        stores: Sequence[Path] = (),
        reserved: Sequence[str] = (),
        endings: Sequence[str] = (),
        records: Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.cwd = cwd
        self._sandbox: Sandbox = sandbox
        self._box = partial(
            Box,
            cwd,
            hidden=tuple(hidden),
            kept=tuple(kept),
            stores=tuple(stores),
            reserved=tuple(reserved),
            endings=tuple(endings),
            **({} if records is None else {"records": records}),
        )
        self._environ = environ

    @property
    def requires_sandbox(self) -> bool:
        """Whether nothing runs here without one."""
        return self._sandbox == "required"

    def is_installed(self, name: str) -> bool:
        """Whether the program of this name is one that no command here can have put there."""
        return self._around({}).is_installed(name)

    async def run(
        self,
        command: Command,
        *,
        env: Mapping[str, str] | None = None,
        timeout: float | None = TIMEOUT,
        output_limit: int = OUTPUT_LIMIT,
        network: bool = False,
    ) -> ShellResult:
        """Run a command line, or an argv. What goes wrong with it is a result."""
        run = partial(run_boxed, sandbox=self._sandbox, cwd=self.cwd)
        try:
            ready = await self._around(env or {}).ready(argv_of(command), partial(run, box=self._box(writable=False)))
        except GitFailed as problem:
            return problem.result
        except ToolError as problem:
            return blocked(str(problem))
        box = self._box(network=network)
        return await run(ready.argv, box=box, env=ready.env, timeout=timeout, output_limit=output_limit)

    def _around(self, named: Mapping[str, str]) -> Surroundings:
        return Surroundings(self.cwd, named, os.environ if self._environ is None else self._environ)


class AgentShell:
    """The shell that a tool is given. There is no way around its judge."""

    def __init__(self, runner: Runner, judge: Judge) -> None:
        self._runner = runner
        self._judge = judge

    async def exec(
        self,
        command: Command,
        *,
        env: Mapping[str, str] | None = None,
        timeout: float | None = TIMEOUT,
        output_limit: int = OUTPUT_LIMIT,
        network: bool = False,
    ) -> ShellResult:
        """Run a command line, or an argv, if the policy allows it; blocked, the exit code is 126 and the reason said.

        The command sees no more of the environment than it needs to run, and what `env` names. Inside a sandbox there
        is no network unless it is asked for. Raises ValidationError for what is no command.
        """
        argv_of(command)
        _check(timeout, output_limit, env)
        decision = await self._judge(command)
        if decision.mode != "allow":
            return blocked(decision.reason)
        return await self._runner.run(command, env=env, timeout=timeout, output_limit=output_limit, network=network)


def _check(timeout: object, output_limit: object, env: object) -> None:
    if timeout is not None and (not isinstance(timeout, int | float) or isinstance(timeout, bool) or not timeout > 0):
        raise ValidationError(f"timeout must be a number of seconds above 0, or None, found {timeout!r}")
    if not isinstance(output_limit, int) or output_limit < 1:
        raise ValidationError(f"output_limit must be a number of bytes above 0, found {output_limit!r}")
    named = cast("Mapping[object, object]", env) if isinstance(env, Mapping) else {} if env is None else {0: 0}
    if not all(isinstance(name, str) and isinstance(value, str) for name, value in named.items()):
        raise ValidationError("env must be texts by name")


def argv_of(command: Command) -> list[str]:
    """The program and its arguments: the words of a simple command, or bash with the whole text.

    Raises ValidationError for what is no command.
    """
    if isinstance(command, str):
        if not command.strip():
            raise ValidationError("expected a command, found an empty text")
        parsed = parse(command)
        return list(parsed.argv) if isinstance(parsed, Simple) else ["bash", "-c", command]
    words = list(cast("Sequence[object]", command)) if isinstance(cast("object", command), Sequence) else []
    if not words or not all(isinstance(word, str) for word in words) or not words[0]:
        raise ValidationError("expected a command line, or a list of texts that begins with a program")
    return cast("list[str]", words)


def written(command: Command) -> str:
    """The command as one line, as people and rules see it."""
    return command if isinstance(command, str) else shlex.join(command)


def blocked(reason: str) -> ShellResult:
    """What a command comes to that may not run."""
    return ShellResult(CANNOT_RUN, "", f"blocked: {reason}", blocked=True, reason=reason)
