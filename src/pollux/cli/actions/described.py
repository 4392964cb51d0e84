"""`pollux actions check`, `types` and `index`: the actions that plugins describe.

Standard output is data: findings, files that were written, or what would be. The rest is said on standard error.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pollux.cli.shown import shown
from pollux.cli.streams import complain
from pollux.core.errors import ValidationError
from pollux.engine.untrusted import read_file
from pollux.tools.actions.checking import Finding, check_plugin
from pollux.tools.actions.documents import FileError
from pollux.tools.actions.folders import action_files, plugin_folders
from pollux.tools.actions.handlers import Handler
from pollux.tools.actions.index import index_of
from pollux.tools.actions.metadata import ActionFile, read_action
from pollux.tools.actions.places import MANIFEST, plugin_root
from pollux.tools.actions.plugins import Plugin, read_plugin
from pollux.tools.actions.python_types import HEAD, python_name_of, python_of
from pollux.tools.actions.registered import handlers_at, registered_handlers
from pollux.tools.actions.typescript import typescript_of


def check(arguments: argparse.Namespace) -> int:
    """Look through plugins; the result is the exit code."""
    folders = _folders(arguments)
    more = [handler for target in arguments.use for handler in handlers_at(target)]
    findings: list[Finding] = []
    for folder in plugin_folders(folders):
        findings += _checked(folder, more)
    findings += _loose(folders)
    for finding in sorted({_near(each) for each in findings}, key=lambda each: (str(each.path), each.line, each.text)):
        _print(str(finding))
    is_wrong = any(finding.kind == "error" for finding in findings)
    if not is_wrong:
        complain("nothing is wrong with the actions here")
    return 1 if is_wrong else 0


def types(arguments: argparse.Namespace) -> int:
    """Write the types of every described action; the result is the exit code."""
    code, made = 0, list[tuple[Path, str]]()
    for path in action_files(_folders(arguments)):
        try:
            made.append(_types_of(read_action(path), as_python=arguments.python))
        except FileError as problem:
            complain(str(problem))
            code = 1
    if arguments.stdout:
        mark = "#" if arguments.python else "//"
        for path, text in made:
            sys.stdout.write(f"{mark} {shown(str(path))}\n{text}\n" if len(made) > 1 else text)
        return code
    for path, text in made:
        if arguments.python and _is_foreign(path):
            complain(f"{path} is there already and is none of ours: it stays as it is. Rename it, or the action's file")
            code = 1
        elif _write(path, text):
            _print(str(path))
    return code


def index(arguments: argparse.Namespace) -> int:
    """Write the index of plugins; the result is the exit code."""
    plugins = [read_plugin(folder) for folder in plugin_folders(_folders(arguments))]
    text = index_of(plugins, root=Path.cwd())
    if arguments.stdout:
        sys.stdout.write(text)
        return 0
    output = Path(arguments.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    if _write(output, text):
        _print(str(output))
    return 0


def _checked(folder: Path, more: list[Handler[..., Any]]) -> list[Finding]:
    try:
        plugin = read_plugin(folder)
    except FileError as problem:
        return [Finding(problem.path, problem.line, problem.reason)]
    try:
        own = handlers_at(plugin.python) if plugin.python else []
        names = {entry.name for entry in plugin.actions} - {handler.name for handler in (*own, *more)}
        offered = registered_handlers({}, wanted=names)
    except ValidationError as problem:
        return [Finding(plugin.manifest, 1, str(problem))]
    return check_plugin(plugin, [*own, *more, *offered])


def _loose(folders: list[Path]) -> Iterator[Finding]:
    """Files that no manifest lists: they may be broken, and nobody would notice."""
    for path in action_files(folders):
        try:
            read_action(path)
            root = plugin_root(path.parent)
            if (root / MANIFEST).is_file() and not _is_listed(path, read_plugin(root)):
                yield Finding(path, 1, f"{root / MANIFEST} does not list it", "note")
        except FileError as problem:
            yield Finding(problem.path, problem.line, problem.reason)


def _is_listed(path: Path, plugin: Plugin) -> bool:
    return any(entry.action is not None and Path(entry.action).name == path.name for entry in plugin.actions)


def _types_of(action: ActionFile, *, as_python: bool) -> tuple[Path, str]:
    if as_python:
        return action.path.with_name(python_name_of(action)), python_of(action)
    return action.path.with_name(f"{action.path.name}.d.ts"), typescript_of(action)


def _is_foreign(path: Path) -> bool:
    written = read_file(path, most=len(HEAD) + 3)
    return path.exists() if written is None else not written.startswith(f'"""{HEAD}'.encode())


def _write(path: Path, text: str) -> bool:
    """Whether there was anything to change. Nobody ever sees half of a file, and a link is not followed."""
    import tempfile

    if not path.is_symlink() and path.is_file() and path.read_bytes() == text.encode():
        return False
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(number, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    return True


def _folders(arguments: argparse.Namespace) -> list[Path]:
    folders = [Path(folder) for folder in arguments.folders]
    for folder in folders:
        if not folder.exists():
            raise ValidationError(f"expected a folder or a .jay-action file, found no {folder}", code="usage")
    return folders


def _near(finding: Finding) -> Finding:
    """The same, its file as seen from here."""
    here = Path.cwd()
    if not finding.path.is_absolute() or not finding.path.is_relative_to(here):
        return finding
    return Finding(finding.path.relative_to(here), finding.line, finding.text, finding.kind)


def _print(text: str) -> None:
    sys.stdout.write(f"{shown(text, lines=False)}\n")
