"""A folder that is held open, and the files beneath it. Nothing outside is ever read, written or listed.

Reading follows links that stay beneath the root. Writing follows none: what a person approved is the place that is
written, and no rule about a path can be passed by a link to it. A file of several names (hard links) may belong
elsewhere, and nobody can see where: it is read only when everybody on this machine may read it, as with the files that
package installers share, and writing replaces just the one name.
"""

import errno
import os
import stat
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Final, Literal
from weakref import finalize

from pollux.core.errors import PolicyError, PolluxError, ToolError, ValidationError
from pollux.tools.files.guard import REPOSITORY, Guard, is_repository, not_written
from pollux.tools.files.hooks import hook_places
from pollux.tools.files.listing import Entry, entries, is_folder, legible
from pollux.tools.files.names import Names, folded, is_plain, names_of, settled, shown
from pollux.tools.files.put import check_replaceable, current, put
from pollux.tools.files.reach import FILE, Reach, Reached, best_reach, by_openat2, by_walk, held
from pollux.tools.files.refusals import refusal, refusals, too_large

MAX_BYTES: Final = 10_000_000
MAX_WALKED: Final = 100_000

AnyPath = str | os.PathLike[str]

_WAYS: Final[dict[str, Reach]] = {"openat2": by_openat2, "walk": by_walk}
_NO_FOLDER: Final = "there is no folder at this path. list_directory of '.' shows where to begin"


def _always(names: Names) -> bool:
    return True


