"""`pollux runbook run` and `resume` after kill -9: what they say, how they end, and what a person does next."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cli.machine import POLLUX, Machine
from tests.cli.terminal import CTRL_C, Terminal
from tests.cli.test_early import STRIKES
from tests.runbooks.lab import agent, document, id_of, script
from tests.waiting import HANG_SECONDS, block_until

pytestmark = pytest.mark.slow

STREAM = ("--output-format", "stream-json")
MIDDLE = document(
    script("first", "echo first >> log"),
    # It waits until somebody lets it go.
    script("middle", "echo middle >> log; [ -e go ] || sleep 1000"),
    script("last", "echo last >> log"),
)
TWO = document(script("act", "echo act >> log"), script("last", "echo last >> log"))


class Desk(Machine):
    """A person's machine, with one document on it."""

    def __init__(self, path: Path, source: str) -> None:
        super().__init__(path)
        (self.cwd / "it.runbook.json").write_text(source)

    def runbook(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run("runbook", *words)

    @contextmanager
    def running(self, *words: str) -> Generator[subprocess.Popen[str]]:
        """The program at work."""
        with subprocess.Popen(
            [*POLLUX, "runbook", *words], cwd=self.cwd, env=self.environ, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            try:
                yield process
            finally:
                process.kill()

    @property
    def log(self) -> list[str]:
        path = self.cwd / "log"
        return path.read_text().split() if path.exists() else []

    @property
    def last_run(self) -> str:
        return self.told("runbook", "list", "--json")["runs"][0]["runId"]

    @property
    def question(self) -> str:
        """The one approval that waits."""
        (found,) = self.told("approvals", "list", "--json")["items"]
        return found["id"]


@pytest.fixture
def interrupted(tmp_path: Path) -> Desk:
    """A runbook that was killed in the middle of its second script."""
    desk = Desk(tmp_path, MIDDLE)
    with desk.running("run", "it.runbook.json", "--trust") as process:
        block_until(lambda: "middle" in desk.log)
        process.kill()
        assert process.wait(HANG_SECONDS) == -signal.SIGKILL
    return desk


def test_after_a_kill_resume_stops_at_the_block_that_may_have_acted_and_says_how_to_go_on(interrupted: Desk):
    run, block = interrupted.last_run, id_of("middle")
    for _ in range(2):
        done = interrupted.runbook("resume", run)
        assert done.returncode == 4, done
        assert "middle" in done.stdout and f"--retry {block}" in done.stdout and f"--skip {block}" in done.stdout
    done = interrupted.runbook("resume", run, *STREAM)
    assert (done.returncode, last(done)["type"], last(done)["code"]) == (4, "error", "needs_decision")
    assert f"--retry {block}" in last(done)["error"] and f"--skip {block}" in last(done)["error"]
    assert interrupted.log == ["first", "middle"]


def test_retry_runs_the_block_once_more_and_a_second_retry_is_refused(interrupted: Desk):
    run, block = interrupted.last_run, id_of("middle")
    # Nobody has looked yet what became of it.
    early = interrupted.runbook("resume", run, "--retry", block)
    assert early.returncode == 1 and "Resume it without" in early.stdout
    assert last(interrupted.runbook("resume", run, *STREAM))["code"] == "outcome_unknown"
    (interrupted.cwd / "go").touch()
    done = interrupted.runbook("resume", run, "--retry", block, *STREAM)
    assert (done.returncode, last(done)["type"], last(done)["status"]) == (0, "result", "completed")
    assert interrupted.log == ["first", "middle", "middle", "last"]
    done = interrupted.runbook("resume", run, "--retry", block, *STREAM)
    assert (done.returncode, last(done)["type"]) == (1, "error") and "to its end" in last(done)["error"]
    assert len(interrupted.log) == 4


def test_a_retry_that_is_killed_asks_again_and_skip_goes_on(interrupted: Desk):
    run, block = interrupted.last_run, id_of("middle")
    assert interrupted.runbook("resume", run).returncode == 4
    with interrupted.running("resume", run, "--retry", block) as process:
        block_until(lambda: interrupted.log.count("middle") == 2)
        process.kill()
        process.wait(HANG_SECONDS)
    again = interrupted.last_run
    assert again != run
    assert interrupted.runbook("resume", again).returncode == 4
    done = interrupted.runbook("resume", again, "--skip", "middle")
    assert done.returncode == 0 and "2 blocks done, 1 passed over" in done.stdout
    assert interrupted.log == ["first", "middle", "middle", "last"]


async def test_after_a_kill_at_a_question_the_answer_of_another_process_lets_resume_go_on(tmp_path: Path):
    desk = Desk(tmp_path, TWO)
    terminal = Terminal([*POLLUX, "runbook", "run", "it.runbook.json"], cwd=desk.cwd, env=desk.environ)
    try:
        await terminal.until("ask me about every block > ")
        terminal.type("n\r")
        await terminal.until("run it?")
        os.kill(terminal.pid, signal.SIGKILL)
        assert await terminal.ended() == -signal.SIGKILL
    finally:
        terminal.close()
    run = desk.last_run
    waits = desk.runbook("resume", run, *STREAM)
    assert (waits.returncode, last(waits)["status"]) == (3, "awaiting_confirmation") and desk.log == []
    assert [each["id"] for each in last(waits)["approvals"]] == [desk.question]
    assert desk.run("approvals", "approve", desk.question).returncode == 0
    assert desk.log == []
    # The next block asks as well.
    assert desk.runbook("resume", run).returncode == 3 and desk.log == ["act"]
    assert desk.run("approvals", "approve", desk.question).returncode == 0
    done = desk.runbook("resume", run, *STREAM)
    assert (done.returncode, last(done)["status"]) == (0, "completed") and desk.log == ["act", "last"]


def test_without_a_terminal_and_without_trust_it_ends_with_3_and_a_rejection_needs_a_decision(tmp_path: Path):
    desk = Desk(tmp_path, TWO)
    done = desk.runbook("run", "it.runbook.json", *STREAM)
    assert (done.returncode, last(done)["type"], last(done)["status"]) == (3, "result", "awaiting_confirmation")
    assert desk.log == [] and last(done)["approvals"][0]["id"] == desk.question
    assert desk.run("approvals", "reject", desk.question).returncode == 0
    done = desk.runbook("resume", last(done)["runId"], *STREAM)
    assert (done.returncode, last(done)["type"], last(done)["code"]) == (4, "error", "needs_decision")
    assert "rejected" in last(done)["error"] and desk.log == []


def test_an_agent_that_was_killed_with_us_may_have_acted(tmp_path: Path):
    pytest.importorskip("acp")
    worker = [sys.executable, str(Path(__file__).parent / "worker_agent.py")]
    may = {"readFiles": True, "writeFiles": True, "alwaysAllowTools": True}
    source: dict[str, Any] = {"type": "acp", "command": worker[0], "args": worker[1:], "env": {}}
    orders = agent("work", "append log agent\nhang", source=source, capabilities=may)
    desk = Desk(tmp_path, document(orders, script("last", "echo last >> log")))
    with desk.running("run", "it.runbook.json", "--trust") as process:
        block_until(lambda: desk.log == ["agent"])
        process.kill()
        process.wait(HANG_SECONDS)
    run = desk.last_run
    assert desk.runbook("resume", run).returncode == 4
    assert desk.runbook("resume", run, "--skip", "work").returncode == 0
    assert desk.log == ["agent", "last"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("run", "nowhere.runbook.json"), 2),
        (("run", "broken.runbook.json"), 1),
        (("resume", "run_nothing"), 1),
        (("run", "it.runbook.json", "--trust", "--timeout", "1"), 1),
    ],
)
def test_the_last_line_says_how_it_ended_also_where_nothing_ran(tmp_path: Path, words: tuple[str, ...], code: int):
    desk = Desk(tmp_path, MIDDLE)
    (desk.cwd / "broken.runbook.json").write_text('{"id": ')
    done = desk.runbook(*words, *STREAM)
    assert (done.returncode, last(done)["type"]) == (code, "error"), done


