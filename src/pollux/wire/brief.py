"""What of a question stands in a list of many: what fits, and whether there is more. Who decides reads it whole."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

MOST_SHOWN: Final = 16 << 10
"""Characters of one question in a list: of its preview, its subjects, its prompt and its arguments together."""
LONGEST_TEXT: Final = 2 << 10
"""Characters of one text among them: a long one hides none of the others."""
CUT: Final = "…"
_EACH: Final = 8
"""What a value counts beside its characters."""


class Brief:
    """What there is still room for, and whether something was left out."""

    def __init__(self, most: int = MOST_SHOWN) -> None:
        self._room = most
        self.is_truncated = False

    def text(self, text: str) -> str:
        """The text, or its beginning."""
        most = max(0, min(LONGEST_TEXT, self._room))
        self._room -= min(len(text), most) + _EACH
        return text if len(text) <= most else self._cut(text[:most])

    def texts(self, texts: Iterable[str]) -> list[str]:
        """As many of them as fit."""
        return cast("list[str]", self._value(list(texts)))

    def members(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments, with the beginnings of what is long."""
        return cast("dict[str, Any]", self._value(args))

    def _value(self, value: Any) -> Any:
        match value:
            case str():
                return self.text(value)
            case Mapping():
                found: dict[str, Any] = {}
                for name, member in cast("Mapping[str, Any]", value).items():
                    if len(name) > LONGEST_TEXT or not self._has_room(len(name)):
                        self.is_truncated = True
                        break
                    self._room -= len(name)
                    found[name] = self._value(member)
                return found
            case list() | tuple():
                items: list[Any] = []
                for item in cast("Iterable[Any]", value):
                    if not self._has_room(0):
                        self.is_truncated = True
                        break
                    items.append(self._value(item))
                return items
            case _:
                self._room -= _EACH
                return value

    def _has_room(self, size: int) -> bool:
        return self._room >= size + _EACH

    def _cut(self, beginning: str) -> str:
        self.is_truncated = True
        return beginning + CUT
