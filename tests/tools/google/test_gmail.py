"""gmail_send: one mail for one action, whatever happens on the way."""

import asyncio
import time
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.tools.google.asking import (
    ADA,
    CONNECTED,
    TWICE,
    Crash,
    Http,
    Journal,
    Paused,
    Tokens,
    answering,
    broken,
    late,
    paths,
    said,
)
from tests.tools.google.world import DRAFTS, World, finished, running

from pollux.core.errors import AuthError, StoreError, ToolExecutionError
from pollux.core.ids import UserId
from pollux.core.messages import JSON
from pollux.emulator.workspace.ledger import digest
from pollux.tools.google import message
from pollux.tools.google.api import GoogleApi
from pollux.tools.google.draft import MARK, mark_of, noted
from pollux.tools.google.gmail import GmailSend

SEND = "POST /gmail/v1/users/me/drafts/send"
CREATE = "POST /gmail/v1/users/me/drafts"


def letter(world: World, subject: str = "Lunch", **more: JSON) -> dict[str, JSON]:
    given: dict[str, JSON] = {"to": ["bob@example.com"], "subject": subject, "body": "At noon?", **more}
    return world.gmail.prepare(given)


async def changed(world: World, draft: str, args: dict[str, JSON], key: str = "act_1_1.0") -> None:
    """A person saves the draft with this text."""
    raw = urlsafe_b64encode(message.build(args, marks={MARK: mark_of(key)})).decode()
    await world.by_hand("PUT", f"{DRAFTS}/{draft}", {"message": {"raw": raw}})


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with running() as world:
        yield world


async def interrupted(world: World, journal: Journal, args: dict[str, JSON], at: str) -> None:
    """An attempt that dies before its request reaches Google."""
    world.http.fails_at = lambda asked: ("before", Crash()) if asked == at else None
    with pytest.raises(Crash):
        await world.gmail.run(journal.begun(), args)
    world.http.fails_at = lambda asked: None


# The ordinary way.


async def test_a_mail_is_drafted_noted_and_sent(world: World):
    journal = Journal()
    noted_at: list[JSON] = []
    world.http.fails_at = lambda asked: noted_at.append(journal.noted)
    args = letter(world, cc="eve@example.com", bcc=["zoe@example.com"])
    result = await world.gmail.run(journal.begun(), args)
    [entry] = world.sent()
    assert (entry.to, entry.cc, entry.bcc) == (("bob@example.com",), ("eve@example.com",), ("zoe@example.com",))
    assert result == {"sent": True, "id": entry.id, "threadId": result["threadId"], "to": ["bob@example.com"]}
    assert paths(world.http.asked) == [CREATE, SEND]
    assert noted_at == [None, journal.noted]
    assert await world.drafts() == []


async def test_the_tool_tells_what_a_repeat_means_and_who_is_reached(world: World):
    spec = world.gmail.spec
    assert (spec.name, spec.side_effect, spec.repeat) == ("gmail_send", True, "checkable")
    assert world.gmail.subjects(letter(world, cc="eve@example.com")) == {"bob@example.com", "eve@example.com"}
    assert "bob@example.com" in world.gmail.preview(letter(world))
    assert [await world.gmail.is_offered(user) for user in (ADA, UserId("eve"))] == [True, False]


async def test_the_mark_in_the_mail_is_opaque_and_the_same_for_every_attempt(world: World):
    await world.gmail.run(Journal("act_secret_1.0").begun(), letter(world))
    [mail] = world.google.accounts.mailbox("demo@example.com").mails.values()
    assert mail.header(MARK) == mark_of("act_secret_1.0") != mark_of("act_secret_1.1")
    assert b"act_secret" not in mail.raw


