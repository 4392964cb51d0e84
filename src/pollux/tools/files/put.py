"""Put bytes in a file's place at once: readers see the old content or the new, never a part, also after a crash.

The new content is a file of its own until it takes over the name. What else the old file was linked to keeps the old
content, so nothing is ever written through a hard link.
"""

import os
import stat
from contextlib import suppress
from secrets import token_hex
from typing import Final

from pollux.core.errors import ToolError
from pollux.tools.files.reach import FOLDER, kind_of

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def current(folder: int, name: str) -> os.stat_result | None:
    """What has the name now, unless that is nothing. A link is looked at itself."""
    try:
        return os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return None


def check_replaceable(found: os.stat_result | None) -> None:
    """Raises ToolError for what is no file, and for a file that its owner made read-only."""
    if found is None:
        return
    if not stat.S_ISREG(found.st_mode):
        raise ToolError(f"expected a file to write, found {kind_of(found.st_mode)}. Choose another path")
    if not found.st_mode & 0o222:
        # Its folder would let us replace it all the same; whoever took the right to write away meant it.
        raise ToolError("the file is read-only, and nothing was changed. Ask the user to make it writable")


def put(folder: int, name: str, content: bytes, *, old: os.stat_result | None) -> None:
    """Replace or make the file. Raises OSError, and then nothing has changed."""
    temporary = f".pollux-{token_hex()}.tmp"
    # A new file gets the mode that the user's umask gives; a replaced one is private until it has its own again.
    fd = os.open(temporary, _NEW, 0o600 if old else 0o666, dir_fd=folder)
    try:
        with open(fd, "wb") as file:
            file.write(content)
            file.flush()
            if old:
                _resemble(fd, old)
            os.fsync(fd)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    _settle(folder)


def _resemble(fd: int, old: os.stat_result) -> None:
    with suppress(OSError):  # Only root may give files away; otherwise it is ours, as with any editor.
        os.fchown(fd, old.st_uid, old.st_gid)
    os.fchmod(fd, old.st_mode & 0o777)


def _settle(folder: int) -> None:
    """Make the new name last. It is in place already, so a disk that cannot promise more is no failure."""
    with suppress(OSError):
        fd = os.open(".", FOLDER, dir_fd=folder)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
