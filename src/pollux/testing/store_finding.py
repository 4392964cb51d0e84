"""The store suite's second part: lists for people, and what the engine looks for."""

from typing import Protocol

import pytest

from pollux.core.events import ActionCompleted
from pollux.core.ids import RunId, ThreadId, UserId
from pollux.core.run import Parent
from pollux.engine.glance import Spending
from pollux.engine.ports import AuditFact, Change, Store
from pollux.testing.store_fixtures import StoreFixtures
from pollux.testing.store_lab import (
    ADA,
    BOB,
    NOON,
    Story,
    grant,
    tell_all,
)


class _Paged(Protocol):
    async def __call__(self, limit: int, before: str | None) -> list[str]: ...


@pytest.mark.asyncio
class Finding(StoreFixtures):
    """Lists, their pages and owners; work that is owed, and moments that come."""

    async def test_lists_show_only_the_owner_s_own(self, store: Store):
        await tell_all(store, Story("1"))
        mine = Story("2", owner=BOB)
        await mine.start(store)
        await mine.ask(store)
        await store.commit(Change(grants=(grant("eve"), grant("mallory", owner=BOB))))
        assert [thread.user for thread in await store.threads(BOB)] == [BOB]
        assert [row.run_id for row in await store.runs(BOB)] == [mine.run_id]
        assert [row.run_id for row in await store.approvals(BOB, status=None)] == [mine.run_id]
        assert [grant.subject for grant in await store.grants(BOB)] == ["mallory@example.org"]
        assert {entry.user for entry in await store.audit(user=BOB)} == {"bob"}
        assert list(await store.runs(BOB, thread_id=ThreadId("thr_1"))) == []

    async def test_lists_are_newest_first_and_come_in_pages(self, store: Store):
        for number in range(5):
            story = Story(str(number), at=NOON + number)
            await story.start(store)
            await story.ask(store)
        await Story("x", owner=BOB, at=NOON + 2).start(store)

        async def threads(limit: int, before: str | None) -> list[str]:
            return [thread.id for thread in await store.threads(ADA, limit=limit, before=before)]

        async def runs(limit: int, before: str | None) -> list[str]:
            return [row.run_id for row in await store.runs(ADA, limit=limit, before=before)]

        async def approvals(limit: int, before: str | None) -> list[str]:
            return [row.approval_id for row in await store.approvals(ADA, limit=limit, before=before)]

        lists: list[tuple[_Paged, str]] = [(threads, "thr_{}"), (runs, "run_{}"), (approvals, "apr_{}_1.0")]
        for listing, name in lists:
            everything = [name.format(number) for number in (4, 3, 2, 1, 0)]
            assert await listing(25, None) == everything
            assert await listing(2, None) == everything[:2]
            assert await listing(2, everything[1]) == everything[2:4]
            assert await listing(2, everything[4]) == []
            assert await listing(2, name.format("none")) == []
            assert await listing(2, name.format("x")) == []

    async def test_lists_are_in_the_order_of_commits_whatever_the_clocks_say(self, store: Store):
        stories = [Story(str(number), at=NOON + later) for number, later in enumerate((3600, 0, 1800, 0, 0))]
        for story in stories:
            await story.start(store)
            await story.ask(store)
        everything = [str(number) for number in (4, 3, 2, 1, 0)]
        assert [row.run_id for row in await store.runs(ADA)] == [f"run_{each}" for each in everything]
        assert [row.approval_id for row in await store.approvals(ADA)] == [f"apr_{each}_1.0" for each in everything]
        assert [thread.id for thread in await store.threads(ADA)] == [f"thr_{each}" for each in everything]

        # One that comes meanwhile, by a clock that is behind, stands before what was seen.
        page = await store.runs(ADA, limit=2)
        late = await Story("late", at=NOON - 60).start(store)
        rest = await store.runs(ADA, before=page[-1].run_id)
        assert [row.run_id for row in (*page, *rest)] == [f"run_{each}" for each in everything]
        assert [row.run_id for row in await store.runs(ADA, limit=1)] == [late.run_id]

        # A thread moves up when its run ends, also where that is done by a process whose clock is behind.
        stories[0].at = NOON - 30
        [waiting] = stories[0].run.open
        await stories[0].resolve(store, waiting)
        await stories[0].execute(store, waiting)
        await stories[0].finish(store)
        first, second = await store.threads(ADA, limit=2)
        assert (first.id, second.id, first.updated_at) == ("thr_0", late.thread.id, NOON - 30)
        assert [row.run_id for row in await store.runs(ADA, limit=1)] == [late.run_id]
        assert [row.run_id for row in await store.approvals(ADA, status=None)][-1] == "run_0"

    async def test_things_of_the_same_moment_are_paged_without_loss(self, store: Store):
        for number in range(6):
            await Story(str(number)).start(store)
        seen: list[str] = []
        while page := await store.runs(ADA, limit=2, before=seen[-1] if seen else None):
            seen += [row.run_id for row in page]
        assert sorted(seen) == [f"run_{number}" for number in range(6)]

    async def test_a_run_s_row_follows_it(self, store: Store):
        story = await Story("1").start(store)
        [row] = await store.runs(ADA)
        assert (row.status, row.epoch, row.driver, row.owed) == ("planning", 1, "drv_test", True)
        await story.answer(store)
        [row] = await store.runs(ADA, thread_id=story.thread.id)
        assert (row.status, row.owed, row.wake_at) == ("completed", False, None)

    async def test_a_run_s_row_tells_its_tokens_from_the_first_reply_on(self, store: Store):
        story = await Story("1").start(store)
        assert [row.tokens for row in await store.runs(ADA)] == [0]
        action = await story.ask(store)
        assert [row.tokens for row in await store.runs(ADA)] == [15]
        await story.resolve(store, action)
        await story.execute(store, action)
        await story.finish(store)
        assert [row.tokens for row in await store.runs(ADA)] == [story.run.usage.total] == [30]

    async def test_a_user_has_spent_the_tokens_of_the_runs_since_then(self, store: Store):
        assert await store.spent(ADA, 0) == Spending()
        for number in range(3):
            await (await Story(str(number), at=NOON + number).start(store)).answer(store)
        await tell_all(store, Story("b", owner=BOB))
        await Story("still open", at=NOON + 9).start(store)
        assert await store.spent(ADA, 0) == Spending(45)
        assert await store.spent(ADA, NOON + 1) == Spending(30)
        assert await store.spent(ADA, NOON + 1.5) == Spending(15)
        assert await store.spent(ADA, NOON + 99) == Spending()
        assert await store.spent(BOB, NOON) == Spending(30)

    async def test_what_open_runs_may_still_spend_is_promised_to_them(self, store: Store):
        await (await Story("ended", tokens=500).start(store)).answer(store)
        story = await Story("waits", tokens=100).start(store)
        # Twice the limit: the last call may pass it.
        assert await store.spent(ADA, 0) == Spending(15, 200)
        await story.ask(store)
        assert await store.spent(ADA, 0) == Spending(30, 185)
        await Story("b", owner=BOB, tokens=1_000).start(store)
        assert await store.spent(UserId(""), NOON, is_prefix=True) == Spending(30, 2_185)

    async def test_an_open_run_without_a_limit_is_promised_what_it_has_used_once_more(self, store: Store):
        story = await Story("waits").start(store)
        action = await story.ask(store)
        assert await store.spent(ADA, 0) == Spending(15, 15)
        await story.resolve(store, action)
        await story.execute(store, action)
        await story.finish(store)
        assert await store.spent(ADA, 0) == Spending(30)

    @pytest.mark.parametrize("is_prefix", [False, True])
    async def test_a_run_counts_while_it_is_open_and_from_its_last_change_on(self, store: Store, is_prefix: bool):
        story = await Story("old", tokens=100).start(store)
        action = await story.ask(store)
        # It used its tokens before: what it may still use counts.
        assert await store.spent(ADA, NOON + 1, is_prefix=is_prefix) == Spending(0, 185)
        story.at = NOON + 5
        await story.resolve(store, action)
        assert await store.spent(ADA, NOON + 1, is_prefix=is_prefix) == Spending(15, 185)
        await story.execute(store, action)
        await story.finish(store)
        assert await store.spent(ADA, NOON + 1, is_prefix=is_prefix) == Spending(30)
        assert await store.spent(ADA, NOON + 5.5, is_prefix=is_prefix) == Spending()

    async def test_users_whose_names_begin_alike_have_spent_what_each_of_them_has(self, store: Store):
        for number in range(3):
            story = Story(str(number), owner=UserId(f"visitor:{number}"), at=NOON + number)
            await (await story.start(store)).answer(store)
        await tell_all(store, Story("b", owner=BOB))
        assert await store.spent(UserId("visitor:"), 0, is_prefix=True) == Spending(45)
        assert await store.spent(UserId("visitor:"), NOON + 1, is_prefix=True) == Spending(30)
        assert await store.spent(UserId("visitor:"), 0) == Spending()

    async def test_approvals_are_found_by_their_state(self, store: Store):
        story = await Story("1").start(store)
        action = await story.ask(store)
        [waiting] = await store.approvals(ADA)
        assert action.approval
        assert waiting.approval_id == action.approval.id
        assert waiting.status == "pending"
        await story.resolve(store, action)
        assert list(await store.approvals(ADA)) == []
        assert [row.status for row in await store.approvals(ADA, status="approved")] == ["approved"]
        assert [row.status for row in await store.approvals(ADA, status=None)] == ["approved"]

    async def test_a_question_that_a_tool_asked_is_found_until_the_tool_has_ended(self, store: Store):
        story = await Story("1").start(store)
        asker = await story.ask(store)
        await story.resolve(store, asker)
        asked = await story.ask_for(store, asker, to="eve@example.org")
        assert asked.approval
        assert [row.approval_id for row in await store.approvals(ADA)] == [asked.approval.id]
        await story.commit(
            store, ActionCompleted(epoch=1, action_id=asker.id, attempt=1, result="all done", at=story.at)
        )
        assert list(await store.approvals(ADA)) == []
        rows = {row.approval_id: row.status for row in await store.approvals(ADA, status=None)}
        assert rows[asked.approval.id] == "withdrawn"
        assert await store.run(story.run_id) == story.run

    async def test_children_are_found_by_their_parent(self, store: Store):
        parent = await Story("1").start(store)
        action = await parent.ask(store)
        link = Parent(parent.run_id, action.id, parent.run_id)
        await Story("2", at=NOON + 2, parent=link).start(store)
        await Story("3", at=NOON + 1, parent=link).start(store)
        assert [row.run_id for row in await store.children(parent.run_id)] == ["run_3", "run_2"]
        assert list(await store.children(RunId("run_2"))) == []

    async def test_grants_are_listed_until_they_are_revoked(self, store: Store):
        story = await Story("1").start(store)
        await story.resolve(store, await story.ask(store), scope="always")
        [given] = await store.grants(ADA)
        assert (given.tool, given.subject, given.scope) == ("send_mail", "bob@example.org", "always")
        await store.commit(Change(revoked=(given.id,), audit=(AuditFact(NOON, "revoked", "ada"),)))
        assert list(await store.grants(ADA)) == []

    async def test_work_that_is_owed_is_found_oldest_first(self, store: Store):
        late = await Story("1", at=NOON + 2).start(store)
        early = await Story("2", at=NOON + 1).start(store)
        await (await Story("3").start(store)).answer(store)
        assert [row.run_id for row in await store.owed()] == [early.run_id, late.run_id]
        await early.ask(store)
        assert [row.run_id for row in await store.owed()] == [late.run_id]

    async def test_runs_are_due_when_their_moment_has_come(self, store: Store):
        assert await store.next_wake() is None
        first = await Story("1").start(store, deadline=NOON + 20)
        second = await Story("2").start(store, deadline=NOON + 10)
        assert await store.next_wake() == NOON + 10
        assert list(await store.due(NOON + 9.9)) == []
        assert list(await store.due(NOON + 10)) == [second.run_id]
        assert list(await store.due(NOON + 99)) == [second.run_id, first.run_id]
        await second.answer(store)
        assert await store.next_wake() == NOON + 20