async def test_a_reply_stands_below_the_last_mail_of_its_thread(world: World):
    thread = await world.arrived("Lunch", headers="Message-ID: <x@example.com>\nReferences: <a@b> <c@d>\n")
    box = world.google.accounts.mailbox("demo@example.com")
    [first] = box.mails.values()
    result = await world.gmail.run(Journal().begun(), letter(world, "Re: Lunch", replyTo=thread))
    mail = box.mails[result["id"]]
    assert result["threadId"] == thread
    assert mail.header("In-Reply-To") == first.header("Message-ID")
    assert mail.header("References").split() == ["<a@b>", "<c@d>", first.header("Message-ID")]


async def test_a_reply_to_a_thread_that_is_not_there_is_an_error_and_sends_nothing(world: World):
    with pytest.raises(ToolExecutionError, match="no thread 'abc123' to reply to"):
        await world.gmail.run(Journal().begun(), letter(world, replyTo="abc123"))
    assert paths(world.http.asked) == ["GET /gmail/v1/users/me/threads/abc123"]
    assert await world.drafts() == []


# What cannot be noted is not sent.


@pytest.mark.parametrize("when", ["before", "after"])
async def test_nothing_is_sent_when_the_note_fails_and_the_next_attempt_uses_the_draft(world: World, when: Any):
    journal, args = Journal(), letter(world)
    journal.fails = (when, StoreError("disk full"))
    with pytest.raises(StoreError):
        await world.gmail.run(journal.begun(), args)
    assert (world.sent(), len(await world.drafts())) == ([], 1)
    journal.fails = None
    outcome, _ = await finished(world.gmail, journal, args)
    assert (outcome, len(world.sent()), await world.drafts()) == ("done", 1, [])
    assert paths(world.http.asked).count(CREATE) == 1


async def test_a_left_over_draft_is_found_among_others_by_its_mark(world: World):
    journal, args = Journal(), letter(world)
    journal.fails = ("before", StoreError("disk full"))
    with pytest.raises(StoreError):
        await world.gmail.run(journal.begun(), args)
    await interrupted(world, Journal("act_other"), letter(world, "Other"), SEND)
    journal.fails = None
    await world.gmail.run(journal.begun(), args)
    assert [entry.subject for entry in world.sent()] == ["Lunch"]
    assert len(await world.drafts()) == 1


async def test_a_left_over_draft_that_a_person_has_changed_is_not_sent(world: World):
    journal, args = Journal(), letter(world)
    journal.fails = ("before", StoreError("disk full"))
    with pytest.raises(StoreError):
        await world.gmail.run(journal.begun(), args)
    [draft] = await world.drafts()
    await changed(world, draft, letter(world, to=["mallory@example.com"]))
    journal.fails = None
    with pytest.raises(ToolExecutionError, match="has changed the draft"):
        await world.gmail.run(journal.begun(), args)
    assert (world.sent(), await world.drafts()) == ([], [draft])


async def test_a_left_over_draft_that_gmail_does_not_show_stays_and_another_is_made(world: World):
    journal, args = Journal(), letter(world)
    journal.fails = ("before", StoreError("disk full"))
    with pytest.raises(StoreError):
        await world.gmail.run(journal.begun(), args)
    left = await world.drafts()
    journal.fails = None
    world.http.rewrite = lambda url: url.replace("format=raw", "format=unheard-of")
    await world.gmail.run(journal.begun(), args)
    assert (len(world.sent()), await world.drafts()) == (1, left)


async def test_a_draft_that_gmail_does_not_show_is_not_taken_for_the_one_whose_answer_was_lost(world: World):
    journal, args = Journal(), letter(world)
    journal.fails = ("before", StoreError("disk full"))
    with pytest.raises(StoreError):
        await world.gmail.run(journal.begun(), args)
    left = await world.drafts()
    await changed(world, left[0], letter(world, body="Something else"))
    journal.fails = None
    world.http.rewrite = lambda url: url.replace("format=raw", "format=unheard-of")
    world.google.fault("lost-before", method="drafts.create", times=1)
    await world.gmail.run(journal.begun(), args)
    assert (len(world.sent()), await world.drafts()) == (1, left)


# Answers that get lost.


