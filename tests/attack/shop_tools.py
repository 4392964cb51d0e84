"""Tools that differ only in what they hold: a person's yes to one of each pair is none to the other."""

import array
import functools
import ipaddress
import operator
import os
import re
import threading
from collections import ChainMap, Counter, OrderedDict, UserDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from tests.engine.builders import FakeTool

from pollux import ToolContext, tool
from pollux.core.messages import JSON
from pollux.tools.define import FunctionTool

SENT: list[str] = []


def make(where: object) -> Any:
    @tool(side_effect=True, name="pay")
    def pay(amount: str) -> str:
        """Pay an amount."""
        SENT.append(f"{where} {amount}")
        return "paid"

    return pay


def whom(args: dict[str, JSON]) -> str:
    return str(args["amount"])


test, live = make("TEST"), make("LIVE")
also_live = live


def make_granted(where: str) -> Any:
    @tool(side_effect=True, name="pay", subjects=whom)
    def pay(amount: str) -> str:
        """Pay an amount."""
        return where

    return pay


test_to, live_to = make_granted("TEST"), make_granted("LIVE")


def of(run: Callable[..., Any], **options: Any) -> FunctionTool:
    """A tool that runs this."""
    return FunctionTool(test.spec, run, **options)


def among(known: set[str]) -> FunctionTool:
    def subjects(args: dict[str, JSON]) -> frozenset[str]:
        return frozenset({str(args["to"])} & known)

    return of(print, subjects=subjects)


def by(table: dict[str, Any]) -> FunctionTool:
    def run(context: ToolContext, args: dict[str, JSON]) -> object:
        return table["do"](args)

    return of(run)


@dataclass
class Bank:
    host: str
    lock: Any = field(default_factory=threading.Lock)
    then: "Bank | None" = None

    def pay(self, context: ToolContext, args: dict[str, JSON]) -> str:
        return self.host


class Slotted:
    __slots__ = ("host",)

    def __init__(self, host: str) -> None:
        self.host = host

    def __call__(self, context: ToolContext, args: dict[str, JSON]) -> str:
        return self.host


class Mine(FunctionTool):
    """A tool of a class that somebody made of ours."""

    def __init__(self, host: str) -> None:
        super().__init__(test.spec, print)
        self.host = host


def local(host: str) -> FunctionTool:
    class Local:
        where = host

        def __call__(self, context: ToolContext, args: dict[str, JSON]) -> str:
            return self.where

    return of(Local())


def nested(host: str) -> Bank:
    """Two that hold each other."""
    first = Bank("first")
    first.then = Bank(host, then=first)
    return first


def marked(host: str) -> FunctionTool:
    def run(context: ToolContext, args: dict[str, JSON]) -> object:
        return getattr(run, "host", None)

    run.host = host  # pyright: ignore[reportFunctionMemberAccess]
    return of(run)


def given(run: Callable[..., Any], host: object) -> FunctionTool:
    def other(context: ToolContext, args: dict[str, JSON], host: object = host) -> object:
        return run(context, args)

    return of(other)


class Address(ipaddress.IPv4Address):
    """An author's own, as the next two."""


class Amount(Decimal):
    pass


class Day(date):
    pass


class Place(PurePosixPath):
    """Says nothing of itself but where it is."""

    def __new__(cls, path: str, host: str) -> "Place":
        return super().__new__(cls, path)

    def __init__(self, path: str, host: str) -> None:
        self.host = host

    def __str__(self) -> str:
        return "/a"


def after(is_within: bool) -> FunctionTool:
    """Pays, and notes it: where paying fails, it is undone; or also where noting does."""

    def within(context: ToolContext, args: dict[str, JSON]) -> None:
        try:
            print("pay")
            print("note")
        except OSError:
            print("undo")

    def behind(context: ToolContext, args: dict[str, JSON]) -> None:
        try:
            print("pay")
        except OSError:
            print("undo")
        else:
            print("note")

    behind.__qualname__ = within.__qualname__
    return of(within if is_within else behind)


def taking(is_named: bool) -> FunctionTool:
    def named(context: ToolContext, *, args: dict[str, JSON]) -> object:
        return args

    def placed(context: ToolContext, args: dict[str, JSON]) -> object:
        return args

    placed.__qualname__ = named.__qualname__
    return of(named if is_named else placed)


def at(told: dict[str, Any]) -> FunctionTool:
    return make(datetime(2026, 1, 1, tzinfo=ZoneInfo(told.get("zone", "UTC")), fold=told.get("fold", 0)))


def moved(key: str) -> OrderedDict[str, int]:
    mapping: OrderedDict[str, int] = OrderedDict(a=1, b=2)
    mapping.move_to_end(key)
    return mapping


