"""What belongs to the chat itself. A model that could press its own send button would talk to itself for ever.

A page tells of its controls by reference: a name, or a path of names that ends in one (a coordinate). The chat's are
known by their names, and by the container they lie in.
"""

import json
import re
from collections.abc import Mapping
from typing import Final, cast

from pollux.core.messages import JSON
from pollux.core.private import kebab

CONTROLS: Final = frozenset({"message-input", "send-message", "toggle-expand"})
CONTAINERS: Final = frozenset({"gemini-chat", "pollux-chat"})
REFERENCES: Final = ("coordinate", "ref", "refName")
"""The arguments by which a call says what it acts upon."""

_TELLING: Final = frozenset({"lastUserMessage", "lastAssistantMessage", "isExpanded"})
"""A page may call its chat as it likes; what the chat says of itself has these names."""
_SEMANTIC: Final = re.compile(r"(?:click|fill|toggle|select)-(.+)")


def is_container(name: str, value: JSON) -> bool:
    """Whether what lies under this name is the chat: by the name, or by what only a chat has."""
    return kebab(name) in CONTAINERS or (isinstance(value, dict) and cast("dict[str, JSON]", value).keys() >= _TELLING)


def is_own(reference: JSON) -> bool:
    """Whether a name or a coordinate, in any form that a page gives it, leads to the chat's own controls."""
    steps = [kebab(step) for step in _steps(reference)]
    return any(step in CONTROLS or step in CONTAINERS for step in steps)


def is_own_tool(name: str) -> bool:
    """Whether a tool made for one control is made for one of the chat's."""
    semantic = _SEMANTIC.fullmatch(kebab(name))
    target = semantic[1] if semantic else ""
    return target in CONTROLS or any(target.startswith(f"{container}-") for container in CONTAINERS)


def is_reached_by(args: Mapping[str, JSON]) -> bool:
    """Whether a call with these arguments would act upon the chat's own controls."""
    return any(is_own(args[name]) for name in REFERENCES if name in args)


def _steps(reference: JSON) -> list[str]:
    if isinstance(reference, str):
        try:
            reference = json.loads(reference) if reference.startswith("[") else reference
        except (ValueError, RecursionError):
            pass
    if isinstance(reference, list):
        return [step for step in cast("list[JSON]", reference) if isinstance(step, str)]
    return re.split(r"[/,.>]", reference) if isinstance(reference, str) else []
