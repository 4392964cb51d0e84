"""Handlers by name: from the configuration's `[actions.NAME]` tables, from entry points, and from a plugin's module.

The law is that of tools: being installed widens nothing. An entry point is imported only when its name is wanted, and a
name has one source. What is imported is what Python finds by itself.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from importlib import import_module, metadata
from typing import Any, Final, cast

from pollux.core.errors import ValidationError
from pollux.tools.actions.handlers import Handler
from pollux.tools.actions.plugins import Plugin, described_actions
from pollux.tools.actions.registry import ActionRegistry

GROUP: Final = "pollux.actions"

Table = Mapping[str, Any]
EntryPoints = Callable[[], Iterable[metadata.EntryPoint]]


def installed() -> Iterable[metadata.EntryPoint]:
    """What the packages that are installed here offer. Nothing of theirs is imported."""
    return metadata.entry_points(group=GROUP)


def registered_handlers(
    tables: Mapping[str, Table], *, wanted: Collection[str] = (), entry_points: EntryPoints = installed
) -> list[Handler[..., Any]]:
    """The handlers of the `[actions.NAME]` tables, and of the `wanted` names those that a package offers.

    A wanted name that nobody offers is left out. Raises ValidationError with code `config`.
    """
    sources = {name: {_used(name, table)} for name, table in tables.items()}
    for point in _points({*wanted} | sources.keys(), entry_points):
        target = _checked(point.value.partition("[")[0], f"the entry point '{point.name}' (group {GROUP})")
        sources.setdefault(point.name, set()).add(target)
    handlers: list[Handler[..., Any]] = []
    for name, targets in sources.items():
        if len(targets) > 1:
            raise _mistake(f"action '{name}' has more than one source: {' and '.join(sorted(targets))}. Remove one")
        offered = {handler.name: handler for handler in handlers_at(*targets)}
        if name not in offered:
            names = ", ".join(sorted(offered)) or "none"
            raise _mistake(
                f"{min(targets)} holds no action called '{name}'; found: {names}. Both names must be the same"
            )
        handlers.append(offered[name])
    return handlers


def handlers_at(target: str) -> list[Handler[..., Any]]:
    """The handlers at `package.module`, all of them, or at `package.module:attribute`: one, or a list.

    Raises ValidationError with code `config`.
    """
    module_name, _, attribute = target.partition(":")
    try:
        found: object = import_module(module_name)
    except (Exception, SystemExit) as problem:
        raise _mistake(
            f"{target}: importing {module_name} failed ({type(problem).__name__}). Install its package where Pollux"
            f" runs, or put its folder on PYTHONPATH; `python -c 'import {module_name}'` shows why"
        ) from problem
    if not attribute:
        # Twice under two names is still one.
        every = [cast("Handler[..., Any]", each) for each in vars(found).values() if isinstance(each, Handler)]
        return list(dict.fromkeys(every))
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except Exception as problem:  # A module's own __getattr__ may raise anything.
            raise _mistake(f"{target}: there is no '{attribute}' ({type(problem).__name__})") from problem
    items = [*cast("Iterable[object]", found)] if isinstance(found, list | tuple) else [found]
    for item in items:
        if not isinstance(item, Handler):
            raise _mistake(f"{target}: expected an action or a list of them, found {type(item).__name__}. Use @action")
    return cast("list[Handler[..., Any]]", items)


def add_plugin(registry: ActionRegistry, plugin: Plugin, handlers: Iterable[Handler[..., Any]] | None = None) -> None:
    """Register a plugin's handlers, and describe those that it has files for.

    Without `handlers` they come from the module that the manifest names as `python`. Raises ValidationError.
    """
    if handlers is None:
        handlers = handlers_at(plugin.python) if plugin.python else ()
    known = list(handlers)
    for handler in known:
        registry.register(handler)
    for entry, file in described_actions(plugin):
        handler = handler_for(entry.name, known)
        if handler is not None:
            registry.set_metadata(handler.name, file.metadata)


def handler_for(name: str, handlers: Iterable[Handler[..., Any]]) -> Handler[..., Any] | None:
    """The handler that a manifest means: by its whole name, or by its last part, as in `cart.addToCart`."""
    known = list(handlers)
    exact = [handler for handler in known if handler.name == name]
    return next(iter(exact or [handler for handler in known if handler.name.endswith(f".{name}")]), None)


def _used(name: str, table: Table) -> str:
    where = f"[actions.{name}]"
    for key in table:
        if key != "use":
            raise _mistake(f"{where} holds '{key}', which means nothing there. Known: use")
    if "use" not in table:
        raise _mistake(f'{where} must say where the action is: use = "package.module:attribute"')
    return _checked(table["use"], f"use of {where}")


def _points(names: Collection[str], entry_points: EntryPoints) -> list[metadata.EntryPoint]:
    if not names:
        return []
    try:
        return [point for point in entry_points() if point.name in names]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as problem:
        raise _mistake(
            f"the entry points of the installed packages cannot be read ({type(problem).__name__}). Install the package"
            " with the broken entry_points.txt again"
        ) from problem


def _checked(value: object, where: str) -> str:
    if isinstance(value, str):
        module, _, attribute = (part.strip() for part in value.partition(":"))
        if all(name.isidentifier() for name in (*module.split("."), *attribute.split("."))):
            return f"{module}:{attribute}"
    raise _mistake(f'{where} must be "package.module:attribute", the place of an action in Python')


def _mistake(text: str) -> ValidationError:
    return ValidationError(text, code="config")
