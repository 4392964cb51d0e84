"""Classes with named members (dataclasses, TypedDicts, named tuples): what they hold and how one is made."""

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, Final, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.tools.typed import docstring
from pollux.tools.typed.constraints import described

NO_DEFAULT: Final = inspect.Parameter.empty
# Called once when the schema is made. Others may give another value each time, and are left alone.
PLAIN_FACTORIES: Final[tuple[Any, ...]] = (list, dict, set)
QUALIFIERS: Final = {"Required", "NotRequired", "ReadOnly"}

Names = Mapping[str, Any]
"""What a quoted annotation may mean besides the globals of its module."""


@frozen
class Member:
    """One named value: its type as written, and what it is when it is not given."""

    name: str
    hint: Any
    required: bool = True
    default: Any = NO_DEFAULT


@frozen
class Plan:
    """What a record holds, and how one is made of its members. A row is written as an array.

    The arguments of a function have no name.
    """

    name: str
    members: tuple[Member, ...]
    make: Callable[..., Any]
    doc: str = ""
    is_row: bool = False


def plan_of(hint: Any, names: Names) -> Plan | None:
    """How to read a class; None for one without named members. Raises ValidationError."""
    cls: Any = get_origin(hint) or hint
    kind = _kind(cls)
    if kind is None:
        return None
    # The docstring that Python writes itself says nothing new.
    is_generated = str(cls.__doc__).startswith(f"{cls.__name__}(")
    said = docstring.read(None if is_generated else cls.__doc__)
    members = tuple(
        dataclasses.replace(member, hint=described(member.hint, said.parameters.get(member.name, "")))
        for member in _FIND[kind](cls, class_hints(cls, names))
    )
    make = dict if kind == "dict" else cls
    return Plan(cls.__name__, members, make, said.summary, is_row=kind == "row")


def class_hints(cls: type, names: Names) -> dict[str, Any]:
    """The annotations of a class and its bases, evaluated. Raises ValidationError for a name that nobody knows."""
    try:
        return get_type_hints(cls, include_extras=True)
    except NameError:
        # A class made inside a function refers to what is only there, itself included.
        near = {**vars(cls), cls.__name__: cls, **names}
    try:
        return get_type_hints(cls, localns=near, include_extras=True)
    except NameError as problem:
        raise ValidationError(f"class {cls.__name__}: {unknown_name(problem)}") from None


def evaluated(annotation: Any, *, near: Names, far: Names) -> Any:
    """An annotation as a type, where it was written as text. Raises NameError for a name that nobody knows."""
    holder = SimpleNamespace(__annotations__={"it": annotation})
    return get_type_hints(cast("Any", holder), dict(far), dict(near), include_extras=True)["it"]


def unknown_name(problem: NameError) -> str:
    """What to say of a name in an annotation that could not be found."""
    found = re.search(r"'(\w+)'", str(problem))
    name = problem.name or (found[1] if found else "a name")
    return (
        f"{name} in an annotation cannot be found; define it at the top of the module (not under TYPE_CHECKING),"
        " or give a JSON Schema in its place"
    )


def type_variables(hint: Any) -> dict[TypeVar, Any]:
    """What the type variables of a generic class stand for, in the class itself and in its bases."""
    cls = get_origin(hint) or hint
    found: dict[Any, Any] = dict(zip(getattr(cls, "__parameters__", ()), get_args(hint), strict=False))
    for base in getattr(cls, "__orig_bases__", ()):
        if isinstance(get_origin(base), type) and getattr(get_origin(base), "__parameters__", ()):
            found = type_variables(bound(base, found)) | found
    return found


def bound(hint: Any, meanings: Mapping[Any, Any]) -> Any:
    """The type with its type variables replaced by what they stand for."""
    if isinstance(hint, type) or not meanings:
        return hint
    open_ = getattr(hint, "__parameters__", ())
    return hint[tuple(meanings.get(variable, variable) for variable in open_)] if open_ else hint


def _kind(cls: object) -> Literal["dataclass", "dict", "row"] | None:
    if not isinstance(cls, type):
        return None
    if hasattr(cls, "__dataclass_fields__"):
        return "dataclass"
    if hasattr(cls, "__required_keys__"):
        return "dict"
    return "row" if issubclass(cls, tuple) and hasattr(cast("object", cls), "_fields") else None


def _dataclass_members(cls: Any, hints: Mapping[str, Any]) -> list[Member]:
    if any(isinstance(hint, dataclasses.InitVar) for hint in hints.values()):
        raise ValidationError(f"class {cls.__name__}: InitVar has no place in a schema; use an ordinary field")
    return [_from_field(field, hints[field.name]) for field in dataclasses.fields(cls) if field.init]


def _from_field(field: "dataclasses.Field[Any]", hint: Any) -> Member:
    if field.default is not dataclasses.MISSING:
        return Member(field.name, hint, False, field.default)
    if field.default_factory is dataclasses.MISSING:
        return Member(field.name, hint)
    known = (get_origin(field.default_factory) or field.default_factory) in PLAIN_FACTORIES
    return Member(field.name, hint, False, field.default_factory() if known else NO_DEFAULT)


def _typeddict_members(cls: Any, hints: Mapping[str, Any]) -> list[Member]:
    found: list[Member] = []
    for name, hint in hints.items():
        required = name in cls.__required_keys__
        while (qualifier := getattr(get_origin(hint), "_name", None)) in QUALIFIERS:
            # Said here again, because Python does not see through annotations that are text.
            required = {"Required": True, "NotRequired": False}.get(qualifier, required)
            hint = get_args(hint)[0]
        found.append(Member(name, hint, required))
    return found


def _namedtuple_members(cls: Any, hints: Mapping[str, Any]) -> list[Member]:
    defaults: dict[str, Any] = cls._field_defaults
    return [
        Member(name, hints.get(name, Any), name not in defaults, defaults.get(name, NO_DEFAULT)) for name in cls._fields
    ]


_FIND: Final = {"dataclass": _dataclass_members, "dict": _typeddict_members, "row": _namedtuple_members}
