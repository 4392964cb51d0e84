"""Any process streams any run: facts and text reach those who watch elsewhere, and nobody else.

Two engines with a store each stand for two processes: all they share is the database.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import psycopg
import pytest
from psycopg import AsyncConnection
from tests.engine.builders import FakeTool, FaultyStore, Lab, ask, settle, store_of
from tests.engine.watching import Speaker, Viewer, seqs, text
from tests.waiting import HANG_SECONDS, until

from pollux.asgi.follow import Follow
from pollux.core.events import ModelReplied
from pollux.core.ids import RunId
from pollux.core.run import Run
from pollux.dispatch.local import LocalDispatcher
from pollux.engine.airwaves import Piece
from pollux.engine.engine import Engine
from pollux.engine.feed import Delta, Item, TurnRestarted
from pollux.engine.model import Done, ModelEvent, ModelRequest, TextDelta
from pollux.engine.ports import ANYTHING, Recorded
from pollux.engine.relay import JOIN_SECONDS
from pollux.providers.scripted import Answer, ScriptedProvider, Step, call, chunks, reply
from pollux.stores.postgres import listening
from pollux.stores.postgres.airwaves import WATCHED
from pollux.stores.postgres.news import LONGEST

pytestmark = pytest.mark.slow

MIXED = 'a "quoted" \\ word, \U0001f680, ẞ and\n\t'


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    lab = Lab("postgres", tmp_path)
    yield lab
    await lab.close()


class Eavesdropper:
    """A listener of the test's own on the channel of a run, and on the one where watching is announced."""

    def __init__(self, db: AsyncConnection[Any]) -> None:
        self.db = db

    async def heard(self) -> list[psycopg.Notify]:
        """Everything that was sent before this moment."""
        await self.db.execute("SELECT 1")
        return [notice async for notice in self.db.notifies(timeout=0)]


async def eavesdropper(lab: Lab, engine: Engine, run_id: RunId) -> Eavesdropper:
    db = await AsyncConnection.connect(vars(lab)["_url"], autocommit=True)
    airwaves: Any = store_of(engine).airwaves
    await db.execute(f"LISTEN {airwaves.channel(run_id)}; LISTEN {WATCHED}".encode())
    return Eavesdropper(db)


async def hang_up(lab: Lab, *engines: Engine) -> None:
    """Cut the lines of these processes at the server."""
    lines: list[Any] = [vars(store_of(engine))["_line"] for engine in engines]
    pids = [int(line._db.info.backend_pid) for line in lines]
    with psycopg.connect(vars(lab)["_url"], autocommit=True) as db:
        db.execute("SELECT pg_terminate_backend(pid) FROM unnest(%s) AS pid", (pids,))


async def here_and_elsewhere(lab: Lab, speaker: Speaker) -> tuple[Engine, Engine, Run]:
    here, elsewhere = await lab.engine(provider=speaker), await lab.engine()
    return here, elsewhere, await ask(here, live=True)


def as_told(items: Sequence[Item]) -> str:
    """What is left of it on a screen behind a door."""
    follow, shown, turn = Follow(), "", 0
    for item in items:
        for line in follow.read(item):
            if line["type"] == "turn_restarted":
                shown = shown[:turn]
            elif line["type"] == "delta":
                shown += line["delta"]
        if isinstance(item, Recorded) and isinstance(item.event, ModelReplied):
            turn = len(shown)
    return shown


@pytest.mark.parametrize("size", [1, 3_000, 100_000])
async def test_text_elsewhere_is_the_text_of_the_journal(lab: Lab, size: int):
    speaker = Speaker()
    here, elsewhere, run = await here_and_elsewhere(lab, speaker)
    viewer = Viewer(elsewhere, run)
    said = (MIXED * size)[:size]
    half = len(said) // 2 + 1
    speaker.say(*(said[start : start + 700] for start in range(0, half, 700)))
    shown = "".join(said[start : start + 700] for start in range(0, half, 700))
    await viewer.shows(shown)
    speaker.say(said[len(shown) :])
    await viewer.shows(said)
    speaker.end()
    items = await viewer.end()
    assert text(items) == said == (await here.queries.run(run.id)).text
    assert seqs(items) == [1, 2, 3, 4, 5]


