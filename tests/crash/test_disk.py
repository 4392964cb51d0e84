"""A disk that is full, or that fails: nothing acknowledged is lost, nothing happens unannounced, and work goes on."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from signal import SIGKILL

import pytest
from tests.crash.lab import PATIENCE, STRACE, Lab, Place, Trace
from tests.crash.oracle import judge
from tests.waiting import HANG_SECONDS, until

pytestmark = pytest.mark.slow

SIZE = "12m"
SYNCS, WRITES, SHARED_MEMORY = 15, 120, 12
"""How often a process syncs and writes, about, while it opens a store, sees one run through and closes; and how many of
the writes come before the store is open."""

needs_strace = pytest.mark.skipif(STRACE is None, reason="strace is not installed: apt-get install strace")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, timeout=HANG_SECONDS).returncode != 0:
        pytest.skip("a small disk cannot be mounted here: only root can, outside of a container")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True, timeout=HANG_SECONDS)


async def test_a_full_disk_loses_nothing_and_the_same_process_goes_on_when_there_is_room(lab: Lab, small_disk: Path):
    place = lab.place(small_disk)
    child = await lab.spawn("steady", place, seconds=2 * HANG_SECONDS)
    for _ in range(3):
        await more(place, "acknowledged", 10)
        fill(small_disk)
        await more(place, "refused", 3)
        (small_disk / "ballast").unlink()
    await more(place, "acknowledged", 10)
    place.touch("enough")
    summary = await child.summary()
    place.runs |= {note["run"]: "keyed" for note in place.outside.notes("plans")}
    findings = await judge(place)
    print(f"disk full three times: {findings}, refused {summary['refused']}")
    assert findings.problems == []


async def test_a_process_killed_while_the_disk_is_full_is_recovered_when_there_is_room(lab: Lab, small_disk: Path):
    place = lab.place(small_disk)
    child = await lab.spawn("steady", place, seconds=2 * HANG_SECONDS)
    await more(place, "acknowledged", 10)
    fill(small_disk)
    await more(place, "refused", 3)
    child.send(SIGKILL)
    assert await child.wait() == -SIGKILL
    (small_disk / "ballast").unlink()
    place.runs |= {note["run"]: "keyed" for note in place.outside.notes("plans")}
    await lab.finish(place)
    findings = await judge(place)
    assert findings.problems == []


@needs_strace
async def test_a_sync_that_fails_is_told_to_the_caller_and_loses_nothing(lab: Lab):
    told = tried_again = 0
    for number in range(1, SYNCS + 1):
        place = lab.place()
        trace = Trace("fsync,fdatasync", str(number), "error=EIO")
        child = await lab.spawn("run", place, {"run_a": "keyed"}, trace=trace)
        summary = await child.summary()
        told += bool(summary["refused"])
        tried_again += any(re.match(r"WARNING \d+ pollux\.engine\.", line) for line in place.log.splitlines())
        await lab.finish(place)
        assert (await judge(place)).problems == []
    print(f"one of {SYNCS} syncs failed: {told} told to the caller, {tried_again} tried again by the driver")
    assert told >= 3
    assert tried_again >= 2


@needs_strace
@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
async def test_a_write_that_fails_loses_nothing_and_the_same_process_goes_on(lab: Lab, error: str):
    noticed = 0
    for number in range(SHARED_MEMORY, WRITES, 9):
        place = lab.place()
        # strace counts by thread, and each try to open a store has a thread of its own: that would never succeed.
        await (await lab.spawn("run", place, {"run_0": "keyed"})).summary()
        trace = Trace("pwrite64", str(number), f"error={error}")
        child = await lab.spawn("run", place, {"run_a": "keyed+once"}, trace=trace)
        summary = await child.summary()
        noticed += "WARNING" in place.log or bool(summary["refused"])
        await lab.finish(place)
        assert (await judge(place)).problems == []
    print(f"{error} at every 9th write: noticed {noticed} times, nothing lost")
    assert noticed > 5


@needs_strace
@pytest.mark.parametrize("number", [9, 11, 13])
async def test_a_disk_that_fails_for_good_has_acknowledged_nothing_that_is_not_there(lab: Lab, number: int):
    place = lab.place()
    trace = Trace("fsync,fdatasync", f"{number}+", "error=EIO")
    # Long enough that the disk fails in the middle of them, also where one sync does for several of their writes.
    child = await lab.spawn("run", place, {"run_a": "keyed;keyed;keyed", "run_b": "once;once;once"}, trace=trace)
    await met_trouble(place)
    child.send(SIGKILL)
    assert await child.wait() == -SIGKILL
    await lab.finish(place)
    assert (await judge(place)).problems == []


def fill(disk: Path) -> None:
    """Leave no room at all."""
    with (disk / "ballast").open("wb", buffering=0) as file:
        try:
            for size in (1 << 16, 1 << 12, 1):
                try:
                    while file.write(b"x" * size):
                        pass
                except OSError:
                    continue
        finally:
            os.fsync(file.fileno())


async def more(place: Place, name: str, lines: int) -> None:
    """Wait until so many further lines were noted."""
    wanted = len(place.outside.notes(name)) + lines
    await until(lambda: len(place.outside.notes(name)) >= wanted, seconds=PATIENCE)


async def met_trouble(place: Place) -> None:
    """Wait until the process has met the trouble more than once."""
    await until(lambda: place.log.count("the store could not write") >= 2, seconds=PATIENCE)
