"""The tools of an agent, from everything an author may put into `tools=`, bound to the session they work in."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from typing import Any, cast

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.core.tools import Reconciled, Tool, ToolContext, ToolSpec
from pollux.sdk.context import SessionContext, Widen
from pollux.tools.around import Around
from pollux.tools.files.root import Root
from pollux.tools.shell.agent_shell import TIMEOUT, Runner


@frozen
class Workspace:
    """What tool sets are made for: one directory, and commands run in it."""

    root: Root
    runner: Runner


@frozen
class ToolSet:
    """Tools that depend on the agent's directory: made when the agent is."""

    name: str
    make: Callable[..., Iterable[Tool]]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __call__(self, **options: Any) -> "ToolSet":
        """The same set with other options, as in `shell(network=True)`. Raises ValidationError for unknown ones."""
        known = {
            name for name, each in inspect.signature(self.make).parameters.items() if each.kind is each.KEYWORD_ONLY
        }
        for name in options.keys() - known:
            raise ValidationError(
                f"the set {self.name!r} has no option {name!r}. It has: {', '.join(sorted(known)) or 'none'}"
            )
        return replace(self, options={**self.options, **options})


def _files(workspace: Workspace) -> Iterable[Tool]:
    from pollux.tools.files.toolset import file_tools

    return file_tools(workspace.root)


def _shell(workspace: Workspace, *, timeout: float = TIMEOUT, network: bool = False) -> Iterable[Tool]:
    from pollux.tools.shell.toolset import shell_tool

    return [shell_tool(workspace.runner, timeout=timeout, network=network)]


files = ToolSet("files", _files)
"""read_file, write_file, replace, list_directory, glob and search beneath the agent's directory."""

shell = ToolSet("shell", _shell)
"""Commands in the agent's directory; each one asks first unless a rule allows it. Options: timeout, network."""

SETS = {"files": files, "shell": shell}


def collect(given: object, workspace: Workspace) -> list[Tool]:
    """Every tool, in order. Raises ValidationError for what is none."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValidationError(f"expected a list of tools, found {type(given).__name__}. Write tools=[…]")
    made: list[Tool] = []
    for item in cast("Iterable[object]", given):
        made += _tools_of(item, workspace)
    return made


def _tools_of(item: object, workspace: Workspace) -> Iterable[Tool]:
    if isinstance(item, str):
        if item not in SETS:
            raise ValidationError(f"there is no tool set {item!r}. The sets are: {', '.join(SETS)}")
        item = SETS[item]
    if isinstance(item, ToolSet):
        return item.make(workspace, **item.options)
    if isinstance(getattr(item, "spec", None), ToolSpec):
        return [item]  # pyright: ignore[reportReturnType]
    if inspect.isroutine(item):
        from pollux.tools.typed.tools import tool

        return [tool(item)]
    from pollux.tools.definition import ToolDefinition, as_tool

    if isinstance(item, ToolDefinition):
        return [as_tool(item)]
    raise ValidationError(
        f"expected a function, a tool or a tool set, found {type(item).__name__}. Mark functions with @tool, or use"
        " define_tool"
    )


class Bound(Around):
    """A tool that is given its session's context, where it asks for one."""

    def __init__(self, inner: Tool, widen: Widen) -> None:
        super().__init__(inner)
        self._widen = widen

    async def run(self, context: ToolContext, args: dict[str, JSON]) -> Any:
        return await self._inner.run(await self._widen(context, self.spec.side_effect), args)

    async def reconcile(self, context: ToolContext, args: dict[str, JSON]) -> Reconciled:
        return await self._inner.reconcile(await self._widen(context, self.spec.side_effect), args)


def bind(found: Iterable[Tool], widen: Widen) -> list[Tool]:
    """The tools, those that want the session's context bound to it."""

    def wants(item: Tool) -> bool:
        wanted = getattr(item, "context_type", None)
        return isinstance(wanted, type) and issubclass(wanted, SessionContext)

    return [Bound(item, widen) if wants(item) else item for item in found]
