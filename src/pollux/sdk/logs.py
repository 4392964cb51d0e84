"""What an agent tells of its work: nothing unless asked, and never a secret.

Who names a level takes its agent's records for itself, down to that level; who names none leaves them to the logging
that the application has set up. Either way secrets are masked. Records belong to the agent in whose context they were
made, so agents in one process do not hear one another. The root logger is never touched.
"""

import inspect
import logging
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from typing import Any, Final, Literal, cast, get_args

from pollux.core.errors import ValidationError
from pollux.core.redact import Secret, redact

LogLevel = Literal["silent", "error", "warn", "info", "debug"]
Tell = Callable[[str], object]

_THRESHOLDS: Final[dict[LogLevel, int]] = {
    "silent": logging.CRITICAL + 1,
    "error": logging.ERROR,
    "warn": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
}
# What a logger's methods may be called, for the gravest level first. Where there is an `info`, `log` often wants a
# level.
_METHODS: Final[dict[LogLevel, tuple[str, ...]]] = {
    "error": ("error",),
    "warn": ("warning", "warn"),
    "info": ("info", "log"),
    "debug": ("debug",),
}


class Logger:
    """What a logger may have. Nobody needs to inherit it: any object or mapping with some of these will do, and what
    is missing is not told. A `logging.Logger` gets whole records instead."""

    def log(self, *said: object) -> None:
        """Told at level info. `info` will do as well."""

    def warn(self, *said: object) -> None:
        """Told at level warn. `warning` will do as well."""

    def error(self, *said: object) -> None:
        """Told at level error, with the traceback where there is one."""

    def debug(self, *said: object) -> None:
        """Told at level debug."""


class LogTap:
    """Where one agent's records go while it is open. Raises ValidationError for a level or logger of no known kind."""

    def __init__(
        self,
        level: LogLevel | None = None,
        *,
        logger: object = None,
        secrets: Iterable[Secret] = (),
        debug: bool = False,
    ) -> None:
        level = level if level is not None else "debug" if debug else None
        if level is not None and level not in get_args(LogLevel):
            raise ValidationError(f"expected the log level to be {_one_of(get_args(LogLevel))}, found {level!r}")
        self.threshold = None if level is None else _THRESHOLDS[level]
        self._logger = logger if isinstance(logger, logging.Logger) else None
        self._methods = {} if self._logger is not None else _methods_of(logger)
        self._secrets = tuple(secrets)

    def mask(self, secrets: Iterable[Secret]) -> None:
        """Mask these too: a key may be set after the agent is made."""
        self._secrets = (*self._secrets, *(secret for secret in secrets if secret not in self._secrets))

    def open(self) -> None:
        """Begin to listen. Once is enough."""
        _POST.add(self)

    def close(self) -> None:
        """Stop listening, and leave logging as it was found."""
        _POST.remove(self)

    @contextmanager
    def active(self) -> Generator[None]:
        """Records made in this block are this agent's, and those of tasks that begin in it.

        Not around a yield: in a generator, whoever reads it would be taken for the agent meanwhile.
        """
        token = _ACTIVE.set(self)
        try:
            yield
        finally:
            _ACTIVE.reset(token)

    def tell(self, record: logging.LogRecord, leave: Callable[[logging.LogRecord], None]) -> None:
        """Hand a record on, or leave it to the application. Whatever becomes of it, the work goes on."""
        if self.threshold is not None and record.levelno < self.threshold:
            return
        # Nobody's while it is handed on: a logger may log by itself, and be a part of ours.
        token = _ACTIVE.set(None)
        try:
            safe = self._safe(record)
            if self.threshold is None:
                leave(safe)
            elif self._logger is None:
                self._say(safe)
            elif self._logger.isEnabledFor(safe.levelno):
                self._logger.handle(safe)
        except Exception:  # noqa: BLE001  The author's own code, or a stream that is gone. There is nobody left to tell.
            pass
        finally:
            _ACTIVE.reset(token)

    def _safe(self, record: logging.LogRecord) -> logging.LogRecord:
        """The record, or where it holds a secret a copy whose text is final and holds none."""
        texts = record.getMessage(), _trace(record), record.stack_info or ""
        said, trace, stack = (redact(text, self._secrets) for text in texts)
        if (said, trace, stack) == texts:
            return record
        safe = copy(record)
        safe.msg, safe.args, safe.exc_info = said, None, None
        safe.exc_text, safe.stack_info = trace or None, stack or None
        return safe

    def _say(self, record: logging.LogRecord) -> None:
        text = "\n".join(filter(None, (record.getMessage(), _trace(record), record.stack_info)))
        level = _level_of(record)
        if self._methods is None:
            # Looked up now: an application may have replaced it, and one without a console has none.
            if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison]
                sys.stderr.write(f"{level} {record.name}: {text}\n")
        elif tell := self._methods.get(level):
            tell(text)


