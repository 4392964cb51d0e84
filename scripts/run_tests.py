"""Run the parts of `make test` or of what `make test-all` adds to it. No part keeps another from running.

Lint and types run beside the tests. The last lines say what failed and how to run that alone.
"""

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# More than there are cores: much of what takes long waits, for a disk or for a process that it started.
WORKERS = 4
PYTEST = [".venv/bin/pytest", "-n", str(WORKERS), "--dist", "worksteal", "-rfEs"]
# Tracing doubles the time of a test, so only those run traced that reach the two packages with a threshold directly.
TRACED = ["tests/core", "tests/engine", "tests/dispatch", "tests/attack"]
ALONE = "run these alone: "
"""How tests/conftest.py begins the line that repeats what failed."""


@dataclass(frozen=True)
class Part:
    """Commands that run one after another, the later ones also when an earlier one failed."""

    name: str
    commands: list[list[str]]
    alone: str


@dataclass(frozen=True)
class Outcome:
    part: Part
    output: str
    is_failed: bool
    seconds: float

    @property
    def alone(self) -> str:
        """The command that repeats what failed: the tests by name where pytest has named them."""
        named = [line.removeprefix(ALONE) for line in self.output.splitlines() if line.startswith(ALONE)]
        return "\n          ".join(named) or self.part.alone


LINT = [
    Part(
        "Python: format, lint, types",
        [[".venv/bin/ruff", "check"], [".venv/bin/ruff", "format", "--check"], ["scripts/check-types"]],
        "make lint-python",
    ),
    Part(
        "TypeScript: format, lint, types, tests",
        [["npm", "--prefix", "web", "run", "--silent", "check"], ["npm", "--prefix", "web", "test", "--silent"]],
        "make test-web",
    ),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", choices=("test", "rest"))
    parser.add_argument("--durations", action="store_true", help="print the slowest tests")
    given = parser.parse_args()
    os.chdir(ROOT)
    more = ["--durations=40", "--durations-min=0.2"] if given.durations else []
    beside, tests = (LINT, quick(more)) if given.which == "test" else ([], rest(more))
    began = time.monotonic()
    with ThreadPoolExecutor(1) as linting:
        # One after another: the type checker alone fills a core.
        linted = [linting.submit(run, part, keep) for part in beside]
        tested = [run(part, show) for part in tests]
        outcomes = [each.result() for each in linted] + tested
    for outcome in outcomes[: len(linted)]:
        if outcome.is_failed:
            print(f"\n{outcome.part.name}:\n{outcome.output}", end="")
    return report("make test" if given.which == "test" else "make test-rest", outcomes, time.monotonic() - began)


def quick(more: list[str]) -> list[Part]:
    chosen = "(not slow or story) and not soak and not interop"
    return [Part("tests in process, and a story of each interface", [[*PYTEST, "-m", chosen, *more]], "make test")]


def rest(more: list[str]) -> list[Part]:
    chosen = "slow and not story and not soak and not interop"
    elsewhere = [f"--ignore={place}" for place in TRACED]
    return [
        Part(
            "tests of core, engine, queue and the standing attacker, with coverage",
            [
                [*PYTEST, *more, *TRACED, "--cov", "--cov-report="],
                [sys.executable, "scripts/check_coverage.py"],
            ],
            "make test-rest",
        ),
        Part(
            "tests with processes, browsers and PostgreSQL",
            [[*PYTEST, "-m", chosen, *more, *elsewhere]],
            "make test-rest",
        ),
    ]


def run(part: Part, tell: Callable[[str], None]) -> Outcome:
    """Run a part to its end, and tell each line as it comes."""
    began, said, codes = time.monotonic(), [""], list[int]()
    for command in part.commands:
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
        ) as process:
            assert process.stdout is not None
            while chunk := process.stdout.read(1 << 16):
                text = chunk.decode(errors="replace")
                said.append(text)
                tell(text)
        codes.append(process.returncode)
    return Outcome(part, "".join(said), any(codes), time.monotonic() - began)


def show(text: str) -> None:
    print(text, end="", flush=True)


def keep(text: str) -> None:
    """Say nothing yet: two parts that speak at once cannot be read."""


def report(command: str, outcomes: list[Outcome], seconds: float) -> int:
    failed = [outcome for outcome in outcomes if outcome.is_failed]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    verdict = f"{len(failed)} of {len(outcomes)} parts failed" if failed else "everything passed"
    print(f"\n{command}: {verdict}, in {seconds:.0f} s ({used.ru_utime + used.ru_stime:.0f} s of CPU)")
    for outcome in outcomes:
        print(f"  {'FAILED' if outcome.is_failed else 'passed'}  {outcome.part.name} ({outcome.seconds:.0f} s)")
        if outcome.is_failed:
            print(f"          run it alone: {outcome.alone}")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
