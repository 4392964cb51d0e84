"""Tools by name, from the configuration's `[tools.NAME]` tables and from the entry points of installed packages.

The law: being installed widens nothing. An entry point is imported only when a profile names it, and a name has one
source. What is imported is what Python finds by itself; the folder of a configuration file is never searched.
"""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from importlib import import_module, metadata
from typing import Any, Final, cast

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.tools import Tool, ToolContext, ToolSpec
from pollux.tools.around import Around
from pollux.tools.definition import ToolDefinition, as_tool

GROUP: Final = "pollux.tools"
KEYS: Final = ("approval", "use")

Table = Mapping[str, Any]
EntryPoints = Callable[[], Iterable[metadata.EntryPoint]]


@frozen
class Source:
    """Where a tool is to be found: `module:attribute`, and who says so."""

    where: str
    target: str
    must_ask: bool = False


def installed() -> Iterable[metadata.EntryPoint]:
    """What the packages that are installed here offer. Nothing of theirs is imported."""
    return metadata.entry_points(group=GROUP)


def registered_tools(
    tables: Mapping[str, Table],
    *,
    wanted: Collection[str] = (),
    own: Collection[str] = (),
    entry_points: EntryPoints = installed,
) -> dict[str, Tool]:
    """The tools of the `[tools.NAME]` tables, and of the `wanted` names those that a package offers.

    Names of our `own` tools are never looked for, and may not be given to others. A wanted name that nobody offers is
    left out. Raises ValidationError with code `config`.
    """
    named = {name: _from_table(name, table, own) for name, table in tables.items()}
    offered = _from_packages({*wanted, *named} - {*own}, entry_points)
    tools: dict[str, Tool] = {}
    for name in [*named, *sorted(offered.keys() - named.keys())]:
        sources = [*([named[name]] if name in named else []), *offered.get(name, ())]
        tools[name] = _load(name, _only(name, sources))
    return tools


def _from_table(name: str, table: Table, own: Collection[str]) -> Source:
    where = f"[tools.{name}]"
    if name in own:
        raise _mistake(f"{where} takes the name of a tool that Pollux brings. Give yours another name")
    for key in table:
        if key not in KEYS:
            raise _mistake(f"{where} holds '{key}', which means nothing there. Known: {', '.join(KEYS)}")
    if "use" not in table:
        raise _mistake(f'{where} must say where the tool is: use = "package.module:attribute"')
    if table.get("approval", "required") != "required":
        raise _mistake(
            f'approval of {where} may only be "required", which makes the tool ask. To let it run without a question,'
            " write a rule that allows it"
        )
    return Source(f"use of {where}", _target(table["use"], f"use of {where}"), must_ask="approval" in table)


def _from_packages(names: Collection[str], entry_points: EntryPoints) -> dict[str, list[Source]]:
    if not names:
        return {}
    found: dict[str, list[Source]] = {}
    try:
        for point in entry_points():
            if point.name in names:
                package = point.dist.name if point.dist else "a package"
                where = f"the entry point '{point.name}' of {package} (group {GROUP})"
                # Extras in brackets are for installers.
                target = _target(point.value.partition("[")[0], where)
                found.setdefault(point.name, []).append(Source(where, target))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as problem:
        raise _mistake(
            f"the entry points of the installed packages cannot be read ({type(problem).__name__}). Install the package"
            " with the broken entry_points.txt again"
        ) from problem
    return found


def _only(name: str, sources: list[Source]) -> Source:
    """The one place. A package may offer what a table already points to: that is the same tool."""
    if len({source.target for source in sources}) > 1:
        places = " and ".join(f"{source.where} ({source.target})" for source in sources)
        raise _mistake(f"tool '{name}' has more than one source: {places}. Rename one, or remove it")
    return sources[0]


def _target(value: object, where: str) -> str:
    if isinstance(value, str):
        module, _, attribute = (part.strip() for part in value.partition(":"))
        if all(name.isidentifier() for name in (*module.split("."), *attribute.split("."))):
            return f"{module}:{attribute}"
    raise _mistake(f'{where} must be "package.module:attribute", the place of a tool in Python')


