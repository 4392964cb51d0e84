"""What an agent tells of its work, to whom, and what it never tells."""

import asyncio
import logging
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextvars import copy_context
from typing import Any, cast

import pytest
from tests.sdk.conftest import Bench
from tests.waiting import HANG_SECONDS

from pollux import tool
from pollux.core.errors import ValidationError
from pollux.core.messages import Usage
from pollux.core.redact import MASK, Secret
from pollux.sdk.logs import Logger, LogLevel, LogTap
from pollux.testing import Answer, call, fail, reply

OURS = logging.getLogger("pollux.engine.somewhere")
POLLUX = logging.getLogger("pollux")
CANARY = "sk-canary-0123456789"


class Notebook(Logger):
    """A logger with the four methods, that keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def log(self, *said: object) -> None:
        self.lines.append(f"log {said[0]}")

    def warn(self, *said: object) -> None:
        self.lines.append(f"warn {said[0]}")

    def error(self, *said: object) -> None:
        self.lines.append(f"error {said[0]}")

    def debug(self, *said: object) -> None:
        self.lines.append(f"debug {said[0]}")


class Kept(logging.Handler):
    """The application's own handler: what it got, formatted."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@pytest.fixture(autouse=True)
def left_as_found() -> Iterator[None]:
    before = POLLUX.level, POLLUX.propagate
    yield
    assert (POLLUX.level, POLLUX.propagate) == before
    assert [handler for handler in POLLUX.handlers if not isinstance(handler, logging.NullHandler)] == []


@pytest.fixture
def root() -> Iterator[Kept]:
    """Stands for an application that has set up logging for itself, down to warnings."""
    kept, logger = Kept(), logging.getLogger()
    logger.addHandler(kept)
    yield kept
    logger.removeHandler(kept)


def say_everything() -> None:
    OURS.debug("a detail")
    OURS.info("a fact")
    OURS.warning("a worry")
    OURS.error("a %s", "fault")


def told(level: LogLevel | None, **more: Any) -> list[str]:
    notebook = Notebook()
    tap = LogTap(level, logger=notebook, **more)
    tap.open()
    with tap.active():
        say_everything()
    tap.close()
    return notebook.lines


def test_every_level_tells_what_is_as_grave_as_itself():
    assert told("silent") == []
    assert told("error") == ["error a fault"]
    assert told("warn") == ["warn a worry", "error a fault"]
    assert told("info") == ["log a fact", "warn a worry", "error a fault"]
    assert told("debug") == ["debug a detail", "log a fact", "warn a worry", "error a fault"]


def test_without_a_word_nothing_is_told():
    assert told(None) == []


def test_debug_means_the_level_of_that_name_unless_a_level_is_named():
    assert len(told(None, debug=True)) == 4
    assert told("error", debug=True) == ["error a fault"]


def test_levels_between_and_beyond_ours_go_to_the_nearest_below():
    notebook = Notebook()
    tap = LogTap("debug", logger=notebook)
    tap.open()
    with tap.active():
        OURS.critical("the end")
        OURS.log(25, "a notice")
    tap.close()
    assert notebook.lines == ["error the end", "log a notice"]


def test_without_a_logger_it_goes_to_standard_error(capsys: pytest.CaptureFixture[str]):
    tap = LogTap("warn")
    tap.open()
    with tap.active():
        say_everything()
    tap.close()
    out, err = capsys.readouterr()
    assert (out, err) == ("", "warn pollux.engine.somewhere: a worry\nerror pollux.engine.somewhere: a fault\n")


def test_methods_that_a_logger_lacks_are_passed_over():
    lines: list[str] = []
    tap = LogTap("debug", logger={"warn": lines.append})
    tap.open()
    with tap.active():
        say_everything()
    tap.close()
    assert lines == ["a worry"]


