"""What of a page never reaches a model: the visitor's secrets, and the chat itself.

The page's own script masks its fields before it sends anything. This is for pages whose script does not: a member is
private by its name, or because the field beside it says of what kind it is.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from pollux.core.messages import JSON
from pollux.core.private import kebab, names_secret
from pollux.engine.on_page import EVERYTHING, reference_of
from pollux.page import chat

PRIVATE: Final = "[private]"

DEEPEST: Final = 100
MOST_REFERENCES: Final = 2_000
LARGEST_REFERENCES: Final = 64 << 10
"""Characters of all of them together: they are kept with the run."""
MOST_MEMBERS: Final = 20_000

_SECRET_KIND: Final = re.compile(r"password|current-password|one-time-code|cc-[a-z-]+")
_NEW_PASSWORD: Final = "new-password"
"""Many sites ask with it for no suggestions: it says nothing of a field whose type is another one."""
_MARKS: Final = ("private", "masked", "data-agent-private", "dataAgentPrivate", "agentPrivate")
_VALUES: Final = frozenset({"value", "val", "currentValue", "defaultValue", "current-value", "default-value"})
_CONTENTS: Final = frozenset({"value", "val", "current-value", "default-value", "text", "text-content"})


def visible(state: JSON) -> Any:
    """A page's state as a model may see it: nothing private, nothing of the chat."""
    state = without_private(state)
    if isinstance(state, dict) and isinstance(given := cast("dict[str, JSON]", state).get("interactions"), list):
        seen = [_without_chat(interaction) for interaction in cast("list[JSON]", given)]
        return cast("dict[str, JSON]", state) | {"interactions": [each for each in seen if each is not None]}
    return cast("JSON", state)


def without_private(value: JSON) -> Any:
    """The value without what is private: passwords, card numbers and codes, by their names or their fields' kinds.

    Of one that has very many members the rest is left out: whoever reads is one of many who wait.
    """
    return _Sieve(MOST_MEMBERS).through(value, 0)


class _Sieve:
    def __init__(self, most: int) -> None:
        self._left = most

    def through(self, value: JSON, depth: int) -> Any:
        match value:
            case dict() | list() if depth > DEEPEST or self._left < 0:
                return "…"
            case dict():
                members = cast("dict[str, JSON]", value)
                self._left -= len(members)
                hidden = _has_private_contents(members)
                return {
                    name: PRIVATE if _is_private(name, member, hidden) else self.through(member, depth + 1)
                    for name, member in members.items()
                    if not chat.is_container(name, member)
                }
            case list():
                items = cast("list[JSON]", value)
                self._left -= len(items)
                return [self.through(item, depth + 1) for item in items]
            case _:
                return value


def private_references(state: JSON) -> tuple[str, ...]:
    """The references of those controls of which the page says that they are private.

    Where they are too many to know, or the page too large to be looked through, it is EVERYTHING: one that was passed
    over would be filled in unasked.
    """
    found: set[str] = set()
    size = 0
    try:
        for field in filter(_has_private_contents, fields_of(state)):
            new = {reference_of(field.get(name)) for name in chat.REFERENCES} - found - {""}
            size += sum(map(len, new))
            found |= new
            if len(found) > MOST_REFERENCES or size > LARGEST_REFERENCES:
                return (EVERYTHING,)
    except TooLarge:
        return (EVERYTHING,)
    return tuple(sorted(found))


class TooLarge(Exception):
    """There is more than anybody looks through."""


def fields_of(state: JSON) -> Iterator[Mapping[str, JSON]]:
    """Every object in a page's state. Raises TooLarge where there are more than anybody looks through."""
    waiting, left = [state], MOST_MEMBERS
    while waiting:
        if left == 0:
            raise TooLarge
        value = waiting.pop()
        left -= 1
        inner: list[JSON] = []
        if isinstance(value, dict):
            members = cast("dict[str, JSON]", value)
            yield members
            inner = list(members.values())
        elif isinstance(value, list):
            inner = cast("list[JSON]", value)
        waiting += [cast("JSON", each) for each in inner if isinstance(each, dict | list)]


def _without_chat(interaction: JSON) -> JSON:
    """The interaction without the chat's own controls; None where it has no others."""
    if not isinstance(interaction, dict):
        return None
    members = cast("dict[str, JSON]", interaction)
    if chat.is_own(members.get("refName")):
        return None
    if not isinstance(items := members.get("items"), list):
        return members
    given = [cast("dict[str, JSON]", item) for item in cast("list[JSON]", items) if isinstance(item, dict)]
    own = [item for item in given if not chat.is_own(item.get("coordinate"))]
    return members | {"items": own} if own or not given else None


def _is_private(name: str, member: JSON, hidden: bool) -> bool:
    if isinstance(member, bool) or member in (None, "", [], {}):
        # That there is a password, or none yet, is no secret.
        return False
    return (hidden and kebab(name) in _CONTENTS) or names_secret(name)


def _has_private_contents(field: Mapping[str, JSON]) -> bool:
    """Whether a field says of itself that it is private: outright, by its kind, or by what it is called."""
    # One level: a page may nest them as deep as it likes, and every field is looked at by itself.
    inside = (field.get("attributes"), field.get("dataset"))
    return _is_said_private(field) or any(
        _is_said_private(cast("dict[str, JSON]", each)) for each in inside if isinstance(each, dict)
    )


def _is_said_private(field: Mapping[str, JSON]) -> bool:
    if any(field.get(mark) in (True, "", "true") for mark in _MARKS if mark in field):
        return True
    kinds = " ".join(str(field.get(name, ""))[:200] for name in ("type", "kind", "inputType", "autocomplete"))
    said = kinds.lower().split()
    if any(_SECRET_KIND.fullmatch(kind) for kind in said) or said == [_NEW_PASSWORD]:
        return True
    names = (field.get(name) for name in ("name", "id", "key", "label", "refName"))
    return not field.keys().isdisjoint(_VALUES) and any(isinstance(each, str) and names_secret(each) for each in names)
