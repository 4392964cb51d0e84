"""The index that coding agents read: every plugin with its contracts and described actions, as `plugins-index.yaml`."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from pollux.tools.actions.places import find_file
from pollux.tools.actions.plugins import Plugin, described_actions


def index_of(plugins: Iterable[Plugin], *, root: Path) -> str:
    """The index, with paths as seen from `root`. Plugins by name, the rest as in their manifests. Raises FileError."""
    import yaml

    ordered = sorted(plugins, key=lambda plugin: (plugin.name, str(plugin.folder)))
    document = {"plugins": [_entry(plugin, root) for plugin in ordered]}
    dump = cast("Any", yaml).safe_dump
    return cast(str, dump(document, sort_keys=False, allow_unicode=True, width=1_000))


def _entry(plugin: Plugin, root: Path) -> dict[str, Any]:
    contracts = [
        {"name": each.name, "type": "static", "path": _seen(found, root)}
        for each in plugin.contracts
        if (found := find_file(plugin.folder, each.contract)) is not None
    ]
    actions = [
        {"name": file.metadata.name, "description": file.metadata.description, "path": _seen(file.path, root)}
        for _, file in described_actions(plugin)
    ]
    entry: dict[str, Any] = {"name": plugin.name, "path": _seen(plugin.folder, root), "contracts": contracts}
    return {**entry, "actions": actions} if actions else entry


def _seen(path: Path, root: Path) -> str:
    relative = Path(os.path.relpath(path.absolute(), root.absolute())).as_posix()
    return relative if relative.startswith("../") else f"./{relative}" if relative != "." else "."