@pytest.mark.parametrize("fault", ["lost", "half", "html;effect=yes", "500;effect=yes", "504;effect=yes"])
async def test_a_mail_whose_answer_was_lost_is_found_in_sent(world: World, fault: str):
    world.google.fault(fault, method="drafts.send", times=1)
    result = await world.gmail.run(Journal().begun(), letter(world))
    [entry] = world.sent()
    assert (result["id"], result["sent"]) == (entry.id, True)
    assert paths(world.http.asked).count(SEND) == 1


@pytest.mark.parametrize("fault", ["lost-before", "html", "500", "503", "502"])
async def test_a_mail_that_did_not_leave_is_sent_again(world: World, fault: str):
    world.google.fault(fault, method="drafts.send", times=2)
    await world.gmail.run(Journal().begun(), letter(world))
    assert len(world.sent()) == 1
    assert paths(world.http.asked).count(SEND) == 3


@pytest.mark.parametrize("fault", ["lost", "half", "lost-before", "500", "500;effect=yes", "html;effect=yes"])
async def test_a_draft_whose_answer_was_lost_is_found_or_made_again(world: World, fault: str):
    world.google.fault(fault, method="drafts.create", times=1)
    await world.gmail.run(Journal().begun(), letter(world))
    assert (len(world.sent()), await world.drafts()) == (1, [])


async def test_a_gmail_that_makes_no_draft_is_an_error_and_nothing_is_sent(world: World):
    world.google.fault("500", method="drafts.create")
    with pytest.raises(ToolExecutionError, match=r"could not be reached.*Nothing was sent") as caught:
        await world.gmail.run(Journal().begun(), letter(world))
    assert caught.value.code == "tool_call_failure"
    assert world.sent() == []


@pytest.mark.parametrize("fault", ["500", "lost-before"])
async def test_a_gmail_that_does_not_send_is_an_error_and_the_draft_stays(world: World, fault: str):
    world.google.fault(fault, method="drafts.send")
    with pytest.raises(ToolExecutionError, match="not sent; its draft stays") as caught:
        await world.gmail.run(Journal().begun(), letter(world))
    assert caught.value.code == "tool_call_failure"
    assert (world.sent(), len(await world.drafts())) == ([], 1)


async def test_a_gmail_that_may_still_be_at_work_leaves_the_outcome_open(world: World):
    world.http.fails_at = lambda asked: ("before", late()) if asked == SEND else None
    with pytest.raises(ToolExecutionError, match="While the draft lies in Drafts, it has not been sent") as caught:
        await world.gmail.run(Journal().begun(), letter(world))
    assert caught.value.code == "outcome_unknown"


async def test_a_look_that_fails_after_a_lost_answer_leaves_the_outcome_open(world: World):
    world.google.fault("lost", method="drafts.send")
    world.google.fault("503", method="drafts.get")
    with pytest.raises(ToolExecutionError, match="Gmail could not be asked") as caught:
        await world.gmail.run(Journal().begun(), letter(world))
    assert caught.value.code == "outcome_unknown"


@pytest.mark.parametrize("fault", ["403", "429;retry=90"])
async def test_a_refusal_after_a_lost_answer_does_not_read_as_if_nothing_had_happened(world: World, fault: str):
    world.google.fault("lost-before", method="drafts.send", times=1)
    world.google.fault(fault, method="drafts.send")
    world.google.fault("403", method="drafts.get", after=1)
    with pytest.raises(ToolExecutionError) as caught:
        await world.gmail.run(Journal().begun(), letter(world))
    assert caught.value.code == "outcome_unknown"


# Definite refusals.


@pytest.mark.parametrize("lost", [False, True])
async def test_a_refused_mail_is_told_in_googles_words_and_the_draft_stays(world: World, lost: bool):
    if lost:
        world.google.fault("lost-before", method="drafts.send", times=1)
    world.google.fault("400", method="drafts.send")
    with pytest.raises(ToolExecutionError, match=r"Gmail refused the mail: .*its draft stays") as caught:
        await world.gmail.run(Journal().begun(), letter(world))
    assert caught.value.code == "tool_call_failure"
    assert (world.sent(), len(await world.drafts())) == ([], 1)


