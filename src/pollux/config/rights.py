"""The sections of a configuration file that are about rights: tools, profiles, rules, limits and page origins.

Parsed strictly: a misspelt key in a rule could otherwise leave open what it was written to close.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast
from urllib.parse import urlsplit

from pollux.config.files import ConfigError, kind_of

if TYPE_CHECKING:
    from pollux.core.policy import Rule

Table = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rights:
    """What a file grants and forbids. `limits` bound every profile from above; profiles and tools are as written."""

    tools: Mapping[str, Table] = field(default_factory=dict[str, Table])
    profiles: Mapping[str, Table] = field(default_factory=dict[str, Table])
    rules: tuple["Rule", ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict[str, float])
    page_origins: tuple[str, ...] = ()


NO_RIGHTS: Final = Rights()


def parse_rights(table: Table, *, tier: Literal["user", "workspace"], path: Path) -> Rights:
    """The rights a file speaks of, its rules placed in the tier. Raises ConfigError."""
    return Rights(
        tools=_tables(table.get("tools", {}), where=f"[tools] in {path}"),
        profiles=_profiles(table.get("profiles", {}), path=path),
        rules=_rules(table.get("rules", []), tier=tier, path=path),
        limits=_limits(table.get("limits", {}), path=path),
        page_origins=_origins(table.get("page", {}), path=path),
    )


def _tables(value: object, *, where: str) -> dict[str, Table]:
    named = _table(value, where=where)
    return {name: _table(item, where=f"'{name}' of {where}") for name, item in named.items()}


def _profiles(value: object, *, path: Path) -> dict[str, Table]:
    from pollux.core.profile import Profile

    profiles = _tables(value, where=f"[profiles] in {path}")
    known = {item.name for item in fields(Profile)} - {"name"}
    for name, profile in profiles.items():
        _check_names(profile, known, where=f"[profiles.{name}] in {path}")
    return profiles


def _limits(value: object, *, path: Path) -> dict[str, float]:
    where = f"[limits] in {path}"
    limits = _table(value, where=where)
    _check_names(limits, ("model_calls", "tokens", "seconds", "approval_seconds", "page_seconds"), where=where)
    for name, bound in limits.items():
        is_number = isinstance(bound, int | float) and not isinstance(bound, bool)
        # Written so that NaN, which is not larger than anything, is refused too.
        if not is_number or not bound > 0:
            raise ConfigError(f"{name} of {where} must be a number above 0")
    return dict(limits)


def _origins(value: object, *, path: Path) -> tuple[str, ...]:
    where = f"[page] in {path}"
    page = _table(value, where=where)
    _check_names(page, ("origins",), where=where)
    origins = _strings(page.get("origins", []), where=f"origins of {where}")
    for origin in origins:
        if not _is_origin(origin):
            raise ConfigError(f"origins of {where} must be exact, such as https://shop.example; '{origin[:80]}' is not")
    return origins


def _is_origin(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and "*" not in text and text == f"{parts.scheme}://{parts.netloc}" != "://"


def _rules(value: object, *, tier: Literal["user", "workspace"], path: Path) -> tuple["Rule", ...]:
    if not isinstance(value, list):
        raise ConfigError(f"rules in {path} must be a list of [[rules]] tables, found {kind_of(value)}")
    entries = cast(list[object], value)
    return tuple(
        _rule(entry, tier=tier, name=f"{path.name}#{n}", path=path) for n, entry in enumerate(entries, start=1)
    )


def _rule(value: object, *, tier: Literal["user", "workspace"], name: str, path: Path) -> "Rule":
    from pollux.core.policy import STRICTNESS, Rule

    where = f"rule {name.rpartition('#')[2]} in {path}"
    written = dict(_table(value, where=where))
    # The tier follows from the file, never from what the file says of itself.
    _check_names(written, {item.name for item in fields(Rule)} - {"tier"}, where=where)
    if written.get("decision") not in STRICTNESS:
        raise ConfigError(f"decision of {where} must be one of {', '.join(STRICTNESS)}")
    for key in {"subjects", "provenance"} & written.keys():
        written[key] = _strings(written[key], where=f"{key} of {where}")
    for key in {"tool", "args", "door", "profile", "user", "reason", "name"} & written.keys():
        if not isinstance(written[key], str):
            raise ConfigError(f"{key} of {where} must be text in quotes, found {kind_of(written[key])}")
    if type(written.get("priority", 0)) is not int:
        raise ConfigError(f"priority of {where} must be a whole number")
    for key in {"grantable", "interactive"} & written.keys():
        if not isinstance(written[key], bool):
            raise ConfigError(f"{key} of {where} must be true or false")
    _check_pattern(written.get("args"), where=where)
    arguments: dict[str, Any] = {"name": name, **written, "tier": tier}
    return Rule(**arguments)


def _check_pattern(pattern: str | None, *, where: str) -> None:
    try:
        re.compile(pattern or "")
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(f"args of {where} must be a regular expression: {error}") from error


def _table(value: object, *, where: str) -> Table:
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must be a table, found {kind_of(value)}")
    return cast(Table, value)


def _strings(value: object, *, where: str) -> tuple[str, ...]:
    # Where a list is asked for, one string is taken as a list of one.
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list):
        raise ConfigError(f"{where} must be a list of texts, found {kind_of(items)}")
    texts = [item for item in cast(list[object], items) if isinstance(item, str)]
    if len(texts) < len(cast(list[object], items)):
        raise ConfigError(f"{where} must hold texts only")
    return tuple(texts)


def _check_names(table: Table, known: Collection[str], *, where: str) -> None:
    for name in table:
        if name not in known:
            raise ConfigError(f"{where} holds '{name}', which means nothing there. Known: {', '.join(sorted(known))}")
