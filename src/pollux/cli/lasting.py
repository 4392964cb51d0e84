"""What commands have in common that go on until they are told to stop: their log, their files, their end."""

import argparse
import asyncio
import logging
import os
import resource
import signal
import sys
from contextlib import suppress
from copy import copy
from typing import TextIO

from pollux.cli.masking import Mask
from pollux.cli.repeats import Repeats
from pollux.cli.shown import shown
from pollux.core.redact import Secret
from pollux.engine.logs import place_of
from pollux.signals import on_signals

MOST_FILES = 65_536
"""As many files and connections as we ask for, where the system lets us have them."""
LEVELS = {"error": logging.ERROR, "warn": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG}


def add_common(parser: argparse.ArgumentParser, *, store: str) -> None:
    """The arguments that all of them take."""
    parser.add_argument("--model", metavar="NAME", help="for profiles that name none")
    parser.add_argument("--store", metavar=store, help="another store than the configured one")
    parser.add_argument("--config", metavar="FILE", help="another configuration file")
    parser.add_argument("--log-level", choices=tuple(LEVELS), default="info", help="default: info")


def until_told() -> asyncio.Event:
    """Set by SIGTERM, SIGINT or SIGHUP. A second SIGINT ends the process at once."""
    stop = asyncio.Event()

    def end(number: signal.Signals) -> None:
        if stop.is_set() and number == signal.SIGINT:
            # Ctrl-C twice: whoever is there has lost patience. What was begun is recovered by the next start.
            os._exit(128 + number)
        stop.set()

    on_signals(end)
    return stop


def make_room() -> None:
    """Every connection is a file, and shells allow few: without one to spare, even the store cannot be opened."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def log_to_stderr(level: str, secrets: tuple[Secret, ...]) -> None:
    """Everything that is logged, from this level on, without these secrets."""
    handler = _Handler(sys.stderr)
    handler.setFormatter(_Masked(secrets, is_full=level == "debug"))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(LEVELS[level])
    if level != "debug":
        # It tells of every job what we tell of every run.
        logging.getLogger("procrastinate").setLevel(logging.WARNING)


class _Handler(logging.StreamHandler[TextIO]):
    """Tells each trouble with the store now and then, not each time that somebody meets it."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._repeats = Repeats()

    def emit(self, record: logging.LogRecord) -> None:
        told = self._repeats.worth_telling(record)
        if told is not None:
            super().emit(told)


class _Masked(logging.Formatter):
    """One line for each record, without secrets and without control characters.

    Of a problem that others logged, as asyncio does, it tells the type and the place, unless all is asked for.
    """

    def __init__(self, secrets: tuple[Secret, ...], *, is_full: bool) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._is_full = is_full
        # Made once: every request is a record, and looking for a secret in all its forms takes time.
        self._mask = Mask(secrets)

    def format(self, record: logging.LogRecord) -> str:
        problem = record.exc_info[1] if record.exc_info else None
        if problem is not None and not self._is_full:
            # What stands behind shows what failed, and with it what it was called with and what it said.
            said = record.getMessage().partition("\n")[0].partition("(" if record.name == "asyncio" else "\n")[0]
            record = copy(record)
            record.msg, record.args = f"{said}: {place_of(problem)}", None
            record.exc_info = record.exc_text = None
        elif not self._is_full and not record.name.startswith("pollux"):
            # A database's driver repeats in several lines what it has said in the first.
            record = copy(record)
            record.msg, record.args = record.getMessage().partition("\n")[0], None
        return "\n".join(shown(line) for line in self._mask.text(super().format(record)).split("\n"))
