"""Secrets as a type, and what masks them in text, in values and in streams. Only `reveal()` shows a secret."""

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable
from typing import Any, Final, NoReturn, cast, final
from urllib.parse import quote, quote_plus

MASK: Final = "[redacted]"

# Shorter values occur in ordinary words by chance; masking them would only garble the text.
SHORTEST_MASKED: Final = 4
LONGEST_WORD: Final = 7
"""A key this short and made of letters alone is a word like `demo`, no key of a real service: a text may hold it."""


@final
class Secret:
    """A value that may be used but not shown: it prints as a mask, compares by value and refuses to be pickled."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself, for the one place that sends it."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def __str__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return MASK

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __copy__(self) -> "Secret":
        return self

    def __deepcopy__(self, memo: object) -> "Secret":
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret cannot be pickled; let the other process read its own settings")


def redact(text: str, secrets: Iterable[Secret]) -> str:
    """The text with every secret masked, also where it appears URL-encoded or in base64.

    Base64 is found when the secret was encoded by itself or inside a longer text at any of the three alignments.
    """
    return Masking(secrets).text(text)


class Masking:
    """Masks secrets in whole values, and in text that arrives piece by piece."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        # The longest first: a short form may lie inside a longer one, and would leave its ends readable.
        self._forms = sorted({form for secret in secrets for form in forms_of(secret)}, key=len, reverse=True)
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

    def again(self) -> "Masking":
        """For another text: the same secrets, and nothing held back."""
        fresh = Masking(())
        fresh._forms = self._forms
        return fresh


def no_words(secrets: Iterable[Secret]) -> tuple[Secret, ...]:
    """Those that no ordinary text holds by chance."""
    return tuple(secret for secret in secrets if not _is_word(secret.reveal()))


def _is_word(key: str) -> bool:
    return len(key) <= LONGEST_WORD and key.isalpha()


def _overlap(text: str, form: str) -> int:
    """How many characters at the text's end are the form's beginning."""
    for length in range(min(len(text), len(form) - 1), 0, -1):
        if text.endswith(form[:length]):
            return length
    return 0


def forms_of(secret: Secret) -> set[str]:
    """Every way in which a secret is looked for."""
    value = secret.reveal()
    if len(value) < SHORTEST_MASKED:
        return set()
    # A lone surrogate cannot be sent, but it must not stop the masking either.
    raw = value.encode("utf-8", "surrogatepass")
    encoded = {quote(raw, safe=""), quote(raw), quote_plus(raw)}
    lowered = {_lower_escapes(form) for form in encoded}
    return {value} | encoded | lowered | _base64_forms(raw)


def _lower_escapes(text: str) -> str:
    head, *rest = text.split("%")
    return head + "".join("%" + part[:2].lower() + part[2:] for part in rest)


def _base64_forms(raw: bytes) -> set[str]:
    forms: set[str] = set()
    for encode in (b64encode, urlsafe_b64encode):
        forms.add(encode(raw).decode("ascii"))
        for shift in range(3):
            forms.add(_inner(encode(bytes(shift) + raw).decode("ascii"), shift=shift, length=len(raw)))
    return {form for form in forms if len(form) >= SHORTEST_MASKED}


def _inner(encoded: str, *, shift: int, length: int) -> str:
    # Only characters made wholly from the secret's own bytes are the same whatever stands before and after it.
    first = -(-shift * 8 // 6)
    last = (shift + length) * 8 // 6
    return encoded[first:last]
