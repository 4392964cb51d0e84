"""How long a conversation a model takes."""

from typing import Final

# The most input that one call may have, in tokens. Where a maker counts the answer into the window and caps the input
# below it, the cap is what a conversation runs into first. From ai.google.dev/gemini-api/docs/models,
# platform.claude.com/docs/en/models and developers.openai.com/api/docs/models, as of 2026-11. A name goes by the
# longest beginning that is here.
_WINDOWS: Final = {
    "gemini-": 1_048_576,
    "claude-": 200_000,
    "claude-fable-": 1_000_000,
    "claude-opus-4-6": 1_000_000,
    "claude-opus-4-7": 1_000_000,
    "claude-opus-4-8": 1_000_000,
    "claude-opus-5": 1_000_000,
    "claude-sonnet-4-6": 1_000_000,
    "claude-sonnet-5": 1_000_000,
    "claude-haiku-5-5": 1_000_000,
    "gpt-3.5": 16_385,
    "gpt-4": 8_192,
    "gpt-4-turbo": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-4o": 128_000,
    "gpt-5": 272_000,
    "gpt-5.4": 922_000,
    "gpt-5.4-mini": 272_000,
    "gpt-5.4-nano": 272_000,
    "gpt-5.5": 922_000,
    "gpt-5.6": 922_000,
    "gpt-6": 922_000,
    "o1": 200_000,
    "o1-mini": 128_000,
    "o1-preview": 128_000,
    "o3": 200_000,
    "o4": 200_000,
}

UNKNOWN_WINDOW: Final = 32_768
"""For models that we know nothing of: summarising early costs a little, a refused call costs the answer."""


def window_of(model: str) -> int:
    """How many tokens of conversation the model takes in one call."""
    for length in range(len(model), 0, -1):
        if (window := _WINDOWS.get(model[:length])) is not None:
            return window
    return UNKNOWN_WINDOW
