"""Links that appear between one look and the next: still nothing outside is read or written."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from tests.tools.files import swapper
from tests.tools.files.world import WAYS, Way
from tests.waiting import HANG_SECONDS

from pollux.core.errors import PolluxError
from pollux.tools.files.glob import glob
from pollux.tools.files.root import Root

SECRET = "canary-51c0-outside"


def _lay(base: Path) -> tuple[Path, Path]:
    root, outside = base / "root", base / "outside"
    for folder in (root / "door" / "latch", root / "a" / "b", outside / "latch"):
        folder.mkdir(parents=True)
    for name in ("secret.txt", "latch/secret.txt", "only-outside.txt", "b"):
        (outside / name).write_text(SECRET)
    for name in ("notes.txt", "door/secret.txt", "door/latch/secret.txt", "a/b/secret.txt", "secret.txt"):
        (root / name).write_text("inside")
    return root, outside


@contextmanager
def _swapping(root: Path, outside: Path) -> Generator[None]:
    command = [sys.executable, swapper.__file__, str(root), str(outside)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "swapping\n"
            yield
        finally:
            process.kill()


def _looks(root: Root) -> list[Callable[[], Any]]:
    return [
        lambda: root.read("door/secret.txt"),
        lambda: root.read("door/latch/secret.txt"),
        lambda: root.read("notes.txt"),
        lambda: root.read("a/b/../../secret.txt"),
        lambda: root.read("a/b/../../outside/secret.txt"),
        lambda: root.read("a/b/../outside/secret.txt"),
        lambda: root.list("door"),
        lambda: root.list("door/latch"),
        lambda: list(root.walk()),
        lambda: glob(root, "**/*.txt"),
    ]


def _changes(root: Root) -> list[Callable[[], Any]]:
    return [
        lambda: root.write("door/written.txt", b"ours"),
        lambda: root.write("door/latch/written.txt", b"ours"),
        lambda: root.write("door/new/folder/written.txt", b"ours"),
        lambda: root.write("notes.txt", b"inside"),
        lambda: root.edit("door/secret.txt", lambda content: content),
    ]


def _hammer(
    attempts: list[Callable[[], Any]], ended: Counter[str], seconds: float, is_enough: Callable[[], bool]
) -> list[str]:
    """Count how the attempts ended, for so long and until it is enough. The result is what they let out."""
    escapes: list[str] = []
    until = monotonic() + seconds
    while (now := monotonic()) < until or (not is_enough() and now < until + HANG_SECONDS):
        for attempt in attempts:
            try:
                told = str(attempt())
                ended["answered"] += 1
            except PolluxError as problem:
                told = str(problem)
                ended[problem.code] += 1
            if SECRET in told or "only-outside" in told:
                escapes.append(told)
    return escapes


def _outside(outside: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in outside.rglob("*")}


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [5, pytest.param(60, marks=pytest.mark.soak)])
@pytest.mark.parametrize("way", WAYS)
def test_no_swap_of_a_folder_for_a_link_lets_anything_out_or_in(tmp_path: Path, way: Way, seconds: int):
    place, outside = _lay(tmp_path)
    before, root = _outside(outside), Root(place, way=way)
    # Side by side: a change waits for the disk, a look does not.
    counts = [Counter[str](), Counter[str]()]
    with _swapping(place, outside), ThreadPoolExecutor(2) as threads:
        attempts = [_looks(root), _changes(root)]
        told = threads.map(_hammer, attempts, counts, [seconds] * 2, [lambda: _is_enough(*counts)] * 2)
        escapes = [each for found in told for each in found]
    ended = sum(counts, Counter[str]())
    print(f"{way}: {ended.total():,} attempts in {seconds} s, {dict(ended)}, {len(escapes)} escapes")
    assert escapes == []
    assert _outside(outside) == before
    assert _is_enough(ended), ended


def _is_enough(*ended: Counter[str]) -> bool:
    """Open and shut must both have been met often, or nothing was tried."""

    def met(*names: str) -> int:
        return sum(each[name] for each in ended for name in names)

    return met("answered") > 100 and met("outside_root", "tool_call_failure") > 20
