"""A Gemini that lives on your machine: a real HTTP server in Gemini's wire format, a rule-based demo model behind it.
Beside it, in `workspace`, Google's OAuth, Gmail and Calendar with a ledger of every effect.

Law: the product reaches it by base URL only, like the real service; importing this package starts nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pollux.emulator.command import main, serve
    from pollux.emulator.recorder import RecordedRequest
    from pollux.emulator.server import Emulator, run_emulator

__all__ = ["Emulator", "RecordedRequest", "main", "run_emulator", "serve"]

_HOMES = {
    "Emulator": "server",
    "RecordedRequest": "recorder",
    "main": "command",
    "run_emulator": "server",
    "serve": "command",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