def test_the_last_line_says_by_which_signal_it_was_stopped(tmp_path: Path):
    desk, number = Desk(tmp_path, MIDDLE), signal.SIGHUP
    with desk.running("run", "it.runbook.json", "--trust", *STREAM) as process:
        block_until(lambda: "middle" in desk.log)
        process.send_signal(number)
        output, _ = process.communicate(timeout=HANG_SECONDS)
    told = json.loads(output.splitlines()[-1])
    assert (process.returncode, told["type"], told["code"]) == (128 + number, "error", "cancelled")
    assert number.name in told["error"]
    # It may have acted: whoever goes on says how.
    assert desk.runbook("resume", told["runId"]).returncode == 4


def last(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The last line of a stream."""
    return json.loads(done.stdout.splitlines()[-1])


async def test_stopped_at_the_question_of_trust_it_ends_at_once(tmp_path: Path):
    desk = Desk(tmp_path, TWO)
    terminal = Terminal([*POLLUX, "runbook", "run", "it.runbook.json"], cwd=desk.cwd, env=desk.environ)
    try:
        await terminal.until("ask me about every block > ")
        terminal.type(CTRL_C)
        assert await terminal.ended() == 130
    finally:
        terminal.close()
    assert desk.told("runbook", "list", "--json")["runs"] == []


async def test_at_a_terminal_resume_asks_only_what_was_not_answered(tmp_path: Path):
    desk = Desk(tmp_path, TWO)
    done = desk.runbook("run", "it.runbook.json", *STREAM)
    assert desk.run("approvals", "approve", desk.question).returncode == 0
    run = last(done)["runId"]
    assert desk.runbook("resume", run).returncode == 3
    terminal = Terminal([*POLLUX, "runbook", "resume", run], cwd=desk.cwd, env=desk.environ)
    try:
        assert "code: echo last >> log" in await terminal.until("run it?")
        await terminal.until("> ")
        terminal.type("y\r")
        assert await terminal.ended() == 0
    finally:
        terminal.close()
    assert desk.log == ["act", "last"]


@pytest.mark.parametrize("module", ["pollux.cli.runbook", "asyncio", "pollux.runbooks.runtime"])
def test_a_signal_at_any_import_has_its_last_line(tmp_path: Path, module: str):
    desk = Desk(tmp_path, TWO)
    folder = tmp_path / "strikes"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(STRIKES.format(module=module, number=int(signal.SIGTERM)))
    desk.environ["PYTHONPATH"] = str(folder)
    done = desk.runbook("run", "it.runbook.json", "--trust", *STREAM)
    assert (done.returncode, last(done)["code"]) == (143, "cancelled") and desk.log == []
