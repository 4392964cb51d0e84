"""What a person hands in as a file or through a pipe: whole, as text, and no more than a model could ever read."""

import os
import threading
from pathlib import Path
from typing import Final

from pollux.config import ConfigError

LARGEST: Final = 20_000_000
"""Several times what any model takes. Who gives more has given something else, such as a device that never ends."""
SECONDS = 30.0
"""How long a pipe that nobody writes to is waited for, where no deadline of a run does it."""


def read_all(descriptor: int, what: str) -> bytes:
    """Everything to its end. Raises OSError, or ConfigError where there is no end in sight."""
    pieces: list[bytes] = []
    size = 0
    while piece := os.read(descriptor, 65_536):
        pieces.append(piece)
        size += len(piece)
        too_much(size, what)
    return b"".join(pieces)


def too_much(size: int, what: str) -> None:
    """Raises ConfigError where it is."""
    if size > LARGEST:
        raise ConfigError(f"{what} holds more than {LARGEST:,} bytes. Give less", code="usage")


def read_text(path: Path, option: str) -> str:
    """The text in a file. A pipe is read to its end, however long that takes. Raises ConfigError."""
    try:
        with path.open("rb", buffering=0) as file:
            return read_all(file.fileno(), f"{option} {path}").decode()
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is no UTF-8 text"
        raise ConfigError(f"{option} {path} cannot be read ({reason})", code="usage") from problem


def read_text_soon(path: Path, option: str) -> str:
    """The same, but a pipe that stays silent is given up. Raises ConfigError."""
    found: list[str | ConfigError] = []

    def read() -> None:
        try:
            found.append(read_text(path, option))
        except ConfigError as problem:
            found.append(problem)

    # A thread that is left behind: opening a pipe without a writer cannot be stopped otherwise.
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(SECONDS)
    match found:
        case [str() as text]:
            return text
        case [ConfigError() as problem]:
            raise problem
        case _:
            raise ConfigError(f"{option} {path} gave nothing within {SECONDS:g} seconds", code="usage")


def must_be_text(text: str, option: str) -> str:
    """The text, unless it holds bytes that are none. Raises ConfigError."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{option} must be Unicode text, found bytes that are no UTF-8", code="usage") from None
    return text
