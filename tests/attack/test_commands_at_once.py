"""Several sandboxed commands work in one place: none of them leaves behind what decides what may run there."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
import pytest_asyncio
from tests.tools.shell.boxes import require_bubblewrap
from tests.waiting import until

from pollux.control import HIDDEN_HERE, KEPT_HERE
from pollux.tools.shell.agent_shell import Runner
from pollux.tools.shell.process import ShellResult

pytestmark = pytest.mark.slow

EVIL = "mkdir -p {0} && echo evil > {0}/.env && git init -q {0} && git -C {0} config core.fsmonitor evil"
IN_ANOTHER_PROCESS = """
import asyncio, sys
from pathlib import Path
from pollux.control import HIDDEN_HERE, KEPT_HERE
from pollux.tools.shell.agent_shell import Runner
runner = Runner(Path(sys.argv[1]), sandbox="required", reserved=(*HIDDEN_HERE, *KEPT_HERE))
print(asyncio.run(runner.run(sys.argv[2])), flush=True)
"""


class Command:
    """One that goes on, each time that it is allowed to, and then makes control files in a folder."""

    def __init__(self, root: Path, name: str, place: str) -> None:
        self.root, self.name = root, name
        wait = f"echo > {name}.at; read < {name}.go"
        self.line = f"{wait}; {EVIL.format(place)}; {wait}"
        for way in ("at", "go"):
            os.mkfifo(root / f"{name}.{way}")

    async def start(self) -> "Command":
        runner = Runner(self.root, sandbox="required", reserved=(*HIDDEN_HERE, *KEPT_HERE))
        self._running = asyncio.create_task(runner.run(self.line))
        await self.is_there()
        return self

    async def makes_them(self) -> None:
        """Goes on, and has made them when this returns."""
        await self.goes_on()
        await self.is_there()

    async def ends(self) -> ShellResult:
        await self.goes_on()
        return await self._running

    async def is_there(self) -> None:
        await asyncio.wait_for(asyncio.to_thread((self.root / f"{self.name}.at").read_text), 30)

    async def goes_on(self) -> None:
        await asyncio.wait_for(asyncio.to_thread((self.root / f"{self.name}.go").write_text, "\n"), 30)


def in_another_process(root: Path, line: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", IN_ANOTHER_PROCESS, root, line], stdout=subprocess.PIPE, text=True)


def evil_in(root: Path) -> list[Path]:
    """What is left of it where it would be read."""
    places = (path for name in (".env", ".git/config") for path in root.rglob(name))
    return [path for path in places if path.is_file() and "evil" in path.read_text()]


@pytest_asyncio.fixture
async def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    await require_bubblewrap()
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    (tmp_path / "work/sub").mkdir(parents=True)
    (tmp_path / "work/mine").mkdir()
    (tmp_path / "work/mine/.env").write_text("mine")
    return tmp_path / "work"


async def test_a_second_command_does_not_make_again_what_the_first_one_made(folder: Path):
    first = await Command(folder, "first", "sub").start()
    await first.makes_them()
    second = await Command(folder, "second", "sub").start()
    assert "sub/.env decides" in (await first.ends()).stderr
    await second.makes_them()
    assert "sub/.env decides" in (await second.ends()).stderr
    assert evil_in(folder) == [] and (folder / "mine/.env").read_text() == "mine"


async def test_a_third_command_does_not_either_that_began_when_the_first_had_ended(folder: Path):
    first = await Command(folder, "first", "sub").start()
    await first.makes_them()
    second = await Command(folder, "second", "sub").start()
    await first.ends()
    await second.makes_them()
    third = await Command(folder, "third", "sub").start()
    await second.ends()
    await third.makes_them()
    await third.ends()
    assert evil_in(folder) == [] and (folder / "mine/.env").read_text() == "mine"


@pytest.mark.parametrize("is_above", [True, False])
async def test_neither_does_one_that_works_in_a_folder_above_or_below(is_above: bool, folder: Path):
    roots = [(folder, "sub/inner"), (folder / "sub", "inner")]
    (one, made), (other, made_again) = roots if is_above else reversed(roots)
    first = await Command(one, "first", made).start()
    await first.makes_them()
    second = await Command(other, "second", made_again).start()
    await first.ends()
    await second.makes_them()
    await second.ends()
    assert evil_in(folder) == [] and not list(folder.glob("sub/.*")) and (folder / "mine/.env").read_text() == "mine"


async def test_neither_does_one_of_another_process(folder: Path):
    first = await Command(folder, "first", "sub").start()
    await first.makes_them()
    second = Command(folder, "second", "sub")
    with in_another_process(folder, second.line) as process:
        await second.is_there()
        await first.ends()
        await second.makes_them()
        await second.goes_on()
        said = await asyncio.to_thread(process.communicate)
    assert "sub/.env decides" in said[0] and evil_in(folder) == []
    assert list((folder.parent / "person/.local/share/pollux/commands").glob("*.json")) == []


async def test_what_a_killed_process_left_is_set_aside_by_the_next_command(folder: Path):
    killed = Command(folder, "killed", "sub")
    with in_another_process(folder, killed.line) as process:
        await killed.is_there()
        await killed.makes_them()
        process.kill()
    assert len(evil_in(folder)) == 2
    said = await Runner(folder, sandbox="required", reserved=KEPT_HERE).run("true")
    assert "sub/.env decides" in said.stderr and "sub/.git/config decides" in said.stderr
    assert evil_in(folder) == [] and (folder / "mine/.env").read_text() == "mine"


async def test_a_record_is_out_of_reach_of_the_commands(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(folder))
    records = folder / ".local/share/pollux/commands"
    runner = Runner(folder, sandbox="required", reserved=KEPT_HERE)
    said = await runner.run(f"ls {records}; rm -rf {records}; mv .local gone; {EVIL.format('sub')}")
    assert ".json" not in said.stdout and "lock" not in said.stdout and records.is_dir()
    assert "sub/.env decides" in said.stderr and await until(lambda: not list(records.glob("*.json")))


async def test_a_command_that_cannot_be_noted_does_not_run(folder: Path):
    (folder.parent / "person").write_text("no folder")
    said = await Runner(folder, sandbox="required", reserved=KEPT_HERE).run("touch reached")
    assert said.blocked and "cannot be noted" in said.reason and "Check POLLUX_HOME" in said.reason
    assert not (folder / "reached").exists()


async def test_a_configuration_with_a_second_name_is_not_changed_by_that_name(folder: Path):
    runner = Runner(folder, sandbox="required", reserved=KEPT_HERE)
    said = await runner.run("git init -q sub; ln sub/.git/config sub/other; ln sub/.git/config sub/.git/x")
    assert "sub/.git/config decides" in said.stderr
    await runner.run("git config -f sub/other core.fsmonitor evil; printf '[core]\\npager = evil' >> sub/other")
    assert evil_in(folder) == []


async def test_a_file_that_a_person_replaces_meanwhile_is_not_the_commands_to_write_unseen(folder: Path):
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)
    subprocess.run(["git", "config", "core.pager", "mine"], cwd=folder, check=True)
    policy, changes = folder / "policy.toml", ("git config core.fsmonitor evil; echo evil > policy.toml", "true")
    for change in changes:
        policy.write_text("mine")
        os.mkfifo(folder / "at")
        os.mkfifo(folder / "go")
        runner = Runner(folder, sandbox="required", kept=[policy], reserved=KEPT_HERE)
        running = asyncio.create_task(runner.run(f"echo > at; read < go; rm at go; {change}"))
        await asyncio.to_thread((folder / "at").read_text)
        # Both write a new file and give it the name.
        subprocess.run(["git", "config", "user.name", "Ada"], cwd=folder, check=True)
        (folder / "saved").write_text("mine, too")
        (folder / "saved").rename(policy)
        await asyncio.to_thread((folder / "go").write_text, "\n")
        said = (await running).stderr
        assert "policy.toml was replaced while the command was at work" in said
        assert evil_in(folder) == [] and ("config decides" in said) == (change != "true")
        if change != "true":
            (aside,) = folder.glob(".git/config.set-aside-*")
            aside.write_text(aside.read_text().replace("fsmonitor = evil", ""))
            aside.rename(folder / ".git/config")
    assert "Ada" in (folder / ".git/config").read_text()
