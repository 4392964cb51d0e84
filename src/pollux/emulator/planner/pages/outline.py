"""The page as the instructions tell of it: a line for each thing, indented by what it lies in.

    main
      heading 1 "Mugs"
      e12 button "Add to cart" [Blue mug]
      e13 textbox "Street" = "" required

Nothing here knows a page: a line is a role, a name, and what else it says of itself.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from pollux.emulator.planner.clues import split_words, stem

_OUTLINE = re.compile(
    r"^## Page Outline\n[^\n]*\n<page-data-([0-9a-f]{16})>\n(.*?)\n</page-data-\1>$", re.MULTILINE | re.DOTALL
)
_STATE = "\n## Current Page State\n"
_LINE = re.compile(r'( *)(?:([a-z]*\d*e\d+) )?([a-z][\w-]*)(?: (\d+)(?= "|$))?(?: "([^"]*)")?(.*)')
_VALUE = re.compile(r' = (?:"([^"]*)"|(\[private\]))')
_CONTAINER = re.compile(r" \[([^\]]+)\]$")
_OPTIONS = re.compile(r" (?:several of )?options (.*)$")
_PRICE = re.compile(r"[£$€]\s?(\d+(?:[.,]\d\d)?)|(?<![\d.])(\d+\.\d\d)(?![\d.])")

FIELDS = frozenset({"textbox", "searchbox", "combobox", "spinbutton", "listbox"})
PRESSED = frozenset({"button", "link", "menuitem", "tab", "option", "switch", "summary"})
TICKED = frozenset({"checkbox", "radio", "switch"})
ITEMS = frozenset({"listitem", "article", "row", "item", "card"})
MARKS = frozenset(
    "checked mixed pressed selected expanded collapsed current required invalid readonly disabled".split()
)
PRIVATE = "[private]"


@dataclass(frozen=True)
class Thing:
    """One line."""

    depth: int
    role: str
    name: str = ""
    ref: str | None = None
    value: str | None = None
    container: str = ""
    options: tuple[str, ...] = ()
    marks: frozenset[str] = frozenset()

    @property
    def words(self) -> frozenset[str]:
        """What its name says, stemmed."""
        return stems(self.name)

    @property
    def around(self) -> frozenset[str]:
        """What its container is called, stemmed."""
        return stems(self.container)

    @property
    def is_private(self) -> bool:
        """Whether it is nobody's but the visitor's to fill in."""
        return self.value == PRIVATE

    @property
    def told(self) -> str:
        """As a person would be told of it."""
        return f"“{self.name}” for {self.container}" if self.container else f"“{self.name}”"


@dataclass(frozen=True)
class Item:
    """One of several that are alike, and what it costs where it says so."""

    name: str
    price: float | None = None
    shown: str = ""


@dataclass(frozen=True)
class Outline:
    """Everything on the page that was told."""

    things: tuple[Thing, ...]

    @property
    def controls(self) -> tuple[Thing, ...]:
        """What can be acted upon."""
        return tuple(thing for thing in self.things if thing.ref is not None)

    def at(self, ref: object) -> Thing | None:
        """The control of this reference."""
        return next((thing for thing in self.controls if thing.ref == ref), None)

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """The things that are listed, each once, in the order of the page."""
        found: dict[str, Item] = {}
        for name, block in self._blocks():
            texts = [thing.name for thing in block if thing.ref is None]
            price = next((known for text in texts if (known := _PRICE.search(text))), None)
            cost = float((price[1] or price[2]).replace(",", ".")) if price else None
            if name not in found or (found[name].price is None and cost is not None):
                found[name] = Item(name, cost, price[0] if price else "")
        return tuple(found.values())

    def under(self, topic: frozenset[str]) -> tuple[str, ...]:
        """The texts of the part of the page whose name holds all of these words."""
        for at, thing in enumerate(self.things):
            if thing.ref is None and thing.role != "text" and topic and topic <= thing.words:
                depth = thing.depth - (1 if thing.role == "heading" else 0)
                block = [each.name for each in _beneath(self.things[at + 1 :], depth) if each.ref is None]
                if any(block):
                    return tuple(text for text in block if text)
        return ()

    def number_after(self, label: str) -> float | None:
        """The number that stands behind a label, as in `Total £19.00`."""
        for thing in self.things:
            text = f"{thing.name} {thing.value or ''}"
            found = re.search(rf"\b{re.escape(label)}\b[^\d]{{0,20}}(\d+(?:[.,]\d\d)?)", text, re.IGNORECASE)
            if found and thing.role not in FIELDS:
                return float(found[1].replace(",", "."))
        return None

    def _blocks(self) -> Iterator[tuple[str, list[Thing]]]:
        for at, thing in enumerate(self.things):
            if thing.role in ITEMS:
                block = list(_beneath(self.things[at + 1 :], thing.depth))
                heading = next((each.name for each in block if each.role == "heading"), "")
                first = next((each.name for each in block if each.name and each.ref is None), "")
                if name := thing.name or heading or first:
                    yield name, [thing, *block]
        # Where the lines are not grouped, a control still says which of the things it belongs to.
        block = list[Thing]()
        for thing in self.things:
            block = [thing] if thing.role == "heading" else [*block, thing]
            if thing.ref is not None and thing.container:
                named = any(stems(each.name) == thing.around for each in block if each.ref is None)
                yield thing.container, block if named else []
                block = []


def stems(text: str) -> frozenset[str]:
    """The words of a text, stemmed."""
    return frozenset(stem(word) for word in split_words(text) if word.isalnum())


def instructions(system: str) -> str:
    """What the agent was told before anything that a page sent."""
    return system.partition(_STATE)[0] if _STATE in system else ""


def read(system: str) -> Outline | None:
    """The outline in these instructions; None where there is none."""
    found = _OUTLINE.search(system)
    return Outline(tuple(_things(found[2]))) if found else None


def _things(text: str) -> Iterator[Thing]:
    for line in text.split("\n"):
        found = _LINE.fullmatch(line)
        if found is None:
            continue
        pad, ref, role, _, name, rest = found.groups()
        value = _VALUE.search(rest)
        rest = _VALUE.sub("", rest, count=1)
        container = _CONTAINER.search(rest)
        words = _CONTAINER.sub("", rest).split(" ")
        marks = set[str]()
        # What a list of options says comes before them, and could say anything.
        while words and words[-1] in MARKS:
            marks.add(words.pop())
        options = _OPTIONS.search(" ".join(words))
        yield Thing(
            depth=len(pad) // 2,
            role=role,
            name=name or "",
            ref=ref,
            value=(value[1] if value[1] is not None else value[2]) if value else None,
            container=container[1] if container else "",
            options=tuple(one.strip() for one in options[1].split(", ")) if options else (),
            marks=frozenset(marks),
        )


def _beneath(things: tuple[Thing, ...], depth: int) -> Iterator[Thing]:
    for thing in things:
        if thing.depth <= depth:
            return
        yield thing
