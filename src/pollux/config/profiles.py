"""Profiles from the configuration: what a file leaves open is filled in, and what it says is checked with its place.

There is always a profile `default`. No profile goes beyond the file's `[limits]`, whatever it says itself.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar, cast, get_args

from pollux.config.files import ConfigError, kind_of
from pollux.config.models import model_ref
from pollux.config.rights import BOUNDS, MOST, Rights, WrittenProfile, read_limits, texts
from pollux.core.errors import ValidationError
from pollux.core.hosted import hosted_sources
from pollux.core.messages import JSON
from pollux.core.profile import Limits, OnReject, Profile, Thinking, bounded

DEFAULT: Final = "default"
DEEPEST: Final = 32
LARGEST: Final = 2**63
HIGHEST: Final = 1000

T = TypeVar("T")


def profiles_of(
    rights: Rights, *, model: str, defaults: Limits, tools: Collection[str], known: Collection[str] = ()
) -> dict[str, Profile]:
    """Every profile by name, `default` among them.

    A profile without a model has this one, and limits that it does not name are the `defaults`. The `tools` are those
    of the default profile where it names none; any other profile has only what it names. It may name these and the
    `known` ones. Raises ConfigError.
    """
    start = Profile(model=model, limits=defaults)
    known = {*tools, *known}
    written = {DEFAULT: WrittenProfile("", {}), **rights.profiles}
    profiles: dict[str, Profile] = {}
    for name, profile in written.items():
        is_default = name == DEFAULT
        own = replace(
            start, name=name, rules=profile.rules, tools=tuple(tools) if is_default else (), persona=is_default
        )
        own = _completed(own, profile, known)
        profiles[name] = replace(own, limits=bounded(own.limits, rights.limits))
    return profiles


def tools_named(rights: Rights) -> frozenset[str]:
    """Every tool that some profile names: what has to be there. Raises ConfigError for a list that is none."""
    return frozenset(
        name
        for profile in rights.profiles.values()
        for name in texts(profile.table.get("tools", []), where=f"tools of {profile.where}")
    )


def _completed(start: Profile, profile: WrittenProfile, known: Collection[str]) -> Profile:
    changes: dict[str, Any] = {}
    for key, value in profile.table.items():
        where = f"{key} of {profile.where}"
        match key:
            case "instructions":
                changes[key] = _text(value, where=where)
            case "model":
                changes[key] = _model(value, where=where)
            case "tools":
                changes[key] = _tools(value, known, where=where)
            case "limits":
                limits: dict[str, Any] = dict(read_limits(value, (*BOUNDS, "compress_at"), where=where))
                changes[key] = replace(start.limits, **limits)
            case "on_reject":
                changes[key] = _one_of(value, get_args(OnReject), where=where)
            case "thinking":
                changes[key] = _one_of(value, get_args(Thinking), where=where)
            case "max_output_tokens":
                changes[key] = _count(value, where=where)
            case "priority":
                changes[key] = _priority(value, where=where)
            case "persona":
                changes[key] = _truth(value, where=where)
            case "output_schema":
                changes[key] = _schema(value, where=where)
            case _:
                # A new member of Profile must not come in unchecked: rights lets its name through.
                assert key == "extra", key
                changes[key] = _extra(value, where=where)
    return replace(start, **changes)


def _text(value: object, *, where: str) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{where} must be text in quotes, found {kind_of(value)}")
    return value


def _model(value: object, *, where: str) -> str:
    model = _text(value, where=where).strip()
    try:
        model_ref(model)
    except ConfigError as problem:
        raise ConfigError(f"{where}: {problem}") from None
    return model


def _tools(value: object, known: Collection[str], *, where: str) -> tuple[str, ...]:
    names = texts(value, where=where)
    for name in names:
        if name not in known:
            tools = ", ".join(sorted(known)) or "none"
            raise ConfigError(
                f"{where} names '{name[:80]}', but there is no such tool. Known: {tools}. Add [tools.NAME] with use ="
                ' "package.module:attribute", or install the package that brings it'
            )
        if names.count(name) > 1:
            raise ConfigError(f"{where} names '{name}' twice. Once is enough")
    return names


def _one_of(value: object, known: tuple[T, ...], *, where: str) -> T:
    if not isinstance(value, str) or value not in known:
        raise ConfigError(f"{where} must be one of {', '.join(map(str, known))}")
    return cast(T, value)


def _priority(value: object, *, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > HIGHEST:
        raise ConfigError(f"{where} must be a whole number from -{HIGHEST} to {HIGHEST}; the highest is taken first")
    return value


def _truth(value: object, *, where: str) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{where} must be true or false, found {kind_of(value)}")
    return value


def _count(value: object, *, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= MOST:
        raise ConfigError(f"{where} must be a whole number above 0 and at most {MOST}")
    return value


def _schema(value: object, *, where: str) -> Mapping[str, JSON]:
    from pollux.engine.schemas import validator  # The compiler of schemas is not needed by those who write none.

    schema = _json_table(value, where=where)
    try:
        validator(schema)
    except ValidationError as problem:
        raise ConfigError(f"{where}: {problem}") from None
    return schema


def _extra(value: object, *, where: str) -> dict[str, JSON]:
    table = _json_table(value, where=where)
    try:
        hosted_sources(table)
    except ValidationError as problem:
        raise ConfigError(f"{where}: {problem}") from None
    return table


def _json_table(value: object, *, where: str) -> dict[str, JSON]:
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must be a table, found {kind_of(value)}")
    return cast(dict[str, JSON], _json(cast(object, value), where=where, depth=0))


def _json(value: object, *, where: str, depth: int) -> JSON:
    """The value, if it has a form in JSON. TOML has dates and endless numbers too, which no provider would take."""
    if depth > DEEPEST:
        raise ConfigError(f"{where} must not be nested deeper than {DEEPEST} levels")
    match value:
        case dict():
            table = cast(dict[str, object], value)
            return {key: _json(item, where=f"{key} of {where}", depth=depth + 1) for key, item in table.items()}
        case list():
            return [_json(item, where=where, depth=depth + 1) for item in cast(list[object], value)]
        case str() | bool():
            return value
        case int() | float() if abs(value) < LARGEST:  # NaN is below nothing.
            return value
        case int() | float():
            raise ConfigError(f"{where} must be a finite number that fits into 64 bits")
        case _:
            raise ConfigError(f"{where} must be text, a number, true or false, a list or a table; found a date or time")