PAIRS: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    # What makes the tool, and what it is made of, twice.
    "a text in a closure": (make, "TEST", "LIVE"),
    "a set in a closure": (among, {"bob", "ada", "eve"}, {"bob", "ada", "mallory"}),
    "a function in a table": (by, {"do": len}, {"do": os.unlink}),
    "a bound method's object": (lambda host: of(Bank(host).pay), "test", "live"),
    "an object in an object": (lambda host: of(Bank("a", then=Bank(host)).pay), "test", "live"),
    "objects that hold each other": (lambda host: of(nested(host).pay), "test", "live"),
    "an attribute of a tool": (lambda result: FakeTool(result=result), "test", "live"),
    "an attribute of a tool made of ours": (Mine, "test", "live"),
    "a slot": (lambda host: of(Slotted(host)), "test", "live"),
    "a class that a function made": (local, "test", "live"),
    "an attribute of a function": (marked, "test", "live"),
    "a default value": (lambda host: given(len, host), ["test"], ["live"]),
    "an argument given before": (lambda host: of(functools.partial(print, host)), "test", "live"),
    "a named argument given before": (lambda end: of(functools.partial(print, end=end)), "test", "live"),
    "a method of a built-in object": (lambda items: of(items.append), ["test"], ["live"]),
    "what is got": (lambda name: of(operator.itemgetter(name)), "to", "bcc"),
    "what is called": (lambda name: of(operator.methodcaller(name, 1)), "keys", "clear"),
    "members of a set of tuples": (by, {"do": len, "x": {(1, "a"), (2, "b")}}, {"do": len, "x": {(1, "a"), (2, "c")}}),
    "keys that are functions": (by, {"do": len, len: 1}, {"do": len, max: 1}),
    "a tool that it calls": (lambda host: given(make(host), 1), "TEST", "LIVE"),
    "the place of a folder": (lambda place: of(print, place=place), "/a", "/b"),
    "a long text": (make, "x" * 1000 + "1", "x" * 1000 + "2"),
    "an address": (make, ipaddress.ip_address("10.0.0.1"), ipaddress.ip_address("10.0.0.2")),
    "an address with a scope": (make, ipaddress.ip_address("fe80::1%a"), ipaddress.ip_address("fe80::1%b")),
    "a network": (make, ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("10.0.0.0/9")),
    "an interface": (make, ipaddress.ip_interface("10.0.0.1/8"), ipaddress.ip_interface("10.0.0.1/9")),
    "an array": (make, array.array("i", [1, 2]), array.array("i", [2, 1])),
    "the type of an array": (make, array.array("i", [1, 2]), array.array("q", [1, 2])),
    "a slice": (make, slice(1, 2), slice(1, 3)),
    "the order of a mapping": (make, {"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "the order of an ordered mapping": (make, OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)),
    "the order of a read-only mapping": (lambda order: make(MappingProxyType(dict.fromkeys(order))), "ab", "ba"),
    "a counter": (make, Counter("aab"), Counter("abb")),
    "a chain of mappings": (make, ChainMap({"a": 1}, {"a": 2}), ChainMap({"a": 2}, {"a": 1})),
    "the order in an object": (make, UserDict({"a": 1, "b": 2}), UserDict({"b": 2, "a": 1})),
    "the length of a queue": (make, deque([1], 2), deque([1], 3)),
    "a decimal": (make, Decimal("1.0"), Decimal("1.00")),
    "a fraction": (make, Fraction(1, 3), Fraction(1, 4)),
    "a moment's zone": (at, {"zone": "Europe/Zurich"}, {"zone": "Europe/Berlin"}),
    "which of two equal moments": (at, {"fold": 0}, {"fold": 1}),
    "a zone": (make, timezone(timedelta(hours=1)), timezone(timedelta(hours=2))),
    "a named zone": (make, ZoneInfo("Europe/Zurich"), ZoneInfo("Europe/Berlin")),
    "an address of an author's class": (make, Address("10.0.0.1"), Address("10.0.0.2")),
    "an amount of an author's class": (make, Amount("1.0"), Amount("1.00")),
    "a day of an author's class": (make, Day(2026, 1, 1), Day(2026, 1, 2)),
    "the order of a mapping that was changed": (lambda key: make(moved(key)), "a", "b"),
    "a time": (make, time(1, tzinfo=UTC), time(1)),
    "an id": (make, UUID(int=1), UUID(int=2)),
    "a path": (make, PurePosixPath("/a"), PurePosixPath("/b")),
    "a pattern": (make, re.compile("a"), re.compile("a", re.IGNORECASE)),
    "a path of an author's class": (lambda host: make(Place("/a", host)), "test", "live"),
    "a method of a class that is built in": (make, str.upper, str.lower),
    "an attribute of a class that is built in": (make, type.__dict__["__name__"], type.__dict__["__bases__"]),
    "code": (make, compile("pay()", "", "exec"), compile("pay(); pay()", "", "exec")),
    "what an error skips": (after, True, False),
    "how arguments are given": (taking, True, False),
    "a text that looks like two": (make, ["a", "b"], ["a\nstr b"]),
    "a text that looks like several": (make, "a\nb", "a\\nb"),
    "half of a character": (make, "\ud800", "\ud801"),
}  # fmt: skip