async def test_a_refusal_after_a_lost_answer_is_not_believed_before_a_look(world: World):
    world.google.fault("lost-before", method="drafts.send", times=1)
    world.google.fault("400", method="drafts.send", times=1)

    class Arriving(Paused):
        async def __call__(self, seconds: float) -> None:
            await super().__call__(seconds)
            if len(self.seconds) == 2:
                [draft] = await world.drafts()
                await world.by_hand("POST", f"{DRAFTS}/send", {"id": draft})

    assert (await world.gmail_with(Arriving()).run(Journal().begun(), letter(world)))["sent"]
    assert len(world.sent()) == 1


async def test_a_missing_scope_ends_it_before_anything_is_made(world: World):
    world.google.fault("403", method="drafts.create")
    with pytest.raises(AuthError) as caught:
        await world.gmail.run(Journal().begun(), letter(world))
    assert caught.value.connect_url


async def test_a_missing_scope_at_the_sending_ends_it_as_well(world: World):
    world.google.fault("403", method="drafts.send")
    with pytest.raises(AuthError):
        await world.gmail.run(Journal().begun(), letter(world))


async def test_a_rate_limit_that_lasts_is_told_and_the_draft_stays(world: World):
    world.google.fault("429;retry=90", method="drafts.send")
    with pytest.raises(ToolExecutionError, match=r"Try again in 90 seconds\. It was not sent; its draft stays"):
        await world.gmail.run(Journal().begun(), letter(world))


# People who touch the draft.


async def test_a_draft_that_a_person_changed_is_not_sent(world: World):
    journal, args = Journal(), letter(world)
    await interrupted(world, journal, args, SEND)
    [draft] = await world.drafts()
    await changed(world, draft, letter(world, body="Send me your password"))
    with pytest.raises(ToolExecutionError, match="has changed the draft") as caught:
        await world.gmail.run(journal.begun(), args)
    assert caught.value.code == "tool_call_failure"
    assert (world.sent(), await world.drafts()) == ([], [draft])


async def test_a_draft_that_a_person_saved_unchanged_is_sent(world: World):
    journal, args = Journal(), letter(world)
    await interrupted(world, journal, args, SEND)
    [draft] = await world.drafts()
    await changed(world, draft, args)
    assert await finished(world.gmail, journal, args) == ("done", await _told(world))
    assert len(world.sent()) == 1


async def test_a_draft_that_a_person_changes_while_answers_get_lost_is_not_sent(world: World):
    world.google.fault("lost-before", method="drafts.send")
    args = letter(world)

    class Meddling(Paused):
        async def __call__(self, seconds: float) -> None:
            [draft] = await world.drafts()
            await changed(world, draft, letter(world, body="Something else"))

    tool = world.gmail_with(Meddling())
    with pytest.raises(ToolExecutionError, match="has changed the draft"):
        await tool.run(Journal().begun(), args)
    assert world.sent() == []


async def test_a_draft_that_changes_while_gmail_may_still_be_sending_leaves_the_outcome_open(world: World):
    world.http.fails_at = lambda asked: ("before", late()) if asked == SEND else None

    class Meddling(Paused):
        async def __call__(self, seconds: float) -> None:
            [draft] = await world.drafts()
            await changed(world, draft, letter(world, body="Something else"))

    with pytest.raises(ToolExecutionError, match="its draft was changed meanwhile") as caught:
        await world.gmail_with(Meddling()).run(Journal().begun(), letter(world))
    assert caught.value.code == "outcome_unknown"


