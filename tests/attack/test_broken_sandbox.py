"""A sandbox that does not work, a program or variable that is not what it seems: nothing of it is silent."""

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.fakes import emulated
from tests.cli.machine import Machine
from tests.cli.programs import keys
from tests.runbooks.lab import RunbookLab, block, document, ended

from pollux.tools.shell import git, sandbox
from pollux.tools.shell.agent_shell import Runner
from pollux.tools.shell.environment import PASSED_ON, child_environment
from pollux.tools.shell.judge import subjects

COMMAND = 'call shell {"command": "echo ran; touch made"}'


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A machine whose bubblewrap is there and fails."""
    program(tmp_path / "broken/bwrap", "echo 'No permissions to create a new namespace' >&2; exit 1")
    with emulated() as emulator:
        machine = Machine(tmp_path, **keys(emulator.url))
        machine.environ["PATH"] = f"{tmp_path / 'broken'}:{os.environ['PATH']}"
        yield machine


@pytest.mark.slow
def test_a_broken_bubblewrap_is_said_once_and_loudly(machine: Machine):
    done = machine.run("run", COMMAND, "--allow", "shell")
    assert done.returncode == 0 and (machine.cwd / "made").exists(), done
    assert done.stderr.count("WITHOUT a sandbox") == 1 and "No permissions to create" in done.stderr, done
    off = machine.run("run", COMMAND, "--allow", "shell", "--sandbox", "off")
    assert "sandbox" not in off.stderr, off


@pytest.mark.slow
@pytest.mark.parametrize("way", ["flag", "variable", "file"])
def test_a_required_sandbox_that_is_broken_runs_nothing(way: str, machine: Machine):
    words: list[str] = []
    if way == "flag":
        words = ["--sandbox", "required"]
    elif way == "variable":
        machine.environ["POLLUX_SANDBOX"] = "required"
    else:
        (machine.home / "config.toml").write_text('[shell]\nsandbox = "required"\n')
        machine.environ["POLLUX_CONFIG"] = str(machine.home / "config.toml")
    done = machine.run("run", COMMAND, "--allow", "shell", "--output-format", "json", *words)
    assert not (machine.cwd / "made").exists(), done
    if way != "flag":
        found = json.loads(machine.run("doctor", "--offline", "--json").stdout)["checks"]
        check = next(check for check in found if check["name"] == "sandbox")
        assert check["status"] == "error" and "a sandbox is required" in check["message"]


@pytest.mark.slow
def test_a_command_that_waited_for_approval_needs_the_sandbox_too(machine: Machine):
    assert machine.run("run", COMMAND).returncode == 3
    (approval,) = machine.told("approvals", "list", "--json")["items"]
    done = machine.run("approvals", "approve", approval["id"], "--sandbox", "required")
    assert not (machine.cwd / "made").exists(), done


async def test_a_trusted_runbook_starts_no_program_outside_a_sandbox_that_is_required(tmp_path: Path):
    lab = RunbookLab(tmp_path)
    made = tmp_path / "work/made"
    engine, runbooks = await lab.engine(sandbox="required")
    source = document(block("script", "make", interpreter="bash", code=f"touch {made}"))
    run = await ended(engine, await lab.start(runbooks, source))
    assert run.status == "failed" and not made.exists()
    assert any("require one" in str(action.outcome) for action in run.actions), run.actions
    await lab.close()


async def test_servers_log_a_missing_sandbox_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    broken = program(tmp_path / "broken/bwrap", "exit 1").parent
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("PATH", f"{broken}:{os.environ['PATH']}")
    monkeypatch.setattr(sandbox, "_warned", set[str]())
    runner = Runner(tmp_path / "work")
    with caplog.at_level(logging.WARNING, "pollux"):
        for _ in range(3):
            assert (await runner.run("echo ran")).stdout == "ran\n"
    assert [record.levelname for record in caplog.records if "WITHOUT a sandbox" in record.message] == ["WARNING"]


async def test_a_bubblewrap_that_lies_in_the_folder_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program(tmp_path / "node_modules/.bin/bwrap", f"touch {tmp_path}/hit; exit 0")
    monkeypatch.setenv("PATH", f"{tmp_path}/node_modules/.bin:{os.environ['PATH']}")
    await Runner(tmp_path).run("echo ran")
    assert not (tmp_path / "hit").exists()


@pytest.mark.parametrize("place", ["in the folder", "writable by all", "a link into the folder"])
async def test_a_program_that_the_agent_can_write_is_not_the_one_of_that_name(place: str, tmp_path: Path):
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    planted = program((work if place == "in the folder" else outside) / "bin/cal", "echo planted")
    for each in ("ls", "python3", "bash", "cp", "timeout"):
        program(planted.parent / each, "echo planted")
    if place == "writable by all":
        planted.parent.chmod(0o777)
    if place == "a link into the folder":
        planted.rename(work / "cal")
        planted.symlink_to(work / "cal")
        for each in ("ls", "python3", "bash", "cp", "timeout"):
            (planted.parent / each).unlink()
    path = f"{planted.parent}:/usr/bin:/bin"
    runner = Runner(work, sandbox="off", environ={"PATH": path})
    # A name that exists nowhere else is any program: all of its words have to be allowed.
    name = "cal" if not Path("/usr/bin/cal").exists() else "ncal"
    assert "run:ls" in subjects("ls", is_installed=runner.is_installed)
    assert (await runner.run("ls")).stdout != "planted\n"
    for command in ("env A=1 ls", "timeout 5 ls", "cp --version", "python3 --version", "echo a | /bin/cat"):
        assert "planted" not in (await runner.run(command)).stdout, command
    if name == "cal":
        assert "indirect:(cal)" in subjects("cal", is_installed=runner.is_installed)
        assert (await runner.run("cal")).stdout == "planted\n"


def test_a_child_inherits_the_documented_variables_and_no_more():
    hostile = "LC_EVIL LC_ALL_ LC_ LC_PAPERS lc_all LANGX PATHX BASH_ENV LD_PRELOAD PS4 GIT_DIR IFS".split()
    base = dict.fromkeys([*PASSED_ON, *hostile], "/bin")
    # And what keeps git from running what a repository names.
    assert child_environment(base, {}).keys() == PASSED_ON | git.ALWAYS.keys()
    page = (Path(__file__).parents[2] / "docs/guides/files-and-commands.md").read_text()
    assert [name for name in sorted(PASSED_ON) if f"`{name}`" not in page] == []
