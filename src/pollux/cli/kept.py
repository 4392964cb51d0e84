"""What the commands about stored things share: their options, how the store is opened, and how they tell.

Standard output is data: lines for people, or one JSON document. Everything else is said on standard error.
"""

import argparse
import json
import os
import sys
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pollux.cli.masking import Mask
from pollux.cli.parser import Parser
from pollux.cli.shown import shown
from pollux.cli.streams import complain, fill_gaps
from pollux.config import ConfigError, Settings, read_settings
from pollux.core.errors import PolluxError

if TYPE_CHECKING:
    from pollux.engine.engine import Engine
    from pollux.engine.queries import Queries

T = TypeVar("T")
LONGEST_SUBJECT = 300
MOST_SUBJECTS = 20
"""So many are named of each question in a list."""
Verbs = Any
"""argparse's own type for subcommands is private."""


def command(name: str, description: str, examples: str) -> tuple[argparse.ArgumentParser, Verbs]:
    """The parser of a command, and where its verbs go."""
    parser = Parser(
        prog=f"pollux {name}",
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    return parser, parser.add_subparsers(dest="verb", metavar="VERB", required=True)


def verb(verbs: Verbs, name: str, description: str, *, examples: str = "", lists: bool = False) -> Any:
    """One verb, with the options that all have; the result adds an argument."""
    parser = verbs.add_parser(
        name,
        help=description[0].lower() + description[1:].rstrip("."),
        description=description,
        epilog=examples and f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if lists:
        parser.add_argument("--json", action="store_true", help="one JSON document instead of lines for people")
    parser.add_argument("--store", metavar="PATH", help="another store than the configured one")
    parser.add_argument("--config", metavar="FILE", help="another configuration file")
    return parser.add_argument


def here() -> Path:
    """The directory that sessions belong to."""
    try:
        return Path.cwd().resolve()
    except OSError:
        raise ConfigError("the current directory is gone. Change to one that exists", code="usage") from None


def settings_of(arguments: argparse.Namespace, *, makes: bool = False) -> Settings:
    """The settings. Unless the command `makes` something, a store that is named must be there.

    A slip in the path would otherwise find nothing waiting and an audit without a flaw, in a store made on the spot.
    """
    fill_gaps()
    flags = {"store": arguments.store, "config": arguments.config, "sandbox": getattr(arguments, "sandbox", None)}
    settings = read_settings(os.environ, cwd=here(), flags=flags)
    is_missing = isinstance(settings.store, Path) and not os.path.exists(settings.store)
    if arguments.store is not None and is_missing and not makes:
        raise ConfigError(f"--store must name a store that exists, found {arguments.store!r}", code="usage")
    return settings


def complete(work: Coroutine[Any, Any, T]) -> T:
    """The work's result."""
    import asyncio

    return asyncio.run(work)


@asynccontextmanager
async def looking(settings: Settings) -> "AsyncGenerator[Queries]":
    """The store, to look into. No engine: who only looks moves no run and is nobody's driver."""
    from pollux.bootstrap import open_store
    from pollux.engine.queries import Queries

    store = open_store(settings)
    with heard():
        await store.open()
        try:
            yield Queries(store)
        finally:
            await store.close()


@asynccontextmanager
async def changing(settings: Settings) -> "AsyncGenerator[Engine]":
    """An engine that records and drives nothing: it knows no profile."""
    from pollux.bootstrap import running_engine

    with heard():
        async with running_engine(settings, profiles={}) as engine:
            yield engine


@contextmanager
def heard() -> Generator[None]:
    """Warnings of the parts beneath, as remarks like ours: a line each, and no trace of where they come from."""
    import logging

    class Remarks(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            complain(record.getMessage())

    log, remarks = logging.getLogger("pollux"), Remarks(logging.WARNING)
    log.addHandler(remarks)
    try:
        yield
    finally:
        log.removeHandler(remarks)


class Teller:
    """Tells people and programs, without the keys that the settings hold."""

    def __init__(self, settings: Settings) -> None:
        self._mask = Mask(settings.secrets())

    def lines(self, lines: Sequence[str]) -> None:
        """Data for people. Whatever came from outside has been through `line` or `block`."""
        self.raw("".join(f"{line}\n" for line in lines))

    def items(
        self,
        items: Sequence[T],
        *,
        as_json: bool,
        document: Callable[[T], Any],
        lines: Callable[[T, "Teller"], Sequence[str]],
        nothing: str,
    ) -> None:
        """A list, for programs or for people; that there is nothing is said to people alone."""
        if as_json:
            self.document({"items": [document(item) for item in items]})
        elif items:
            self.lines([line for item in items for line in lines(item, self)])
        else:
            self.talk(nothing)

    def document(self, value: Any) -> None:
        """Data for programs: one JSON document."""
        self.raw(json_text(self._mask.value(value), indent=2) + "\n")

    def raw(self, text: str) -> None:
        """Text as it is: UTF-8, whatever the terminal's own encoding is said to be."""
        if sys.__stdout__ is None:  # pyright: ignore[reportUnnecessaryComparison]  Closed before we were started.
            raise PolluxError("standard output cannot be written (it is closed)")
        try:
            sys.stdout.flush()
            sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as problem:
            _forget_output()
            raise PolluxError(f"standard output cannot be written ({problem.strerror})") from None

    def line(self, text: str, most: int | None = None) -> str:
        """Text from outside on one line, harmless."""
        text = shown(self._mask.text(text), lines=False)
        return text if most is None or len(text) <= most else text[: most - 1] + "…"

    def block(self, text: str) -> str:
        """Text from outside on lines of its own, harmless."""
        return shown(self._mask.text(text))

    def value(self, value: Any) -> str:
        """A JSON value from outside, on one line."""
        return self.line(value if isinstance(value, str) else json_text(value))

    def talk(self, text: str) -> None:
        """Something about the command itself, on standard error."""
        complain(self._mask.text(text))

    @property
    def mask(self) -> Mask:
        return self._mask


def json_text(value: Any, *, indent: int | None = None) -> str:
    """JSON that is the same for a program and harmless on a terminal: what could move the cursor is escaped."""
    return harmless_json(json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False))


def harmless_json(text: str) -> str:
    """The same JSON, with what could move the cursor as an escape."""
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(map(_harmless, text))


def subject_lines(subjects: Collection[str], teller: Teller) -> list[str]:
    """Whom or what it acts upon, where many questions stand below one another."""
    lines = [f"    to {teller.line(subject, most=LONGEST_SUBJECT)}" for subject in islice(subjects, MOST_SUBJECTS)]
    if len(subjects) > MOST_SUBJECTS:
        lines.append("    and to more: `pollux approvals show ID` names all")
    return lines


def moment(at: object) -> str:
    """A moment for people, in UTC."""
    if not isinstance(at, float | int):
        # Somebody else put it there.
        return str(at)[:40]
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        # Beyond the calendar: somebody meant "never".
        return f"second {at:.0f}"


def span(seconds: float) -> str:
    """A stretch of time for people, in its largest unit."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def count(text: str) -> int:
    """An option that counts. For argparse."""
    if not (text.isascii() and text.isdigit()) or len(text) > 15:
        raise argparse.ArgumentTypeError(f"expected a whole number, 0 or more, found {text!r}")
    return int(text)


def some(text: str) -> int:
    """An option that counts from one. For argparse."""
    number = count(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, found {text!r}")
    return number


def _forget_output() -> None:
    """What could not be written would be tried again when the program ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _harmless(char: str) -> str:
    if char == "\n" or shown(char) == char:
        return char
    # Beyond the first plane JSON writes two halves.
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else json.dumps(char)[1:-1]
