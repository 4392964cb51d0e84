"""No credential leaves: text is masked as it streams, also where a key comes in two pieces."""

from collections.abc import Iterable
from typing import Any, cast

from pollux.core.redact import MASK, Secret, forms_of

LONGEST_WORD = 7
"""A key this short and made of letters alone is a word like `demo`, no key of a real service: an answer may hold it."""


class Mask:
    """Masks secrets in whole values, and in text that arrives piece by piece."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        # The longest first: a short form may lie inside a longer one, and would leave its ends readable.
        kept = [secret for secret in secrets if not _is_word(secret.reveal())]
        self._forms = sorted({form for secret in kept for form in forms_of(secret)}, key=len, reverse=True)
        self._kept = ""

    def text(self, text: str) -> str:
        """A whole text."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, MASK)
        return text

    def value(self, value: Any) -> Any:
        """A JSON value, names and all."""
        match value:
            case str():
                return self.text(value)
            case dict():
                members = cast("dict[str, Any]", value)
                return {self.text(name): self.value(member) for name, member in members.items()}
            case list():
                return [self.value(member) for member in cast("list[Any]", value)]
            case _:
                return value

    def piece(self, text: str) -> str:
        """What may leave of a text so far: all but an end that could be the beginning of a secret."""
        text = self.text(self._kept + text)
        held = max((_overlap(text, form) for form in self._forms), default=0)
        self._kept = text[len(text) - held :]
        return text[: len(text) - held]

    def rest(self) -> str:
        """What was held back, when nothing more comes."""
        rest, self._kept = self._kept, ""
        return rest


def _is_word(key: str) -> bool:
    return len(key) <= LONGEST_WORD and key.isalpha()


def _overlap(text: str, form: str) -> int:
    """How many characters at the text's end are the form's beginning."""
    for length in range(min(len(text), len(form) - 1), 0, -1):
        if text.endswith(form[:length]):
            return length
    return 0
