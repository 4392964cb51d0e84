"""What of a question stands in a list of many: what fits, and whether there is more. Who decides reads it whole."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

MOST_SHOWN: Final = 16 << 10
"""Characters of one question in a list: of its preview, its subjects, its prompt and its arguments together."""
LONGEST_TEXT: Final = 2 << 10
"""Characters of one text where they are more: a long one hides none of the others."""
CUT: Final = "…"
_EACH: Final = 8
"""What a value counts beside its characters."""


class Brief(NamedTuple):
    """A question, or its beginning."""

    preview: str
    subjects: Sequence[str]
    prompt: str
    args: dict[str, Any]
    is_truncated: bool


def brief_of(*, preview: str, subjects: Sequence[str], args: Mapping[str, Any], prompt: str = "") -> Brief:
    """The question whole where it is small; else the beginnings of what is long, and as many subjects as fit."""
    if not _read(_Room(MOST_SHOWN, MOST_SHOWN), preview, subjects, prompt, args).is_truncated:
        return Brief(preview, subjects, prompt, dict(args), is_truncated=False)
    # A quarter for the subjects: many of them hide nothing else.
    few = _Room(MOST_SHOWN // 4, LONGEST_TEXT)
    some = cast("list[str]", few.value(list(subjects)))
    return _read(_Room(MOST_SHOWN * 3 // 4, LONGEST_TEXT), preview, (), prompt, args)._replace(
        subjects=some, is_truncated=True
    )


def _read(room: "_Room", preview: str, subjects: Sequence[str], prompt: str, args: Mapping[str, Any]) -> Brief:
    shown = room.text(preview), cast("list[str]", room.value(list(subjects))), room.text(prompt)
    return Brief(*shown, cast("dict[str, Any]", room.value(args)), is_truncated=room.is_used_up)


class _Room:
    """What there is still room for, and whether something was left out."""

    def __init__(self, most: int, longest: int) -> None:
        self._left = most
        self._longest = longest
        self.is_used_up = False

    def text(self, text: str) -> str:
        most = max(0, min(self._longest, self._left))
        self._left -= min(len(text), most) + _EACH
        if len(text) <= most:
            return text
        self.is_used_up = True
        return text[:most] + CUT

    def value(self, value: Any) -> Any:
        match value:
            case str():
                return self.text(value)
            case Mapping():
                found: dict[str, Any] = {}
                for name, member in cast("Mapping[str, Any]", value).items():
                    if len(name) > self._longest or not self._has_room(len(name)):
                        self.is_used_up = True
                        break
                    self._left -= len(name)
                    found[name] = self.value(member)
                return found
            case list() | tuple():
                items: list[Any] = []
                for item in cast("Iterable[Any]", value):
                    if not self._has_room(0):
                        self.is_used_up = True
                        break
                    items.append(self.value(item))
                return items
            case _:
                self._left -= _EACH
                return value

    def _has_room(self, size: int) -> bool:
        return self._left >= size + _EACH
