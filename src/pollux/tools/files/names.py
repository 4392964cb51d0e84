"""Read a path as names beneath a root. Pure: nothing is looked up, so what it says holds whatever lies on the disk."""

import os
from collections.abc import Iterable, Sequence
from typing import Final
from unicodedata import category, normalize

from pollux.core.errors import PolicyError, ValidationError

Names = tuple[str, ...]
"""A path beneath the root, name by name. Empty for the root itself."""

MAX_PATH: Final = 4_095
MAX_NAME: Final = 255
MAX_DEPTH: Final = 128

# Line ends and marks that turn the direction of writing: they make one path look like another to whoever approves it.
_MISLEADING: Final = frozenset("\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def names_of(path: str | os.PathLike[str], *, tops: Iterable[Names] = ()) -> Names:
    """The names in a path, `..` among them. `tops` are the root's own places: a path may begin with one of them.

    Raises:
        ValidationError: it is no path.
        PolicyError: it is absolute and begins elsewhere.
    """
    text = _text(path)
    names = tuple(name for name in text.split("/") if name not in ("", "."))
    if text.startswith("/"):
        names = _without_top(_settled_absolute(names), tops)
    elif names and names[0] == "~":
        raise ValidationError("path: `~` is not expanded. Give a path relative to the working folder")
    if len(names) > MAX_DEPTH:
        raise ValidationError(f"path: expected at most {MAX_DEPTH} names, found {len(names)}")
    return names


def settled(names: Sequence[str]) -> Names:
    """The same place without `..`, as if no folder on the way were a link. Raises PolicyError if it leaves the root."""
    kept: list[str] = []
    for name in names:
        if name != "..":
            kept.append(name)
        elif kept:
            kept.pop()
        else:
            raise outside()
    return tuple(kept)


def shown(names: Sequence[str]) -> str:
    """The path as it is written for model and policy."""
    return "/".join(names) or "."


def is_plain(name: str) -> bool:
    """Whether a name found on the disk can also be asked for."""
    return not _oddity(name) and not any("\ud800" <= char <= "\udfff" for char in name)


def folded(name: str) -> str:
    """The name as the most forgiving file system would compare it: without case, marks that are not seen, end dots."""
    if not name.isascii():
        name = "".join(char for char in normalize("NFKC", name).casefold() if category(char) != "Cf")
    return name.lower().rstrip(" .")


def outside() -> PolicyError:
    """What to say of a path that leads out of the root."""
    return PolicyError(
        "the path leads outside the working folder. Only what lies beneath it can be read or written",
        code="outside_root",
    )


def _text(path: str | os.PathLike[str]) -> str:
    text: object = path if isinstance(path, str) else os.fspath(path) if hasattr(path, "__fspath__") else path
    if not isinstance(text, str):
        raise ValidationError(f"path: expected text such as 'src/main.py', found {type(text).__name__}")
    if not text:
        raise ValidationError("path: expected a path such as 'src/main.py', found an empty text; '.' is the folder")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise ValidationError("path: expected Unicode text, found a lone surrogate") from None
    if size > MAX_PATH:
        raise ValidationError(f"path: expected at most {MAX_PATH} bytes, found {size}")
    if odd := _oddity(text):
        raise ValidationError(f"path: expected a plain path, found the control character U+{ord(odd):04X}")
    if any(len(name.encode()) > MAX_NAME for name in text.split("/")):
        raise ValidationError(f"path: expected names of at most {MAX_NAME} bytes each")
    return text


def _oddity(text: str) -> str:
    return next((char for char in text if char < " " or "\x7f" <= char <= "\x9f" or char in _MISLEADING), "")


def _settled_absolute(names: Names) -> Names:
    """Above the topmost folder is the topmost folder itself."""
    kept: list[str] = []
    for name in names:
        if name != "..":
            kept.append(name)
        elif kept:
            kept.pop()
    return tuple(kept)


def _without_top(names: Names, tops: Iterable[Names]) -> Names:
    for top in tops:
        if names[: len(top)] == top:
            return names[len(top) :]
    raise outside()
