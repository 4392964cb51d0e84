"""The sections of a configuration file that are about rights: tools, actions, profiles, rules, limits, pages, runbooks.

Parsed strictly: a misspelt key in a rule could otherwise leave open what it was written to close.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import field, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast
from urllib.parse import urlsplit

from pollux.config.files import ConfigError, kind_of
from pollux.config.table import ANSWERS
from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.engine.deprecated import say_args

if TYPE_CHECKING:
    from pollux.core.conditions import Condition
    from pollux.core.policy import Rule

Table = Mapping[str, Any]
FileTier = Literal["user", "workspace"]

WHOLE: Final = ("model_calls", "tokens", "compress_at", "answer_bytes", "tries")
BOUNDS: Final = ("model_calls", "tokens", "seconds", "approval_seconds", "page_seconds", *ANSWERS)
MOST: Final = 1_000_000_000
"""Of any limit. Some thirty years in seconds: every deadline must still be a date."""

CAPABILITIES: Final = ("readFiles", "writeFiles", "executeCommands", "alwaysAllowTools")
"""What a runbook's agent may be given, as documents write it."""

SERVED: Final = ("folder", "users", "editable")
"""Of `[runbooks]`: what is about runbooks over HTTP."""

LISTS: Final = frozenset(
    "subjects provenance interface interface_not asker capabilities rendered_from placed_by".split()
)
"""What a rule says in lists. Where one is asked for, a text is taken as a list of one."""

MOST_RULES: Final = 1_000
"""In one list. Each rule is looked at for each call."""

PROFILE_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


@frozen
class WrittenProfile:
    """A profile as its file has it: not yet completed, its rules placed in the file's tier."""

    where: str
    table: Table
    rules: tuple["Rule", ...] = ()


@frozen
class ServedRunbooks:
    """What a file says about runbooks over HTTP. They run commands on the server: nothing of it is there by itself."""

    folder: Path
    users: tuple[str, ...] | None = None
    """Who may. None: whoever has the machine's own token, where there is no other kind of credential."""
    editable: bool = False


@frozen
class WrittenRunbooks:
    """What a file says about runbooks: the agents they may start by name, what new blocks begin with, who may what."""

    agents: Mapping[str, Table] = field(default_factory=dict[str, Table])
    registries: tuple[Path, ...] = ()
    """Files of the ACP registry's form, one agent or many in each."""
    default_timeout: int | None = None
    default_capabilities: tuple[str, ...] | None = None
    served: ServedRunbooks | None = None


@frozen
class Rights:
    """What a file grants and forbids. `limits` bound every profile from above; profiles and tools are as written."""

    tools: Mapping[str, Table] = field(default_factory=dict[str, Table])
    profiles: Mapping[str, WrittenProfile] = field(default_factory=dict[str, WrittenProfile])
    rules: tuple["Rule", ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict[str, float])
    serves_pages: bool = False
    """Whether there is a `[page]` table at all: without one no page may talk to an agent."""
    page_origins: tuple[str, ...] = ()
    actions: Mapping[str, Table] = field(default_factory=dict[str, Table])
    page_plugins: tuple[Path, ...] = ()
    page_profiles: Mapping[str, str] = field(default_factory=dict[str, str])
    """The profiles that a visitor may name, each with the place that says so."""
    runbooks: WrittenRunbooks = WrittenRunbooks()


NO_RIGHTS: Final = Rights()


def parse_rights(table: Table, *, tier: FileTier, path: Path) -> Rights:
    """The rights a file speaks of, its rules placed in the tier. Raises ConfigError."""
    where = f"[page] in {path}"
    page = _table(table.get("page", {}), where=where)
    check_names(page, ("origins", "plugins", "profiles"), where=where)
    return Rights(
        tools=_tables(table.get("tools", {}), where=f"[tools] in {path}"),
        profiles=_profiles(table.get("profiles", {}), tier=tier, path=path),
        rules=_rules(table.get("rules", []), tier=tier, path=path),
        limits=read_limits(table.get("limits", {}), BOUNDS, where=f"[limits] in {path}"),
        serves_pages="page" in table,
        page_origins=_origins(page.get("origins", []), where=f"origins of {where}"),
        actions=_actions(table.get("actions", {}), path=path),
        page_plugins=_plugins(page.get("plugins", []), where=f"plugins of {where}", base=path.parent),
        page_profiles=_page_profiles(page.get("profiles", []), where=f"profiles of {where}"),
        runbooks=_runbooks(table.get("runbooks", {}), path=path),
    )


