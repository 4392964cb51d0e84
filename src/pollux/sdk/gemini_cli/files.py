"""Where Gemini CLI keeps its sessions. Only ever looked at.

A project has a short name, written down in `projects.json` and in the marker of its directory; before there were short
names, the directory was called by the SHA-256 of the project's path.
"""

import hashlib
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, cast

from pollux.core.messages import JSON
from pollux.sdk.gemini_cli.lines import parse

logger = logging.getLogger(__name__)

_LARGEST: Final = 4 << 20


def gemini_session_files(cwd: Path, *, home: Path | None = None, every: bool = False) -> list[Path]:
    """The session files of the project at `cwd`, or of every project, the newest first.

    `home` is where `.gemini` lies; otherwise GEMINI_CLI_HOME says so, or else it is the user's own.
    """
    gemini = (home or _home()) / ".gemini"
    projects = {os.path.abspath(cwd), os.path.realpath(cwd)}
    names = {hashlib.sha256(os.fsencode(project)).hexdigest() for project in projects}
    names |= {name for project, name in _short_names(gemini).items() if project in projects}
    places = [place for place in _listed(gemini / "tmp") if every or _is_of(place, projects, names)]
    dated = [(_changed(path), path.name, path) for place in places for path in _sessions(place / "chats")]
    return [path for _, _, path in sorted(dated, reverse=True)]


def _home() -> Path:
    return Path(os.environ.get("GEMINI_CLI_HOME") or os.path.expanduser("~"))


def _is_of(place: Path, projects: set[str], names: set[str]) -> bool:
    # The marker is the better witness: the list may be out of date, and the name another project's by now.
    owner = _start_of(place / ".project_root").decode(errors="replace").strip()
    return owner in projects if owner else place.name in names


def _short_names(gemini: Path) -> dict[str, str]:
    content = _start_of(gemini / "projects.json")
    try:
        document: JSON = parse(content) if content else None
    except ValueError:
        logger.warning("Gemini CLI's list of projects cannot be read; sessions may be missing")
        return {}
    match document:
        case {"projects": dict()}:
            named = cast("dict[str, JSON]", document["projects"])
            return {project: name for project, name in named.items() if isinstance(name, str)}
        case _:
            return {}


def _sessions(chats: Path) -> Iterator[Path]:
    names = {path.name for path in _listed(chats)}
    for name in names:
        # An old file that was gone on with lies beside its successor, which has all of it.
        is_old = name.endswith(".json") and f"{name}l" not in names
        if name.startswith("session-") and (is_old or name.endswith(".jsonl")) and (chats / name).is_file():
            yield chats / name


def _listed(directory: Path) -> list[Path]:
    try:
        return list(directory.iterdir())
    except OSError:
        return []


def _start_of(path: Path) -> bytes:
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(_LARGEST)
    except OSError:
        return b""


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
