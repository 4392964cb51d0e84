"""What `pollux doctor` looks at. Each check is one sentence with a status, and what to do where it is not ok.

Looking changes nothing: no store, key or folder is made that was not there.
"""

import os
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

from pollux.config import ConfigError, ModelRef, Settings, explain_missing, load_project
from pollux.core.errors import PolluxError, ValidationError
from pollux.core.frozen import frozen
from pollux.engine import deprecated
from pollux.engine.sqlite_fault import CORRECTED, can_lose_commits

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
    if not can_lose_commits(version):
        return Check("sqlite", "ok", said)
    return Check(
        "sqlite",
        "warning",
        f"{said} can lose commits when two processes empty its log at once. Pollux never does; other programs might",
        f"Let only Pollux write its store, or use a Python with SQLite {CORRECTED}",
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
        if any(part.is_pending for part in left_out):
            advice += ", or accept the file: pollux trust ."
        more = (f"and {len(ignored) - MOST_DETAILS:,} more",) if len(ignored) > MOST_DETAILS else ()
        return Check("config", "warning", f"{said}; not all of it counts", advice, ignored[:MOST_DETAILS] + more)
    return Check("config", "ok", said)


def access(settings: Settings, store: object) -> Check:
    """Whether others on this machine can change what speaks for the person, or read a secret."""
    from pollux.config.exposed import private_files
    from pollux.engine.exposure import exposures

    home = settings.home
    files = [*([settings.config_file.path] if settings.config_file else []), *settings.keyed]
    files += [home, home / "trusted.json", home / "trust.json"]
    files += [*sorted(home.glob("audit-heads*.jsonl")), *_plugin_files(settings)]
    secrets = [home / "token", home / "audit.key", *sorted(home.glob("seal.key*"))] if home.is_dir() else []
    found = [each for path in files for each in exposures(path)]
    found += [each for path in private_files(settings) for each in exposures(path, is_private=True)]
    found += [each for path in secrets for each in exposures(path, is_secret=True)]
    # What gives neither keys nor rights is worth a word: whoever holds the lock of the store keeps others waiting.
    plain = [store.with_name(f"{store.name}.lock")] if isinstance(store, Path) else []
    plain += [*([settings.project_file.path] if settings.project_file else []), *_of_folder(settings)]
    found += [replace(each, is_grave=False) for path in plain for each in exposures(path) if each not in found]
    # The folders above are on the way to every file in them.
    listed = {f"{each.what}: {each.then}": each.is_grave for each in reversed(found)}
    if not listed:
        return Check("access", "ok", "no other account can change the files that Pollux uses, or read its secrets")
    if any(listed.values()):
        message, advice = "others can change or read files that Pollux uses", "Run what is named with each of them"
        return Check("access", "error", message, advice, tuple(sorted(listed, key=lambda text: not listed[text])))
    advice = "Run what is named with each of them, unless it is meant so"
    return Check("access", "warning", "others may be able to change or read some files", advice, tuple(listed))


def _plugin_files(settings: Settings) -> list[Path]:
    """What says which of the site's code pages may call."""
    from pollux.tools.actions.folders import plugin_files

    try:
        return plugin_files(load_project(settings).rights.page_plugins)
    except ConfigError:
        # Another check says so.
        return []


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


def tools(settings: Settings) -> list[Check]:
    """Whether the tools and actions that the configuration brings can be loaded, and which of them act unasked."""
    from pollux.config.profiles import tools_named
    from pollux.engine.definitions import is_unasked
    from pollux.service import registry_of
    from pollux.tools.actions import action_tools
    from pollux.tools.registered import registered_tools

    try:
        rights = load_project(settings).rights
        if not (rights.tools or rights.actions or rights.page_plugins):
            return []
        brought = {**registered_tools(rights.tools, wanted=tools_named(rights)), **action_tools(registry_of(rights))}
    except (ConfigError, ValidationError) as problem:
        return [Check("tools", "error", str(problem), "Correct the configuration or the code that it names")]
    unasked = tuple(sorted(name for name, tool in brought.items() if is_unasked(tool.spec)))
    if not unasked:
        return [Check("tools", "ok", f"{len(brought)} tools and actions can be loaded")]
    advice = "Remove default_approval from these tools, or add a rule that asks, unless it is meant so"
    return [Check("tools", "warning", "tools with a side effect run without approval", advice, unasked)]


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
            return [Check("store", "error", f"the store may have been restored or copied: {why}", advice)]
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
    if os.path.exists(path) and not os.path.isfile(path):
        return Check("store", "error", f"{path} is not a regular file", "Set POLLUX_STORE or --store to one")
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


CHECKOUT: Final = Path(__file__).parents[4]
"""Where the repository is, if Pollux runs from one."""


def modules(root: Path = CHECKOUT) -> Check | None:
    """In a checkout, whether modules.yaml says of every provider what is so. None where there is no such file."""
    import yaml

    from pollux.config import ProviderName
    from pollux.engine.untrusted import load_yaml

    file = root / "modules.yaml"
    if not file.is_file() or not (root / "src" / "pollux").is_dir():
        return None
    try:
        document: Any = load_yaml(file.read_text(encoding="utf-8"), loader=yaml.SafeLoader)
        listed = {str(entry["name"]): entry for entry in document["providers"]}
        drift = [f"{name} is not in modules.yaml" for name in get_args(ProviderName) if name not in listed]
        drift += [
            f"{name} is in modules.yaml, but is no provider" for name in listed.keys() - {*get_args(ProviderName)}
        ]
        for name, entry in listed.items():
            drift += _drift(root, name, entry)
    except (yaml.YAMLError, ValueError, KeyError, TypeError, OSError) as problem:
        return Check("modules", "error", f"{file} cannot be used ({type(problem).__name__})", "Correct it")
    if drift:
        advice = "Bring modules.yaml, the provider and its page together"
        return Check("modules", "error", "modules.yaml and the providers differ", advice, tuple(drift))
    return Check("modules", "ok", f"modules.yaml and the {len(listed)} providers agree")


def _drift(root: Path, name: str, entry: Any) -> Iterator[str]:
    """Files of a provider that are missing, and what its page does not say."""
    for part in ("source", "docs", "conformance"):
        if not (root / str(entry[part]).partition("::")[0]).is_file():
            yield f"{name}: {part} is not there: {entry[part]}"
    page = root / str(entry["docs"])
    said = page.read_text(encoding="utf-8") if page.is_file() else ""
    for word in (*entry["models"], *entry["env"]) if said else ():
        if f"`{word}`" not in said:
            yield f"{name}: {entry['docs']} does not name {word}"


def alone() -> Iterator[Check]:
    """What can be looked at without any settings."""
    yield from (python(), sqlite(), parts())
    if (found := modules()) is not None:
        yield found
