"""The store suite's first part: what was written reads back, and two writers never both win."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from pollux.core.errors import Conflict, ThreadBusy
from pollux.core.events import (
    EVENT_TYPES,
    ActionCompleted,
    ActionSettled,
    ActionStarted,
    CancelRequested,
    Event,
    RunClaimed,
)
from pollux.core.ids import RunId, ThreadId
from pollux.core.messages import Message, user
from pollux.core.thread import (
    THREAD_EVENT_TYPES,
    MessagesImported,
    ThreadRenamed,
)
from pollux.engine.ports import AuditFact, Change, Store
from pollux.testing.store_fixtures import StoreFixtures
from pollux.testing.store_lab import (
    ADA,
    BOB,
    EVERY_EVENT,
    EVERY_THREAD_EVENT,
    NOON,
    Story,
    browser_session,
    grant,
    thread_change,
)


@pytest.mark.asyncio
class Keeping(StoreFixtures):
    """Commits, journals, messages and conflicts."""

    async def test_after_every_commit_the_run_is_what_the_machine_made_of_it(self, store: Store):
        story = Story("1")
        await story.start(store)
        assert await store.run(story.run_id) == story.run
        action = await story.ask(store, to="bob@example.org")
        assert await store.run(story.run_id) == story.run
        await story.resolve(store, action)
        await story.execute(store, action, {"id": "m1"})
        await story.finish(store)
        assert story.run.status == "completed"
        assert await store.run(story.run_id) == story.run
        assert await store.thread(story.thread.id) == story.thread
        assert tuple(await store.messages(story.thread.id)) == story.run.messages

    async def test_every_kind_of_event_reads_back_the_same(self, store: Store):
        assert {type(event) for event in EVERY_EVENT} == set(EVENT_TYPES.values())
        story = Story("all")
        await story.start(store)
        await store.commit(_raw(story, EVERY_EVENT))
        records = await store.journal(story.run_id, 3)
        assert tuple(record.event for record in records) == EVERY_EVENT
        assert [record.seq for record in records] == list(range(4, 4 + len(EVERY_EVENT)))

    async def test_every_kind_of_thread_event_reads_back_the_same(self, store: Store):
        assert {type(event) for event in EVERY_THREAD_EVENT} == set(THREAD_EVENT_TYPES.values())
        opened, imported, *others = EVERY_THREAD_EVENT
        assert isinstance(imported, MessagesImported)
        change = thread_change(None, opened)
        await store.commit(change)
        assert change.thread
        second = thread_change(change.thread, imported, *others[:-1], messages=imported.messages)
        await store.commit(second)
        assert tuple(await store.thread_journal(ThreadId("thr_each"))) == EVERY_THREAD_EVENT[:-1]
        assert await store.thread(ThreadId("thr_each")) == second.thread
        assert tuple(await store.messages(ThreadId("thr_each"))) == imported.messages
        assert second.thread
        await store.commit(thread_change(second.thread, others[-1]))

    async def test_a_journal_is_read_from_any_place(self, store: Store):
        story = await Story("1").start(store)
        await story.answer(store)
        records = await store.journal(story.run_id, 2)
        assert [record.seq for record in records] == [3, 4, 5]
        assert tuple(record.event for record in records) == story.events[2:]

    async def test_what_is_not_there_is_not_an_error(self, store: Store):
        assert await store.run(RunId("run_none")) is None
        assert await store.thread(ThreadId("thr_none")) is None
        assert list(await store.journal(RunId("run_none"))) == []
        assert list(await store.messages(ThreadId("thr_none"))) == []
        assert await store.versions([RunId("run_none")]) == {}

    async def test_messages_are_numbered_through_all_runs_of_a_thread(self, store: Store):
        first = await Story("1").start(store, "one")
        await first.answer(store, "two")
        second = Story("2")
        second.thread = first.thread
        await second.start(store, "three")
        await second.answer(store, "four")
        assert _texts(await store.messages(first.thread.id)) == ["one", "two", "three", "four"]
        assert _texts(await store.messages(first.thread.id, 2)) == ["three", "four"]
        assert second.run.head == 2

    async def test_the_same_words_twice_are_two_messages(self, store: Store):
        story = await Story("1").start(store, "again")
        await story.answer(store, "again")
        second = Story("2")
        second.thread = story.thread
        await second.start(store, "again")
        assert _texts(await store.messages(story.thread.id)) == ["again"] * 3

    async def test_versions_tell_how_many_events_there_are(self, store: Store):
        story = await Story("1").start(store)
        assert await store.versions([story.run_id, RunId("run_none")]) == {story.run_id: 3}

    async def test_a_change_of_an_older_state_is_refused_and_leaves_nothing(self, store: Store):
        story = await Story("1").start(store)
        stale = story.change(CancelRequested(by="bob", at=NOON))
        stale = replace(stale, audit=(AuditFact(NOON, "decided", "ada"),), grants=(grant("eve"),))
        await story.answer(store)
        with pytest.raises(Conflict):
            await store.commit(stale)
        assert await store.run(story.run_id) == story.run
        assert list(await store.grants(ADA)) == []
        assert (await store.verify_audit()).entries == 0

    async def test_a_change_of_a_newer_state_is_refused_too(self, store: Store):
        story = await Story("1").start(store)
        change = story.change(CancelRequested(by="bob", at=NOON))
        assert change.run
        with pytest.raises(Conflict):
            await store.commit(replace(change, run=replace(change.run, version=change.run.version + 1)))

    async def test_a_run_begins_only_once(self, store: Store):
        story = Story("1")
        change = story.change(story.began())
        await store.commit(change)
        with pytest.raises(Conflict):
            await store.commit(change)

    async def test_of_many_who_begin_one_run_in_threads_of_their_own_one_begins(self, store: Store):
        rivals = [Story(str(number)) for number in range(16)]
        for rival in rivals:
            rival.run_id = RunId("run_one")
        outcomes = await asyncio.gather(*(rival.start(store) for rival in rivals), return_exceptions=True)
        [won] = [outcome for outcome in outcomes if isinstance(outcome, Story)]
        assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 15
        assert await store.run(RunId("run_one")) == won.run
        assert [thread.id for thread in await store.threads(ADA)] == [won.thread.id]
        assert [len(await store.messages(rival.thread.id)) for rival in rivals if rival is not won] == [0] * 15

    async def test_of_many_who_write_the_same_version_one_wins(self, store: Store):
        story = await Story("1").start(store)
        for _ in range(5):
            claims = [RunClaimed(epoch=story.run.epoch + 1, driver=f"drv_{n}", at=NOON) for n in range(20)]
            changes = [story.change(claim) for claim in claims]
            outcomes = await asyncio.gather(*(store.commit(c) for c in changes), return_exceptions=True)
            won = [change for change, outcome in zip(changes, outcomes, strict=True) if outcome is None]
            assert len(won) == 1
            assert all(isinstance(outcome, Conflict) for outcome in outcomes if outcome is not None)
            story.take(won[0])
            assert await store.run(story.run_id) == story.run

    async def test_one_who_does_not_fit_does_not_stop_the_others(self, store: Store):
        story = await Story("0").start(store)
        stale = story.change(CancelRequested(by="bob", at=NOON))
        await story.answer(store)
        others = [Story(str(n)) for n in range(1, 11)]
        outcomes = await asyncio.gather(
            store.commit(stale), *(other.start(store) for other in others), return_exceptions=True
        )
        assert isinstance(outcomes[0], Conflict)
        for other in others:
            assert await store.run(other.run_id) == other.run

    async def test_a_thread_has_one_open_run(self, store: Store):
        first = await Story("1").start(store)
        second = Story("2")
        second.thread = first.thread
        with pytest.raises(ThreadBusy) as busy:
            await second.start(store)
        assert busy.value.run_id == first.run_id
        await first.answer(store)
        second.thread = first.thread
        await second.start(store)
        thread = await store.thread(first.thread.id)
        assert thread and thread.open_run == second.run_id

    async def test_of_many_runs_begun_at_once_in_a_thread_one_begins(self, store: Store):
        first = await Story("0").start(store)
        await first.answer(store)
        rivals = [Story(str(n)) for n in range(1, 11)]
        for rival in rivals:
            rival.thread = first.thread
        outcomes = await asyncio.gather(*(rival.start(store) for rival in rivals), return_exceptions=True)
        assert sum(isinstance(outcome, Story) for outcome in outcomes) == 1
        assert sum(isinstance(outcome, ThreadBusy) for outcome in outcomes) == 9

    async def test_what_counts_on_a_grant_is_written_before_it_is_revoked_or_not_at_all(self, store: Store):
        for number in range(10):
            story, given = await Story(str(number)).start(store), grant(str(number))
            await store.commit(Change(grants=(given,)))
            decided = story.allowed(given)
            revoked = Change(revoked=(given.id,), audit=(AuditFact(NOON, "revoked", "ada", message=given.id),))
            both = store.commit(decided), store.commit(revoked)
            outcomes = await asyncio.gather(*(both if number % 2 else reversed(both)), return_exceptions=True)
            refused = [outcome for outcome in outcomes if outcome is not None]
            told = [entry for entry in await store.audit() if entry.run_id == story.run_id or given.id == entry.message]
            assert [entry.kind for entry in told] == (["revoked"] if refused else ["decided", "revoked"])
            assert [type(problem) for problem in refused] in ([], [Conflict])
            if not refused:
                story.take(decided)
                begun = ActionStarted(epoch=1, action_id=story.run.open[0].id, attempt=1, at=NOON)
                with pytest.raises(Conflict):
                    await store.commit(story.change(begun))

    async def test_a_run_does_not_undo_what_happened_to_its_thread_meanwhile(self, store: Store):
        story = await Story("1").start(store)
        await store.commit(thread_change(story.thread, ThreadRenamed(title="renamed", at=NOON + 1)))
        await story.answer(store)
        thread = await store.thread(story.thread.id)
        assert thread and (thread.title, thread.version, thread.head, thread.open_run) == ("renamed", 2, 2, None)

    async def test_a_thread_s_event_of_an_older_state_is_refused(self, store: Store):
        story = await Story("1").start(store)
        stale = thread_change(story.thread, ThreadRenamed(title="late", at=NOON))
        await store.commit(thread_change(story.thread, ThreadRenamed(title="first", at=NOON)))
        with pytest.raises(Conflict):
            await store.commit(stale)

    async def test_messages_are_not_imported_under_a_run_that_just_began(self, store: Store):
        first = await Story("1").start(store)
        await first.answer(store)
        message = user("from elsewhere")
        imported = thread_change(first.thread, MessagesImported(messages=(message,), at=NOON), messages=(message,))
        second = Story("2")
        second.thread = first.thread
        await second.start(store)
        with pytest.raises(Conflict):
            await store.commit(imported)

    async def test_a_late_truth_about_an_ended_run_leaves_its_thread_alone(self, store: Store):
        first = await Story("1").start(store)
        action = await first.ask(store)
        await first.resolve(store, action)
        await first.commit(store, ActionStarted(epoch=1, action_id=action.id, attempt=1, at=NOON))
        # Its driver dies: what was once begun may have happened, and the run ends not knowing.
        await first.commit(store, RunClaimed(epoch=2, driver="drv_2", at=NOON))
        assert first.run.ending
        second = Story("2")
        second.thread = first.thread
        await second.start(store)
        await first.commit(store, ActionSettled(action_id=action.id, outcome="done", by="ada", at=NOON))
        assert await store.thread(first.thread.id) == second.thread
        assert await store.run(first.run_id) == first.run

    async def test_what_a_user_entrusts_is_kept_for_that_user_alone(self, store: Store):
        await store.keep_secret(ADA, "google", b"\x00sealed")
        await store.keep_secret(ADA, "google", b"\xffsealed anew")
        await store.keep_secret(BOB, "google", b"other")
        await store.keep_secret(BOB, "elsewhere", b"third")
        assert await store.secret(ADA, "google") == b"\xffsealed anew"
        assert await store.secret(ADA, "elsewhere") is None
        assert list(await store.secrets("google")) == [(ADA, b"\xffsealed anew"), (BOB, b"other")]
        await store.drop_secret(ADA, "google")
        await store.drop_secret(ADA, "google")
        assert await store.secret(ADA, "google") is None
        assert await store.secret(BOB, "google") == b"other"

    async def test_a_browsers_session_is_found_by_its_digest_and_listed_for_its_user_alone(self, store: Store):
        first = browser_session("1", created_at=NOON)
        second = browser_session("2", created_at=NOON + 1)
        other = browser_session("3", user=BOB)
        await store.commit(Change(sessions=(first, second, other)))
        assert await store.session(first.digest) == first
        assert await store.session("nothing") is None
        assert list(await store.sessions(ADA)) == [second, first]
        ended = replace(first, ended_at=NOON + 2)
        await store.commit(Change(sessions=(ended,)))
        assert await store.session(first.digest) == ended
        assert list(await store.sessions(ADA)) == [second, ended]
        assert list(await store.sessions(BOB)) == [other]

    async def test_sessions_that_have_expired_are_swept_and_no_others(self, store: Store):
        over, open_ = browser_session("1", expires_at=NOON + 10), browser_session("2", expires_at=NOON + 10.5)
        await store.commit(Change(sessions=(over, open_)))
        fresh = browser_session("3", expires_at=NOON + 99)
        await store.commit(Change(sessions=(fresh,), sweep_sessions=NOON + 10))
        assert await store.session(over.digest) is None
        assert {session.id for session in await store.sessions(ADA)} == {open_.id, fresh.id}

    async def test_a_thread_remembers_which_tools_have_spoken_in_it(self, store: Store):
        story = await Story("1").start(store)
        action = await story.ask(store)
        assert story.thread.sources == ()
        await story.resolve(store, action)
        await story.commit(store, ActionStarted(epoch=1, action_id=action.id, attempt=1, at=NOON))
        await story.commit(
            store, ActionCompleted(epoch=1, action_id=action.id, attempt=1, result="a stranger's words", at=NOON)
        )
        kept = await store.thread(story.thread.id)
        assert kept is not None
        assert kept.sources == (f"tool:{action.tool}",)


def _raw(story: Story, events: tuple[Event, ...]) -> Change:
    """Events that no machine judged: a store keeps them as they are."""
    run = replace(story.run, version=story.run.version + len(events))
    return replace(story.change(CancelRequested(by="x", at=NOON)), run=run, events=events, messages=(), audit=())


def _texts(messages: Sequence[Message]) -> list[str]:
    return [message.text for message in messages]
