"""The models the emulator knows, and what it says about them."""

import re
from typing import Any

NAMES = (
    "gemini-3.8-flash",
    "gemini-3.8-flash-lite",
    "gemini-3.5-flash",
    "gemini-3.5-flash-lite",
    "gemini-3.1-pro-preview",
    "gemini-3.1-pro-preview-customtools",
    "gemini-3.1-flash-lite",
    "gemini-3-pro-preview",
    "gemini-3-flash-preview",
    "gemini-2.5-pro",
    "gemini-2.5-flash",
    "gemini-2.5-flash-lite",
    "gemini-2.0-flash",
    "gemini-flash-latest",
    "gemini-pro-latest",
)


def is_known(model: str) -> bool:
    """Does the service have this model? A fault suffix (`--429`) is not part of the name."""
    return base_name(model) in NAMES


def base_name(model: str) -> str:
    """The model without its fault suffix."""
    return model.split("--", 1)[0]


def signs_thoughts(model: str) -> bool:
    """Gemini 3 gives ids and signatures, and wants the signatures back; earlier ones do neither."""
    return re.match(r"gemini-(?:[3-9]|flash-latest|pro-latest)", model) is not None


def describe(model: str) -> dict[str, Any]:
    """A model as `models.get` shows it."""
    return {
        "name": f"models/{model}",
        "version": model.removeprefix("gemini-").split("-")[0],
        "displayName": model.replace("-", " ").title(),
        "description": "Emulated by a demo model, rule-based",
        "inputTokenLimit": 1_048_576,
        "outputTokenLimit": 65_536,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
        "temperature": 1,
        "topP": 0.95,
        "topK": 64,
        "maxTemperature": 2,
        "thinking": True,
    }


def page(*, size: int, token: str) -> dict[str, Any]:
    """One page of `models.list`. The token is where the page starts."""
    start = int(token) if token.isdecimal() else 0
    answer: dict[str, Any] = {"models": [describe(name) for name in NAMES[start : start + size]]}
    if start + size < len(NAMES):
        answer["nextPageToken"] = str(start + size)
    return answer
