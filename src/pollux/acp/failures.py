"""How a conversation with an agent can fail: one class, a word for the kind, and a text that is safe to show."""

import re
from collections.abc import Iterable
from typing import Final, Literal, get_args

from pollux.core.errors import ToolExecutionError
from pollux.core.redact import Secret, redact

FailureKind = Literal[
    "spawn", "initialize", "protocol", "crash", "timeout", "cancelled", "flood", "auth", "refused"
]  # fmt: skip
"""It could not be started; did not introduce itself as it should; said what makes no sense; ended or closed its output
by itself; took too long; says that somebody cancelled; said too much; wants a login; or answered with an error."""

FAILURE_KINDS: Final[tuple[FailureKind, ...]] = get_args(FailureKind)

SHORTEST_SECRET: Final = 6
"""Of the values in an agent's environment. Shorter ones are `true`, `1` and `false` rather than keys."""
LONGEST_WORDS: Final = 500
"""How much of an agent's own words about an error is shown."""

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+")


class AgentFailed(ToolExecutionError):
    """An agent gave no answer. `stderr` is the end of what it wrote there; what its environment holds is masked."""

    def __init__(self, kind: FailureKind, text: str, *, stderr: str = "") -> None:
        super().__init__(text)
        self.kind: FailureKind = kind
        self.stderr = stderr

    def with_stderr(self, stderr: str) -> "AgentFailed":
        return AgentFailed(self.kind, str(self), stderr=stderr)


class Mask:
    """Takes the values of an environment out of a text: keys are in there, and agents print them."""

    def __init__(self, values: Iterable[str]) -> None:
        self._secrets = [Secret(value) for value in values if len(value) >= SHORTEST_SECRET]

    def __call__(self, text: str) -> str:
        return redact(text, self._secrets)

    def words(self, text: str) -> str:
        """An agent's own words, fit for one line of ours."""
        line = " ".join(_UNSEEN.sub(" ", self(text)).split())
        return line if len(line) <= LONGEST_WORDS else f"{line[:LONGEST_WORDS]}…"
