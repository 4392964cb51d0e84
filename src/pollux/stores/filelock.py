"""One file lock for many processes: held for a moment, waited for with a bound, and never inherited by a fork."""

import fcntl
import os
import random
import time
from pathlib import Path
from types import TracebackType
from weakref import WeakSet

from pollux.core.errors import StoreError

WAIT_SECONDS = 10.0

_open: "WeakSet[FileLock]" = WeakSet()
_is_hooked = False


class FileLock:
    """`with lock:` waits until no other holder is there. Raises StoreError after ten seconds.

    Not for several threads at once: a store's writer is the only one to use it.
    """

    def __init__(self, path: Path, *, wait: float = WAIT_SECONDS) -> None:
        self._path = path
        self._wait = wait
        self._file = -1

    def __enter__(self) -> None:
        try:
            if self._file < 0:
                self._open()
            self._acquire()
        except OSError as problem:
            raise StoreError(
                f"expected to lock {self._path}, found: {problem.strerror}. Check the directory's rights and space"
            ) from problem

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file >= 0:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of the file. A lock that is closed can be used again."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        _open.discard(self)

    def _open(self) -> None:
        global _is_hooked
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        _open.add(self)
        if not _is_hooked:
            # A child would share the lock, and hold it for as long as it lives if we were killed meanwhile.
            os.register_at_fork(after_in_child=_forget_all)
            _is_hooked = True

    def _acquire(self) -> None:
        deadline = time.monotonic() + self._wait
        pause = 0.0002
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"expected the store to be free within {self._wait:g} s, but another process holds"
                        f" {self._path}. Try again, or end that process"
                    ) from None
            # Uneven pauses, so that waiting processes do not keep step with one another.
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(pause * 1.5, 0.005)


def _forget_all() -> None:
    for lock in list(_open):
        lock.close()