def test_a_logger_of_the_wider_world_is_spoken_to_by_its_own_names():
    class Structured:
        def __init__(self) -> None:
            self.lines: list[str] = []

        def log(self, level: int, text: str) -> None:
            raise AssertionError("its log wants a level")

        def info(self, text: str) -> None:
            self.lines.append(f"info {text}")

        def warning(self, text: str) -> None:
            self.lines.append(f"warning {text}")

    logger = Structured()
    tap = LogTap("info", logger=logger)
    tap.open()
    with tap.active():
        say_everything()
    tap.close()
    assert logger.lines == ["info a fact", "warning a worry"]


def test_a_logging_logger_gets_whole_records_by_its_own_rules():
    theirs, kept = logging.getLogger("theirs"), Kept()
    kept.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))
    theirs.addHandler(kept)
    theirs.setLevel(logging.ERROR)
    tap = LogTap("info", logger=theirs)
    tap.open()
    with tap.active():
        say_everything()
    tap.close()
    assert kept.lines == ["ERROR pollux.engine.somewhere a fault"]


def test_our_own_logger_as_the_destination_does_not_go_round_in_circles(root: Kept):
    for logger in (POLLUX, OURS):
        tap = LogTap("warn", logger=logger)
        tap.open()
        with tap.active():
            OURS.warning("once")
        tap.close()
    assert root.lines == ["once", "once"]


def test_a_traceback_comes_with_the_words():
    notebook = Notebook()
    tap = LogTap("error", logger=notebook)
    tap.open()
    with tap.active():
        try:
            raise KeyError("lost")
        except KeyError:
            OURS.exception("a tool failed")
    tap.close()
    (line,) = notebook.lines
    assert line.startswith("error a tool failed\nTraceback")
    assert line.endswith("KeyError: 'lost'")


@pytest.mark.parametrize("kind", ["object", "logging", "stderr", "application"])
def test_secrets_are_masked_in_words_and_in_tracebacks(kind: str, root: Kept, capsys: pytest.CaptureFixture[str]):
    notebook = Notebook()
    logger = {"object": notebook, "logging": logging.getLogger("theirs.masked")}.get(kind)
    tap = LogTap(None if kind == "application" else "debug", logger=logger, secrets=[Secret(CANARY)])
    tap.open()
    with tap.active():
        try:
            raise ValueError(f"bad key {CANARY}")
        except ValueError:
            OURS.exception("refused: %s", CANARY, stack_info=True)
    tap.close()
    shown = "\n".join(notebook.lines + root.lines) + capsys.readouterr().err
    assert CANARY not in shown
    assert shown.count(MASK) >= 2


def test_a_stack_that_comes_with_the_words_is_masked_too():
    notebook = Notebook()
    tap = LogTap("debug", logger=notebook, secrets=[Secret(CANARY)])
    record = OURS.makeRecord(OURS.name, logging.ERROR, "here.py", 1, "refused", (), None, sinfo=f"Stack of {CANARY}")
    tap.open()
    with tap.active():
        OURS.handle(record)
    tap.close()
    assert notebook.lines == [f"error refused\nStack of {MASK}"]


def test_a_record_that_others_see_too_keeps_its_own_words():
    kept = Kept()
    tap = LogTap("error", secrets=[Secret(CANARY)], logger=Notebook())
    tap.open()
    POLLUX.addHandler(kept)
    with tap.active():
        OURS.error("for its own handler: %s", CANARY)
    POLLUX.removeHandler(kept)
    tap.close()
    assert kept.lines == [f"for its own handler: {CANARY}"]


def test_a_record_without_secrets_is_handed_on_as_it_is():
    records: list[logging.LogRecord] = []
    theirs, problem = logging.getLogger("theirs.whole"), ValueError("x")
    theirs.addFilter(lambda record: bool(records.append(record)))
    tap = LogTap("error", logger=theirs, secrets=[Secret(CANARY)])
    tap.open()
    with tap.active():
        OURS.error("%d of them", 2, exc_info=problem)
    tap.close()
    (record,) = records
    assert (record.args, record.exc_info and record.exc_info[1]) == ((2,), problem)


def test_a_logger_that_fails_does_not_stop_the_work():
    def fail(text: str) -> None:
        raise RuntimeError("the logger is broken")

    tap = LogTap("debug", logger={"error": fail, "info": fail})
    tap.open()
    with tap.active():
        say_everything()
        OURS.error("does not fit %d", "at all")
    tap.close()