async def test_a_draft_that_is_swapped_after_the_last_look_sends_what_was_approved(world: World):
    thread = await world.arrived("Lunch")
    journal, args = Journal(), letter(world, "Re: Lunch", replyTo=thread)
    await interrupted(world, journal, args, SEND)
    [draft] = await world.drafts()
    box = world.google.accounts.mailbox("demo@example.com")
    approved, other = box.draft(draft).given, message.build(letter(world, to=["eve@example.com"]), marks={})

    def swapped(asked: str) -> None:
        if asked == SEND:
            box.keep_draft(other, thread="", now=time.time(), id=draft)

    world.http.fails_at = swapped
    outcome, result = await finished(world.gmail, journal, args)
    assert (outcome, result["threadId"]) == ("done", thread)
    assert [entry.sha256 for entry in world.sent()] == [digest(approved)]


async def test_a_draft_that_a_person_saves_and_sends_while_we_look_counts_as_sent(world: World):
    journal, args = Journal(), letter(world)
    await interrupted(world, journal, args, SEND)
    [draft] = await world.drafts()
    await changed(world, draft, args)
    box = world.google.accounts.mailbox("demo@example.com")

    def sent_before(asked: str) -> None:
        if "format=raw" in asked:
            box.send(box.outgoing(box.draft(draft).raw, thread="", now=time.time()), draft=draft)

    world.http.fails_at = sent_before
    assert (await world.gmail.run(journal.begun(), args))["sent"]
    assert SEND not in world.http.asked[3:]


async def test_a_draft_that_a_person_sent_counts_as_sent(world: World):
    journal, args = Journal(), letter(world)
    await interrupted(world, journal, args, SEND)
    [draft] = await world.drafts()
    sent = await world.by_hand("POST", f"{DRAFTS}/send", {"id": draft})
    found = await world.gmail.reconcile(journal.context(), args)
    assert (found.outcome, found.result["id"]) == ("done", sent["id"])
    # Also when it was sent between the look and the attempt.
    assert (await world.gmail.run(journal.begun(), args))["id"] == sent["id"]
    assert len(world.sent()) == 1


async def test_a_draft_that_a_person_deleted_leaves_the_outcome_open_with_words_for_them(world: World):
    journal, args = Journal(), letter(world)
    await interrupted(world, journal, args, SEND)
    [draft] = await world.drafts()
    await world.by_hand("DELETE", f"{DRAFTS}/{draft}")
    found = await world.gmail.reconcile(journal.context(), args)
    assert (found.outcome, found.result) == ("unknown", None)
    assert "its draft is gone" in found.detail
    assert "Look in Gmail's Sent" in found.detail
    assert "`pollux actions settle act_1_1.0 --done`, else `pollux actions settle act_1_1.0 --not-done`" in found.detail
    assert not {"Lunch", "bob@example.com", "At noon?"} & set(found.detail.split())
    with pytest.raises(ToolExecutionError, match="its draft is gone") as caught:
        await world.gmail.run(journal.begun(), args)
    assert caught.value.code == "outcome_unknown"
    assert world.sent() == []


# People who connect another account.


async def test_a_draft_of_one_account_is_not_sent_from_another(world: World):
    def swapped(asked: str) -> None:
        world.tokens.connected = "other@example.com"

    world.http.fails_at = swapped
    with pytest.raises(AuthError, match=r"but other@example.com is connected now\. It was not sent; its draft stays"):
        await world.gmail.run(Journal().begun(), letter(world))
    assert (paths(world.http.asked), len(await world.drafts())) == ([CREATE], 1)


@pytest.mark.parametrize("is_older", [False, True])
async def test_a_look_into_another_account_leaves_the_outcome_open_unless_an_older_version_began(
    world: World, is_older: bool
):
    journal, args = Journal(), letter(world)
    await interrupted(world, journal, args, SEND)
    if is_older and (draft := noted(journal.noted)):
        journal.noted = {"draft": draft.id, "message": draft.message, "at": draft.made_at}
    world.tokens.connected = "other@example.com"
    outcome, told = await finished(world.gmail, journal, args)
    assert (outcome, len(world.sent())) == (("done", 1) if is_older else ("unknown", 0))
    assert is_older or "but other@example.com is connected now" in told


