"""Files that an option names: regular ones, or a pipe that nobody writes to would hold the emulator for ever."""

from pathlib import Path

from pollux.engine.untrusted import open_file


def read_text(path: Path) -> str:
    """The text of a regular file. Raises ValueError that says why there is none."""
    try:
        with open(open_file(path), encoding="utf-8") as file:
            return file.read()
    except OSError as problem:
        raise ValueError(f"{path} cannot be read: {problem.strerror}. Name a regular file") from None


def require_writable(path: Path) -> None:
    """Raises ValueError where something else than a regular file has that name."""
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} cannot be written: it is not a regular file. Name another one")
