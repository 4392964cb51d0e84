"""How far one run with one tool travels: through few of our files, and never deep."""

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from tests.engine.builders import ADA, KEY, FakeTool

import pollux
from pollux.core.messages import JSON
from pollux.core.tools import ToolContext
from pollux.dispatch.local import LocalDispatcher
from pollux.emulator import run_emulator
from pollux.engine.engine import Engine, Start
from pollux.engine.system import SystemClock
from pollux.providers.gemini import GeminiProvider
from pollux.stores.sqlite import SqliteStore

SOURCE = str(Path(pollux.__file__).parent)
BUDGET = (15, 12)
"""What is wanted: so many files of ours, so many of our frames on one stack."""
REACHED = (41, 15)
"""What is so today. It may only become less."""


class Trail:
    """The files of ours that were entered, and the most of our frames on one stack."""

    def __init__(self) -> None:
        self.files: dict[str, int] = {}
        self.deepest: list[str] = []

    def enter(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not _is_ours(frame):
            return
        stack = [_place(step) for step in _stack(frame) if _is_ours(step)]
        self.files[_file(frame)] = max(self.files.get(_file(frame), 0), len(stack))
        if len(stack) > len(self.deepest):
            self.deepest = stack


@contextmanager
def traced() -> Generator[Trail]:
    """Everything that is called meanwhile, in this thread."""
    trail, before = Trail(), sys.getprofile()
    sys.setprofile(trail.enter)
    try:
        yield trail
    finally:
        sys.setprofile(before)


async def test_a_run_with_one_tool_travels_no_further_than_before(tmp_path: Path):
    trail = await trail_of_one_tool(tmp_path)
    print(len(trail.files), "files:", *sorted(trail.files))
    print(len(trail.deepest), "deep:", *trail.deepest, sep="\n  ")
    assert len(trail.files) <= REACHED[0]
    assert len(trail.deepest) <= REACHED[1]


@pytest.mark.xfail(reason="every leaf counted, the budget is not met yet: see REACHED")
async def test_a_run_with_one_tool_crosses_few_files_and_never_deep(tmp_path: Path):
    trail = await trail_of_one_tool(tmp_path)
    assert len(trail.files) <= BUDGET[0]
    assert len(trail.deepest) <= BUDGET[1]


async def trail_of_one_tool(tmp_path: Path) -> Trail:
    """One run with one tool through engine, Gemini provider and SQLite, answered by the emulator."""

    async def body(context: ToolContext, args: dict[str, JSON]) -> object:
        return args["a"] + args["b"]

    numbers: JSON = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    add = FakeTool("add", body=body, schema={"type": "object", "properties": numbers, "required": ["a", "b"]})
    clock = SystemClock()
    async with run_emulator(port=0) as emulator:
        provider = GeminiProvider("a-key", emulator.url)
        engine = Engine(
            store=SqliteStore(tmp_path / "pollux.db", key=KEY),
            providers=lambda model: provider,
            tools=[add],
            clock=clock,
            dispatcher=LocalDispatcher(clock),
        )
        async with engine:
            with traced() as trail:
                run = await engine.start(Start("add 2 and 3", user=ADA, live=True))
                run = await engine.wait_settled(run.id, seconds=10)
        await provider.close()
    assert (run.status, len(add.ran)) == ("completed", 1)
    return trail


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_ours(frame: FrameType) -> bool:
    name = frame.f_code.co_filename
    return name.startswith(SOURCE) and "/emulator/" not in name


def _file(frame: FrameType) -> str:
    return frame.f_code.co_filename.removeprefix(SOURCE + "/")


def _place(frame: FrameType) -> str:
    return f"{_file(frame)}:{frame.f_code.co_name}"
