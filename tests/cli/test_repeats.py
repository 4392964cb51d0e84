"""What goes wrong with a store again and again: a line when it begins, and one now and then that says since when."""

import io
import logging
import re
from collections.abc import Iterator

import psycopg
import pytest

from pollux.cli import lasting
from pollux.cli.repeats import AGAIN_SECONDS, Repeats
from pollux.core.errors import StoreError
from pollux.engine.logs import log_of

GONE = "expected the database at db/pollux to answer, but it cannot be reached"


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def told(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """What a server's log says."""
    root, said = logging.getLogger(), io.StringIO()
    before, level = root.handlers, root.level
    monkeypatch.setattr("sys.stderr", said)
    monkeypatch.setattr(lasting, "Repeats", lambda: Repeats(clock))
    lasting.log_to_stderr("info", ())
    yield said
    root.handlers, root.level = before, level


def lines(told: io.StringIO) -> list[str]:
    return told.getvalue().splitlines()


def lose(times: int = 1) -> None:
    for _ in range(times):
        try:
            raise StoreError(GONE) from psycopg.OperationalError("connection refused\nIs the server running?")
        except StoreError:
            log_of("pollux.engine.ledger").warning("the store is in trouble; trying again", exc_info=True)


def test_a_lost_store_is_one_line_with_what_and_no_place_in_the_code(told: io.StringIO):
    lose(200)
    [line] = lines(told)
    assert re.fullmatch(rf"[\d :,-]+ WARNING pollux.engine.ledger: the store is in trouble; trying again: {GONE}", line)


def test_a_trouble_that_lasts_is_told_every_half_minute_with_since_when(told: io.StringIO, clock: Clock):
    for _ in range(100):
        lose()
        clock.now += 1
    assert len(lines(told)) == 1 + int(100 / AGAIN_SECONDS)
    assert re.search(r"\(31 times since 19\d\d-\d\d-\d\d \d\d:\d\d:\d\d\)$", lines(told)[1])


def test_a_trouble_that_comes_back_after_a_quiet_while_is_another_one(told: io.StringIO, clock: Clock):
    lose(5)
    clock.now += AGAIN_SECONDS + 1
    lose(5)
    assert len(lines(told)) == 2 and "since" not in told.getvalue()


def test_different_troubles_have_their_own_lines_and_other_warnings_all_of_theirs(told: io.StringIO):
    logger = logging.getLogger("pollux.dispatch.queue.tending")
    for _ in range(9):
        lose()
        logger.warning("the queue could not be tended: %s", StoreError(GONE))
        logger.warning("run %s is left to a newer process", "run_1")
    assert len(lines(told)) == 1 + 1 + 9


def test_what_a_database_driver_says_in_several_lines_is_one(told: io.StringIO):
    for port in range(9):
        logging.getLogger("psycopg.pool").warning("no connection from port %d: failed\n\tIs it running?", port)
    [line] = lines(told)
    assert line.endswith("no connection from port 0: failed")