# Looking back.


async def test_without_a_note_nothing_was_sent_and_nobody_needs_to_be_asked(world: World):
    assert (await world.gmail.reconcile(Journal().context(), letter(world))).outcome == "not_done"
    assert world.http.asked == []


async def test_a_draft_that_is_there_was_not_sent_and_is_looked_at_twice(world: World):
    journal, args = Journal(), letter(world)
    await interrupted(world, journal, args, SEND)
    world.http.asked.clear()
    assert (await world.gmail.reconcile(journal.context(), args)).outcome == "not_done"
    assert len(world.http.asked) == 2


async def test_a_draft_that_goes_while_we_look_was_sent_by_a_request_on_its_way(world: World):
    journal, args = Journal(), letter(world)
    await interrupted(world, journal, args, SEND)
    [draft] = await world.drafts()

    class Arriving(Paused):
        async def __call__(self, seconds: float) -> None:
            if draft in await world.drafts():
                await world.by_hand("POST", f"{DRAFTS}/send", {"id": draft})

    tool = world.gmail_with(Arriving())
    assert (await tool.reconcile(journal.context(), args)).outcome == "done"


async def test_a_look_that_does_not_end_leaves_the_outcome_open(world: World, monkeypatch: pytest.MonkeyPatch):
    journal, args = Journal(), letter(world)
    await interrupted(world, journal, args, SEND)

    class Endless(Paused):
        async def __call__(self, seconds: float) -> None:
            await asyncio.Event().wait()

    monkeypatch.setattr("pollux.tools.google.gmail.LOOK_SECONDS", 0.2)
    found = await world.gmail_with(Endless()).reconcile(journal.context(), args)
    assert (found.outcome, "did not answer in time" in found.detail) == ("unknown", True)


@pytest.mark.parametrize("fault", ["500", "403", "429;retry=90"])
async def test_a_look_that_fails_leaves_the_outcome_open_with_words(world: World, fault: str):
    journal, args = Journal(), letter(world)
    await interrupted(world, journal, args, SEND)
    world.google.fault(fault, method="drafts.get")
    found = await world.gmail.reconcile(journal.context(), args)
    assert found.outcome == "unknown"
    assert "pollux actions settle act_1_1.0" in found.detail


async def test_a_look_that_finds_no_account_for_want_of_a_store_says_nothing_of_the_mail(world: World):
    journal, args = Journal(), letter(world)
    await interrupted(world, journal, args, SEND)
    found, tokens = world.tokens.token, vars(world.tokens)

    async def gone(*_: Any, **__: Any) -> Any:
        raise StoreError("the database restarts")

    tokens["token"] = gone
    with pytest.raises(StoreError):
        await world.gmail.reconcile(journal.context(), args)
    with pytest.raises(StoreError):
        await world.gmail.run(journal.begun(), args)
    tokens["token"] = found
    outcome, _ = await finished(world.gmail, journal, args)
    assert (outcome, len(world.sent()), await world.drafts()) == ("done", 1, [])


async def test_what_was_sent_a_moment_ago_may_be_listed_later(world: World):
    journal, args = Journal(), letter(world)
    await interrupted(world, journal, args, SEND)
    [draft] = await world.drafts()
    await world.by_hand("POST", f"{DRAFTS}/send", {"id": draft})
    box = world.google.accounts.mailbox("demo@example.com")
    hidden = dict(box.mails)
    box.mails.clear()

    class Later(Paused):
        async def __call__(self, seconds: float) -> None:
            await super().__call__(seconds)
            if len(self.seconds) == 3:
                box.mails.update(hidden)

    later = Later()
    tool = world.gmail_with(later)
    assert (await tool.reconcile(journal.context(), args)).outcome == "done"
    assert later.seconds == [0.0, 1.0, 2.0]


# Crashes: at every request, before and after its effect, and at the note.


