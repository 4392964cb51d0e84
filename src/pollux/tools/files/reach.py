"""Open what a path names without ever leaving a folder that is held open.

Two ways with one meaning. `by_openat2` has the kernel resolve the path and refuse to leave; `by_walk` opens one name at
a time and follows no link that it has not read itself. Links that stay beneath are followed where the caller wants it;
absolute ones count as leaving. Both say where they arrived, in names without links: protection is judged by those.
Only regular files and folders are opened, and looking at anything else wakes nobody: no FIFO's writer, no device.
"""

import errno
import os
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, NamedTuple, Protocol

from pollux.core.errors import ToolError
from pollux.tools.files.names import MAX_DEPTH, Names

FILE: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
MAX_LINKS: Final = 40
MAX_TRIES: Final = 64

# linux/openat2.h; the call has one number on every architecture that Python runs on.
_OPENAT2: Final = 437
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08


class Reached(NamedTuple):
    """An open file or folder, and where it is beneath the root. Whoever gets it closes `fd`."""

    fd: int
    names: Names


class Reach(Protocol):
    """A way to open what the names lead to. Raises OSError; EXDEV means that they lead outside."""

    def __call__(self, top: int, names: Names, *, follow: bool) -> Reached: ...


@contextmanager
def held(reached: Reached) -> Generator[Reached]:
    """The same, closed at the end of the block."""
    try:
        yield reached
    finally:
        os.close(reached.fd)


def best_reach() -> Reach:
    """The kernel's way where there is one, and the walk elsewhere."""
    return by_openat2 if has_openat2() else by_walk


def by_openat2(top: int, names: Names, *, follow: bool) -> Reached:
    """Let the kernel resolve all names at once."""
    how = _BENEATH | _NO_MAGICLINKS | (0 if follow else _NO_SYMLINKS)
    # First only a handle, which does nothing to what it names: a FIFO or device is recognised without being opened.
    handle = _openat2(top, "/".join(names) or ".", os.O_PATH | os.O_CLOEXEC, how)
    try:
        found = os.fstat(handle)
        flags = _flags_for(found)
        arrived = _names_between(top, handle, found)
        return Reached(os.open(f"/proc/self/fd/{handle}", flags), arrived)
    finally:
        os.close(handle)


def by_walk(top: int, names: Names, *, follow: bool) -> Reached:
    """Open one name at a time, from folder to folder."""
    left = list(reversed(names))
    trail: list[Reached] = []
    links = 0
    try:
        while left:
            name = left.pop()
            at = trail[-1] if trail else Reached(top, ())
            if name == "..":
                if not trail:
                    raise _error(errno.EXDEV)
                os.close(trail.pop().fd)
                continue
            found = os.lstat(name, dir_fd=at.fd)
            if stat.S_ISLNK(found.st_mode):
                links += 1
                if not follow or links > MAX_LINKS:
                    raise _error(errno.ELOOP)
                left += reversed(_target(name, at.fd))
                continue
            # Between the look and the opening anything may take the name's place: it is not followed if it is a link.
            flags = FOLDER if left else _flags_for(found)
            step = Reached(os.open(name, flags | os.O_NOFOLLOW, dir_fd=at.fd), (*at.names, name))
            trail.append(step)
            if len(trail) > MAX_DEPTH:
                raise _error(errno.ENAMETOOLONG)
        return trail.pop() if trail else Reached(os.open(".", FOLDER, dir_fd=top), ())
    finally:
        for step in trail:
            os.close(step.fd)


@cache
def has_openat2() -> bool:
    """Whether the kernel knows the call, no filter forbids it, and /proc tells where a handle leads."""
    if sys.platform != "linux":
        return False
    try:
        top = os.open("/", FOLDER)
        try:
            os.close(by_openat2(top, (), follow=True).fd)
        finally:
            os.close(top)
    except OSError:
        return False
    return True


def _flags_for(found: os.stat_result) -> int:
    if stat.S_ISDIR(found.st_mode):
        return FOLDER
    if stat.S_ISREG(found.st_mode):
        return FILE
    raise ToolError(f"expected a file or a folder, found {kind_of(found.st_mode)}, which is neither read nor written")


def kind_of(mode: int) -> str:
    """What a thing on the disk is, in words."""
    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFREG: "a file",
        stat.S_IFLNK: "a symbolic link",
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "something else")


def _target(name: str, folder: int) -> list[str]:
    target = os.readlink(name, dir_fd=folder)
    if target.startswith("/"):
        raise _error(errno.EXDEV)
    return [part for part in target.split("/") if part not in ("", ".")]


def _names_between(top: int, handle: int, found: os.stat_result) -> Names:
    base = os.readlink(f"/proc/self/fd/{top}").rstrip("/")
    place = os.readlink(f"/proc/self/fd/{handle}")
    if place.rstrip("/") == base:
        return ()
    if found.st_nlink == 0:
        # Replaced or removed since it was opened; the kernel says so at the end of its name.
        place = place.removesuffix(" (deleted)")
    if not place.startswith(f"{base}/"):
        raise _error(errno.EXDEV)
    return tuple(place[len(base) + 1 :].split("/"))


def _openat2(top: int, path: str, flags: int, resolve: int) -> int:
    import ctypes

    call = _syscall()
    # struct open_how: flags, mode, resolve.
    how = (ctypes.c_uint64 * 3)(flags, 0, resolve)
    for _ in range(MAX_TRIES):
        fd = call(
            ctypes.c_long(_OPENAT2),
            ctypes.c_int(top),
            ctypes.c_char_p(os.fsencode(path)),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if fd != -1:
            return fd
        code = ctypes.get_errno()
        # The kernel says "again" when a folder was moved while it followed a `..`.
        if code not in (errno.EAGAIN, errno.EINTR):
            raise _error(code)
    raise _error(errno.EAGAIN)


@cache
def _syscall() -> Any:
    import ctypes

    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    return call


def _error(code: int) -> OSError:
    return OSError(code, os.strerror(code))
