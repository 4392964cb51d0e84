"""How far one run with one tool travels: through few of our files, and never deep."""

import sys
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from tests.engine.builders import ADA, KEY
from tests.waiting import HANG_SECONDS

import pollux
from pollux.core.messages import JSON, Message, Text, ToolCall
from pollux.core.tools import Reconciled, ToolContext, ToolSpec
from pollux.dispatch.local import LocalDispatcher
from pollux.emulator import run_emulator
from pollux.engine.engine import Engine, Start
from pollux.engine.model import Done, ModelEvent, ModelInfo, ModelRequest, Provider, TextDelta
from pollux.engine.ports import Store
from pollux.engine.system import SystemClock
from pollux.providers.gemini import GeminiProvider
from pollux.stores.memory import MemoryStore
from pollux.stores.sqlite import SqliteStore

SOURCE = str(Path(pollux.__file__).parent)
BUDGET = (15, 12)
"""So many files of ours, so many of our frames on one stack: the run, with a model and a tool of the test's own."""
WHOLE = (28, 12)
"""The same with Gemini over HTTP and the journal in SQLite, every leaf counted. It may only become less."""


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


async def test_a_run_with_one_tool_crosses_few_files_and_never_deep():
    trail = await trail_of_one_tool(MemoryStore(), OneCall())
    _print(trail)
    assert len(trail.files) <= BUDGET[0]
    assert len(trail.deepest) <= BUDGET[1]


async def test_wire_and_disk_included_it_crosses_no_more_than_before(tmp_path: Path):
    async with run_emulator(port=0) as emulator:
        provider = GeminiProvider("a-key", emulator.url)
        trail = await trail_of_one_tool(SqliteStore(tmp_path / "pollux.db", key=KEY), provider)
        await provider.close()
    _print(trail)
    assert len(trail.files) <= WHOLE[0]
    assert len(trail.deepest) <= WHOLE[1]


class OneCall:
    """A model that wants one sum and then is content."""

    name = "one-call"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        if request.turns[-1].role == "user":
            yield Done("tool_calls", Message("assistant", (ToolCall("c1", "add", {"a": 2, "b": 3}),)))
        else:
            yield TextDelta("5")
            yield Done("end", Message("assistant", (Text("5"),)))

    async def count_tokens(self, request: ModelRequest) -> int:
        return 0

    async def models(self) -> tuple[ModelInfo, ...]:
        return ()

    async def close(self) -> None:
        pass


class Sum:
    """A tool that only adds."""

    spec = ToolSpec(
        "add",
        "Add two numbers.",
        {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]},
    )

    def prepare(self, args: dict[str, JSON]) -> dict[str, JSON]:
        return args

    def subjects(self, args: dict[str, JSON]) -> frozenset[str]:
        return frozenset()

    def preview(self, args: dict[str, JSON]) -> str:
        return f"add {args}"

    async def run(self, context: ToolContext, args: dict[str, JSON]) -> object:
        return args["a"] + args["b"]

    async def reconcile(self, context: ToolContext, args: dict[str, JSON]) -> Reconciled:
        return Reconciled("not_done")


async def trail_of_one_tool(store: Store, provider: Provider) -> Trail:
    """One run with one tool, from the prompt to the end, in an engine that has run before."""
    clock = SystemClock()
    engine = Engine(
        store=store, providers=lambda model: provider, tools=[Sum()], clock=clock, dispatcher=LocalDispatcher(clock)
    )
    async with engine:
        await _one_sum(engine)
        with traced() as trail:
            await _one_sum(engine)
    return trail


async def _one_sum(engine: Engine) -> None:
    run = await engine.start(Start("add 2 and 3", user=ADA, live=True))
    run = await engine.wait_settled(run.id, seconds=HANG_SECONDS)
    assert (run.status, [action.status for action in run.actions]) == ("completed", ["completed"])


def _print(trail: Trail) -> None:
    print(len(trail.files), "files:", *sorted(trail.files))
    print(len(trail.deepest), "deep:", *trail.deepest, sep="\n  ")


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_ours(frame: FrameType) -> bool:
    name = frame.f_code.co_filename
    # core/frozen.py compares and hashes values where dataclass would have generated that: nobody walks through it.
    return name.startswith(SOURCE) and "/emulator/" not in name and not name.endswith("/core/frozen.py")


def _file(frame: FrameType) -> str:
    return frame.f_code.co_filename.removeprefix(SOURCE + "/")


def _place(frame: FrameType) -> str:
    return f"{_file(frame)}:{frame.f_code.co_name}"