async def test_who_comes_late_gets_the_text_so_far(lab: Lab):
    speaker = Speaker()
    here, elsewhere, run = await here_and_elsewhere(lab, speaker)
    first = Viewer(here, run)
    speaker.think("hm")
    speaker.say("Once ", "upon ")
    await first.shows("Once upon ")
    late = Viewer(elsewhere, run)
    await late.shows("Once upon ")
    speaker.say("a time")
    await late.shows("Once upon a time")
    speaker.end()
    items = await late.end()
    assert (text(items), text(items, "thought"), seqs(items)) == ("Once upon a time", "hm", [1, 2, 3, 4, 5])


class Held(ScriptedProvider):
    """Says everything at once, and ends each answer when it is let."""

    def __init__(self, *steps: Step) -> None:
        super().__init__(*steps)
        self.let = asyncio.Semaphore(0)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        async for event in super().stream(request):
            if isinstance(event, Done):
                await asyncio.wait_for(self.let.acquire(), HANG_SECONDS)
            yield event


async def test_an_answer_that_begins_anew_takes_its_text_back_elsewhere(lab: Lab):
    model = Held(chunks(["no", "thing"], stop="bad_call"), chunks(["Right."]))
    here, elsewhere = await lab.engine(provider=model), await lab.engine()
    viewer = Viewer(elsewhere, await ask(here, live=True))
    for said in ("nothing", "Right."):
        await viewer.shows(said)
        model.let.release()
    assert TurnRestarted(1, 2) in await viewer.end()
    assert as_told(viewer.items) == "Right."


async def test_turn_after_turn_is_told_once_at_a_door_elsewhere(lab: Lab):
    texts = [f"{number}. {MIXED}" for number in range(4)]
    model = Held(*(call("look", text=each) for each in texts), reply("Done."))
    here = await lab.engine(provider=model, tools=[FakeTool()])
    elsewhere = await lab.engine(tools=[FakeTool()])
    viewer = Viewer(elsewhere, await ask(here, live=True))
    for number in range(4):
        # Every other reply comes before its text can have arrived.
        if number % 2:
            await until(lambda number=number: as_told(viewer.items) == "".join(texts[: number + 1]))
        model.let.release()
    model.let.release()
    items = await viewer.end()
    assert as_told(viewer.items) == "".join(texts) + "Done."
    assert {item.turn for item in items if isinstance(item, Delta)} >= {2, 4}


async def test_lines_that_are_cut_lose_nothing_in_the_end(lab: Lab):
    speaker = Speaker()
    here, elsewhere, run = await here_and_elsewhere(lab, speaker)
    viewer = Viewer(elsewhere, run)
    said = ""
    for number, cut in enumerate([(elsewhere,), (here,), (here, elsewhere)]):
        speaker.say(f"{number} ")
        said += f"{number} "
        await viewer.shows(said)
        await hang_up(lab, *cut)
    speaker.say("and on")
    await viewer.shows(said + "and on")
    await hang_up(lab, here, elsewhere)
    speaker.end()
    items = await viewer.end()
    assert (text(items), seqs(items)) == (said + "and on", [1, 2, 3, 4, 5])


async def test_nothing_is_told_when_nobody_watches_elsewhere(lab: Lab):
    speaker = Speaker()
    here, _, run = await here_and_elsewhere(lab, speaker)
    ear = await eavesdropper(lab, here, run.id)
    viewer = Viewer(here, run)
    speaker.say("a", "b")
    await viewer.shows("ab")
    # The moment for which text is gathered is over: timers of one loop go off in their order, however late.
    await asyncio.sleep(3 * JOIN_SECONDS)
    speaker.end()
    await viewer.end()
    # On the same line, and the only thing that is ever told on it.
    airwaves = store_of(here).airwaves
    assert airwaves
    airwaves.tell(run.id, Piece(9, 9, 0, "text", "the end"))
    told = await until(ear.heard)
    assert [msgspec.json.decode(notice.payload)[-1] for notice in told] == ["the end"]
    await ear.db.close()


async def test_notices_are_joined_and_short(lab: Lab):
    class Steady(ScriptedProvider):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
            for number in range(300):
                await asyncio.sleep(0.002)
                yield TextDelta(f"{number}{MIXED}")
            async for event in super().stream(request):
                yield event

    here, elsewhere = await lab.engine(provider=Steady(reply("."))), await lab.engine()
    began = asyncio.get_running_loop().time()
    run = await ask(here, live=True)
    ear = await eavesdropper(lab, here, run.id)
    viewer = Viewer(elsewhere, run)
    await viewer.end()
    seconds = asyncio.get_running_loop().time() - began
    notices = [notice for notice in await ear.heard() if notice.channel != WATCHED]
    assert 0 < len(notices) <= 21 * seconds + 1
    assert all(0 < len(notice.payload.encode()) < LONGEST for notice in notices)
    await ear.db.close()


