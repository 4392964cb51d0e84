"""A tool that a page brings. It is decided about here, and executed there.

What a page does for its visitor needs no approval: the visitor asked, watches and can stop. A model that fills in a
password, a card's number or a one-time code is asked about all the same, and so is one that presses what pays, orders,
sends or deletes. The page says which controls do that, and what they are called; it can only add to what is asked.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import field, replace
from itertools import chain, repeat
from math import isfinite
from typing import Final, cast

from pollux.core.canonical import canonical
from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.core.private import kebab, names_secret
from pollux.core.tools import Reconciled, ToolContext, ToolSpec

EVERYTHING: Final = "*"
"""Among the private references: nobody can tell which controls are not private."""

_REFERENCES: Final = ("coordinate", "ref", "refName", "name", "id", "key", "field", "label", "selector", "target")
"""By which arguments say what they act upon; also deep inside, where a tool fills in a whole form."""
_NAMING: Final = (*_REFERENCES, "element", "control", "uid", "input", "locator", "xpath", "css", "node", "path")
"""By which they may say it, too: what is called a password there is one."""
_CONTENTS: Final = ("text", "value", "content")
_HARMLESS: Final = re.compile(r"(?:click|focus|hover|scroll|read)\b.*")
"""Tools that put nothing into a field, as long as their arguments only say where."""
_SEMANTIC: Final = re.compile(r"(?:fill|toggle|select|type|set)-(.+)")
_LOOKING: Final = re.compile(r"(?:focus|hover|scroll|read)\b.*")
_PRESSING: Final = ("enter", "return", "numpadenter", "space", "spacebar")
"""Keys that press what has the focus."""
_HELD: Final = re.compile(r"\+(?=.)", re.DOTALL)
"""Between keys that are held down and the one that is pressed."""
_VERBS: Final[Mapping[str, str]] = {
    "click": "Press",
    "press": "Press a key in",
    "trigger-interaction": "Press",
    "fill": "Fill in",
    "fill-input": "Fill in",
    "type": "Fill in",
    "set": "Fill in",
    "select": "Choose in",
    "toggle": "Switch",
}
"""What a tool does to a control, in words for the visitor."""
_SECRET_FORMATS: Final = ("password", "one-time-code")
_NONE: Final[Mapping[str, JSON]] = {}
_BETWEEN: Final = re.compile(r"[/,>]")
_BETWEEN_WORDS: Final = re.compile(r"[^\w-]+")
LONGEST_NUMBER: Final = 30
"""Characters of a reference that may be a number."""


@frozen
class OnPage:
    """One of a page's tools, and the references of the controls there that are private."""

    spec: ToolSpec
    private: frozenset[str] = frozenset()
    consequential: frozenset[str] = frozenset()
    sending: frozenset[str] = frozenset()
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the page calls the controls that are asked about."""

    def prepare(self, args: dict[str, JSON]) -> dict[str, JSON]:
        return args

    def subjects(self, args: dict[str, JSON]) -> frozenset[str]:
        return frozenset()

    def preview(self, args: dict[str, JSON]) -> str:
        if args.keys() == {"key"}:
            return f"Press the key {str(args['key']).strip() or 'Space'}"
        if (name := self._called(args)) is None:
            return f"{self.spec.name} {canonical(args).decode()}" if args else self.spec.name
        tool = kebab(self.spec.name)
        verb = _VERBS.get(tool) or _VERBS.get(tool.partition("-")[0]) or f"{self.spec.name}:"
        rest = {key: value for key, value in args.items() if key not in _REFERENCES or key == "key"}
        if not rest:
            return f"{verb} “{name}”"
        value = next(iter(rest.values())) if len(rest) == 1 else rest
        return f"{verb} “{name}”: {value if isinstance(value, str) else canonical(value).decode()}"

    def asking(self, args: dict[str, JSON]) -> ToolSpec:
        """The tool as the policy shall see it for this call: one that may do harm asks first."""
        asks = self._fills_private(args) or self._has_consequences(args)
        return replace(self.spec, default_approval="required") if asks else self.spec

    async def run(self, context: ToolContext, args: dict[str, JSON]) -> object:
        raise AssertionError("a page's tool runs in the page")

    async def reconcile(self, context: ToolContext, args: dict[str, JSON]) -> Reconciled:
        return Reconciled("unknown")

    def _called(self, args: dict[str, JSON]) -> str | None:
        """What the page calls the control that a call is about, where that is known, and where there is only one."""
        spellings = (spelling for each in _scalars(args) for spelling in _spellings(each)) if self.names else ()
        called = {self.names[spelling] for spelling in spellings if spelling in self.names}
        return called.pop() if len(called) == 1 else None

    def _has_consequences(self, args: dict[str, JSON]) -> bool:
        """Decided on the control alone: what a tool is called changes nothing about a press."""
        if _LOOKING.fullmatch(kebab(self.spec.name)):
            return False
        if EVERYTHING in self.consequential or self._refers(args, self.consequential):
            return True
        if not any(isinstance(each, str) and _presses(each) for each in _scalars(args)):
            return False
        # A key without a reference goes to where the focus is, which may be any of these.
        is_anywhere = "key" in args and not any(args.get(name) for name in ("coordinate", "ref", "refName"))
        return self._refers(args, self.sending) or (is_anywhere and bool(self.sending or self.consequential))

    def _fills_private(self, args: dict[str, JSON]) -> bool:
        """Decided on what is put in and where, and on what anybody says of that: no name of a tool excuses it."""
        puts_in = not _only_points(args)
        name = kebab(self.spec.name)
        if _names_secrets(args, self.spec.input_schema):
            return True
        if not puts_in and _HARMLESS.fullmatch(name):
            return False
        if EVERYTHING in self.private:
            return True
        semantic = _SEMANTIC.fullmatch(name)
        if (semantic and names_secret(semantic[1])) or (puts_in and self._is_secret(self.spec.name)):
            return True
        return any(self._names_private(members) for members in _objects(args)) or self._refers(args, self.private)

    def _names_private(self, members: dict[str, JSON]) -> bool:
        return any(map(self._is_secret, _texts([members[key] for key in _NAMING if key in members])))

    def _refers(self, args: JSON, controls: frozenset[str]) -> bool:
        """Whether anything in the arguments, under whatever name, is the reference of one of these controls."""
        return bool(controls) and any(not controls.isdisjoint(_spellings(each)) for each in _scalars(args))

    def _is_secret(self, name: str) -> bool:
        return reference_of(name) in self.private or names_secret(name)


def _presses(key: str) -> bool:
    """Whether it is one of these by any spelling, with whatever is held down meanwhile. A blank is a key, too."""
    last = _HELD.split(key.casefold())[-1].strip()
    return not last or last.rpartition("-")[2].strip("<>{}[] ") in _PRESSING


def _only_points(args: Mapping[str, JSON]) -> bool:
    """Whether arguments say where, and how often or how far, and nothing that could be put in there."""
    return all(name in _REFERENCES or value is None or isinstance(value, bool | int) for name, value in args.items())


def _names_secrets(value: JSON | Mapping[str, JSON], schema: object) -> bool:
    """Whether something is given that is secret by its name, or by what the tool's schema says of it."""
    about = _members(schema)
    if isinstance(value, Mapping):
        inner, others = _members(about.get("properties")), about.get("additionalProperties")
        return any(
            (_is_given(member) and names_secret(name)) or _is_secret(member, inner.get(name, others))
            for name, member in cast("Mapping[str, JSON]", value).items()
        )
    if isinstance(value, list):
        others = about.get("items")
        first = [cast("list[JSON]", each) for each in (about.get("prefixItems"), others) if isinstance(each, list)]
        schemas = chain(*first[:1], repeat(others))
        return any(_is_secret(item, schema) for item, schema in zip(cast("list[JSON]", value), schemas, strict=False))
    return False


