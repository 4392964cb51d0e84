"""An agent's definition by name: instructions, model, tools, rules, limits."""

from collections.abc import Mapping
from dataclasses import field, fields, replace
from typing import Any, Literal

from pollux.core.frozen import frozen
from pollux.core.hosted import hosted_sources
from pollux.core.messages import JSON
from pollux.core.policy import Rule

DEFAULT_MODEL = "gemini-3.8-flash"
"""The one place where a default model is named."""

OnReject = Literal["answer", "fail"]
Thinking = Literal["off", "default", "shown"]


WHOLE = frozenset({"model_calls", "tokens", "compress_at", "answer_bytes", "tries"})
"""The limits that have no fraction."""


@frozen
class Limits:
    """What a run may spend. Checked before each model call; None means no limit of that kind."""

    model_calls: int = 25
    tokens: int | None = None
    seconds: float | None = None
    approval_seconds: float = 24 * 3600
    page_seconds: float = 60
    compress_at: int | None = None
    """Tokens in the conversation beyond which it is summarised before the next call."""
    answer_bytes: int = 4 * 1024 * 1024
    """Text and thoughts of one answer of the model, in UTF-8. The rest of a longer one is not read."""
    answer_seconds: float = 600
    """How long one answer may take, from the call to its end."""
    idle_seconds: float = 60
    """How long nothing of an answer may arrive before the call has failed."""
    tries: int = 4
    """How often the model is called for one answer, where calls fail in passing before its first word."""
    retry_seconds: float = 30
    """How long after the first of these calls the last may begin."""


@frozen
class Profile:
    """What one agent is. Tools are named; the engine knows them by name."""

    name: str = "default"
    instructions: str = ""
    model: str = DEFAULT_MODEL
    tools: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    limits: Limits = Limits()
    on_reject: OnReject = "answer"
    thinking: Thinking = "default"
    max_output_tokens: int | None = None
    output_schema: Mapping[str, JSON] | None = None
    extra: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    """Passed to the provider verbatim. Raises ValidationError for what would let its service act without the gate."""
    priority: int = 0
    """Where many runs wait for a worker, those of a higher one are taken first."""
    persona: bool = False
    """Whether the model also reads a short persona, where there are no instructions, and the policy in words."""

    def __post_init__(self) -> None:
        if self.extra:
            hosted_sources(self.extra)


def bounded(limits: Limits, bounds: Mapping[str, float]) -> Limits:
    """The limits, none of them above what the configuration allows."""
    tighter: dict[str, Any] = {}
    for field_ in fields(Limits):
        bound, own = bounds.get(field_.name), getattr(limits, field_.name)
        if bound is not None and (own is None or bound < own):
            tighter[field_.name] = int(bound) if field_.name in WHOLE else bound
    return replace(limits, **tighter) if tighter else limits
