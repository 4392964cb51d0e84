"""The store suite's fourth part: what lists and sums tell of runs without their journals."""

from collections.abc import Iterable, Sequence
from dataclasses import astuple

import pytest

from pollux.core.events import ActionSettled, ActionStarted, RunClaimed
from pollux.core.ids import UserId
from pollux.core.messages import Blob, Message, Text, user
from pollux.core.thread import MessagesImported, ThreadErased
from pollux.engine.glance import DayUsage, glance_of
from pollux.engine.ports import AuditFilter, RunRow, Store
from pollux.testing.store_fixtures import StoreFixtures
from pollux.testing.store_lab import ADA, BOB, NOON, Story, tell_all, thread_change

DAY = 86_400.0


def summed(rows: Iterable[RunRow]) -> list[tuple[int | float | str | None, ...]]:
    """What these runs used by day and model, summed up run by run."""
    sums: dict[tuple[int, str], list[RunRow]] = {}
    for row in rows:
        sums.setdefault((int(row.created_at // DAY), row.glance.model if row.glance else ""), []).append(row)
    return [(*key, *_sum(sums[key])) for key in sorted(sums)]


def _sum(rows: Sequence[RunRow]) -> tuple[int | float | None, ...]:
    told = [row.glance for row in rows if row.glance]
    costs = [row.glance.cost if row.glance else None for row in rows if row.tokens]
    counts = [sum(getattr(glance, name) for glance in told) for name in ("input", "output", "thoughts", "cached")]
    cost = None if not costs or None in costs else round(sum(each for each in costs if each is not None), 12)
    return len(rows), *counts, sum(row.tokens for row in rows), cost


def plain(found: Iterable[DayUsage]) -> list[tuple[int | float | str | None, ...]]:
    """The same, as a store tells it."""
    return [(*astuple(used)[:-1], None if used.cost is None else round(used.cost, 12)) for used in found]


@pytest.mark.asyncio
class Telling(StoreFixtures):
    """Glances at runs, what was used by day, the beginnings of prompts, and filters."""

    async def test_a_row_tells_its_run_at_a_glance(self, store: Store):
        story = await Story("1").start(store)
        action = await story.ask(store)
        [row] = await store.runs(ADA)
        assert row.glance == glance_of(story.run)
        assert row.glance
        assert (row.glance.model, row.glance.input, row.glance.output, row.glance.code) == ("scripted", 10, 5, "")
        await story.resolve(store, action)
        await story.execute(store, action)
        await story.finish(store)
        [row] = await store.runs(ADA)
        assert row.glance == glance_of(story.run)
        assert row.glance and row.glance.input == 20

    async def test_runs_are_found_by_their_state(self, store: Store):
        for number in range(3):
            await (await Story(str(number), at=NOON + number).start(store)).answer(store)
        waiting = await Story("w", at=NOON + 3).start(store)
        await waiting.ask(store)
        await Story("b", owner=BOB, at=NOON + 4).start(store)
        assert [row.run_id for row in await store.runs(ADA, states=["awaiting_confirmation"])] == ["run_w"]
        done = await store.runs(ADA, states=["completed", "failed"], limit=2)
        assert [row.run_id for row in done] == ["run_2", "run_1"]
        rest = await store.runs(ADA, states=["completed"], limit=2, before="run_1")
        assert [row.run_id for row in rest] == ["run_0"]
        assert list(await store.runs(ADA, states=["cancelled"])) == []

    async def test_runs_that_may_hold_an_unknown_outcome_are_found_until_it_is_settled(self, store: Store):
        await tell_all(store, Story("1"))
        story = await Story("2", at=NOON + 1).start(store)
        action = await story.ask(store)
        await story.resolve(store, action)
        await story.commit(store, ActionStarted(epoch=1, action_id=action.id, attempt=1, at=story.at))
        assert list(await store.runs(ADA, unsure=True)) == []
        # The driver died in the middle of what must not be done twice.
        await story.commit(store, RunClaimed(epoch=2, driver="drv_next", at=story.at))
        assert story.run.ending and story.run.ending.code == "outcome_unknown"
        [row] = await store.runs(ADA, unsure=True)
        assert row.run_id == story.run_id
        assert row.glance and (row.glance.unknown, row.glance.code) == (1, "outcome_unknown")
        assert list(await store.runs(BOB, unsure=True)) == []
        await story.commit(store, ActionSettled(action_id=action.id, outcome="done", by="ada", at=story.at))
        assert list(await store.runs(ADA, unsure=True)) == []

    async def test_what_was_used_is_summed_up_by_day_and_model(self, store: Store):
        for number, at in enumerate((DAY * 3, DAY * 4 - 0.001, DAY * 4, DAY * 6)):
            await (await Story(str(number), at=at).start(store)).answer(store)
        await tell_all(store, Story("b", owner=BOB, at=DAY * 3))
        assert list(await store.usage(ADA, 0)) == [
            DayUsage(3, "scripted", 2, 20, 10, 0, 0, 30, None),
            DayUsage(4, "scripted", 1, 10, 5, 0, 0, 15, None),
            DayUsage(6, "scripted", 1, 10, 5, 0, 0, 15, None),
        ]
        assert [used.day for used in await store.usage(ADA, DAY * 4)] == [4, 6]
        assert [used.runs for used in await store.usage(BOB, 0)] == [1]
        assert list(await store.usage(UserId("eve"), 0)) == []

    async def test_what_was_used_costs_its_price_where_there_is_one(self, store: Store):
        for number in range(2):
            story = await Story(str(number), model="gemini-2.5-flash").start(store)
            await story.answer(store)
        # One that has used nothing yet takes nothing from what is known.
        await Story("open", model="gemini-2.5-flash").start(store)
        await (await Story("free", model="unheard-of").start(store)).answer(store)
        priced, unpriced = await store.usage(ADA, 0)
        assert (priced.model, priced.runs, priced.cost) == ("gemini-2.5-flash", 3, pytest.approx(31e-6))
        assert (unpriced.model, unpriced.total, unpriced.cost) == ("unheard-of", 15, None)

    async def test_sums_of_what_was_used_are_those_of_the_runs_however_these_go_on(self, store: Store):
        stories = [
            Story(f"{model}-{number}", at=DAY * (3 + number % 3) + number, model=model)
            for number in range(6)
            for model in ("gemini-2.5-flash", "unheard-of")
        ]
        for number, story in enumerate(stories):
            await story.start(store)
            if number % 4 == 0:
                continue
            if number % 3 == 0:
                action = await story.ask(store)
                await story.resolve(store, action)
                await story.execute(store, action)
                await story.finish(store)
            else:
                await story.answer(store)
            assert plain(await store.usage(ADA, 0)) == summed(await store.runs(ADA))
        ended = stories[1]
        await store.commit(thread_change(ended.thread, ThreadErased(by="ada", at=NOON)))
        await store.erase(ended.thread.id)
        assert plain(await store.usage(ADA, 0)) == summed(await store.runs(ADA))

    async def test_erasing_what_was_said_gives_back_nothing_that_was_used(self, store: Store):
        story = await Story("1").start(store)
        await story.answer(store)
        before = list(await store.usage(ADA, 0))
        await store.commit(thread_change(story.thread, ThreadErased(by="ada", at=NOON)))
        await store.erase(story.thread.id)
        assert list(await store.usage(ADA, 0)) == before != []

    async def test_rows_lead_to_the_beginnings_of_prompts(self, store: Store):
        for name, prompt in (("1", "hello"), ("2", "Grüße, “Ada”\n\t\\ \x07" + "🦉" * 300), ("3", "")):
            await Story(name).start(store, prompt)
        rows = await store.runs(ADA)
        long = ("Grüße, “Ada”\n\t\\ \x07" + "🦉" * 300)[:200]
        assert await store.prompts(rows) == {"run_1": "hello", "run_2": long, "run_3": ""}
        assert await store.prompts([]) == {}

    async def test_a_prompt_is_the_last_that_was_asked_and_its_files_are_not_read(self, store: Store):
        story = Story("1")
        earlier = (user("an older question"), Message("assistant", (Text("an older answer"),)))
        change = thread_change(None, *story.opening(), MessagesImported(messages=earlier, at=NOON), messages=earlier)
        await store.commit(change)
        story.take(change)
        await story.start(store, user("What is this?", Blob("image/png", bytes(100_000), "dot.png")))
        assert await store.prompts(await store.runs(ADA)) == {"run_1": "What is this?"}

    async def test_of_an_erased_prompt_nothing_is_left(self, store: Store):
        story = await Story("1").start(store, "a secret")
        await story.answer(store)
        await store.commit(thread_change(story.thread, ThreadErased(by="ada", at=NOON)))
        await store.erase(story.thread.id)
        assert await store.prompts(await store.runs(ADA)) == {}

    async def test_the_audit_is_filtered_by_what_is_given(self, store: Store):
        for number in range(3):
            await tell_all(store, Story(str(number), at=NOON + number))
        await tell_all(store, Story("b", owner=BOB, at=NOON + 1))
        everything = await store.audit(user=ADA)

        async def seqs(only: AuditFilter, *, after: int = 0, limit: int = 100) -> list[int]:
            return [entry.seq for entry in await store.audit(user=ADA, only=only, after=after, limit=limit)]

        for only in (
            AuditFilter(kind="started"),
            AuditFilter(tool_name="send_mail"),
            AuditFilter(tool_name="other"),
            AuditFilter(execution_status="completed"),
            AuditFilter(run_id="run_1"),
            AuditFilter(since=NOON + 1),
            AuditFilter(until=NOON + 1),
            AuditFilter(kind="decided", run_id="run_2", since=NOON + 2, until=NOON + 3),
        ):
            assert await seqs(only) == [entry.seq for entry in everything if only.fits(entry)]
        assert len(await seqs(AuditFilter(kind="started"))) == 3
        assert len(await seqs(AuditFilter(until=NOON + 1))) == len(everything) // 3
        assert (
            await seqs(AuditFilter(kind="started"), limit=1, after=everything[4].seq)
            == [entry.seq for entry in everything[5:] if entry.kind == "started"][:1]
        )

    async def test_the_store_says_what_it_is(self, store: Store):
        assert store.kind in ("memory", "sqlite", "postgres")
        assert await store.workers() in (None, 0)
