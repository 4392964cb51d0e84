"""What `pollux doctor` looks at. Each check is one sentence with a status, and what to do where it is not ok.

Looking changes nothing: no store, key or folder is made that was not there.
"""

import os
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from pollux.config import ConfigError, ModelRef, Settings, explain_missing, load_project
from pollux.core.errors import PolluxError
from pollux.core.frozen import frozen
from pollux.engine import deprecated

Status = Literal["ok", "warning", "error"]

OLDEST_PYTHON: Final = (3, 11)
MOST_DETAILS: Final = 50
KEYS: Final = {"gemini": "gemini_api_key", "anthropic": "anthropic_api_key", "openai": "openai_api_key"}


@frozen
class Check:
    """One thing that was looked at."""

    name: str
    status: Status
    message: str
    advice: str = ""
    details: tuple[str, ...] = ()


def python() -> Check:
    """The interpreter."""
    version = ".".join(str(number) for number in sys.version_info[:3])
    if sys.version_info < OLDEST_PYTHON:
        return Check("python", "error", f"Python {version} is too old", "Install Python 3.11 or newer")
    return Check("python", "ok", f"Python {version} on {sys.platform}")


def sqlite(version: tuple[int, int, int] = sqlite3.sqlite_version_info) -> Check:
    """The library that keeps the store, and whether it has the fault that two checkpoints at once can lose commits."""
    said = f"SQLite {'.'.join(str(number) for number in version)}"
    if version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51, 0) or (3, 44, 6) <= version < (3, 45, 0):
        return Check("sqlite", "ok", said)
    return Check(
        "sqlite",
        "warning",
        f"{said} can lose commits when two processes empty its log at once. Pollux never does; other programs might",
        "Let only Pollux write its store, or use a Python with SQLite 3.51.3 or newer",
    )


def parts() -> Check:
    """The packages that Pollux needs, and the optional ones."""
    from importlib import metadata

    try:
        wanted = metadata.requires("pollux") or []
    except metadata.PackageNotFoundError:
        return Check("parts", "warning", "Pollux runs from a folder and is not installed", "Install it with pip")
    missing = [name for name, extra in map(_requirement, wanted) if not extra and not _is_installed(name)]
    if missing:
        return Check("parts", "error", f"{', '.join(missing)} must be installed", "Install Pollux again with pip")
    lacking = [(name, extra) for name, extra in map(_requirement, wanted) if extra and not _is_installed(name)]
    extras = sorted({extra for _, extra in lacking if extra != "all"})
    absent = tuple(f"{extra} is not installed: pip install 'pollux[{extra}]'" for extra in extras)
    return Check("parts", "ok", "all that is needed is installed", details=absent)


def _requirement(line: str) -> tuple[str, str]:
    """The package that a line of the metadata names, and the extra that asks for it."""
    import re

    name = re.match(r"[A-Za-z0-9._-]+", line)
    extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)", line)
    return (name[0] if name else line), (extra[1] if extra else "")


def _is_installed(name: str) -> bool:
    from importlib import metadata

    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def config(settings: Settings) -> Check:
    """The files that were read, and what they say in vain."""
    own, project = settings.config_file, settings.project_file
    places = [
        *([own.path] if own else []),
        *([project.path] if project else []),
        *(place for place in _of_folder(settings) if place.is_file()),
    ]
    said = f"read {', '.join(str(place) for place in places)}" if places else "there is no configuration file"
    try:
        left_out = load_project(settings).left_out
    except ConfigError as problem:
        return Check("config", "error", str(problem), "Correct the file, or move it away")
    ignored = (*settings.ignored, *(f"{part.part} is left out: {part.reason}" for part in left_out))
    if not ignored and (old := deprecated.said()):
        return Check("config", "warning", f"{said}; something in it is deprecated", "Run what is named", old)
    ignored += deprecated.said()
    if ignored:
        advice = "Put what you want to count into your own configuration file or the environment"
        more = (f"and {len(ignored) - MOST_DETAILS:,} more",) if len(ignored) > MOST_DETAILS else ()
        return Check("config", "warning", f"{said}; not all of it counts", advice, ignored[:MOST_DETAILS] + more)
    return Check("config", "ok", said)