def test_a_logger_that_logs_by_itself_is_not_told_of_that():
    lines: list[str] = []

    def echo(text: str) -> None:
        lines.append(text)
        OURS.error("echo of %s", text)

    tap = LogTap("error", logger={"error": echo})
    tap.open()
    with tap.active():
        OURS.error("a fault")
    tap.close()
    assert lines == ["a fault"]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def narrated(bench: Bench, *steps: Any, **options: Any) -> list[str]:
    """What the log says of one prompt, without the run's id."""
    notebook = Notebook()
    async with bench.agent(*steps, tools=[add], logger=notebook, store="memory", **options) as agent:
        await agent.send("a canary prompt")
    assert "canary" not in "".join(notebook.lines)
    return [re.sub(r"run_\w+: ", "", line) for line in notebook.lines]


async def test_level_info_tells_of_model_calls_and_tool_calls(bench: Bench):
    lines = await narrated(bench, call("add", {"a": 1, "b": 2}), reply("3"), log_level="info")
    assert [line.partition(" tool calls,")[0] for line in lines] == [
        "log model call 1 to scripted, attempt 1",
        "log model call 1 ended (tool_calls), 1",
        "log tool call add, attempt 1",
        "log tool call add completed",
        "log model call 2 to scripted, attempt 1",
        "log model call 2 ended (end), 0",
    ]


async def test_level_info_tells_of_a_retry(bench: Bench):
    lines = await narrated(bench, fail("overloaded", retry_after=0), reply("ok"), log_level="info")
    assert lines[1:3] == [
        "log model call 1 failed (overloaded), retry in 0.0 s",
        "log model call 1 to scripted, attempt 2",
    ]


async def test_level_info_tells_of_a_compression(bench: Bench):
    notebook = Notebook()
    long = Answer(("word " * 4_000,), usage=Usage(20_000, 10))
    steps = [long, long, reply("A draft."), reply("A summary."), reply("Done.")]
    async with bench.agent(*steps, logger=notebook, log_level="info") as agent:
        for prompt in ("word " * 4_000, "Second", "Third"):
            await agent.send(prompt)
    assert [line for line in notebook.lines if ": compression " in line]


@pytest.mark.parametrize("options", [{"debug": True}, {"log_level": "debug"}])
async def test_debug_tells_of_the_policy_s_decisions_too(bench: Bench, options: dict[str, Any]):
    lines = await narrated(bench, call("add", {"a": 1, "b": 2}), reply("3"), **options)
    assert "debug the policy decided on add: allow (default)" in lines


async def test_two_agents_do_not_hear_one_another():
    quiet, keen = Notebook(), Notebook()
    taps = LogTap("error", logger=quiet), LogTap("debug", logger=keen)

    async def work(tap: LogTap, name: str) -> None:
        with tap.active():
            OURS.info("%s began", name)
            task = asyncio.create_task(later(name))
            await asyncio.to_thread(OURS.error, "%s in a thread", name)
            await task

    async def later(name: str) -> None:
        await asyncio.sleep(0)
        OURS.error("%s in a task", name)

    for tap in taps:
        tap.open()
    await asyncio.gather(work(taps[0], "quiet"), work(taps[1], "keen"))
    for tap in taps:
        tap.close()
    assert sorted(quiet.lines) == ["error quiet in a task", "error quiet in a thread"]
    assert sorted(keen.lines) == ["error keen in a task", "error keen in a thread", "log keen began"]


def test_a_thread_that_is_given_the_context_speaks_for_the_agent():
    notebook = Notebook()
    tap = LogTap("info", logger=notebook)
    tap.open()
    with tap.active():
        context = copy_context()
    for target in (lambda: context.run(OURS.info, "with it"), lambda: OURS.info("without it")):
        thread = threading.Thread(target=target)
        thread.start()
        thread.join()
    tap.close()
    assert notebook.lines == ["log with it"]


