"""Names as different languages spell them."""

import keyword
import re
from collections.abc import Collection
from typing import Final

LONGEST_TOOL: Final = 64
_SEAMS: Final = (re.compile(r"([a-z0-9])([A-Z])"), re.compile(r"([A-Z])([A-Z][a-z])"))
_WORD: Final = re.compile(r"[A-Za-z0-9]+")
_NO_TOOL: Final = re.compile(r"[^A-Za-z0-9_-]")


def words_of(name: str) -> list[str]:
    """The words that a name is made of: getURLFor is get, URL, For."""
    for seam in _SEAMS:
        name = seam.sub(r"\1 \2", name)
    return _WORD.findall(name)


def pascal_case(name: str) -> str:
    """SendMessage, for send-message, send_message and sendMessage."""
    made = ""
    for word in words_of(name):
        first = word[0].upper()
        # Two numbers side by side would become another one.
        made += (f"_{first}" if made and first.isdigit() else first) + word[1:].lower()
    return made


def type_name(name: str) -> str:
    """The name as that of a type, which begins with no digit."""
    made = pascal_case(name)
    return f"_{made}" if made[:1].isdigit() else made


def camel_case(name: str) -> str:
    """sendMessage."""
    made = pascal_case(name)
    return made[:1].lower() + made[1:]


def snake_case(name: str) -> str:
    """send_message."""
    return "_".join(word.lower() for word in words_of(name))


def is_python_name(name: str) -> bool:
    """Whether it may stand in a class as it is. One with two underscores would be renamed there."""
    return name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")


def tool_name(action: str, taken: Collection[str]) -> str:
    """What a model calls an action: `action_` and its name, unlike every name that is taken."""
    plain = _NO_TOOL.sub("_", f"action_{action}")[:LONGEST_TOOL]
    name, number = plain, 1
    while name in taken:
        number += 1
        suffix = f"_{number}"
        name = plain[: LONGEST_TOOL - len(suffix)] + suffix
    return name
