"""A frozen value behaves as `dataclass(frozen=True, slots=True)` does: each story is told of both."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any, ClassVar

import msgspec
import pytest

from pollux.core.frozen import frozen

Make = Callable[..., Any]
standard = dataclass(frozen=True, slots=True)


def make_mail(decorate: Make) -> Any:
    class Mail:
        """A mail."""

        kind: ClassVar[str] = "mail"
        to: str
        subject: str = "none"
        copies: list[str] = field(default_factory=list[str])
        seen: int = field(default=0, compare=False, repr=False)
        size: int = field(init=False, default=3)

    return decorate(Mail)


BOTH = pytest.mark.parametrize(
    "decorate", [standard, frozen, frozen(slots=False)], ids=["dataclass", "frozen", "frozen, without slots"]
)


@frozen
class Address:
    """At module level, as pickle wants it."""

    name: str
    host: str = "example.com"


@frozen
class Person(Address):
    """More than an address."""

    age: int = 0


@BOTH
def test_fields_have_their_defaults_and_lists_are_not_shared(decorate: Make) -> None:
    mail = make_mail(decorate)
    one, other = mail("ann"), mail("ann")
    assert (one.to, one.subject, one.copies, one.seen, one.size, one.kind) == ("ann", "none", [], 0, 3, "mail")
    assert one.copies is not other.copies
    assert mail("ann", "s", ["b"], seen=2).copies == ["b"]


@BOTH
def test_what_counts_is_compared_and_the_rest_is_not(decorate: Make) -> None:
    mail = make_mail(decorate)
    assert mail("ann", seen=1) == mail("ann", seen=2)
    assert mail("ann") != mail("bob")
    assert mail("ann") != "ann"


@BOTH
def test_a_value_can_neither_be_changed_nor_lose_a_part(decorate: Make) -> None:
    one = make_mail(decorate)("ann")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'to'"):
        one.to = "bob"
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'to'"):
        del one.to
    with pytest.raises((FrozenInstanceError, TypeError)):
        one.unheard_of = 1


def test_a_value_has_slots_unless_it_is_to_be_copied_often() -> None:
    slotted, roomy = (make_mail(decorate)("ann") for decorate in (frozen, frozen(slots=False)))
    assert (hasattr(slotted, "__dict__"), hasattr(roomy, "__dict__")) == (False, True)


@BOTH
def test_it_is_shown_as_it_would_be_written(decorate: Make) -> None:
    shown = repr(make_mail(decorate)("ann"))
    assert shown == "make_mail.<locals>.Mail(to='ann', subject='none', copies=[], size=3)"


@BOTH
def test_a_missing_or_unknown_argument_is_refused_by_name(decorate: Make) -> None:
    mail = make_mail(decorate)
    with pytest.raises(TypeError, match="'to'"):
        mail()
    with pytest.raises(TypeError, match="'size'"):
        mail("ann", size=1)


@BOTH
def test_dataclasses_and_msgspec_know_it(decorate: Make) -> None:
    mail = make_mail(decorate)
    one = dataclasses.replace(mail("ann", copies=["x"]), subject="new")
    assert dataclasses.asdict(one) == {"to": "ann", "subject": "new", "copies": ["x"], "seen": 0, "size": 3}
    assert dataclasses.is_dataclass(one)
    assert msgspec.json.decode(msgspec.json.encode(one), type=mail, strict=True) == one
    assert mail.__match_args__ == ("to", "subject", "copies", "seen")
    assert list(inspect.signature(make_mail(decorate)).parameters) == ["to", "subject", "copies", "seen"]


@BOTH
def test_hashes_are_equal_where_values_are(decorate: Make) -> None:
    point = decorate(type("Point", (), {"__annotations__": {"x": int, "y": int}, "__doc__": "p", "y": 0}))
    assert hash(point(1)) == hash(point(1, 0))
    assert {point(1), point(1), point(2)} == {point(1), point(2)}
    with pytest.raises(TypeError, match="unhashable"):
        hash(make_mail(decorate)("ann"))


@BOTH
def test_a_class_may_complete_itself_after_it_was_made(decorate: Make) -> None:
    class Loud:
        """Shouts."""

        word: str
        loud: str = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "loud", self.word.upper())

        def __repr__(self) -> str:
            return self.loud

    one = decorate(Loud)("hey")
    assert (one.loud, repr(one)) == ("HEY", "HEY")


@pytest.mark.parametrize("decorate", [dataclass(frozen=True, slots=True, kw_only=True), frozen(kw_only=True)])
def test_arguments_may_be_by_name_only(decorate: Make) -> None:
    class Named:
        a: int
        b: list[int] = field(init=False, default_factory=lambda: [1])
        c: int = 2

    named = decorate(Named)
    assert (named(a=1).b, named(c=3, a=1).c) == ([1], 3)
    with pytest.raises(TypeError, match="positional"):
        named(1)


@BOTH
def test_nothing_at_all_is_equal_to_nothing_at_all(decorate: Make) -> None:
    class Empty:
        """No fields."""

    empty = decorate(Empty)
    assert empty() == empty()
    assert hash(empty()) == hash(empty())


def test_a_value_can_be_kept_copied_and_inherited_from() -> None:
    ann = Person("ann", age=3)
    assert pickle.loads(pickle.dumps(ann)) == ann
    assert copy.copy(ann) == copy.deepcopy(ann) == ann
    assert ann == Person("ann", "example.com", 3)
    assert ann != Address("ann")
    assert Person.__doc__ == "More than an address."
