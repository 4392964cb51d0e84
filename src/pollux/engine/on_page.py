"""A tool that a page brings. It is decided about here, and executed there.

What a page does for its visitor needs no leave: the visitor asked, watches and can stop. A model that fills in a
password, a card's number or a one-time code is asked about all the same.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
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
_HARMLESS: Final = re.compile(r"(?:click|focus|hover|scroll|read)\b.*")
"""Tools that put nothing into a field."""
_VALUES: Final = frozenset({"value", "values", "text", "data"})
_SEMANTIC: Final = re.compile(r"(?:fill|toggle|select|type|set)-(.+)")


@frozen
class OnPage:
    """One of a page's tools, and the references of the controls there that are private."""

    spec: ToolSpec
    private: frozenset[str] = frozenset()

    def prepare(self, args: dict[str, JSON]) -> dict[str, JSON]:
        return args

    def subjects(self, args: dict[str, JSON]) -> frozenset[str]:
        return frozenset()

    def preview(self, args: dict[str, JSON]) -> str:
        return f"{self.spec.name} {canonical(args).decode()}" if args else self.spec.name

    def asking(self, args: dict[str, JSON]) -> ToolSpec:
        """The tool as the policy shall see it for this call: one that fills in a private field asks first."""
        return replace(self.spec, default_approval="required") if self._fills_private(args) else self.spec

    async def run(self, context: ToolContext, args: dict[str, JSON]) -> object:
        raise AssertionError("a page's tool runs in the page")

    async def reconcile(self, context: ToolContext, args: dict[str, JSON]) -> Reconciled:
        return Reconciled("unknown")

    def _fills_private(self, args: dict[str, JSON]) -> bool:
        name = kebab(self.spec.name)
        if _HARMLESS.fullmatch(name) and args.keys().isdisjoint(_VALUES):
            return False
        if EVERYTHING in self.private:
            return True
        semantic = _SEMANTIC.fullmatch(name)
        if semantic and names_secret(semantic[1]):
            return True
        return any(self._names_private(members) for members in _objects(args))

    def _names_private(self, members: dict[str, JSON]) -> bool:
        references = list(_texts([members[key] for key in _REFERENCES if key in members]))
        return any(map(names_secret, members)) or any(one in self.private or names_secret(one) for one in references)


def _objects(value: JSON) -> Iterator[dict[str, JSON]]:
    if isinstance(value, dict):
        members = cast("dict[str, JSON]", value)
        yield members
        value = list(members.values())
    for item in cast("list[JSON]", value) if isinstance(value, list) else ():
        yield from _objects(item)


def reference_of(value: JSON) -> str:
    """A reference as one text, whether it came as a name or as a path of names."""
    steps = cast("list[JSON]", value) if isinstance(value, list) else [value]
    return "/".join(step for step in steps if isinstance(step, str))


def _texts(references: list[JSON]) -> Iterator[str]:
    for reference in references:
        whole = reference_of(reference)
        yield whole
        yield whole.rpartition("/")[2]