def _tables(value: object, *, where: str) -> dict[str, Table]:
    named = _table(value, where=where)
    return {name: _table(item, where=f"'{name}' of {where}") for name, item in named.items()}


def _profiles(value: object, *, tier: FileTier, path: Path) -> dict[str, WrittenProfile]:
    from pollux.core.profile import Profile

    known = {item.name for item in fields(Profile)} - {"name"}
    found: dict[str, WrittenProfile] = {}
    for name, table in _tables(value, where=f"[profiles] in {path}").items():
        where = f"[profiles.{name}] in {path}"
        if not PROFILE_NAME.fullmatch(name):
            raise ConfigError(f"{where}: a profile's name is up to 64 letters, digits, '_', '-' and '.'")
        check_names(table, known, where=where)
        rules = _rules(table.get("rules", []), tier=tier, path=path, profile=name)
        found[name] = WrittenProfile(where, {key: table[key] for key in table if key != "rules"}, rules)
    return found


def read_limits(value: object, known: Collection[str], *, where: str) -> dict[str, float]:
    """Limits by these names, each a number that can be kept. Raises ConfigError."""
    limits = _table(value, where=where)
    check_names(limits, known, where=where)
    for name, bound in limits.items():
        is_whole = isinstance(bound, int) and not isinstance(bound, bool)
        is_number = is_whole or (isinstance(bound, float) and name not in WHOLE)
        # Written so that NaN, which is not larger than anything, is refused too.
        if not is_number or not 0 < bound <= MOST:
            kind = "whole number" if name in WHOLE else "number"
            raise ConfigError(f"{name} of {where} must be a {kind} above 0 and at most {MOST}")
    return dict(limits)


def _origins(value: object, *, where: str) -> tuple[str, ...]:
    origins = texts(value, where=where)
    for origin in origins:
        if not _is_origin(origin):
            raise ConfigError(f"{where} must be exact, such as https://shop.example; '{origin[:80]}' is not")
    return origins