def _is_secret(value: JSON, schema: object) -> bool:
    return (_is_given(value) and _is_secret_by(schema)) or _names_secrets(value, schema)


def _members(value: object) -> Mapping[str, JSON]:
    return cast("Mapping[str, JSON]", value) if isinstance(value, Mapping) else _NONE


def _is_given(value: JSON) -> bool:
    # Whether there is to be a password, or none, is no secret.
    return not isinstance(value, bool) and value not in (None, "", [], {})


def _is_secret_by(schema: object) -> bool:
    about = _members(schema)
    said = [text for name in ("title", "description") if isinstance(text := about.get(name), str)]
    return about.get("format") in _SECRET_FORMATS or about.get("writeOnly") is True or any(map(names_secret, said))


def _objects(value: JSON) -> Iterator[dict[str, JSON]]:
    if isinstance(value, dict):
        members = cast("dict[str, JSON]", value)
        yield members
        value = list(members.values())
    for item in cast("list[JSON]", value) if isinstance(value, list) else ():
        yield from _objects(item)


def _scalars(value: JSON) -> Iterator[JSON]:
    """Every text and number, and every path of texts; the names of members, too. Not what is put in somewhere else."""
    if isinstance(value, dict):
        members = cast("dict[str, JSON]", value)
        says_where = any(name in _NAMING for name in members)
        for name, member in members.items():
            yield name
            if not (says_where and name in _CONTENTS and isinstance(member, str)):
                yield from _scalars(member)
    elif isinstance(value, list):
        items = cast("list[JSON]", value)
        if all(isinstance(item, str | int | float) for item in items):
            yield items
        for item in items:
            yield from _scalars(item)
    elif value is not None:
        yield value


def _spellings(value: JSON) -> Iterator[str]:
    """The references that this may be to a page: all of it, its last step, and the words of a selector."""
    whole = reference_of(value)
    yield whole
    yield whole.rpartition("/")[2]
    if isinstance(value, str) and not re.search(r"\s", value):
        yield from filter(None, _BETWEEN_WORDS.split(whole))


def reference_of(value: JSON) -> str:
    """A reference as one text, in whatever form it came: a name, a number, a path of names, a path as text."""
    if isinstance(value, str) and value.startswith("["):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    whole = "/".join(_step(step) for step in _listed(value) if isinstance(step, str | int | float))
    return "/".join(step.strip() for step in _BETWEEN.split(whole)).casefold()


def _step(value: str | float) -> str:
    """A page may compare loosely: 1, 1.0, "1" and true can be one reference."""
    try:
        number = float(value) if len(str(value)) <= LONGEST_NUMBER else None
    except (OverflowError, ValueError):
        number = None
    return str(value) if number is None or not isfinite(number) else f"{number:g}"


def _texts(references: list[JSON]) -> Iterator[str]:
    for reference in references:
        whole = reference_of(reference)
        yield whole
        yield whole.rpartition("/")[2]
        # As it was written: words are told apart by their capitals.
        yield from (step for step in _listed(reference) if isinstance(step, str))


def _listed(value: JSON) -> list[JSON]:
    return cast("list[JSON]", value) if isinstance(value, list) else [value]
