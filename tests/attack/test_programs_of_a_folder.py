"""A foreign agent and a document start programs in somebody else's folder: a rule by a name runs none of the folder's.

The same attacks as on the shell tool: git's configuration in the folder, and a program of the folder on the PATH.
"""

import ast
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runbooks.lab import ADA, RunbookLab, block, document, outputs, script, told
from tests.runbooks.test_foreign_agents import EVERYTHING, worker
from tests.waiting import until

import pollux
from pollux.core.ids import RunId
from pollux.core.policy import Rule
from pollux.core.run import Run
from pollux.engine.engine import Engine
from pollux.tools.shell.judge import prefix_patterns

pytest.importorskip("acp")
pytestmark = pytest.mark.slow


class Folder:
    """The folder that the agent and the document work in."""

    def __init__(self, path: Path, hit: Path) -> None:
        self.path = path
        self.hit = hit

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.path, check=True, capture_output=True)

    def repository(self) -> None:
        self.git("init", "-q", ".")
        self.git("config", "user.email", "ada@example.com")
        self.git("config", "user.name", "Ada")
        (self.path / "a.x").write_text("a\n")
        (self.path / ".gitattributes").write_text("*.x filter=evil\n")
        self.git("add", ".")
        self.git("commit", "-qm", "first")
        (self.path / "a.x").write_text("b\n")

    def program(self, place: str) -> None:
        program = self.path / place
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\ntouch {self.hit}\n")
        program.chmod(0o755)


def monitored(folder: Folder) -> None:
    folder.repository()
    folder.git("config", "core.fsmonitor", f"touch {folder.hit}; false")


def filtered(folder: Folder) -> None:
    folder.repository()
    folder.git("config", "filter.evil.clean", f"touch {folder.hit}; cat")


def bare(folder: Folder) -> None:
    folder.git("init", "-q", "--bare", ".")
    folder.git("config", "core.bare", "false")
    folder.git("config", "core.worktree", str(folder.path))
    folder.git("config", "core.fsmonitor", f"touch {folder.hit}; false")


def hooked(folder: Folder) -> None:
    folder.repository()
    folder.program(".git/hooks/pre-commit")


def received(folder: Folder) -> None:
    folder.repository()
    folder.program(".git/hooks/pre-receive")


def referenced(folder: Folder) -> None:
    folder.repository()
    folder.program(".git/hooks/reference-transaction")


ATTACKS: dict[str, tuple[Callable[[Folder], None], str]] = {
    "a monitor": (monitored, "git status"),
    "a filter": (filtered, "git diff"),
    "a bare repository": (bare, "git status"),
    "a hook": (hooked, "git commit -am x"),
    "a hook where a push goes": (received, "git push . HEAD:refs/heads/n"),
    "a hook on references": (referenced, "git bisect start"),
    "a program on the PATH": (lambda folder: folder.program("bin/ls"), "ls"),
    "git on the PATH": (lambda folder: folder.program("bin/git"), "git status"),
}
WAYS: dict[str, tuple[str, Callable[[str], dict[str, Any]]]] = {
    "an agent": ("agent_terminal", lambda command: worker("w", f"line {command}", "say done")),
    "a script": ("runbook_script", lambda command: script("s", command)),
    "a terminal": ("runbook_terminal", lambda command: block("terminal", "t", code=command, type="bash")),
}


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunbookLab:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    return RunbookLab(tmp_path)


@pytest.fixture
def folder(lab: RunbookLab, tmp_path: Path) -> Folder:
    return Folder(lab.work, tmp_path / "hit")


