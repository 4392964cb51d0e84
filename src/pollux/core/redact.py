"""Secrets as a type, and the one function that masks them in text. Only `reveal()` shows a secret."""

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable
from typing import Final, NoReturn, final
from urllib.parse import quote, quote_plus

MASK: Final = "[redacted]"

# Shorter values occur in ordinary words by chance; masking them would only garble the text.
SHORTEST_MASKED: Final = 4


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
    masked = {form for secret in secrets for form in forms_of(secret)}
    # The longest first: a short form may lie inside a longer one, and would leave its ends readable.
    for form in sorted(masked, key=len, reverse=True):
        text = text.replace(form, MASK)
    return text


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
