"""The store suite's third part: erasure, audit, drivers, and several objects on one place."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from pollux.core.errors import Conflict, NotFound, StoreError
from pollux.core.events import CancelRequested, RunClaimed
from pollux.core.ids import ThreadId
from pollux.core.thread import (
    ThreadErased,
)
from pollux.engine.glance import Spending
from pollux.engine.ports import Change, News, Store
from pollux.testing.store_fixtures import StoreFactory, StoreFixtures
from pollux.testing.store_lab import (
    ADA,
    BOB,
    NOON,
    Story,
    browser_session,
    grant,
    tell_all,
    thread_change,
)

WAIT_SECONDS = 30.0
"""After so long something hangs."""


@pytest.mark.asyncio
class Lasting(StoreFixtures):
    """What stays, what goes, and who else is there."""

    async def test_erased_content_is_gone_and_the_rest_stays(self, store: Store):
        story, neighbour = Story("1"), Story("2")
        await tell_all(store, story, to="bob@example.org")
        await tell_all(store, neighbour, to="bob@example.org")
        await store.commit(Change(grants=(grant("eve", thread_id=story.thread.id), grant("carol"))))
        before = await store.verify_audit()
        await _erase(store, story)
        thread = await store.thread(story.thread.id)
        assert thread and thread.erased and not thread.title
        assert list(await store.messages(story.thread.id)) == []
        with pytest.raises(NotFound, match="erased"):
            await store.run(story.run_id)
        with pytest.raises(NotFound, match="erased"):
            await store.thread_journal(story.thread.id)
        assert [thread.id for thread in await store.threads(ADA)] == [neighbour.thread.id]
        assert [row.run_id for row in await store.runs(ADA, thread_id=story.thread.id)] == [story.run_id]
        assert [grant.subject for grant in await store.grants(ADA)] == ["carol@example.org"]
        assert await store.run(neighbour.run_id) == neighbour.run
        assert await store.spent(ADA, NOON) == Spending(60)
        after = await store.verify_audit()
        assert after.valid
        assert after.head == before.head

    async def test_a_session_that_one_process_ends_has_ended_for_every_other_at_once(
        self, store: Store, another: Store
    ):
        session = browser_session("1")
        await store.commit(Change(sessions=(session,)))
        assert await another.session(session.digest) == session
        ended = replace(session, ended_at=NOON + 5)
        await another.commit(Change(sessions=(ended,)))
        assert await store.session(session.digest) == ended

    async def test_erasing_again_does_no_harm(self, store: Store):
        story = Story("1")
        await tell_all(store, story)
        await _erase(store, story)
        await store.erase(story.thread.id)
        await store.erase(ThreadId("thr_none"))
        assert list(await store.messages(story.thread.id)) == []

    async def test_nothing_is_written_into_an_erased_thread(self, store: Store):
        first = await Story("1").start(store)
        await first.answer(store)
        await _erase(store, first)
        second = Story("2")
        second.thread = first.thread
        with pytest.raises(Conflict):
            await second.start(store)

    async def test_an_erased_run_s_id_stays_taken(self, store: Store):
        first = await Story("1").start(store)
        await first.answer(store)
        await _erase(store, first)
        again = Story("2")
        again.run_id = first.run_id
        with pytest.raises(Conflict):
            await again.start(store)
        assert await store.thread(again.thread.id) is None

    async def test_the_audit_is_one_chain(self, store: Store):
        await tell_all(store, Story("1"), to="bob@example.org")
        await tell_all(store, Story("2", owner=BOB), to="eve@example.org")
        entries = await store.audit()
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
        assert entries[0].previous == "0" * 64
        assert [entry.previous for entry in entries[1:]] == [entry.hash for entry in entries[:-1]]
        assert [entry.kind for entry in entries[:4]] == ["decided", "approved", "started", "completed"]
        report = await store.verify_audit()
        assert (report.valid, report.entries, report.head, report.problems) == (
            True, len(entries), entries[-1].hash, (),
        )  # fmt: skip

    async def test_the_audit_tells_what_was_observed_and_how_what_was_asked_for_ended_and_outlives_its_words(
        self, store: Store
    ):
        story = await Story("1").start(store)
        asker = await story.ask(store)
        await story.resolve(store, asker)
        asked = await story.ask_for(store, asker, to="eve@example.org")
        await story.commit(store, RunClaimed(epoch=2, driver="drv_other", at=story.at + 1))
        lines = [(entry.action_id, entry.kind, entry.error_code) for entry in await store.audit()][3:]
        assert lines == [
            (asker.id, "observed", ""),
            (asked.id, "decided", ""),
            (asked.id, "failed", "withdrawn"),
            (asker.id, "failed", "outcome_unknown"),
        ]
        await _erase(store, story)
        assert "read it" not in repr(await store.audit())
        assert (await store.verify_audit()).valid

    async def test_the_audit_keeps_arguments_only_as_a_keyed_digest(self, store: Store):
        await tell_all(store, Story("1"), to="bob@example.org")
        first, *_, last = await store.audit()
        assert len(first.input_hash) == 64
        assert first.input_hash == last.input_hash
        assert "bob@example.org" not in repr(await store.audit())

    async def test_the_audit_is_read_in_pages(self, store: Store):
        await tell_all(store, Story("1"))
        await tell_all(store, Story("2", owner=BOB))
        assert [entry.seq for entry in await store.audit(after=2, limit=3)] == [3, 4, 5]
        assert [entry.seq for entry in await store.audit(user=BOB, after=5)] == [6, 7, 8]

    async def test_the_audit_is_read_backwards_too(self, store: Store):
        await tell_all(store, Story("1"))
        await tell_all(store, Story("2", owner=BOB))

        async def seqs(**asked: Any) -> list[int]:
            return [entry.seq for entry in await store.audit(newest_first=True, **asked)]

        assert await seqs() == [8, 7, 6, 5, 4, 3, 2, 1]
        assert await seqs(limit=3) == [8, 7, 6]
        assert await seqs(limit=3, before=6) == [5, 4, 3]
        assert await seqs(user=ADA, limit=2) == [4, 3]
        assert await seqs(user=ADA, before=3) == [2, 1]
        assert await seqs(after=2, before=5) == [4, 3]
        assert await seqs(before=1) == []
        assert await seqs(before=99, limit=1) == [8]

    async def test_the_audit_s_pages_end_where_they_are_told(self, store: Store):
        await tell_all(store, Story("1"))
        assert [entry.seq for entry in await store.audit(before=3)] == [1, 2]
        assert [entry.seq for entry in await store.audit(after=1, before=4, limit=1)] == [2]

    async def test_a_driver_is_alive_until_its_store_closes(self, store: Store, store_factory: StoreFactory):
        first, second = store.enlist(), store.enlist()
        assert first != second
        assert await store.is_alive(first)
        assert await store.is_alive(second)
        assert not await store.is_alive("drv_nobody")
        assert not await store.is_alive("")

    async def test_a_closed_store_says_so(self, store_factory: StoreFactory):
        store = store_factory()
        await store.open()
        await store.close()
        with pytest.raises(StoreError):
            await Story("1").start(store)

    async def test_what_was_written_is_there_after_opening_again(
        self, store_factory: StoreFactory, outlives_its_object: bool
    ):
        if not outlives_its_object:
            pytest.skip("this store keeps nothing beyond its own object")
        first = store_factory()
        await first.open()
        story = Story("1")
        await tell_all(first, story)
        await first.close()
        second = store_factory()
        await second.open()
        assert await second.run(story.run_id) == story.run
        assert await second.thread(story.thread.id) == story.thread
        assert (await second.verify_audit()).entries == 4
        await second.close()

    async def test_two_objects_on_one_place_see_each_other_s_writing(self, store: Store, another: Store):
        story = await Story("1").start(store)
        assert await another.run(story.run_id) == story.run
        stale = story.change(CancelRequested(by="bob", at=NOON))
        await story.answer(another)
        assert await store.run(story.run_id) == story.run
        with pytest.raises(Conflict):
            await store.commit(stale)
        await tell_all(another, Story("2"))
        await tell_all(store, Story("3"))
        assert (await store.verify_audit()).valid

    async def test_a_driver_is_seen_from_another_object(self, store: Store, another: Store):
        name = another.enlist()
        assert await store.is_alive(name)
        await another.close()
        assert not await store.is_alive(name)

    async def test_another_object_s_commit_is_noticed(self, store: Store, another: Store):
        async with asyncio.timeout(WAIT_SECONDS):
            noticed = asyncio.create_task(store.changed_elsewhere())
            await asyncio.sleep(0)
            story = await Story("1").start(another)
            assert _tells_of(await noticed, story)

    async def test_what_was_committed_while_nobody_waited_is_noticed_too(self, store: Store, another: Store):
        stories = [await Story("1").start(another), await Story("2").start(another)]
        await stories[1].answer(another)
        news = News({})
        async with asyncio.timeout(WAIT_SECONDS):
            while not all(_tells_of(news, story) for story in stories):
                more = await store.changed_elsewhere()
                news = News({**news.versions, **more.versions}, is_whole=news.is_whole and more.is_whole)

    async def test_one_s_own_commit_is_not_elsewhere(self, store: Store):
        noticed = asyncio.create_task(store.changed_elsewhere())
        await Story("1").start(store)
        await asyncio.sleep(0.2)
        assert not noticed.done()
        noticed.cancel()
        with pytest.raises(asyncio.CancelledError):
            await noticed


def _tells_of(news: News, story: Story) -> bool:
    """Whether whoever follows the run would look now, or knows that it has come so far."""
    return not news.is_whole or news.versions.get(story.run_id) == story.run.version


async def _erase(store: Store, story: Story) -> None:
    thread = await store.thread(story.thread.id)
    assert thread
    change = thread_change(thread, ThreadErased(by="ada", at=NOON))
    await store.commit(change)
    story.thread = change.thread or thread
    await store.erase(thread.id)