def on_the_path(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{folder.path / 'bin'}:{os.environ['PATH']}")


async def over(engine: Engine, run_id: RunId) -> Run:
    """The run once it has ended, or asks."""

    async def run() -> Run | None:
        now = await engine.queries.run(run_id)
        return now if now.ending or now.approvals else None

    found = await until(run)
    assert found is not None
    return found


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("way", WAYS)
async def test_a_rule_by_a_name_runs_nothing_of_the_folder(
    way: str, attack: str, lab: RunbookLab, folder: Folder, monkeypatch: pytest.MonkeyPatch
):
    prepare, command = ATTACKS[attack]
    prepare(folder)
    folder.hit.unlink(missing_ok=True)
    if "PATH" in attack:
        on_the_path(folder, monkeypatch)
    tool, made = WAYS[way]
    rules = (
        Rule("allow", tool, subjects=prefix_patterns("git commit" if "commit" in command else command, "allow")),
        Rule("allow", "runbook_acp"),
    )
    engine, runbooks = await lab.engine()
    run = await runbooks.start(
        lab.opening(document(made(command))), user=ADA, more=tuple(replace(rule, tier="user") for rule in rules)
    )
    run = await over(engine, run.id)
    # A script finds the PATH as it is, and so the rule does not speak of what runs.
    assert bool(run.approvals) is (way != "an agent" and "PATH" in attack), [each.preview for each in run.approvals]
    await lab.close()
    assert not folder.hit.exists()


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_attacks_work_where_nothing_stands_against_them(
    attack: str, folder: Folder, monkeypatch: pytest.MonkeyPatch
):
    """Otherwise the test above could not fail."""
    prepare, command = ATTACKS[attack]
    prepare(folder)
    folder.hit.unlink(missing_ok=True)
    on_the_path(folder, monkeypatch)
    subprocess.run(["bash", "-c", command], cwd=folder.path, capture_output=True, check=False)
    assert folder.hit.exists()


async def trusted(lab: RunbookLab, code: str) -> dict[str, Any]:
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, document(script("s", code)))
    events = await told(engine, runbooks, run)
    await lab.close()
    return outputs(events, "s")


async def test_a_trusted_script_has_the_persons_path_and_a_git_that_works(
    lab: RunbookLab, folder: Folder, monkeypatch: pytest.MonkeyPatch
):
    hooked(folder)
    folder.git("config", "filter.evil.clean", f"touch {folder.hit}; cat")
    on_the_path(folder, monkeypatch)
    tool = folder.path / "bin" / "mytool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho mine\n")
    tool.chmod(0o755)
    said = await trusted(lab, "mytool && git add bin && git commit -qam second && git log --format=%s && git status -s")
    assert said["stdout"] == "mine\nsecond\nfirst\n", said
    assert not folder.hit.exists()


async def test_a_hook_runs_where_the_trusted_script_names_it(lab: RunbookLab, folder: Folder):
    hooked(folder)
    said = await trusted(lab, "git -c core.hooksPath=.git/hooks commit -qam second")
    assert said["exit_code"] == 0 and folder.hit.exists()


async def test_an_agent_that_names_git_gets_its_answer(lab: RunbookLab, folder: Folder):
    folder.repository()
    engine, runbooks = await lab.engine()
    made = worker(
        "w",
        "line git status --short",
        "line git commit -am second",
        "line git log --format=%s",
        capabilities={**EVERYTHING, "alwaysAllowTools": True},
    )
    run = await lab.start(runbooks, document(made))
    events = await told(engine, runbooks, run)
    await lab.close()
    text = outputs(events, "w")["text"]
    assert " M a.x" in text and text.endswith("second\nfirst\n"), text


STARTS = {
    "create_subprocess_exec",
    "create_subprocess_shell",
    "start_process",
    "run_process",
    "run_boxed",
    "run_on_terminal",
    "Popen",
}
KNOWN = {
    "acp/process.py": "a foreign agent, in a `child_environment`",
    "cli/demo/process.py": "our own server",
    "runbooks/agents/asked.py": "made ready",
    "runbooks/blocks/programs.py": "made ready",
    "runbooks/blocks/pty.py": "what `terminal` has made ready",
    "runbooks/blocks/script.py": "made ready",
    "runbooks/blocks/terminal.py": "made ready",
    "tools/files/search.py": "our own search",
    "tools/shell/agent_shell.py": "made ready",
    "tools/shell/process.py": "starts what it is given",
    "tools/shell/sandbox.py": "starts what it is given",
}


def test_programs_are_started_in_places_that_make_them_ready():
    """A new place has to be looked at: whatever is started for somebody goes through `Surroundings`."""
    root = Path(pollux.__file__).parent
    found = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Name) and node.id in STARTS)
        or (isinstance(node, ast.Attribute) and node.attr in STARTS)
    }
    assert found == set(KNOWN)
