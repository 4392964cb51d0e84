"""An answer that is too long: so much of it is kept, marked, and the model told. Nothing more is read or held."""

import asyncio
import gc
import json
import tracemalloc
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from tests.engine.builders import FakeTool, Lab, answer, journal, watched

from pollux.core.events import ModelReplied
from pollux.core.messages import JSON, Message, Text
from pollux.core.profile import Limits
from pollux.core.run import Run
from pollux.engine.engine import Engine
from pollux.engine.feed import Delta
from pollux.engine.model import CUT
from pollux.providers.gemini import GeminiProvider
from pollux.providers.http import MAX_BODY, Response

MIB = 1 << 20
PIECE = 16_384


class Endless:
    """A service that never ends its answer, in the form of the client's own port."""

    def __init__(self, piece: str = "x" * PIECE, *, first: bytes = b"", **part: object) -> None:
        self._chunk = _event({"text": piece, **part})
        self._first = first
        self.bodies: list[bytes] = []
        self.read = 0
        """How many pieces were taken, of all answers."""
        self.open = 0

    def post(
        self, url: str, headers: Mapping[str, str], body: bytes, *, idle: float, total: float
    ) -> AbstractAsyncContextManager[Response]:
        self.bodies.append(body)
        return self._answering()

    def get(
        self, url: str, headers: Mapping[str, str], *, idle: float, total: float
    ) -> AbstractAsyncContextManager[Response]:
        raise AssertionError("nobody lists models")

    async def close(self) -> None:
        pass

    @asynccontextmanager
    async def _answering(self) -> AsyncGenerator[Response]:
        self.open += 1
        try:
            yield _Pieces(self)
        finally:
            self.open -= 1

    async def piece(self, number: int) -> bytes:
        await asyncio.sleep(0)
        self.read += 1
        return self._first if self._first and number == 0 else self._chunk


class _Pieces:
    status = 200
    headers: Mapping[str, str] = {}

    def __init__(self, service: Endless) -> None:
        self._service = service
        self._number = -1

    async def read_some(self) -> bytes:
        self._number += 1
        return await self._service.piece(self._number)

    async def read_all(self, limit: int = MAX_BODY) -> bytes:
        raise AssertionError("nobody asks for a whole answer")


def _event(part: object, finish: str | None = None) -> bytes:
    return (
        f"data: {json.dumps({'candidates': [{'content': {'parts': [part]}, 'finishReason': finish}]})}\r\n\r\n".encode()
    )


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    lab = Lab("sqlite", tmp_path)
    yield lab
    await lab.close()


async def test_a_run_keeps_four_mebibytes_of_an_answer_without_end_and_marks_it(lab: Lab):
    service = Endless()
    engine = await lab.engine(provider=GeminiProvider("k", "http://gemini.test", service))
    run = await answer(engine, live=True)
    assert (run.status, len(run.text)) == ("completed", 4 * MIB)
    assert run.finish == {"finish_reason": "length", "incomplete": True, "cut": True}
    (kept,) = [event.message for event in await journal(engine, run) if isinstance(event, ModelReplied)]
    assert kept.cut and kept.text == run.text
    assert (service.read, service.open) == (4 * MIB // PIECE + 1, 0)


async def test_who_watches_is_told_what_is_kept_and_no_more(lab: Lab):
    engine = await lab.engine(provider=GeminiProvider("k", "http://gemini.test", Endless("ä" * 1000)))
    run = await answer(engine, live=True, limits=Limits(answer_bytes=4_999))
    # Half a character is none.
    assert run.text == "ä" * 2_499
    told = [item.text for item in await watched(engine, run) if isinstance(item, Delta)]
    assert "".join(told) in ("", run.text)


async def test_the_model_is_told_in_words_that_its_answer_was_cut(lab: Lab):
    service = Endless()
    engine = await lab.engine(provider=GeminiProvider("k", "http://gemini.test", service))
    first = await answer(engine, "say much", live=True, limits=Limits(answer_bytes=10))
    assert first.messages[-1] == Message("assistant", (Text("x" * 10),), cut=True)
    await answer(engine, "and now?", live=True, thread_id=first.thread_id, limits=Limits(answer_bytes=10))
    contents = json.loads(service.bodies[-1])["contents"]
    assert [(each["role"], each["parts"][0]["text"]) for each in contents] == [
        ("user", "say much"),
        ("model", "x" * 10),
        ("user", CUT.text),
        ("user", "and now?"),
    ]


async def test_thoughts_count_and_thoughts_alone_are_no_answer(lab: Lab):
    engine = await lab.engine(provider=GeminiProvider("k", "http://gemini.test", Endless(thought=True)))
    run = await answer(engine, live=True, limits=Limits(answer_bytes=100_000))
    assert run.ending and (run.status, run.ending.code) == ("failed", "model_error")
    assert "longer than" in run.ending.message and run.finish == {}


async def test_nothing_runs_from_an_answer_that_was_cut(lab: Lab):
    call: dict[str, JSON] = {"functionCall": {"name": "look", "args": {}}}
    look = FakeTool()
    service = Endless(first=_event(call))
    engine = await lab.engine(provider=GeminiProvider("k", "http://gemini.test", service), tools=[look])
    run = await answer(engine, live=True, limits=Limits(answer_bytes=100_000))
    assert (run.status, run.actions, look.ran) == ("failed", (), [])


async def test_ten_answers_of_twenty_megabytes_hold_little_more_than_their_limit(lab: Lab):
    limit = MIB
    engine = await lab.engine(provider=GeminiProvider("k", "http://gemini.test", Endless()))
    await answer(engine, live=True, limits=Limits(answer_bytes=10))
    tracemalloc.start()
    try:
        runs = await asyncio.gather(*(_asked(engine, limit) for _ in range(10)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [len(run.text) for run in runs] == [limit] * 10
    # The text as it is shown, as it is written, and as it is answered.
    assert peak < 10 * limit * 5


async def test_what_was_said_at_great_length_is_not_remembered_when_the_run_has_ended(lab: Lab):
    service = Endless()
    engine = await lab.engine(provider=GeminiProvider("k", "http://gemini.test", service))
    await _asked(engine, 10)
    tracemalloc.start()
    try:
        threads = [(await _asked(engine, 2 * MIB)).thread_id for _ in range(8)]
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # The last run alone is still at hand, as it was shown and as it was written.
    assert kept < 3 * 2 * MIB
    # And the thread goes on all the same.
    await answer(engine, "and now?", live=True, thread_id=threads[0], limits=Limits(answer_bytes=10))
    assert len(json.loads(service.bodies[-1])["contents"][1]["parts"][0]["text"]) == 2 * MIB


async def _asked(engine: Engine, limit: int) -> Run:
    return await answer(engine, live=True, limits=Limits(answer_bytes=limit))
