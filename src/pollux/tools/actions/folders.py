"""Find plugins and described actions beneath a folder. What is hidden, installed or generated is passed over."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from pollux.engine.untrusted import walk
from pollux.tools.actions.places import ACTION, MANIFEST

_PASSED_OVER: Final = ("node_modules", "__pycache__", "dist")


def plugin_folders(folders: Iterable[Path]) -> list[Path]:
    """The folders with a manifest, each once."""
    found = (path.parent for path in _files(folders) if path.name == MANIFEST)
    return list(dict.fromkeys(found))


def action_files(folders: Iterable[Path]) -> list[Path]:
    """The files that describe an action, each once. One may also be named itself."""
    return list(dict.fromkeys(path for path in _files(folders) if path.name.endswith(ACTION)))


def plugin_files(folders: Iterable[Path]) -> list[Path]:
    """Plugins' folders, and the files in them that say which code pages may call, and how."""
    folders = list(folders)
    return [*folders, *(path for path in _files(folders) if path.name == MANIFEST or path.name.endswith(ACTION))]


def _files(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        if not folder.is_dir():
            yield folder
            continue
        for place, names in walk(folder, without=_PASSED_OVER):
            yield from (place / name for name in names)
