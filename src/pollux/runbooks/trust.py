"""Which documents a person has accepted as they stand, with the commands and capabilities in them.

Pinned in `$POLLUX_HOME/trust.json`: the hash of the text, the folder that it lies in, and the programs that its agents
and scripts start. What changes is asked about again. The same text in another folder is another document: what lies
beside it is not what a person saw. The file is the person's own. Nothing in a project directory adds to it, and one
that others can write counts for nothing.
"""

import fcntl
import json
import os
import re
import stat
import tempfile
import time
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.ids import Instant

Kind = Literal["runbook"]
FILE: Final = "trust.json"
LARGEST: Final = 4 << 20
WAIT_SECONDS: Final = 10.0


@frozen
class Pin:
    """One thing that was accepted. `what` is for people; what counts is the digest."""

    kind: Kind
    digest: str
    what: str
    at: Instant
    by: str
    folder: str = ""
    programs: tuple[tuple[str, str], ...] = ()
    """Each word of an agent's command that means a file, and which file that was."""
    scripts: tuple[tuple[str, str], ...] | None = None
    """The same of its scripts. None: it was accepted before these were pinned."""


class Trust:
    """The pins of one person's home."""

    def __init__(self, home: Path) -> None:
        self._path = home / FILE

    def is_trusted(self, kind: Kind, digest: str, *, folder: str = "") -> bool:
        """Whether this very content was accepted in this folder. Raises ValidationError for a damaged file."""
        return self.pinned(kind, digest, folder=folder) is not None

    def pinned(self, kind: Kind, digest: str, *, folder: str = "") -> Pin | None:
        """What was accepted of this content in this folder. Raises ValidationError for a damaged file."""
        key = (kind, digest, folder)
        return next((pin for pin in self.list() if (pin.kind, pin.digest, pin.folder) == key), None)

    def list(self) -> tuple[Pin, ...]:
        """Everything that was accepted, the oldest first. Raises ValidationError for a damaged file."""
        content = self._read()
        if content is None:
            return ()
        try:
            document: Any = json.loads(content)
            return tuple(_pin(told) for told in document["pins"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ValidationError(f"{self._path} is damaged. Remove it, and accept again what you trust") from None

    def pin(
        self,
        kind: Kind,
        digest: str,
        *,
        what: str,
        by: str,
        at: Instant | None = None,
        folder: str = "",
        programs: tuple[tuple[str, str], ...] = (),
        scripts: tuple[tuple[str, str], ...] = (),
    ) -> Pin:
        """Remember that a person accepted this. Accepting it once more changes nothing but the programs."""
        pin = Pin(kind, digest, what, time.time() if at is None else at, by, folder, programs, scripts)
        with self._lock():
            pins, known = self.list(), self.pinned(kind, digest, folder=folder)
            if known is not None and (known.programs, known.scripts) == (programs, scripts):
                return known
            self._write((*(each for each in pins if each != known), pin))
        return pin

    def unpin(self, digest: str) -> tuple[Pin, ...]:
        """Forget what begins with this digest, and say what that was: nothing, if there was none."""
        with self._lock():
            pins = self.list()
            gone = tuple(pin for pin in pins if digest and pin.digest.startswith(digest))
            if gone:
                self._write(tuple(pin for pin in pins if pin not in gone))
        return gone

    @contextmanager
    def _lock(self) -> Generator[None]:
        """Alone with the file, among all processes."""
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(
                self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
        except OSError as problem:
            raise ValidationError(f"{self._path} cannot be locked ({problem.strerror}). Check POLLUX_HOME") from None
        try:
            _wait_for(file, self._path)
            yield
        finally:
            os.close(file)

    def _read(self) -> bytes | None:
        try:
            file = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise ValidationError(f"{self._path} cannot be read ({problem.strerror}). Check POLLUX_HOME") from None
        with os.fdopen(file, "rb") as opened:
            state = os.fstat(opened.fileno())
            if not stat.S_ISREG(state.st_mode) or state.st_mode & 0o022 or state.st_uid not in (os.geteuid(), 0):
                raise ValidationError(f"{self._path} can be written by others, so it counts for nothing. Remove it")
            content = opened.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise ValidationError(f"{self._path} is larger than {LARGEST:,} bytes. Remove it, and accept again")
        return content

    def _write(self, pins: tuple[Pin, ...]) -> None:
        told = [asdict(pin) for pin in pins]
        try:
            # A new file moved into place: a reader sees the old list or the new one. mkstemp makes it mode 0600.
            descriptor, name = tempfile.mkstemp(dir=self._path.parent, prefix=FILE)
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    json.dump({"version": 1, "pins": told}, file, indent=2)
                    file.flush()
                    os.fsync(file.fileno())
                Path(name).replace(self._path)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as problem:
            raise ValidationError(f"{self._path} cannot be written ({problem.strerror}). Check POLLUX_HOME") from None


def _wait_for(file: int, path: Path) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise ValidationError(f"{path} is held by another process. Try again, or end that process") from None
        time.sleep(0.005)


def _pin(told: Mapping[str, Any]) -> Pin:
    kind, digest = told["kind"], told["digest"]
    if kind not in get_args(Kind) or not isinstance(digest, str) or not digest:
        raise ValueError("no pin")
    what = str(told["what"])
    # Of what was accepted before folders were pinned, the path is known, and no program.
    folder = told.get("folder", os.path.realpath(os.path.dirname(what)) if os.path.isabs(what) else "")
    programs = tuple((str(word), str(file)) for word, file in told.get("programs", ()))
    scripts = None if (found := told.get("scripts")) is None else tuple((str(word), str(file)) for word, file in found)
    return Pin(cast(Kind, kind), digest, what, float(told["at"]), str(told["by"]), str(folder), programs, scripts)


# Agents with their own questions switched off


_ANY: Final = frozenset("yolo allow-all-tools allow-all-paths allow-all full-auto yes-always".split())
"""Options that mean it whatever the program: Gemini CLI, Qwen, Codex, Copilot, Crush, Aider."""
_OWN: Final = {"cursor-agent": ("f", "force"), "goose": ("auto",), "aider": ("yes",), "aider-chat": ("yes",)}
"""Options that mean it for one program, which another one may start."""
_VALUES: Final = {
    "approval-mode": ("yolo", "auto-edit"),
    "permission-mode": ("bypass-permissions", "accept-edits", "dont-ask"),
    "ask-for-approval": ("never",),
    "a": ("never",),
    "sandbox": ("danger-full-access",),
    "s": ("danger-full-access",),
    "config": ("approval-policy=never", "sandbox-mode=danger-full-access"),
    "c": ("approval-policy=never", "sandbox-mode=danger-full-access"),
}
"""Options that mean it with these values."""
_RUNNERS: Final = frozenset({"npx", "npm", "pnpm", "bunx", "yarn"})
"""Their own `-y`, before the package, answers a question about installing it."""
MOST_LETTERS: Final = 4
"""Of short options in one word, with its dash. What is longer is a name, such as `-yaml`."""
_OPTION: Final = re.compile(r"(-{1,2})([A-Za-z][^=]*)=?(.*)", re.DOTALL)


_VERSION: Final = re.compile(r"(?<=.)(?:@[^/@]*|[\[=<>~!;].*)$")
_FETCHED: Final = re.compile(r"^(?:npm|jsr|pypi):|^.*/node_modules/(?=(?:@[^/]+/)?[^/]+)|^node_modules/")
"""What stands before the name of a package, where it is fetched or lies."""


def package_name(word: str) -> str:
    """The package or program that a word names, without its version, its extras, and where it comes from."""
    name = _VERSION.sub("", _FETCHED.sub("", word))
    if name != word and "node_modules/" in word:
        # The file within the package says nothing.
        return "/".join(name.split("/")[: 2 if name.startswith("@") else 1])
    return name if name.startswith("@") else os.path.basename(name)


def always_asks(argv: Sequence[str]) -> str:
    """Why this command line is asked about every time, whatever was accepted; empty if it is not.

    Options are found in every form in which those programs take them (`--yolo=true`, `--approvalMode yolo`, `-anever`),
    and also in a text that is given to a shell. It is no lock: a program of the document's own can do as it likes.
    """
    program = Path(argv[0]).name if argv else ""
    words = [word for arg in argv for word in _words(arg)]
    own = _own_options(program, words)
    known = {package_name(word) for word in words}
    for index, word in enumerate(words):
        following = " ".join(words[index + 1 : index + 4])
        if index not in own and (told := _meaning(word, following, known)):
            return f"{told[:80]} switches off the agent's own questions"
    return ""


def _words(arg: str) -> list[str]:
    """The words of one argument, which may be a command line of its own."""
    return re.sub(r"[\"'\\]", "", arg).replace(";", " ; ").replace("&", " & ").replace("|", " | ").split()


def _meaning(word: str, following: str, known: Collection[str]) -> str:
    """The option that means it; empty if this word does not begin one."""
    found = _OPTION.fullmatch(word)
    if found is None:
        return ""
    dashes, name, value = found[1], _plain(found[2]), found[3]
    if "dangerously-" in f"{name}-" or name in _ANY or any(name in _OWN[each] for each in known & _OWN.keys()):
        return word
    meant = _VALUES.get(name, ())
    if _is_one_of(value, meant):
        return word
    if not value and _is_one_of(following, meant):
        return f"{word} {following}"
    # Short ones may stand together, or directly before their value.
    is_among = len(word) <= MOST_LETTERS and "y" in word
    is_joined = _is_one_of(word[2:], _VALUES.get(word[1], ()))
    return word if dashes == "-" and (is_among or is_joined) else ""


def _is_one_of(value: str, meant: Sequence[str]) -> bool:
    """Whether the value is one of those, or begins with it: nobody knows where it ends in a text for a shell."""
    plain = re.sub(r"\s*=\s*", "=", _plain(value))
    return any(plain == each or plain.startswith(f"{each} ") for each in meant)


def _plain(name: str) -> str:
    """`approvalMode`, `approval_mode` and `Approval-Mode` are all `approval-mode`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).replace("_", "-").lower()


def _own_options(program: str, words: Sequence[str]) -> frozenset[int]:
    """The positions of `-y` that belong to what fetches the package, not to the agent."""
    if program not in _RUNNERS:
        return frozenset()
    found: set[int] = set()
    for index, word in enumerate(words[1:], start=1):
        if word == "-y":
            found.add(index)
        elif not word.startswith("-") and word not in ("exec", "dlx", "x"):
            break
    return frozenset(found)
