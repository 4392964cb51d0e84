"""Files that hold secrets or what was said, and that others on this machine can read."""

import logging
from functools import cache
from pathlib import Path

from pollux.config.settings import Settings
from pollux.engine.exposure import exposures

logger = logging.getLogger(__name__)


def private_files(settings: Settings) -> list[Path]:
    """What nobody else should read, wherever the person put it: files with secrets, and the store."""
    store = settings.store
    beside = [store.with_name(store.name + end) for end in ("", "-wal", "-shm")] if isinstance(store, Path) else []
    return [*settings.with_secrets, *beside]


def warn_of_readable(settings: Settings) -> None:
    """Log a warning for each of them that everybody can read; once in a process, for somebody may have meant it so."""
    for path in private_files(settings):
        for each in exposures(path, is_private=True):
            if "can be read" in each.what:
                _warn_once(f"{each.what}. Run: {each.then}")


@cache
def _warn_once(text: str) -> None:
    logger.warning("%s", text)