class Root:
    """A folder held open. `protected` paths are neither read nor written, `readable` ones are read and not written.

    What lies beside one of `stores` and begins with its name is protected too. Names with one of the `endings` are
    read and not written.

    Paths are relative to it, or absolute and beneath it. `way` says how they are resolved, if not the best way.
    """

    def __init__(
        self,
        path: AnyPath,
        *,
        protected: Iterable[AnyPath] = (),
        readable: Iterable[AnyPath] = (),
        stores: Iterable[AnyPath] = (),
        endings: Iterable[str] = (),
        way: Literal["openat2", "walk"] | None = None,
    ) -> None:
        try:
            given = Path(os.path.abspath(Path(path).expanduser()))
            self.path: Final = given.resolve()
            self._top = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (OSError, RuntimeError, TypeError, ValueError):
            raise ValidationError(f"expected a folder to work in, found none at {str(path)[:200]!r}") from None
        self._closing: Final = finalize(self, os.close, self._top)
        self._tops: Final = tuple({given.parts[1:]: None, self.path.parts[1:]: None})
        self._reach: Final = _WAYS[way] if way else best_reach()
        self._guard: Final = Guard(
            hidden=self._hidden(protected),
            kept=self._beneath(readable),
            stores=tuple(names for names in self._beneath(stores) if names),
            endings=tuple(folded(ending) for ending in endings),
        )
        # Reading, changing and replacing a file is one step among those who share this root.
        self._writing: Final = Lock()

    def close(self) -> None:
        """Let go of the folder. Nothing can be reached through this object afterwards."""
        self._closing()
        self._top = -1

    def names(self, path: AnyPath) -> Names:
        """The path as names beneath the root, by its spelling alone: nothing is looked up.

        Raises:
            ValidationError: it is no path.
            PolicyError: it leads outside.
        """
        return settled(names_of(path, tops=self._tops))

    def writable_names(self, path: AnyPath) -> Names:
        """The same for a path that shall be written. Also raises PolicyError where that is protected."""
        names = self.names(path)
        if not names:
            raise ValidationError("path: expected the path of a file, found the working folder itself")
        self._guard.check_write(names)
        return names

    def readable_names(self, path: AnyPath) -> Names:
        """The same for a path that shall be read."""
        names = self.names(path)
        self._guard.check_read(names)
        return names

    def open_read(self, path: AnyPath) -> int | None:
        """A descriptor of a regular file, for the caller to close. None if nothing is there."""
        reached = self._reached(path)
        if reached is None:
            return None
        try:
            _check_readable(os.fstat(reached.fd))
        except BaseException:
            os.close(reached.fd)
            raise
        return reached.fd

    def read(self, path: AnyPath, *, limit: int = MAX_BYTES) -> bytes | None:
        """The file's bytes. None if nothing is there; a larger file is refused before any of it is read."""
        fd = self.open_read(path)
        return None if fd is None else _content(fd, limit)

    def stat(self, path: AnyPath) -> os.stat_result | None:
        """The facts about a file or folder. None if nothing is there."""
        reached = self._reached(path)
        if reached is None:
            return None
        with held(reached):
            return os.fstat(reached.fd)

    def write(self, path: AnyPath, content: bytes, *, limit: int = MAX_BYTES) -> None:
        """Make or replace the file at once, with the folders that it needs. An existing file keeps its mode."""
        names = self.writable_names(path)
        if len(content) > limit:
            raise too_large(len(content), limit, doing="written")
        with self._writing, refusals(), self._outside_repositories(names), self._folder_for(path, make=True) as folder:
            put(folder, names[-1], content, old=self._replaceable(folder, names))

    def edit(self, path: AnyPath, change: Callable[[bytes], bytes], *, limit: int = MAX_BYTES) -> None:
        """Replace the file by what `change` makes of it. Refused when somebody else wrote it meanwhile."""
        names = self.writable_names(path)
        with self._writing, refusals(), self._outside_repositories(names), self._folder_for(path) as folder:
            before = self._replaceable(folder, names)
            if before is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            _check_readable(before)
            changed = change(_content(os.open(names[-1], FILE | os.O_NOFOLLOW, dir_fd=folder), limit))
            if len(changed) > limit:
                raise too_large(len(changed), limit, doing="written")
            after = self._replaceable(folder, names)
            if after is None or _version(before) != _version(after):
                raise ToolError("the file was changed by somebody else meanwhile. Read it again, then decide")
            put(folder, names[-1], changed, old=after)

    def list(self, path: AnyPath = ".", *, limit: int = MAX_WALKED) -> list[Entry]:
        """What is in a folder, by name, `limit` entries at most."""
        reached = self._reached(path)
        if reached is None:
            raise ToolError(_NO_FOLDER)
        with held(reached), refusals():
            return [legible(entry) for entry in entries(reached, limit=limit)]

    def walk(
        self, path: AnyPath = ".", *, limit: int = MAX_WALKED, enter: Callable[[Names], bool] = _always
    ) -> Iterator[Entry]:
        """Everything beneath a folder, the upper levels first, `limit` entries at most; of a file, the file alone.

        No link is followed. Folders that `enter` refuses are named and not entered, and so are protected ones and
        those that vanish meanwhile. Things with a name that could not be asked for are left out.
        """
        return islice(self._walked(path, limit, enter), limit)

    def _walked(self, path: AnyPath, limit: int, enter: Callable[[Names], bool]) -> Iterator[Entry]:
        start = self._reached(path)
        if start is None:
            raise ToolError(_NO_FOLDER)
        with held(start):
            if not is_folder(start):
                yield Entry(shown(start.names), "file")
                return
        waiting = deque([start.names])
        while waiting:
            names = waiting.popleft()
            for entry in self._level(names, limit=limit):
                yield entry
                inner = (*names, entry.name)
                if entry.type == "directory" and enter(inner):
                    waiting.append(inner)

    def _level(self, names: Names, *, limit: int) -> "list[Entry]":
        try:
            with held(self._reach(self._top, names, follow=False)) as folder:
                self._guard.check_read(folder.names)
                # By the names it was asked for under: it may have been moved meanwhile.
                found = entries(folder._replace(names=names), limit=limit)
                return [entry for entry in found if is_plain(entry.name)]
        except (OSError, PolluxError):
            return []

    def _reached(self, path: AnyPath) -> Reached | None:
        """What the path leads to, through links that stay beneath. None if nothing is there."""
        names = names_of(path, tops=self._tops)
        # By the name that was asked for as well as by where it leads: `.env` may be a link to a file of another name.
        self._guard.check_read(names)
        try:
            reached = self._reach(self._top, names, follow=True)
        except (FileNotFoundError, NotADirectoryError):
            # The kernel stops at the first name that is missing; by its spelling the path may lead out all the same.
            settled(names)
            return None
        except OSError as error:
            raise refusal(error) from None
        try:
            self._guard.check_read(reached.names)
        except BaseException:
            os.close(reached.fd)
            raise
        return reached

    @contextmanager
    def _outside_repositories(self, names: Names) -> Generator[None]:
        """Raises PolicyError where a folder on the way is one that git reads as its own, or would be after this."""
        for count, name in enumerate(names):
            try:
                with held(self._reach(self._top, names[:count], follow=False)) as folder:
                    found = [each for each in REPOSITORY if current(folder.fd, each) is not None]
            except OSError:
                # Of what is not there, or is reached by a link, nothing is written here.
                break
            if is_repository((*found, name)):
                raise not_written()
        if self._is_hook(names):
            raise not_written()
        yield

    def _is_hook(self, names: Names) -> bool:
        """Whether git would run it as a hook: a repository around it, or around the root, says where these are."""
        root = str(self.path)
        inner = (os.path.join(root, *names[:count]) for count in range(1, len(names)))
        tops = (top for top in (root, *map(str, self.path.parents), *inner) if os.path.lexists(f"{top}/.git"))
        spelled = tuple(folded(name) for name in names)
        places = self._beneath(place for top in tops for place in hook_places(top, root))
        return any(spelled[: len(place)] == place for place in places)

    @contextmanager
    def _folder_for(self, path: AnyPath, *, make: bool = False) -> Generator[int]:
        """The folder that a file to be written stands in. With `make`, folders that are missing are made."""
        spelled = names_of(path, tops=self._tops)
        names = settled(spelled)
        try:
            if ".." in spelled:
                # Back from a linked folder is somewhere else than it looks: no link before the last `..` either.
                os.close(self._reach(self._top, _to_last_back(spelled), follow=False).fd)
            folder = self._made(names[:-1]) if make else self._reach(self._top, names[:-1], follow=False)
        except OSError as error:
            raise (self._past_links(spelled) if error.errno == errno.ELOOP else error) from None
        with held(folder):
            yield folder.fd

    def _made(self, names: Names) -> Reached:
        try:
            return self._reach(self._top, names, follow=False)
        except FileNotFoundError:
            if not names:
                raise
        with held(self._made(names[:-1])) as parent, suppress(FileExistsError):
            os.mkdir(names[-1], dir_fd=parent.fd)
        return self._reach(self._top, names, follow=False)

    def _replaceable(self, folder: int, names: Names) -> os.stat_result | None:
        found = current(folder, names[-1])
        if found is not None and stat.S_ISLNK(found.st_mode):
            raise self._past_links(names)
        check_replaceable(found)
        return found

    def _past_links(self, names: Names) -> PolluxError:
        """What to say of a link on the way to a file that shall be written: where it would have led."""
        for count in range(len(names), 0, -1):
            try:
                with held(self._reach(self._top, names[:count], follow=True)) as reached:
                    place = (*reached.names, *names[count:])
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                return refusal(error)
            if place == names:
                break
            told = f"one leads from here to {shown(place)!r}. Write there"
            return ToolError(f"nothing is written through symbolic links, and {told}")
        return ToolError("nothing is written through symbolic links, and this one leads nowhere. Choose another path")

    def _hidden(self, paths: Iterable[AnyPath]) -> tuple[Names, ...]:
        hidden = self._beneath(paths)
        if () in hidden:
            raise ValidationError(f"{str(self.path)!r} is protected from tools. Work in another folder")
        return hidden

    def _beneath(self, paths: Iterable[AnyPath]) -> tuple[Names, ...]:
        """Those of the paths that lie beneath the root, folded. Empty names for one that the root itself lies in."""
        found: set[Names] = set()
        for path in paths:
            place = Path(os.path.abspath(self.path / Path(path).expanduser()))
            # As it is spelled and where it leads now: it need not exist yet.
            for parts in (place.parts[1:], Path(os.path.realpath(place)).parts[1:]):
                for top in self._tops:
                    if parts[: len(top)] == top or top[: len(parts)] == parts:
                        found.add(tuple(folded(name) for name in parts[len(top) :]))
        return tuple(found)


def _to_last_back(names: Names) -> Names:
    return names[: len(names) - names[::-1].index("..")]


def _check_readable(found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise ToolError("expected a file, found a folder. list_directory shows what is in it")
    if found.st_nlink > 1 and not found.st_mode & stat.S_IROTH:
        raise PolicyError(
            "the file has several names (hard links) and is private, so it may belong outside the working folder. "
            "Ask the user for a copy of it",
            code="outside_root",
        )


def _content(fd: int, limit: int) -> bytes:
    with refusals(), open(fd, "rb") as file:
        size = os.fstat(fd).st_size
        # A file may grow while it is read: one byte more than is allowed tells.
        content = b"" if size > limit else file.read(limit + 1)
    if size > limit or len(content) > limit:
        raise too_large(max(size, len(content)), limit)
    return content


def _version(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
