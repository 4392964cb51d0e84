"""Notice at once when somebody puts a new file in the place of a covered one.

A cover lies on a file, not on its name: once somebody gives a new file that name, as editors do, the command sees the
new one. Nothing prevents that, so the command is stopped. Linux reports each new name in a folder (inotify). The
folders on the way to a covered place are watched too: a new folder holds new files.
"""

import asyncio
import errno
import os
import struct
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

_NEW_NAME: Final = 0x00000080 | 0x00000100
"""IN_MOVED_TO and IN_CREATE."""
_ONLY_FOLDERS: Final = 0x01000000 | 0x02000000
"""IN_ONLYDIR and IN_DONT_FOLLOW."""
_LOST: Final = 0x00004000
"""IN_Q_OVERFLOW: more happened than Linux keeps for us."""
_EVENT: Final = struct.Struct("iIII")
_READ_BYTES: Final = 1 << 16


class Unwatched(Exception):
    """The covered places cannot be watched. The text is for people."""


class Watch:
    """What is new in the place of something that was covered: the `first` of it, and all of the `places`.

    Not told by inodes: the number of a file that is gone is given to the next one.
    """

    def __init__(self, places: set[str]) -> None:
        self.first: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.places = places

    def note(self, place: str) -> None:
        self.places.add(place)
        if not self.first.done():
            self.first.set_result(place)


@contextmanager
def watched(root: str, places: Iterable[str], *, new: set[str]) -> Generator[Watch]:
    """See which of these places, or of the folders above them in the root, are new, and keep them in `new`.

    Where Linux lost count, it is the root itself. Raises Unwatched.
    """
    watch, names = Watch(new), _names(root, places)
    if not names:
        yield watch
        return
    file = _inotify()
    try:
        # From the root down: a folder that is replaced meanwhile is reported by the one above it.
        folders = {_watch(file, folder): folder for folder in sorted(names)}

        def look() -> None:
            for number, name in _events(file):
                folder = folders.get(number)
                if folder is None:
                    watch.note(root)
                elif name in names[folder]:
                    watch.note(f"{folder}/{name}")

        loop = asyncio.get_running_loop()
        loop.add_reader(file, look)
        try:
            yield watch
        finally:
            loop.remove_reader(file)
            # What nobody has read yet.
            look()
    finally:
        os.close(file)


def _names(root: str, places: Iterable[str]) -> dict[str, set[str]]:
    """By folder, the names in it that lead to these places. What is beside the root no command can reach."""
    names: dict[str, set[str]] = {}
    for place in places:
        while place != root and place.startswith(f"{root}/"):
            folder, _, name = place.rpartition("/")
            names.setdefault(folder, set()).add(name)
            place = folder
    return names


def _inotify() -> int:
    import ctypes

    file = ctypes.CDLL(None, use_errno=True).inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if file < 0:
        raise unwatched(ctypes.get_errno())
    return int(file)


def _watch(file: int, folder: str) -> int | None:
    """None for a folder that is not there: nothing in it is covered, and a new one is reported by the folder above."""
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    watch = library.inotify_add_watch(file, os.fsencode(folder), ctypes.c_uint32(_NEW_NAME | _ONLY_FOLDERS))
    if watch < 0 and (number := ctypes.get_errno()) not in (errno.ENOENT, errno.ENOTDIR):
        raise unwatched(number)
    return None if watch < 0 else int(watch)


def unwatched(number: int) -> Unwatched:
    """The refusal for one of the system's errors."""
    return Unwatched(
        f"the files that decide what may run here cannot be watched ({os.strerror(number)}). Check the system settings "
        "fs.inotify.max_user_instances and fs.inotify.max_user_watches, and programs that watch many files"
    )


def _events(file: int) -> Iterator[tuple[int, str]]:
    """Watches and names. Lost events have a watch that no folder has."""
    with suppress(BlockingIOError):
        while events := os.read(file, _READ_BYTES):
            at = 0
            while at < len(events):
                watch, mask, _, length = _EVENT.unpack_from(events, at)
                at += _EVENT.size
                name = events[at : at + length].rstrip(b"\0")
                at += length
                # A folder that is gone says so once (IN_IGNORED), without a name: its new one counts where it is made.
                if name or mask & _LOST:
                    yield watch, os.fsdecode(name)