def _is_origin(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and "*" not in text and text == f"{parts.scheme}://{parts.netloc}" != "://"


def _actions(value: object, *, path: Path) -> dict[str, Table]:
    found = _tables(value, where=f"[actions] in {path}")
    for name, table in found.items():
        where = f"[actions.{name}] in {path}"
        if inner := next((key for key, item in table.items() if isinstance(item, dict)), None):
            raise ConfigError(
                f"{where} holds the table '{inner}'. A name with a dot in it stands in quotes:"
                f' [actions."{name}.{inner}"]'
            )
        check_names(table, ("use",), where=where)
        if not isinstance(table.get("use"), str):
            raise ConfigError(f'{where} must say where the action is: use = "package.module:attribute"')
    return found


def _plugins(value: object, *, where: str, base: Path) -> tuple[Path, ...]:
    folders = texts(value, where=where)
    for folder in folders:
        if not folder.strip() or not folder.isprintable():
            raise ConfigError(f"{where} must hold folders, such as plugins/shop; {folder[:80]!a} is none")
    # Begun at the file, not at wherever the server was started.
    return tuple(dict.fromkeys(base / folder for folder in folders))


def _page_profiles(value: object, *, where: str) -> dict[str, str]:
    names = texts(value, where=where)
    for name in names:
        if not PROFILE_NAME.fullmatch(name):
            raise ConfigError(f"{where} must hold names of profiles; {name[:80]!a} can be none")
    return dict.fromkeys(names, where)


def _runbooks(value: object, *, path: Path) -> WrittenRunbooks:
    where = f"[runbooks] in {path}"
    table = _table(value, where=where)
    known = ("agents", "registries", "default_timeout", "default_capabilities", *SERVED)
    check_names(table, known, where=where)
    seconds = table.get("default_timeout")
    if seconds is not None and (not isinstance(seconds, int) or isinstance(seconds, bool) or not 0 < seconds <= MOST):
        raise ConfigError(f"default_timeout of {where} must be a whole number of seconds above 0 and at most {MOST}")
    capabilities = None
    if "default_capabilities" in table:
        capabilities = _capabilities(table["default_capabilities"], where=f"default_capabilities of {where}")
    folders = texts(table.get("registries", []), where=f"registries of {where}")
    agents = _tables(table.get("agents", {}), where=f"[runbooks.agents] in {path}")
    for name, agent in agents.items():
        _check_agent(name, agent, where=f"[runbooks.agents.{name}] in {path}")
    registries = tuple(path.parent / Path(folder).expanduser() for folder in folders)
    return WrittenRunbooks(agents, registries, seconds, capabilities, _served(table, where=where, base=path.parent))


def _served(table: Table, *, where: str, base: Path) -> ServedRunbooks | None:
    if not any(name in table for name in SERVED):
        return None
    folder, editable = table.get("folder"), table.get("editable", False)
    if not isinstance(folder, str) or not folder.strip() or "\0" in folder:
        raise ConfigError(f'{where} must say where the runbooks are that are served: folder = "runbooks"')
    if not isinstance(editable, bool):
        raise ConfigError(f"editable of {where} must be true or false, found {kind_of(editable)}")
    users = texts(table["users"], where=f"users of {where}") if "users" in table else None
    for name in users or ():
        if not name.strip() or name == "*":
            raise ConfigError(f"users of {where} must name every user, such as alice; {name!a} names nobody")
    return ServedRunbooks(base / Path(folder).expanduser(), users, editable)


def _capabilities(value: object, *, where: str) -> tuple[str, ...]:
    names = texts(value, where=where)
    for name in names:
        if name not in CAPABILITIES:
            raise ConfigError(f"{where} holds '{name[:80]}', which is none. Known: {', '.join(CAPABILITIES)}")
    return names


def _check_agent(name: str, table: Table, *, where: str) -> None:
    if not PROFILE_NAME.fullmatch(name):
        raise ConfigError(f"{where}: an agent's name is up to 64 letters, digits, '_', '-' and '.'")
    check_names(table, ("command", "args", "description"), where=where)
    command = table.get("command")
    if not isinstance(command, str) or not command.strip():
        raise ConfigError(f'{where} must say what to start: command = "my-agent"')
    texts(table.get("args", []), where=f"args of {where}")
    if not isinstance(table.get("description", ""), str):
        raise ConfigError(f"description of {where} must be text in quotes, found {kind_of(table['description'])}")


def _rules(value: object, *, tier: FileTier, path: Path, profile: str = "") -> tuple["Rule", ...]:
    section = f"profiles.{profile}.rules" if profile else "rules"
    owner, prefix = (f" of [profiles.{profile}]", f"{profile}.") if profile else ("", "")
    if not isinstance(value, list):
        raise ConfigError(f"{section} in {path} must be a list of [[{section}]] tables, found {kind_of(value)}")
    entries = cast(list[object], value)
    if len(entries) > MOST_RULES:
        raise ConfigError(f"{section} in {path} holds {len(entries):,} rules; use at most {MOST_RULES:,}")
    rules: list[Rule] = []
    for n, entry in enumerate(entries, start=1):
        where = f"rule {n}{owner} in {path}"
        rule = _rule(entry, tier=tier, name=f"{path.name}#{prefix}{n}", where=where)
        rules.append(_held_to(profile, rule, where=where) if profile else rule)
    old = [f"rule {n}{owner}" for n, rule in enumerate(rules, start=1) if rule.args is not None]
    say_args(old, path=str(path))
    return tuple(rules)


def _held_to(profile: str, rule: "Rule", *, where: str) -> "Rule":
    """The rule for its own profile. One that is written for another could never speak, so it is a mistake."""
    if not fnmatchcase(profile, rule.profile):
        raise ConfigError(
            f"profile of {where} is '{rule.profile[:80]}', so that the rule would never apply. Leave it away, or move"
            " the rule to [[rules]]"
        )
    return replace(rule, profile=profile) if rule.profile == "*" else rule


def _rule(value: object, *, tier: FileTier, name: str, where: str) -> "Rule":
    from pollux.core.policy import STRICTNESS, Rule

    written = dict(_table(value, where=where))
    # The tier follows from the file, never from what the file says of itself.
    check_names(written, {item.name for item in fields(Rule)} - {"tier"}, where=where)
    decision = written.get("decision")
    if not isinstance(decision, str) or decision not in STRICTNESS:
        raise ConfigError(f"decision of {where} must be one of {', '.join(STRICTNESS)}")
    for key in LISTS & written.keys():
        written[key] = texts(written[key], where=f"{key} of {where}")
        if not written[key]:
            raise ConfigError(f"{key} of {where} is empty, so that it means nothing. Leave it out, or name one")
    if "where" in written:
        written["where"] = _conditions(written["where"], where=where)
    if written.get("document", "trusted") not in ("trusted", "untrusted"):
        raise ConfigError(f'document of {where} must be "trusted" or "untrusted"')
    for key in {"tool", "args", "door", "profile", "user", "reason", "name"} & written.keys():
        if not isinstance(written[key], str):
            raise ConfigError(f"{key} of {where} must be text in quotes, found {kind_of(written[key])}")
    if type(written.get("priority", 0)) is not int:
        raise ConfigError(f"priority of {where} must be a whole number")
    for key in {"grantable", "interactive"} & written.keys():
        if not isinstance(written[key], bool):
            raise ConfigError(f"{key} of {where} must be true or false")
    _check_pattern(written.get("args"), where=f"args of {where}")
    arguments: dict[str, Any] = {"name": name, **written, "tier": tier}
    return Rule(**arguments)


def _conditions(value: object, *, where: str) -> tuple["Condition", ...]:
    from pollux.core.conditions import condition_of

    items = cast("list[object]", value) if isinstance(value, list) else [value]
    found: list[Condition] = []
    for item in items:
        if not isinstance(item, dict):
            raise ConfigError(f'where of {where} must be a list such as [{{ path = "amount", above = 100 }}]')
        try:
            found.append(condition_of(cast("dict[str, Any]", item)))
        except ValidationError as problem:
            raise ConfigError(f"where of {where}: {problem}") from None
        if found[-1].operator == "matches":
            _check_pattern(str(found[-1].value), where=f"where of {where}")
    return tuple(found)


def _check_pattern(pattern: str | None, *, where: str) -> None:
    if not pattern:
        return
    from pollux.engine.patterns import require_pattern

    try:
        require_pattern(pattern)
    except ValidationError as problem:
        raise ConfigError(f"{where}: {problem}") from None


def _table(value: object, *, where: str) -> Table:
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must be a table, found {kind_of(value)}")
    return cast(Table, value)


def texts(value: object, *, where: str) -> tuple[str, ...]:
    """Several texts. Raises ConfigError."""
    # Where a list is asked for, one string is taken as a list of one.
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list):
        raise ConfigError(f"{where} must be a list of texts, found {kind_of(items)}")
    found = [item for item in cast(list[object], items) if isinstance(item, str)]
    if len(found) < len(cast(list[object], items)):
        raise ConfigError(f"{where} must hold texts only")
    return tuple(found)


def check_names(table: Table, known: Collection[str], *, where: str) -> None:
    """Raises ConfigError for a key that means nothing here."""
    for name in table:
        if name not in known:
            raise ConfigError(f"{where} holds '{name}', which means nothing there. Known: {', '.join(sorted(known))}")
