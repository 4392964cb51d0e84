"""What several commands read from their arguments. Light: it is imported before anything is known to be needed."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pollux.config import Settings


def seconds(text: str) -> float:
    """A time to wait, for argparse."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"expected seconds above 0, found {text!r}")
    return number


def positive(text: str) -> int:
    """A count of at least one, for argparse."""
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, found {text!r}")
    return number


def session(text: str) -> str:
    """A session to go on with, for argparse."""
    from pollux.core.ids import is_thread_id

    if not is_thread_id(text):
        listed = "`pollux sessions list --all` lists the ids"
        raise argparse.ArgumentTypeError(f"expected an id, or latest, found {text[:80]!r}. {listed}")
    return text


def missing_key(model: str, settings: "Settings") -> str:
    """Why the model cannot be asked, for want of a key; empty where it can. Raises ConfigError for no model's name."""
    from pollux.config import missing_key

    return missing_key(model, settings, by_flag=True)