async def test_a_crash_anywhere_leaves_exactly_one_mail(world: World):
    outcomes, crashes = list[str](), list[Crash]()
    for reply in (False, True):
        thread = await world.arrived("Thread") if reply else None
        for number in range(1, 5):
            for when in ("before", "after"):
                subject = f"{reply} {number} {when}"
                args = letter(world, subject, **({"replyTo": thread} if thread else {}))
                journal = Journal(f"act_{subject}")
                world.http.asked.clear()
                world.http.fails = {number: (when, Crash())}
                outcomes.append(await _outcome(world, journal, args, crashes))
                assert len(world.sent(subject)) == 1, subject
    assert set(outcomes) == {"done"}
    assert len(crashes) == 10
    assert await world.drafts() == []


async def test_a_crash_anywhere_in_the_recovery_of_a_crash_leaves_exactly_one_mail(world: World):
    outcomes, crashes = list[str](), list[Crash]()
    for first in range(1, 3):
        for second in range(1, 9):
            for when in TWICE:
                subject = f"{first} {second} {when}"
                journal, args = Journal(f"act_{subject}"), letter(world, subject)
                world.http.asked.clear()
                world.http.fails = {first: (when[0], Crash()), first + second: (when[1], Crash())}
                outcomes.append(await _outcome(world, journal, args, crashes))
                assert len(world.sent(subject)) == 1, subject
    assert set(outcomes) == {"done"}
    assert len(crashes) >= 90
    assert await world.drafts() == []


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_at_the_note_leaves_exactly_one_mail(world: World, when: Any):
    journal, args = Journal(), letter(world)
    journal.fails = (when, Crash())
    with pytest.raises(Crash):
        await world.gmail.run(journal.begun(), args)
    journal.fails = None
    assert await _outcome(world, journal, args, []) == "done"
    assert (len(world.sent()), await world.drafts()) == (1, [])


async def test_a_lost_answer_anywhere_leaves_exactly_one_mail(world: World):
    for number in range(1, 7):
        for when in ("before", "after"):
            subject = f"{number} {when}"
            world.http.asked.clear()
            world.http.fails = {each: (when, broken()) for each in (number, number + 1)}
            result = await world.gmail.run(Journal(f"act_{subject}").begun(), letter(world, subject))
            assert [entry.id for entry in world.sent(subject)] == [result["id"]]


async def test_of_two_processes_that_send_the_same_draft_one_does_and_both_know(world: World):
    journal, args = Journal(), letter(world)
    await interrupted(world, journal, args, SEND)
    context = journal.begun()
    first, second = await asyncio.gather(world.gmail.run(context, args), world.gmail.run(context, args))
    assert first == second
    assert len(world.sent()) == 1


async def _outcome(world: World, journal: Journal, args: dict[str, JSON], crashes: list[Crash]) -> str:
    """Run it to its end, restarting after each crash."""
    while True:
        try:
            return (await finished(world.gmail, journal, args))[0]
        except Crash as crash:
            crashes.append(crash)


async def _told(world: World) -> dict[str, Any]:
    [mail] = world.google.accounts.mailbox("demo@example.com").mails.values()
    return {"sent": True, "id": mail.id, "threadId": mail.thread, "to": ["bob@example.com"]}


# Answers of Gmail that make no sense.


@pytest.mark.parametrize(
    "answer", [{}, {"id": 5}, {"id": "", "message": []}, {"drafts": {}}, {"id": None, "message": 1}]
)
async def test_a_draft_that_gmail_does_not_name_is_never_sent(answer: JSON):
    journal = Journal()
    async with answering() as google, Http() as http:
        google.gives(said(200, answer))
        api = GoogleApi(http, Tokens("t"), google.url, pause=Paused())
        tool = GmailSend(api, accounts=CONNECTED, pause=Paused())
        args: dict[str, JSON] = {"to": ["bob@example.com"], "subject": "s", "body": "b"}
        with pytest.raises(ToolExecutionError, match="Nothing was sent"):
            await tool.run(journal.begun(), args)
    assert journal.noted is None
    assert SEND not in http.asked
