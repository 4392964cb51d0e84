"""What each Claude model takes: how long an answer may be, and how it is told to think, or not to.

By the number in the name, so that a new model is treated like the newest we know. From
platform.claude.com/docs/en/build-with-claude/thinking and the models' own pages, as of 2026-11.
"""

import re
from functools import lru_cache
from typing import Final

from pollux.core.frozen import frozen
from pollux.core.messages import JSON

_NAME: Final = re.compile(r"claude-(?P<line>[a-z]+)-(?P<major>\d{1,2})(?:-(?P<minor>\d{1,2}))?(?!\d)")
_OLD_NAME: Final = re.compile(r"claude-(?P<major>\d)(?:-(?P<minor>\d))?-(?P<line>[a-z]+)")
_UNNUMBERED: Final = {"claude-mythos-preview": ("mythos", (5, 0))}

_BINDING: Final[JSON] = {"prefix_mismatch_behavior": "drop_block"}
_LEAST_BUDGET: Final = 1024
_BUDGET: Final = 16_000


@frozen
class Claude:
    """A model by the line it belongs to and its place in it."""

    line: str
    version: tuple[int, int]

    @property
    def max_tokens(self) -> int:
        """The longest answer that the model may be asked for."""
        if self.version >= (4, 6):
            return 128_000
        if self.version >= (3, 7):
            return 32_000 if self.line == "opus" and self.version < (4, 5) else 64_000
        return 8_192 if self.version >= (3, 5) else 4_096

    @property
    def binds_thoughts(self) -> bool:
        """Whether a thought counts only behind the very words that it followed."""
        return self.version >= (5, 1)

    @property
    def is_adaptive(self) -> bool:
        """Whether the model decides how much to think; the others want a number of tokens."""
        return self.version >= (4, 6)

    def shown(self, max_tokens: int) -> JSON:
        """The setting that shows the thinking; None where there is no way."""
        if self.is_adaptive:
            return self._adaptive() | {"display": "summarized"}
        budget = min(_BUDGET, max_tokens // 2)
        if self.version < (3, 7) or budget < _LEAST_BUDGET:
            return None
        return {"type": "enabled", "budget_tokens": budget}

    def default(self) -> JSON:
        """The setting for thinking as the model likes; None where nothing has to be said."""
        return self._adaptive() if self.binds_thoughts else None

    def off(self) -> tuple[JSON, str | None]:
        """The settings for the least thinking that the model accepts: `thinking`, and an effort where it always thinks.

        Models before the fifth generation do not think unless they are asked to.
        """
        if self.version < (5, 0) and self.line != "mythos":
            return None, None
        if self.line == "sonnet" and self.version >= (5, 5):
            return {"type": "between_tools"}, None
        if self.line in ("sonnet", "haiku") or (self.line == "opus" and self.version < (5, 5)):
            return {"type": "disabled"}, None
        return self.default(), "low"

    def _adaptive(self) -> dict[str, JSON]:
        # Instructions and tools may change between calls, and old turns give way to a summary. A thought from before
        # that is worth less than the call: without this, the service refuses the call.
        return {"type": "adaptive"} | ({"block_binding": _BINDING} if self.binds_thoughts else {})


UNKNOWN_MAX_TOKENS: Final = 32_000
"""For a name that tells nothing: what every model in service takes."""


@lru_cache(maxsize=256)
def claude(model: str) -> Claude | None:
    """The model of this name; None when the name has no form that we know."""
    if known := next((known for name, known in _UNNUMBERED.items() if model.startswith(name)), None):
        return Claude(*known)
    if found := _NAME.match(model) or _OLD_NAME.match(model):
        return Claude(found["line"], (int(found["major"]), int(found["minor"] or 0)))
    return None