def test_a_closed_tap_hears_nothing_and_may_be_opened_again():
    notebook = Notebook()
    tap = LogTap("warn", logger=notebook)
    with tap.active():
        OURS.warning("before")
        tap.open()
        tap.open()
        OURS.warning("during")
        tap.close()
        OURS.warning("after")
        tap.close()
        tap.open()
        OURS.warning("again")
        tap.close()
    assert notebook.lines == ["warn during", "warn again"]


def test_a_closed_tap_hears_nothing_while_others_listen_on():
    notebook = Notebook()
    closed, other = LogTap("warn", logger=notebook), LogTap("warn", logger=notebook)
    other.open()
    with closed.active():
        OURS.warning("late")
    other.close()
    assert notebook.lines == []


def test_levels_go_back_step_by_step():
    chatty, grave = LogTap("debug"), LogTap("error")
    POLLUX.setLevel(logging.WARNING)
    chatty.open()
    grave.open()
    assert POLLUX.level == logging.DEBUG
    chatty.close()
    assert POLLUX.level == logging.WARNING
    grave.close()
    assert POLLUX.level == logging.WARNING
    POLLUX.setLevel(logging.NOTSET)


def test_a_level_that_the_application_sets_meanwhile_is_left_alone():
    tap = LogTap("debug")
    tap.open()
    POLLUX.setLevel(logging.ERROR)
    tap.close()
    assert POLLUX.level == logging.ERROR
    POLLUX.setLevel(logging.NOTSET)


def test_who_names_no_level_leaves_its_records_to_the_application(root: Kept):
    assert told(None) == []
    assert root.lines == ["a worry", "a fault"]


def test_who_names_a_level_takes_its_records_for_itself(root: Kept):
    assert told("silent") == []
    assert told("debug") != []
    assert root.lines == []


def test_a_keen_agent_does_not_fill_the_application_s_own_logs(root: Kept):
    tap = LogTap("debug", logger=Notebook())
    tap.open()
    say_everything()
    OURS.setLevel(logging.INFO)
    say_everything()
    OURS.setLevel(logging.NOTSET)
    tap.close()
    assert root.lines == ["a worry", "a fault", "a fact", "a worry", "a fault"]


def test_what_did_not_propagate_before_does_not_now(root: Kept):
    POLLUX.propagate = False
    tap = LogTap("error", logger=Notebook())
    tap.open()
    say_everything()
    tap.close()
    assert (root.lines, POLLUX.propagate) == ([], False)
    POLLUX.propagate = True


@pytest.mark.parametrize("level", ["loud", "", "WARN", 10, ["info"]])
def test_an_unknown_level_is_refused_with_the_known_ones(level: object):
    with pytest.raises(ValidationError, match="'silent', 'error', 'warn', 'info' or 'debug', found"):
        LogTap(cast("LogLevel", level))


@pytest.mark.parametrize("logger", [42, "stderr", {}, {"shout": print}, object()])
def test_a_logger_without_any_known_method_is_refused_with_the_known_ones(logger: object):
    with pytest.raises(ValidationError, match=r"logging\.Logger, or an object or mapping with 'error', .*found"):
        LogTap("info", logger=logger)


def test_a_method_that_cannot_simply_be_called_is_refused():
    async def later(text: str) -> None:
        raise AssertionError("nobody waits for it")

    for method in (later, "print"):
        with pytest.raises(ValidationError, match="'error' of the logger to be a plain function"):
            LogTap("info", logger={"error": method})


SCRIPT = """
import logging
from pollux.sdk.logs import LogTap
ours = logging.getLogger("pollux.engine")
assert logging.getLogger("pollux").handlers == [], "importing has a side effect"
taps = LogTap(), LogTap("silent")
for tap in taps:
    tap.open()
for tap in taps:
    with tap.active():
        ours.error("inside")
ours.error("outside")
for tap in taps:
    tap.close()
ours.error("afterwards")
assert logging.getLogger().handlers == [] and logging.getLogger().level == logging.WARNING
"""


def test_with_everything_silent_nothing_reaches_standard_error_in_a_bare_process():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT], capture_output=True, text=True, timeout=2 * HANG_SECONDS
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
