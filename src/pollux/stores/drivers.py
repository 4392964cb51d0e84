"""Which drivers are alive: each holds a lock on a file of its own for as long as its process lives.

The kernel drops the lock when the process ends, however it ends, so a name is never alive by mistake; nor dead by
mistake, as it would be with heartbeats in a process that was stopped for a while.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from weakref import WeakSet

from pollux.core.errors import StoreError

_all: "WeakSet[Drivers]" = WeakSet()
_is_hooked = False


class Drivers:
    """The names given by one store object, and the directory where every process shows its own."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._held: dict[str, int] = {}

    def enlist(self) -> str:
        """A new name, alive until `close` or until this process ends. Raises StoreError."""
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._sweep()
            while True:
                name = f"drv_{token_hex(8)}"
                file = self._hold(name)
                if file is not None:
                    break
        except OSError as problem:
            raise StoreError(
                f"expected to write into {self._directory}, found: {problem.strerror}. Check its rights and space"
            ) from problem
        self._held[name] = file
        _watch_forks(self)
        return name

    def is_alive(self, name: str) -> bool:
        """Whether the process behind the name still lives. What a dead one left behind is removed."""
        if name in self._held:
            return True
        if not name.startswith("drv_") or "/" in name:
            return False
        path = self._directory / name
        try:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            # Shared, so that two who ask at once do not take each other for the owner.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        else:
            path.unlink(missing_ok=True)
            return False
        finally:
            os.close(file)

    def has_any(self) -> bool:
        """Whether any process drives, or may."""
        # Of all of them: what a dead one left behind is removed on the way.
        return sum(self.is_alive(path.name) for path in self._directory.glob("drv_*")) > 0

    def close(self) -> None:
        """Every name given here is dead from now on."""
        for name, file in self._held.items():
            (self._directory / name).unlink(missing_ok=True)
            os.close(file)
        self._held.clear()
        # Another process may just have put its own file there.
        with suppress(OSError):
            self._directory.rmdir()

    def disown(self) -> None:
        """In a forked child: the names are the parent's, and must die with it."""
        for file in self._held.values():
            os.close(file)
        self._held.clear()

    def _hold(self, name: str) -> int | None:
        path = self._directory / name
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            # The last of another process's names was just closed, and the directory with it.
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists():
                return file
        except BlockingIOError:
            pass
        # Somebody swept it away between our making and locking it.
        os.close(file)
        return None

    def _sweep(self) -> None:
        self.has_any()


def _watch_forks(drivers: Drivers) -> None:
    global _is_hooked
    _all.add(drivers)
    if not _is_hooked:
        os.register_at_fork(after_in_child=_disown_all)
        _is_hooked = True


def _disown_all() -> None:
    for drivers in list(_all):
        drivers.disown()
