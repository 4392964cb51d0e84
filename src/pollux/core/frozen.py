"""Values: frozen dataclasses with slots, made in a seventh of the time.

`@dataclass(frozen=True, slots=True)` compiles six functions for each class. A command that starts, asks and ends is
made of some hundred and thirty such classes and lives for a fifth of a second: a third of it was their making. Here it
is one function for each class, and the others are shared. Whatever knows dataclasses knows these: `fields`, `replace`,
`asdict`, `match`, msgspec. docs/decisions/2026-11-15-frozen.md has the figures.
"""

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")


@overload
def frozen(cls: type[T], /) -> type[T]: ...
@overload
def frozen(*, kw_only: bool = False, slots: bool = True) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: Any = None, /, *, kw_only: bool = False, slots: bool = True) -> Any:
    """Make a class whose objects are values: equal by their fields, hashable, and never changed.

    Without slots they take more room. `evolve` can copy them, and with many fields they are made in half of the time.
    """

    def made(plain: type[Any]) -> type[Any]:
        # Without a docstring, dataclass would look for one: it costs more than all the rest.
        plain.__doc__ = plain.__doc__ or plain.__name__
        own = frozenset(vars(plain))
        value = dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(plain)
        shared = {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete, "__repr__": _shown}
        kept = {"__getstate__": _state, "__setstate__": _restore, "__init__": _initializer(value, has_slots=slots)}
        for name, method in (shared | kept | _compared(value)).items():
            if name not in own:
                setattr(value, name, method)
        return value

    return made if cls is None else made(cls)


def _initializer(cls: type[Any], *, has_slots: bool) -> Callable[..., None]:
    """The one function that differs so much that it must be written for each class."""
    names: dict[str, Any] = {"MISSING": MISSING}
    first, last, body, members = list[str](), list[str](), list[str](), list[str]()
    for each in fields(cls):
        name, given = each.name, each.name
        if has_slots:
            # A slot's own setter: what object.__setattr__ looks up by name each time.
            names[f"set_{name}"] = getattr(cls, name).__set__
        if each.default_factory is not MISSING:
            names[f"make_{name}"] = each.default_factory
            given = f"make_{name}() if {name} is MISSING else {name}" if each.init else f"make_{name}()"
        elif each.default is not MISSING:
            names[f"default_{name}"] = each.default
            given = name if each.init else f"default_{name}"
        elif not each.init:
            continue
        if has_slots:
            body.append(f"set_{name}(self, {given})")
        members.append(f"{name!r}: {given}")
        if each.init:
            default = "=MISSING" if each.default_factory is not MISSING else f"=default_{name}"
            has_default = each.default is not MISSING or each.default_factory is not MISSING
            (last if each.kw_only else first).append(name + (default if has_default else ""))
    if not has_slots:
        # All at once: forty-six setters are slower than all else that a new run costs.
        body.append(f"self.__dict__.update({{{', '.join(members)}}})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join(["self", *first, *(["*", *last] if last else [])])
    # No annotations: what the types are is in the class, and strings of them would be compiled for nobody.
    exec(f"def __init__({parameters}):\n  " + "\n  ".join(body or ["pass"]), names)
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _compared(cls: type[Any]) -> dict[str, Callable[..., Any]]:
    """Equality and hash over the fields that count."""
    compared = [each.name for each in fields(cls) if each.compare]
    key: Callable[[Any], Any] = attrgetter(*compared) if compared else lambda value: ()

    def equal(self: object, other: object) -> Any:
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: object) -> int:
        return hash(key(self))

    return {"__eq__": equal, "__hash__": hashed}


def _shown(self: Any) -> str:
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({shown})"


def _refuse_to_set(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)
