"""How long a conversation a model takes."""

import pytest

from pollux.core.profile import DEFAULT_MODEL
from pollux.core.windows import UNKNOWN_WINDOW, window_of


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        (DEFAULT_MODEL, 1_048_576),
        ("gemini-2.5-pro", 1_048_576),
        ("claude-haiku-4-5-20251001", 200_000),
        ("claude-opus-4-5", 200_000),
        ("claude-opus-4-6", 1_000_000),
        ("claude-opus-5-5", 1_000_000),
        ("gpt-4", 8_192),
        ("gpt-4o-mini", 128_000),
        ("gpt-4.1-nano", 1_047_576),
        ("gpt-5-mini", 272_000),
        ("gpt-5.4", 922_000),
        ("gpt-5.4-mini", 272_000),
        ("gpt-6-sol", 922_000),
        ("o3", 200_000),
        ("o4-mini", 200_000),
    ],
)
def test_a_name_goes_by_its_longest_known_beginning(model: str, tokens: int):
    assert window_of(model) == tokens


@pytest.mark.parametrize(
    "model", ["", "gemini", "ollama/llama3.2", "ollama/gpt-4o", "openai:http://127.0.0.1/v1/gpt-4o"]
)
def test_of_an_unknown_model_little_is_expected(model: str):
    assert window_of(model) == UNKNOWN_WINDOW
