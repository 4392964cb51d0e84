"""What an agent may ask of us, and in which words. Whoever has an agent talk implements `Client`."""

from collections.abc import Mapping
from typing import Final, Literal, Protocol

from pollux.acp.updates import Content, ToolKind, Update
from pollux.core.frozen import frozen
from pollux.core.messages import JSON

Decision = Literal["allow_once", "allow_always", "reject_once", "cancelled"]
OptionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]

# The decision's own kind first, then what comes near and allows no more than was allowed.
_CHOICES: Final[Mapping[Decision, tuple[OptionKind, ...]]] = {
    "allow_always": ("allow_always", "allow_once", "reject_once", "reject_always"),
    "allow_once": ("allow_once", "reject_once", "reject_always"),
    "reject_once": ("reject_once", "reject_always"),
    "cancelled": (),
}


@frozen
class Capabilities:
    """What the agent is told that it may ask for. What was not granted is refused as if it did not exist."""

    read_files: bool = False
    write_files: bool = False
    terminal: bool = False


@frozen(kw_only=True)
class PermissionRequest:
    """A tool call that the agent asks about, with everything it ever told of it. `options` are the kinds on offer."""

    tool_call_id: str
    title: str
    kind: ToolKind
    raw_input: JSON
    locations: tuple[str, ...]
    content: tuple[Content, ...]
    options: tuple[OptionKind, ...]


@frozen
class TerminalExit:
    """How a command ended: with a code, or by a signal's name."""

    code: int | None = None
    signal: str | None = None


@frozen
class TerminalOutput:
    """What a command has put out so far. `exit` is None while it runs."""

    text: str
    is_truncated: bool = False
    exit: TerminalExit | None = None


class Terminal(Protocol):
    """A command that runs for the agent. Released at the end of the conversation, if not before."""

    async def output(self) -> TerminalOutput: ...

    async def wait(self) -> TerminalExit: ...

    async def kill(self) -> None: ...

    async def release(self) -> None: ...


class Client(Protocol):
    """Whoever decides and acts for the agent.

    From the files and terminals, OSError, ValidationError, PolicyError, ToolExecutionError and NotFound are told to the
    agent. Whatever else is raised here ends the conversation and is raised by it. A request that nobody waits for any
    more is cancelled.
    """

    async def permission(self, request: PermissionRequest) -> Decision: ...

    async def read_text_file(self, path: str, line: int | None, limit: int | None) -> str: ...

    async def write_text_file(self, path: str, content: str) -> None: ...

    async def terminal(
        self,
        command: str,
        args: tuple[str, ...],
        env: Mapping[str, str],
        cwd: str | None,
        output_byte_limit: int | None,
    ) -> Terminal: ...

    async def update(self, update: Update) -> None: ...


def chosen(decision: Decision, options: Mapping[OptionKind, str]) -> str | None:
    """The id of the option that says what was decided. None stands for `cancelled`: nothing on offer comes near."""
    return next((options[kind] for kind in _CHOICES[decision] if kind in options), None)
