"""What of a page never reaches a model: the visitor's secrets, and the chat itself.

The page's own script masks its fields before it sends anything. This is for pages whose script does not: a member is
private by its name, or because the field beside it says of what kind it is.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, cast

from pollux.core.messages import JSON
from pollux.page import chat

PRIVATE: Final = "[private]"

DEEPEST: Final = 100

_SECRET: Final = re.compile(
    r"(?:.+-)?(?:password|passwd|passphrase|passcode|pwd|pin-code|cvc|cvv|csc|cc-[a-z-]+|card-?number|credit-card"
    r"|security-code|otp|one-time-code|ssn|client-secret|(?:access|refresh|session|auth|csrf|api)-(?:token|key))"
    r"(?:-(?:confirm|confirmation|again|repeat|input|value|text))?-?[0-9]*"
)
_SECRET_KIND: Final = re.compile(r"password|(?:current|new)-password|one-time-code|cc-[a-z-]+")
_CONTENTS: Final = frozenset({"value", "current-value", "default-value", "text", "text-content"})


def visible(state: JSON) -> Any:
    """A page's state as a model may see it: nothing private, nothing of the chat."""
    state = without_private(state)
    if isinstance(state, dict) and isinstance(given := cast("dict[str, JSON]", state).get("interactions"), list):
        seen = [_without_chat(interaction) for interaction in cast("list[JSON]", given)]
        return cast("dict[str, JSON]", state) | {"interactions": [each for each in seen if each is not None]}
    return cast("JSON", state)


def without_private(value: JSON, depth: int = 0) -> Any:
    """The value without what is private: passwords, card numbers and codes, by their names or their fields' kinds."""
    match value:
        case dict() | list() if depth > DEEPEST:
            return "…"
        case dict():
            members = cast("dict[str, JSON]", value)
            hidden = _has_private_contents(members)
            return {
                name: PRIVATE if _is_private(name, member, hidden) else without_private(member, depth + 1)
                for name, member in members.items()
                if not chat.is_container(name, member)
            }
        case list():
            return [without_private(item, depth + 1) for item in cast("list[JSON]", value)]
        case _:
            return value


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
    plain = chat.kebab(name[-200:])
    return (hidden and plain in _CONTENTS) or _SECRET.fullmatch(plain) is not None


def _has_private_contents(field: Mapping[str, JSON]) -> bool:
    if field.get("private") is True or field.get("masked") is True:
        return True
    kinds = " ".join(str(field.get(name, ""))[:200] for name in ("type", "inputType", "autocomplete"))
    return any(_SECRET_KIND.fullmatch(kind) for kind in kinds.lower().split())
