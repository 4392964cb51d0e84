"""What every test may rely on: the same surroundings wherever it runs, and properties that no clock decides."""

import gc
import os
import shlex
import signal
from collections import Counter, defaultdict
from hashlib import sha256
from types import FrameType

import pytest
from hypothesis import HealthCheck, settings

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]

# Without a database of examples: it is a file in a repository that may not be ours to write to.
settings.register_profile("default", max_examples=150, deadline=None, database=None, suppress_health_check=_QUIET)
settings.register_profile("soak", settings.get_profile("default"), max_examples=10_000)
settings.load_profile(os.environ.get("POLLUX_HYPOTHESIS_PROFILE", "default"))

# Keys, addresses and tastes of the person who runs the tests. Proxies would carry what is meant for this machine away.
_PERSONAL = ("ANTHROPIC_", "GEMINI_", "GOOGLE_", "OLLAMA_", "OPENAI_", "PG", "POLLUX_", "XDG_")
_OURS = ("POLLUX_CRASH_", "POLLUX_HOSTS_", "POLLUX_HYPOTHESIS_", "POLLUX_TEST_")  # How the tests are to be run.
_PROXIES = ("all_proxy", "ftp_proxy", "http_proxy", "https_proxy", "no_proxy")
_TASTES = ("COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR", "CLICOLOR_FORCE")


def _forget_whose_machine_it_is() -> None:
    for name in list(os.environ):
        is_personal = name.startswith(_PERSONAL) and not name.startswith(_OURS)
        if is_personal or name.lower() in _PROXIES or name in _TASTES:
            del os.environ[name]


def _start_children_with_default_signals() -> None:
    """nohup, a shell's background and some CI runners ignore signals, and a child inherits what its parent ignores.

    A handler that does nothing ignores them just as well, and is not inherited by a program that a test starts.
    """

    def ignore(number: int, frame: FrameType | None) -> None: ...

    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, ignore)
    # Here a handler would not do: with SIGCHLD ignored the system keeps no exit codes.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


_forget_whose_machine_it_is()
_start_children_with_default_signals()
gc.disable()


def pytest_report_header() -> str | None:
    seed = os.environ.get("POLLUX_TEST_ORDER")
    return f"order of the tests: POLLUX_TEST_ORDER={seed}" if seed else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With POLLUX_TEST_ORDER, another order for each value of it: files among one another, and the tests of each."""
    if seed := os.environ.get("POLLUX_TEST_ORDER"):
        # By hash: every worker must come to the same order.
        def place(name: str) -> bytes:
            return sha256(f"{seed} {name}".encode()).digest()

        items.sort(key=lambda item: (place(str(item.path)), place(item.nodeid)))


def pytest_collection_finish() -> None:
    """Look for garbage again, but not through what every test file has made: that all stays."""
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how to run what failed, and what took how long where that was asked for."""
    failed = terminalreporter.stats.get("failed", []) + terminalreporter.stats.get("error", [])
    names = dict.fromkeys(report.nodeid for report in failed)
    if names:
        terminalreporter.write_line(f"run these alone: .venv/bin/pytest {shlex.join(names)}")
    if terminalreporter.config.getoption("durations") is not None:
        _tell_suites(terminalreporter)


def _tell_suites(terminalreporter: pytest.TerminalReporter) -> None:
    """How many tests each suite has, and how long they took, one after another."""
    tests, seconds = Counter[str](), defaultdict[str, float](float)
    for report in [each for kind in terminalreporter.stats.values() for each in kind]:
        if isinstance(report, pytest.TestReport):
            suite = "/".join(report.nodeid.split("::")[0].split("/")[:2])
            tests[suite] += report.when == "call"
            seconds[suite] += report.duration
    terminalreporter.section("seconds by suite")
    for suite, taken in sorted(seconds.items(), key=lambda each: -each[1]):
        terminalreporter.write_line(f"{taken:8.1f} s  {tests[suite]:6d} tests  {suite}")