def _trace(record: logging.LogRecord) -> str:
    return record.exc_text or (_FORMATTER.formatException(record.exc_info) if record.exc_info else "")


def _level_of(record: logging.LogRecord) -> LogLevel:
    return next(level for level in _METHODS if record.levelno >= _THRESHOLDS[level])


def _methods_of(logger: object) -> dict[LogLevel, Tell] | None:
    if logger is None:
        return None
    found: dict[LogLevel, Tell] = {}
    for level, names in _METHODS.items():
        for name in names:
            method = _member(logger, name)
            if method is not None and level not in found:
                if not callable(method) or inspect.iscoroutinefunction(method):
                    raise ValidationError(f"expected {name!r} of the logger to be a plain function, found {method!r}")
                found[level] = cast("Tell", method)
    if not found:
        known = _one_of([name for names in _METHODS.values() for name in reversed(names)])
        raise ValidationError(
            f"expected a logging.Logger, or an object or mapping with {known}, found {type(logger).__name__}"
        )
    return found


def _member(logger: object, name: str) -> object:
    if isinstance(logger, Mapping):
        return cast("Mapping[str, object]", logger).get(name)
    return getattr(cast("Any", logger), name, None)


def _one_of(words: Iterable[str]) -> str:
    *most, last = (repr(word) for word in words)
    return f"{', '.join(most)} or {last}"


class _Post(logging.Handler):
    """The one handler on our logger. It is there while an agent listens, and brings each record to whom it belongs."""

    def __init__(self) -> None:
        super().__init__()
        self._taps: list[LogTap] = []
        self._changing = threading.Lock()
        self._level_before = logging.NOTSET
        self._level_set: int | None = None
        self._propagated = True

    def add(self, tap: LogTap) -> None:
        with self._changing:
            if tap in self._taps:
                return
            if not self._taps:
                self._settle_in()
            self._taps.append(tap)
            self._set_level()

    def remove(self, tap: LogTap) -> None:
        with self._changing:
            if tap not in self._taps:
                return
            self._taps.remove(tap)
            self._set_level()
            if not self._taps:
                _POLLUX.removeHandler(self)
                _POLLUX.propagate = self._propagated

    def handle(self, record: logging.LogRecord) -> bool:
        # Without the handler's lock: one agent's slow logger must not hold up the others.
        tap = _ACTIVE.get()
        if tap is None or tap not in self._taps:
            self._pass_on(record)
        else:
            tap.tell(record, self._pass_on)
        return True

    def _settle_in(self) -> None:
        if not any(isinstance(handler, logging.NullHandler) for handler in _POLLUX.handlers):
            # It stays: what is still said after the last agent has gone must not turn up on a bare console.
            _POLLUX.addHandler(logging.NullHandler())
        self._propagated = _POLLUX.propagate
        # We pass on ourselves: an agent that listens closely must not fill the application's own logs.
        _POLLUX.propagate = False
        _POLLUX.addHandler(self)

    def _set_level(self) -> None:
        """As low as the keenest listener needs, and never higher than it was found."""
        if self._level_set is not None and _POLLUX.level == self._level_set:
            _POLLUX.setLevel(self._level_before)
        self._level_before, self._level_set = _POLLUX.level, None
        lowest = min((tap.threshold for tap in self._taps if tap.threshold is not None), default=None)
        if lowest is not None and lowest < _POLLUX.getEffectiveLevel():
            self._level_set = lowest
            _POLLUX.setLevel(lowest)

    def _pass_on(self, record: logging.LogRecord) -> None:
        """What our logger would have done by itself."""
        parent = _POLLUX.parent
        if parent is not None and self._propagated and parent.hasHandlers() and self._is_wanted(record, parent):
            parent.callHandlers(record)

    def _is_wanted(self, record: logging.LogRecord, parent: logging.Logger) -> bool:
        logger: logging.Logger | None = logging.getLogger(record.name)
        while logger is not None and logger is not _POLLUX:
            if logger.level:
                # It was given a level of its own, and let the record through.
                return True
            logger = logger.parent
        return record.levelno >= (self._level_before or parent.getEffectiveLevel())


_POLLUX: Final = logging.getLogger("pollux")
_FORMATTER: Final = logging.Formatter()
_ACTIVE: Final[ContextVar[LogTap | None]] = ContextVar("pollux_log_tap", default=None)
_POST: Final = _Post()
