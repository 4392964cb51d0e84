"""Which names speak of a visitor's secrets: passwords, card numbers, one-time codes."""

import re
from functools import lru_cache
from typing import Final

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
_SECRET: Final = re.compile(
    r"(?:.+-)?(?:password|passwort|passwd|pass|passphrase|passcode|pwd|pin|pin-code|cvc|cvv|csc|cc-[a-z-]+|card-?number|credit-card"
    r"|security-code|otp|one-time-code|ssn|iban|secret|token|private-key|(?:access|refresh|session|auth|csrf|api)-(?:token|key))"
    r"(?:-(?:confirm|confirmation|again|repeat|input|value|text|field|box|code))?-?[0-9]*"
)
_LONGEST: Final = 200


@lru_cache(1_000)
def names_secret(name: str) -> bool:
    """Whether a field of this name holds a secret."""
    return _SECRET.fullmatch(kebab(name[-_LONGEST:])) is not None


@lru_cache(1_000)
def kebab(name: str) -> str:
    """`messageInput`, `message_input` and `MessageInput` are all `message-input`."""
    return _HUMP.sub("-", name).strip("-").lower()
