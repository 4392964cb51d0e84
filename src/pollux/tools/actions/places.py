"""Where the files of a plugin are: inside of its folder, by whatever name they are asked for."""

from pathlib import Path, PurePosixPath
from typing import Final

MANIFEST: Final = "plugin.yaml"
ACTION: Final = ".jay-action"
CONTRACT: Final = ".jay-contract"
_BUILT: Final = ("lib", "dist")
"""Where a published plugin keeps what its manifest names without a folder."""
_HIGHEST: Final = 8


def objection_to(name: str, suffix: str) -> str:
    """What is wrong with the name of a file in a manifest; nothing if it can be one."""
    path = PurePosixPath(name)
    if not name.endswith(suffix) or path.name == suffix:
        return f"expected a file that ends in {suffix}"
    if path.is_absolute() or "\\" in name or not name.isprintable():
        return "expected a path inside of the plugin's folder, with / between its parts"
    return ""


def find_file(folder: Path, name: str) -> Path | None:
    """A file of a plugin, as its manifest names it; None where there is none inside of the folder."""
    bases = [folder] if name.startswith(".") else [folder, *(folder / each for each in _BUILT)]
    return _first(folder, [base / name for base in bases])


def find_contract(action: Path, name: str) -> Path | None:
    """A contract as an action's file names it: beside that file, or further up in the plugin."""
    folder = action.parent
    root = plugin_root(folder)
    bases = [folder]
    while bases[-1] != root:
        bases.append(bases[-1].parent)
    found = [inner for base in bases for inner in (base / name, base / "contracts" / name, base / "lib" / name)]
    return _first(root, found)


def plugin_root(folder: Path) -> Path:
    """The folder of the plugin that a folder belongs to; itself where there is no plugin."""
    for base in [folder, *folder.absolute().parents[:_HIGHEST]]:
        if (base / MANIFEST).is_file():
            return base
    return folder


def is_inside(folder: Path, path: Path) -> bool:
    """Whether a path leads into the folder, links followed."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):
        # A link that leads to itself.
        return False


def _first(folder: Path, paths: list[Path]) -> Path | None:
    return next((path for path in paths if is_inside(folder, path) and path.is_file()), None)
