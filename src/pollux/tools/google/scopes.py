"""What to ask Google's consent for: the narrowest scopes that the tools can keep their promises with."""

from collections.abc import Collection, Iterable
from typing import Final

from pollux.core.errors import ValidationError

_AUTH: Final = "https://www.googleapis.com/auth/"

# gmail.compose makes and sends the draft. gmail.metadata reads headers in Sent, and never a body: it is how we find out
# after a crash whether a mail went out.
GMAIL: Final = frozenset({f"{_AUTH}gmail.compose", f"{_AUTH}gmail.send", f"{_AUTH}gmail.metadata"})
CALENDAR: Final = frozenset({f"{_AUTH}calendar.events"})
IDENTITY: Final = frozenset({"openid", "email"})

_BY_TOOL: Final = {"gmail_send": GMAIL, "calendar_event_create": CALENDAR}


TOOLS: Final = tuple(_BY_TOOL)


def tools_within(scopes: Collection[str]) -> frozenset[str]:
    """The tools for which these scopes are enough."""
    return frozenset(name for name, needed in _BY_TOOL.items() if needed <= frozenset(scopes))


def of_tools(names: Iterable[str]) -> frozenset[str]:
    """The scopes that these tools need, and those that tell whose account it is. Raises ValidationError."""
    asked = frozenset(names)
    unknown = sorted(asked - _BY_TOOL.keys())
    if unknown:
        raise ValidationError(f"expected Google tools among {', '.join(_BY_TOOL)}, found {', '.join(unknown)}")
    return IDENTITY.union(*(_BY_TOOL[name] for name in asked))
