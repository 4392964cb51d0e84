"""From Python's types to those that msgspec reads, and from what it read back to the real thing.

Each class with named members has a mirror: a struct that refuses members it does not know. What was written in
`Annotated` reaches msgspec there, and classes are then made by calling them, as their author would.
"""

import collections.abc
import datetime
from collections.abc import Mapping
from pathlib import PurePath
from typing import Annotated, Any, Final, ForwardRef, Literal, NewType, TypeVar, cast, get_args, get_origin

import msgspec
from msgspec import UNSET

from pollux.core.errors import ValidationError
from pollux.tools.typed.constraints import Notes, notes, or_none, union_members, union_of
from pollux.tools.typed.records import Member, Names, Plan, bound, evaluated, plan_of, type_variables, unknown_name

# As msgspec knows them; what can merely be walked through is read as a list.
CONTAINERS: Final[dict[Any, Any]] = {
    list: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    dict: dict,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Set: set,
    collections.abc.MutableSet: set,
    collections.abc.Mapping: dict,
    collections.abc.MutableMapping: dict,
}
DATE_TIME: Final = Notes({}, extra={"format": "date-time"})

Plans = dict[type[msgspec.Struct], Plan]
"""Each mirror with what it stands for, in the order they were found."""


class Mirrors:
    """The types of one schema, and the mirrors of the classes they hold."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._by_hint: dict[Any, type[msgspec.Struct]] = {}
        self._meanings: list[Mapping[Any, Any]] = [{}]
        self._aliases: set[Any] = set()
        self.plans: Plans = {}

    def of(self, hint: Any) -> Any:
        """The type as msgspec takes it. Raises ValidationError for one that has no JSON form."""
        hint = bound(hint, self._meanings[-1])
        if isinstance(hint, str | ForwardRef):
            return self.of(self._evaluated(hint))
        if isinstance(hint, TypeVar):
            return self._variable(hint)
        if isinstance(hint, NewType):
            return self.of(hint.__supertype__)
        if hasattr(hint, "__value__"):
            return self._alias(hint)
        origin = get_origin(hint)
        if origin is Annotated:
            inner, *metadata = get_args(hint)
            return notes(metadata).on(self.of(inner))
        if union_members(hint):
            return self._union(union_members(hint))
        if origin is Literal or hint is None:
            return hint
        if is_model(hint):
            return hint
        plan = plan_of(hint, self._names)
        if plan is not None:
            return self._by_hint.get(hint) or self.add(plan, hint)
        return self._plain(hint) if origin is None else self._generic(hint, origin)

    def add(self, plan: Plan, hint: Any = None) -> type[msgspec.Struct]:
        """The mirror of a record."""
        # The members' own names may be any text: they stand only where the JSON is read.
        own = [f"f{number}" for number in range(len(plan.members))]
        mirror = msgspec.defstruct(
            self._free_name(plan.name or "Arguments"),
            [(name, Any) if m.required else (name, Any, UNSET) for name, m in zip(own, plan.members, strict=True)],
            rename={name: member.name for name, member in zip(own, plan.members, strict=True)},
            namespace={"__doc__": plan.doc},
            forbid_unknown_fields=True,
            array_like=plan.is_row,
            frozen=True,
        )
        self.plans[mirror] = plan
        if hint is not None:
            self._by_hint[hint] = mirror
        # Only now: a member may hold the very class it belongs to. msgspec looks at its first use.
        self._meanings.append(type_variables(hint))
        for name, member in zip(own, plan.members, strict=True):
            # `x: str = None` has long meant that nothing may be given.
            wanted = or_none(member.hint) if member.default is None else member.hint
            try:
                mirror.__annotations__[name] = self.of(wanted)
            except ValidationError as problem:
                raise ValidationError(f"{place(plan, member)}: {problem}") from None
        self._meanings.pop()
        return mirror

    def _evaluated(self, hint: str | ForwardRef) -> Any:
        text = hint if isinstance(hint, str) else hint.__forward_arg__
        try:
            return evaluated(text, near=self._names, far={})
        except NameError as problem:
            raise ValidationError(unknown_name(problem)) from None

    def _variable(self, variable: TypeVar) -> Any:
        if variable in self._meanings[-1]:
            return self.of(self._meanings[-1][variable])
        if variable.__constraints__:
            return self._union(variable.__constraints__)
        return Any if variable.__bound__ is None else self.of(variable.__bound__)

    def _alias(self, alias: Any) -> Any:
        if alias in self._aliases:
            raise ValidationError(f"the type {alias} holds itself; make it a dataclass, or give a JSON Schema")
        self._aliases.add(alias)
        found = self.of(alias.__value__)
        self._aliases.discard(alias)
        return found

    def _union(self, members: tuple[Any, ...]) -> Any:
        found = [self.of(member) for member in members]
        records = [self.plans[member].name for member in found if member in self.plans]
        if len(records) > 1:
            both = " and ".join(records)
            raise ValidationError(f"{both} cannot be told apart in a union; make them one class, or give a JSON Schema")
        return union_of(found)

    def _plain(self, hint: Any) -> Any:
        if hint is object:
            return Any
        if hint is datetime.datetime:
            return DATE_TIME.on(hint)
        return CONTAINERS.get(hint, hint)

    def _generic(self, hint: Any, origin: Any) -> Any:
        if origin in CONTAINERS:
            inside = tuple(item if item is ... else self.of(item) for item in get_args(hint))
            return CONTAINERS[origin][inside]
        if getattr(origin, "_name", "") in ("Final", "Required", "NotRequired", "ReadOnly"):
            return self.of(get_args(hint)[0])
        if isinstance(origin, type) and issubclass(origin, msgspec.Struct):
            return hint
        raise no_form(hint)

    def _free_name(self, wanted: str) -> str:
        taken = {mirror.__name__ for mirror in self.plans}
        number = 1
        name = wanted
        while name in taken:
            number += 1
            name = f"{wanted}_{number}"
        return name


def real(value: Any, plans: Plans, at: str = "") -> Any:
    """What msgspec read, with the real classes in place of their mirrors. Raises ValidationError."""
    plan = plans.get(cast("Any", type(value)))
    if plan is not None:
        return _made(plan, value, plans, at)
    match value:
        case list():
            return [real(item, plans, f"{at}[{number}]") for number, item in enumerate(cast("list[Any]", value))]
        case dict():
            return {key: real(item, plans, f"{at}.{key}") for key, item in cast("dict[Any, Any]", value).items()}
        case tuple() | set() | frozenset():
            items = cast("tuple[Any, ...]", value)
            return type(items)(real(item, plans, f"{at}[…]") for item in items)
        case _:
            return value


def _made(plan: Plan, mirror: Any, plans: Plans, at: str) -> Any:
    members: dict[str, Any] = {}
    for member, field in zip(plan.members, mirror.__struct_fields__, strict=True):
        value = getattr(mirror, field)
        if value is not UNSET:
            members[member.name] = real(value, plans, f"{at}.{member.name}")
    try:
        return plan.make(**members)
    except (ValueError, TypeError, AssertionError) as problem:
        # What a class refuses by itself, in __post_init__ say.
        raise ValidationError(f"{at.lstrip('.') or plan.name}: {problem}") from problem


def place(plan: Plan, member: Member) -> str:
    """Which member of which record, as its author would say it."""
    return f"{plan.name}.{member.name}" if plan.name else member.name


def is_model(hint: object) -> bool:
    """Whether it looks like a pydantic model, which knows its own schema and reads its own values."""
    return isinstance(hint, type) and hasattr(hint, "model_json_schema") and hasattr(hint, "model_validate_json")


def is_path(hint: object) -> bool:
    """Whether it is a path, which JSON writes as text."""
    return isinstance(hint, type) and issubclass(hint, PurePath)


def no_form(hint: object) -> ValidationError:
    """What to say of a type that a model cannot write in JSON."""
    name = hint.__name__ if isinstance(hint, type) else str(hint)
    return ValidationError(
        f"{name} has no JSON form; use text, numbers, lists, dicts, dataclasses, TypedDicts or pydantic models,"
        " or give a JSON Schema in its place"
    )
