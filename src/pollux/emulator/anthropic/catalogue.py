"""The Claude models the emulator knows, and which settings each of them takes."""

from dataclasses import dataclass
from typing import Any, Literal

Thinking = Literal["adaptive", "enabled", "disabled", "between_tools"]

# A fixed moment: answers hold no clock.
_CREATED = "2026-01-01T00:00:00Z"


@dataclass(frozen=True)
class Facts:
    """What a model takes. `thinks`: also unasked; `binds`: a thought counts only behind the words it followed."""

    thinking: frozenset[Thinking]
    thinks: bool = True
    forced: bool = True
    sampling: bool = False
    prefill: bool = False
    binds: bool = False
    input_tokens: int = 1_000_000
    output_tokens: int = 128_000


_ALWAYS = Facts(frozenset({"adaptive"}), forced=False, binds=True)
_FIVE = Facts(frozenset({"adaptive", "disabled"}))
_FOUR_EIGHT = Facts(frozenset({"adaptive", "disabled"}), thinks=False)
_FOUR_SIX = Facts(frozenset({"adaptive", "enabled", "disabled"}), thinks=False, sampling=True)
_FOUR_FIVE = Facts(
    frozenset({"enabled", "disabled"}),
    thinks=False,
    sampling=True,
    prefill=True,
    input_tokens=200_000,
    output_tokens=64_000,
)

MODELS: dict[str, Facts] = {
    "claude-fable-5-1": _ALWAYS,
    "claude-opus-5-5": _ALWAYS,
    "claude-sonnet-5-5": Facts(frozenset({"adaptive", "between_tools"}), forced=False, binds=True),
    "claude-haiku-5-5": Facts(frozenset({"adaptive", "disabled"}), binds=True),
    "claude-opus-5": _FIVE,
    "claude-sonnet-5": _FIVE,
    "claude-opus-4-8": _FOUR_EIGHT,
    "claude-opus-4-7": _FOUR_EIGHT,
    "claude-opus-4-6": _FOUR_SIX,
    "claude-sonnet-4-6": _FOUR_SIX,
    "claude-opus-4-5": _FOUR_FIVE,
    "claude-sonnet-4-5": _FOUR_FIVE,
    "claude-haiku-4-5": _FOUR_FIVE,
    "claude-haiku-4-5-20251001": _FOUR_FIVE,
}


def describe(model: str) -> dict[str, Any]:
    """A model as the list shows it."""
    facts = MODELS[model]
    return {
        "type": "model",
        "id": model,
        "display_name": model.replace("-", " ").title(),
        "created_at": _CREATED,
        "lifecycle": "active",
        "max_input_tokens": facts.input_tokens,
        "max_tokens": facts.output_tokens,
    }


def page(*, size: int, after: str) -> dict[str, Any]:
    """One page of the list. `after` is the last id of the page before."""
    names = list(MODELS)
    start = names.index(after) + 1 if after in MODELS else 0
    shown = names[start : start + size]
    return {
        "data": [describe(name) for name in shown],
        "has_more": start + size < len(names),
        "first_id": shown[0] if shown else None,
        "last_id": shown[-1] if shown else None,
    }
