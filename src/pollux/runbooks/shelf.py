"""The runbooks in a folder: found by path, by id or by name."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pollux.core.errors import NotFound, ValidationError
from pollux.core.frozen import frozen
from pollux.engine.untrusted import read_file, walk
from pollux.runbooks.documents import MAX_BYTES, Form, Runbook, decoded, form_of, read

SUFFIXES: Final = (".atrb", ".runbook.json")
MOST: Final = 1_000
"""How many files are looked at. A folder with more is not a shelf of runbooks."""


@frozen
class Volume:
    """A document as it stands in a file."""

    path: Path
    source: str
    form: Form

    @property
    def digest(self) -> str:
        return digest_of(self.source)

    def read(self) -> Runbook:
        """Raises ValidationError, with block and line."""
        return read(self.source, form=self.form)


def digest_of(source: str) -> str:
    """What a document is pinned by: its content, wherever it lies."""
    return hashlib.sha256(source.encode()).hexdigest()


def volume(path: Path) -> Volume:
    """The document in this file. Raises ValidationError where it cannot be read."""
    try:
        content = read_file(path, most=MAX_BYTES)
        if content is None and path.exists():
            raise ValidationError(f"{path} is no file")
    except OSError as problem:
        raise ValidationError(f"{path} cannot be read ({problem.strerror})") from None
    if content is None:
        raise ValidationError(f"there is no file {path}", code="usage")
    source = decoded(content)
    return Volume(path, source, form_of(source))


class Shelf:
    """A folder of runbooks. Nothing outside of it is read, whatever a link in it points to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def volumes(self) -> Iterator[Volume]:
        """Every document here, by path. What cannot be read is left out."""
        for path in self.paths():
            try:
                yield volume(path)
            except ValidationError:
                continue

    def paths(self) -> list[Path]:
        found: list[Path] = []
        for folder, names in walk(self.folder, without=("node_modules",)):
            # What an editor keeps beside a document begins with a dot too.
            found += [folder / name for name in names if name.endswith(SUFFIXES) and not name.startswith(".")]
            if len(found) >= MOST:
                break
        return [path for path in found[:MOST] if self._is_inside(path)]

    def at(self, path: str) -> Volume:
        """The document at a path beneath the folder. Raises NotFound for any other."""
        whole = self.folder / path
        if not self._is_inside(whole) or not whole.is_file():
            raise NotFound(f"there is no runbook {path!r}")
        return volume(whole)

    def find(self, *, id: str = "", name: str = "") -> Volume:
        """The document of this id or name. Raises NotFound."""
        for each in self.volumes():
            try:
                runbook = each.read()
            except ValidationError:
                continue
            if (id and runbook.id == id) or (not id and name and runbook.name == name):
                return each
        raise NotFound(f"there is no runbook {id or name!r} in the folder of runbooks")

    def _is_inside(self, path: Path) -> bool:
        return os.path.realpath(path).startswith(os.path.realpath(self.folder) + os.sep)
