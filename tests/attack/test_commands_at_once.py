"""Several sandboxed commands work in one place: none of them leaves behind what decides what may run there."""

import asyncio
import errno
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import pytest_asyncio
from tests.tools.shell.boxes import require_bubblewrap
from tests.waiting import HANG_SECONDS, block_until, until

from pollux.control import HIDDEN_HERE, KEPT_HERE
from pollux.tools.shell import watching
from pollux.tools.shell.agent_shell import Runner
from pollux.tools.shell.process import ShellResult
from pollux.tools.shell.replaced import covered, replaced
from pollux.tools.shell.watching import unwatched, watched

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
    """One that goes on, each time that it is allowed to, and then makes control files in a folder.

    Where somebody replaced what it was kept from, it is stopped instead.
    """

    def __init__(self, root: Path, name: str, place: str) -> None:
        self.root, self.name = root, name
        wait = f"echo > {name}.at; read < {name}.go"
        self.line = f"{wait}; {EVIL.format(place)}; {wait}"
        for way in ("at", "go"):
            os.mkfifo(root / f"{name}.{way}")
        self._at = os.open(root / f"{name}.at", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self.is_stopped = lambda: self._running.done()

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
        await until(lambda: self._has_written() or self.is_stopped())

    async def goes_on(self) -> None:
        await until(lambda: self._has_read() or self.is_stopped())

    def _has_written(self) -> bool:
        with suppress(BlockingIOError):
            return bool(os.read(self._at, 10))
        return False

    def _has_read(self) -> bool:
        with suppress(OSError):
            file = os.open(self.root / f"{self.name}.go", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.write(file, b"\n")
            os.close(file)
            return True
        return False


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
        second.is_stopped = lambda: process.poll() is not None
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
        killed.is_stopped = lambda: process.poll() is not None
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


async def waiting_command(folder: Path, line: str, *, kept: list[Path]) -> "asyncio.Task[ShellResult]":
    """A command that is at work, and does this once something is written to `go`."""
    os.mkfifo(folder / "go")
    runner = Runner(folder, sandbox="required", kept=kept, reserved=(*HIDDEN_HERE, *KEPT_HERE))
    running = asyncio.create_task(runner.run(f"touch at; read < go; {line}"))
    await until(lambda: (folder / "at").exists())
    return running


@pytest.mark.parametrize("name", ["policy.toml", ".env", "deep/er/.env", "deep/er", ".git/config", ".vscode", "link"])
async def test_a_command_is_stopped_once_a_person_replaces_what_is_covered(name: str, folder: Path):
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)
    (folder / "deep/er").mkdir(parents=True)
    (folder / ".vscode").mkdir()
    for each in ("policy.toml", ".env", "deep/er/.env", ".vscode/settings.json", "linked"):
        (folder / each).write_text("mine")
    (folder / "link").symlink_to("linked")
    (folder / "deep/.env").symlink_to("gone/.env")
    running = await waiting_command(folder, "true", kept=[folder / "policy.toml", folder / "link"])
    # What is not covered may change as it likes.
    (folder / "notes").write_text("mine")
    (folder / "notes").rename(folder / "deep/er/notes")
    place = folder / name
    if place.is_dir():
        place.rename(folder / "old")
        place.mkdir()
    else:
        (folder / "saved").write_text("secret")
        (folder / "saved").rename(place)
    stopped = await asyncio.wait_for(running, HANG_SECONDS)
    assert stopped.reason == f"stopped: {name} was replaced while the command was at work"
    assert stopped.reason in stopped.stderr and stopped.exit_code == 128 + signal.SIGKILL


async def test_more_changes_than_the_system_counts_stop_a_command_too(folder: Path):
    running = await waiting_command(folder, "true", kept=[])
    # Nothing awaits in between: nobody reads what the system reports.
    for _ in range(int(Path("/proc/sys/fs/inotify/max_queued_events").read_text()) // 2 + 1):
        (folder / "one").touch()
        (folder / "one").rename(folder / "other")
    stopped = await asyncio.wait_for(running, HANG_SECONDS)
    assert "was replaced while the command was at work" in stopped.reason


async def test_a_folder_that_is_replaced_while_watching_begins_stops_a_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """Between the watch of a folder and that of the one around it, another folder came to lie in its place."""
    (folder / "deep/er").mkdir(parents=True)
    (folder / "deep/er/.env").write_text("mine")

    watch_of = watching._watch  # pyright: ignore[reportPrivateUsage]

    def watch_slowly(file: int, place: str) -> int | None:
        watch = watch_of(file, place)
        if place in (f"{folder}/deep", f"{folder}/deep/er") and not (folder / "old").exists():
            (folder / "deep/er").rename(folder / "old")
            (folder / "deep/er").mkdir()
            (folder / "deep/er/.env").write_text("mine, too")
        return watch

    monkeypatch.setattr(watching, "_watch", watch_slowly)
    with watched(str(folder), [str(folder / "deep/er/.env")], new=set()) as watch:
        assert await asyncio.wait_for(watch.first, HANG_SECONDS) == str(folder / "deep/er")


async def test_a_new_file_with_the_number_of_the_one_before_is_a_new_file(folder: Path):
    place, new = str(folder / "mine/.env"), set[str]()
    before = covered([place])
    with watched(str(folder), [place], new=new):
        # Nothing awaits: the system's report is read at the end. As it stands afterwards, nothing has changed.
        (folder / "mine/.env").rename(folder / "away")
        (folder / "away").rename(folder / "mine/.env")
    assert (replaced(before), replaced(before, new)) == ({}, {place: False}) and new == {place}


async def test_where_nothing_can_be_watched_nothing_runs(folder: Path, monkeypatch: pytest.MonkeyPatch):
    def none_left() -> int:
        raise unwatched(errno.EMFILE)

    monkeypatch.setattr("pollux.tools.shell.watching._inotify", none_left)
    said = await Runner(folder, sandbox="required", reserved=KEPT_HERE).run("touch reached")
    assert said.blocked and "Too many open files" in said.reason
    assert not (folder / "reached").exists()


@pytest.mark.parametrize("change", ["git config core.fsmonitor evil; echo evil > policy.toml", "true"])
async def test_what_a_command_changes_before_it_is_stopped_is_not_unseen(change: str, folder: Path):
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)
    subprocess.run(["git", "config", "core.pager", "mine"], cwd=folder, check=True)
    policy = folder / "policy.toml"
    policy.write_text("mine")
    running = await waiting_command(folder, f"{change}; touch done", kept=[policy])
    # Nothing awaits until the command is done: so slow is a process that is busy. Both write a new file and give it
    # the name.
    subprocess.run(["git", "config", "user.name", "Ada"], cwd=folder, check=True)
    (folder / "saved").write_text("mine, too")
    (folder / "saved").rename(policy)
    (folder / "go").write_text("\n")
    block_until(lambda: (folder / "done").exists())
    said = (await running).stderr
    assert "policy.toml was replaced while the command was at work, which could then change it" in said
    assert ("config decides" in said) == (change != "true")
    (config,) = folder.glob(".git/config*" if change == "true" else ".git/config.set-aside-*")
    assert "Ada" in config.read_text()