async def test_what_others_write_about_other_runs_costs_a_watching_process_nothing(lab: Lab):
    speaker = Speaker()
    counted = FaultyStore(lab.store())
    asked: list[str] = []
    for name in ("versions", "journal", "run", "thread"):

        async def counting(*args: Any, _name: str = name) -> Any:
            asked.append(_name)
            return await getattr(counted.inner, _name)(*args)

        vars(counted)[name] = counting
    here, elsewhere = await lab.engine(provider=speaker), await lab.engine(store=counted)
    third = await lab.engine(*[reply("Hi.")] * 5)
    run = await ask(here, live=True)
    viewer = Viewer(elsewhere, run)
    speaker.say("so ")
    await viewer.shows("so ")
    asked.clear()
    for _ in range(5):
        await settle(third, await ask(third))
    speaker.say("far")
    await viewer.shows("so far")
    assert asked == []
    speaker.end()
    await viewer.end()
    assert "versions" not in asked


async def test_a_run_that_is_driven_for_a_dispatcher_is_streamed(lab: Lab):
    class Elsewhere(LocalDispatcher):
        drives_here = False

        def wake(self, run_id: RunId) -> None:
            """The test does what a queue would."""

    model = Held(reply("early"))
    door = await lab.engine(dispatcher=Elsewhere(lab.clock))
    worker = await lab.engine(provider=model, dispatcher=Elsewhere(lab.clock))
    run = await ask(door)
    async with asyncio.timeout(HANG_SECONDS):
        driving = asyncio.create_task(vars(worker)["_recovery"].drive(run.id))
        await until(lambda: model.requests)
        assert model.requests[0].stream
        late = Viewer(door, run)
        await late.shows("early")
        model.let.release()
        await late.end()
        await driving


class Rambling(ScriptedProvider):
    """Says anything for a while, calls a tool now and then, and sometimes answers with what is no answer."""

    def __init__(self, chance: Random) -> None:
        super().__init__()
        self._chance = chance

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        chance = self._chance
        pieces = [
            f"{number}{chance.choice(['a', MIXED, 'x' * 500])}" for number in range(chance.choice([0, 1, 30, 200]))
        ]
        if chance.random() < 0.3:
            answer = chunks(pieces, stop="bad_call")
        else:
            is_last = sum(turn.role == "assistant" for turn in request.turns) >= 3
            answer = Answer(tuple(pieces), calls=() if is_last else (("look", {}),))
        async for event in ScriptedProvider(answer).stream(request):
            await asyncio.sleep(chance.random() / 100)
            yield event


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
async def test_whatever_is_cut_and_whenever_one_comes_everybody_reads_the_same(lab: Lab, seed: int):
    chance = Random(seed)
    engines = [await lab.engine(provider=Rambling(chance), tools=[FakeTool()]) for _ in range(3)]

    async def cut() -> None:
        while True:
            await asyncio.sleep(chance.random() / 2)
            await hang_up(lab, *chance.sample(engines, chance.randint(1, 3)))

    async def tell() -> None:
        await asyncio.sleep(chance.random())
        run = await ask(engines[0], live=chance.random() < 0.5)
        viewers: list[Viewer] = []
        for _ in range(4):
            viewers.append(Viewer(chance.choice(engines), run))
            await asyncio.sleep(chance.random() / 5)
        for viewer in viewers:
            await viewer.task
        journal = await engines[0].queries.journal(run.id)
        whole = as_told(journal)
        for viewer in viewers:
            assert seqs(viewer.items) == [record.seq for record in journal]
            assert as_told(viewer.items).startswith(whole)

    cutting = asyncio.create_task(cut())
    async with asyncio.timeout(4 * HANG_SECONDS):
        await asyncio.gather(*(tell() for _ in range(25)))
    cutting.cancel()


async def test_a_notice_that_was_lost_on_its_way_is_made_up_for_by_a_look_now_and_then(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(listening, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr(listening, "BEATS_TO_A_LOOK", 2)
    store = lab.store()
    await store.open()
    async with asyncio.timeout(HANG_SECONDS):
        assert await store.changed_elsewhere() == ANYTHING
    await store.close()
