"""What is in a folder that is held open: names and kinds, without following or opening any of it."""

import os
import stat
from itertools import islice
from typing import Literal

from pollux.core.errors import ToolError
from pollux.core.frozen import frozen
from pollux.tools.files.names import shown
from pollux.tools.files.reach import Reached

EntryType = Literal["file", "directory", "link", "other"]


@frozen
class Entry:
    """One thing in a folder. `path` is its path beneath the root; a link is a link, wherever it leads."""

    path: str
    type: EntryType

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def entries(folder: Reached, *, limit: int) -> list[Entry]:
    """What is in the folder, by name, `limit` entries at most. Raises OSError, and ToolError if it is no folder."""
    if not is_folder(folder):
        raise ToolError("expected a folder, found a file. read_file shows what is in it")
    with os.scandir(folder.fd) as found:
        # Sorted after the cut: what is beyond the bound is not even looked at.
        listed = [Entry(shown((*folder.names, entry.name)), _type(entry)) for entry in islice(found, limit)]
    return sorted(listed, key=lambda entry: entry.path)


def is_folder(reached: Reached) -> bool:
    return stat.S_ISDIR(os.fstat(reached.fd).st_mode)


def legible(entry: Entry) -> Entry:
    """The same with a path that can be shown: bytes that are no text become a question mark in a diamond."""
    return Entry(os.fsencode(entry.path).decode("utf-8", "replace"), entry.type)


def _type(entry: os.DirEntry[str]) -> EntryType:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"