def _load(name: str, source: Source) -> Tool:
    found = _import(source)
    offered = _tools_of(found, source)
    if name not in offered:
        names = ", ".join(sorted(offered)) or "none"
        raise _mistake(
            f"{source.where} leads to {source.target}, where no tool is called '{name}'; found: {names}. The name here"
            " and the tool's own must be the same"
        )
    tool = offered[name]
    wanted = getattr(tool, "context_type", None)
    if isinstance(wanted, type) and not issubclass(ToolContext, wanted):
        raise _mistake(
            f"{source.where}: tool '{name}' asks for a {wanted.__name__}, which only an Agent gives. Ask for a"
            " ToolContext instead"
        )
    return Registered(tool, source.target, must_ask=source.must_ask)


def _import(source: Source) -> object:
    module_name, _, attribute = source.target.partition(":")
    try:
        module = import_module(module_name)
    except (Exception, SystemExit) as problem:
        raise _not_imported(source, module_name, problem) from problem
    found: object = module
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except Exception as problem:  # A module's own __getattr__ may raise anything.
            raise _mistake(
                f"{source.where}: module {module_name} has no '{attribute}' ({type(problem).__name__}). Write the name"
                " of a tool in that module"
            ) from problem
    return found


def _not_imported(source: Source, module: str, problem: BaseException) -> ValidationError:
    kind = type(problem).__name__
    # A module that is missing may also be one that theirs imports; that is another mistake.
    if isinstance(problem, ModuleNotFoundError) and problem.name and f"{module}.".startswith(f"{problem.name}."):
        return _mistake(
            f"{source.where}: Python finds no module {problem.name} ({kind}). Install its package where Pollux runs, or"
            " put its folder on PYTHONPATH; the configuration file's own folder is not searched"
        )
    return _mistake(f"{source.where}: importing {module} failed ({kind}). `python -c 'import {module}'` shows why")


def _tools_of(found: object, source: Source) -> dict[str, Tool]:
    items: Iterable[object] = cast("Iterable[object]", found) if isinstance(found, list | tuple) else [found]
    tools: dict[str, Tool] = {}
    for item in items:
        tool = _tool_of(item, source)
        if tool.spec.name in tools:
            raise _mistake(f"{source.where}: {source.target} holds two tools called '{tool.spec.name}'")
        tools[tool.spec.name] = tool
    return tools


def _tool_of(item: object, source: Source) -> Tool:
    if isinstance(item, ToolDefinition | Mapping):
        try:
            return as_tool(cast(object, item))
        except ValidationError as problem:
            raise _mistake(f"{source.where}: {problem}") from None
    if _is_tool(item):
        return cast(Tool, item)
    hint = "Mark the function with @tool" if inspect.isroutine(item) else "Make it with @tool or ToolDefinition"
    raise _mistake(
        f"{source.where}: expected {source.target} to be a tool, a ToolDefinition, a mapping in its form or a list of"
        f" these, found {type(item).__name__}. {hint}"
    )


def _is_tool(item: object) -> bool:
    if isinstance(item, type) or not isinstance(getattr(item, "spec", None), ToolSpec):
        return False
    return all(callable(getattr(item, verb, None)) for verb in ("prepare", "subjects", "preview", "run", "reconcile"))


def _mistake(text: str) -> ValidationError:
    # The code of configuration's own errors, whose class belongs to a layer beside this one.
    return ValidationError(text, code="config")


class Registered(Around):
    """A tool that was found under a name. That name is a part of it: another place is another tool.

    Where it `must_ask`, it asks a person where no rule speaks, whatever it says of itself.
    """

    def __init__(self, inner: Tool, target: str, *, must_ask: bool) -> None:
        super().__init__(inner)
        self._target = target
        if must_ask:
            self.spec = replace(inner.spec, default_approval="required")

    def functions(self) -> tuple[object, ...]:
        return self._target, *super().functions()