def access(settings: Settings, store: object) -> Check:
    """Whether others on this machine can change what speaks for the person, or read a secret."""
    from pollux.engine.exposure import exposures

    home = settings.home
    files = [*([settings.config_file.path] if settings.config_file else []), *settings.keyed]
    files += [home, home / "trusted.json", home / "trust.json"]
    if isinstance(store, Path):
        files += [store.with_name(store.name + beside) for beside in ("", "-wal", "-shm")]
    secrets = [home / "token", home / "audit.key", *sorted(home.glob("seal.key*"))] if home.is_dir() else []
    found = [each for path in files for each in exposures(path)]
    found += [each for path in secrets for each in exposures(path, is_secret=True)]
    # What gives neither keys nor rights is worth a word.
    plain = [*([settings.project_file.path] if settings.project_file else []), *_of_folder(settings)]
    found += [replace(each, is_grave=False) for path in plain for each in exposures(path) if each not in found]
    # The folders above are on the way to every file in them.
    listed = {f"{each.what}: {each.then}": each.is_grave for each in reversed(found)}
    if not listed:
        return Check("access", "ok", "nobody else can change the files that Pollux goes by")
    if any(listed.values()):
        message, advice = "others can change or read files that Pollux goes by", "Run what is named with each of them"
        return Check("access", "error", message, advice, tuple(sorted(listed, key=lambda text: not listed[text])))
    advice = "Run what is named with each of them, unless it is meant so"
    return Check("access", "warning", "others may be able to change or read some files", advice, tuple(listed))


def _of_folder(settings: Settings) -> list[Path]:
    return [Path(".env").absolute(), settings.workspace / "config" / ".gemini.yaml"]


def key(settings: Settings, ref: ModelRef) -> Check:
    """Whether there is a key for the model."""
    name = KEYS.get(ref.provider)
    if name is None:
        return Check("key", "ok", f"{ref.provider} needs no key")
    if getattr(settings, name) is not None:
        return Check("key", "ok", f"there is a key for {ref.provider}")
    if ref.base_url is not None:
        return Check("key", "ok", f"there is no key for {ref.base_url}, which may need none")
    # The first sentence says what is missing, the rest what to do.
    missing, _, advice = explain_missing(name).partition(". ")
    return Check("key", "error", missing, advice)


async def store(settings: Settings, path: Path) -> list[Check]:
    """Whether the store in this file opens, and its audit is whole."""
    if known := _unopened(path, settings.home / "audit.key"):
        return [known]
    return await opened(settings, is_open=Check("store", "ok", f"{path} opens"))


async def opened(settings: Settings, *, is_open: Check) -> list[Check]:
    """What to say of a store that opens, and whether its audit is whole."""
    from pollux.bootstrap import open_store

    try:
        opened = open_store(settings)
        await opened.open()
    except PolluxError as problem:
        return [Check("store", "error", str(problem))]
    try:
        if why := await opened.restored():
            advice = "See what could be repeated with `pollux store adopt --dry-run`, then run `pollux store adopt`"
            return [Check("store", "error", f"the store was restored or copied: {why}", advice)]
        report = await opened.verify_audit()
    except PolluxError as problem:
        return [is_open, Check("audit", "error", str(problem))]
    finally:
        await opened.close()
    if report.valid:
        return [is_open, Check("audit", "ok", f"{report.entries} entries, and the chain is whole")]
    advice = "Keep a copy of the store as it is, and find out who could write to it"
    return [is_open, Check("audit", "error", "the audit was tampered with", advice, report.problems)]


def _unopened(path: Path, key_file: Path) -> Check | None:
    """What can be said without opening it. Opening makes what is missing, also a key that fits no old store."""
    if os.path.isdir(path):
        return Check("store", "error", f"{path} is a folder", "Give the path of a file: POLLUX_STORE or --store")
    if os.path.exists(path):
        advice = "Put the key that the store was made with back in place"
        missing = Check("store", "error", f"{key_file} is missing, but {path} is there", advice)
        return None if os.path.exists(key_file) else missing
    nearest = next(folder for folder in path.absolute().parents if os.path.exists(folder))
    if nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK):
        return Check("store", "ok", f"{path} is not there yet; it is made when it is first needed")
    why = f"{path} cannot be made: {nearest} is not ours to write"
    return Check("store", "error", why, "Set POLLUX_HOME or --store")


async def sandbox(wanted: str = "auto") -> Check:
    """Whether commands can be run in a sandbox, as the settings want it."""
    from pollux.tools.shell.sandbox import unavailable

    if wanted == "off":
        return Check("sandbox", "warning", "commands run without a sandbox: it is off", "Remove POLLUX_SANDBOX=off")
    why_not = await unavailable()
    if why_not is None:
        return Check("sandbox", "ok", "commands run inside bubblewrap")
    advice = "Install bubblewrap (the package is called `bubblewrap`), and allow user namespaces"
    if wanted == "required":
        return Check("sandbox", "error", f"commands do not run: a sandbox is required, but {why_not}", advice)
    return Check("sandbox", "warning", f"commands run without a sandbox: {why_not}", advice)


def alone() -> Iterator[Check]:
    """What can be looked at without any settings."""
    yield from (python(), sqlite(), parts())
