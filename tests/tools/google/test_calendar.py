"""calendar_event_create: one event for one action, whatever happens on the way."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.tools.google.asking import (
    ACCOUNT,
    ADA,
    CONNECTED,
    TWICE,
    Crash,
    Http,
    Journal,
    Paused,
    Tokens,
    answering,
    late,
    paths,
    refused,
    said,
)
from tests.tools.google.world import EVENTS, World, finished, running

from pollux.core.errors import AuthError, ToolExecutionError
from pollux.core.ids import UserId
from pollux.core.messages import JSON
from pollux.tools.google.api import GoogleApi
from pollux.tools.google.calendar import CalendarEventCreate, event_id

INSERT = f"POST {EVENTS}"
TOMORROW = (datetime.now(UTC) + timedelta(days=1)).date()


def meeting(world: World, title: str = "Lunch", **more: JSON) -> dict[str, JSON]:
    given: dict[str, JSON] = {
        "title": title,
        "start": f"{TOMORROW}T12:00:00Z",
        "end": f"{TOMORROW}T13:00:00Z",
        "attendees": "bob@example.com",
        **more,
    }
    return world.calendar.prepare(given)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with running() as world:
        yield world


def created(world: World, title: str | None = None) -> list[str]:
    return [entry.id for entry in world.effects("events.insert", title)]


async def test_an_event_is_created_under_an_id_of_ours(world: World):
    result = await world.calendar.run(Journal().begun(), meeting(world))
    assert created(world) == [event_id("act_1_1.0")] == [result["id"]]
    assert result["created"] is True
    assert result["link"].startswith("https://")
    [entry] = world.effects("events.insert")
    assert (entry.to, entry.subject) == (("bob@example.com",), "Lunch")


@pytest.mark.parametrize("notify", ["all", "none"])
async def test_whether_the_attendees_are_told_is_asked_for_as_approved(world: World, notify: str):
    await world.calendar.run(Journal().begun(), meeting(world, notify=notify))
    assert world.http.asked == [f"{INSERT}?sendUpdates={notify}"]


async def test_the_tool_tells_what_a_repeat_means_and_who_is_reached(world: World):
    spec = world.calendar.spec
    assert (spec.name, spec.side_effect, spec.repeat) == ("calendar_event_create", True, "keyed")
    assert world.calendar.subjects(meeting(world)) == {"bob@example.com"}
    assert "bob@example.com" in world.calendar.preview(meeting(world))
    assert [await world.calendar.is_offered(user) for user in (ADA, UserId("eve"))] == [True, False]
    assert (await world.calendar.reconcile(Journal().context(), {})).outcome == "unknown"


def test_an_id_has_the_letters_that_calendar_allows_and_differs_from_action_to_action():
    ids = {event_id(f"act_{number}") for number in range(1_000)}
    assert len(ids) == 1_000
    assert all(re.fullmatch(r"[0-9a-v]{52}", id) for id in ids)


async def test_a_second_attempt_finds_the_event_of_the_first(world: World):
    journal, args = Journal(), meeting(world)
    first = await world.calendar.run(journal.begun(), args)
    assert await world.calendar.run(journal.begun(), args) == first
    assert len(created(world)) == 1


async def test_an_event_that_somebody_deleted_since_counts_as_created_and_says_so(world: World):
    journal, args = Journal(), meeting(world)
    first = await world.calendar.run(journal.begun(), args)
    await world.by_hand("DELETE", f"{EVENTS}/{first['id']}")
    second = await world.calendar.run(journal.begun(), args)
    assert (second["created"], second["id"]) == (True, first["id"])
    assert "somebody has deleted it since" in second["deleted"]
    assert len(created(world)) == 1


async def test_an_event_that_somebody_changed_since_counts_as_created(world: World):
    journal, args = Journal(), meeting(world)
    first = await world.calendar.run(journal.begun(), args)
    await world.by_hand("PATCH", f"{EVENTS}/{first['id']}", {"summary": "Dinner"})
    assert (await world.calendar.run(journal.begun(), args))["id"] == first["id"]


async def test_somebody_elses_event_under_our_id_is_not_taken_for_ours(world: World):
    times = {"start": {"dateTime": f"{TOMORROW}T12:00:00Z"}, "end": {"dateTime": f"{TOMORROW}T13:00:00Z"}}
    await world.by_hand("POST", EVENTS, {"id": event_id("act_1_1.0"), "summary": "Foreign", **times})
    with pytest.raises(ToolExecutionError, match="another event has the id"):
        await world.calendar.run(Journal().begun(), meeting(world))


@pytest.mark.parametrize("fault", ["lost", "half", "html;effect=yes", "500;effect=yes", "504;effect=yes"])
async def test_an_event_whose_answer_was_lost_is_found(world: World, fault: str):
    world.google.fault(fault, method="events.insert", times=1)
    result = await world.calendar.run(Journal().begun(), meeting(world))
    assert created(world) == [result["id"]]


@pytest.mark.parametrize("fault", ["lost-before", "html", "500", "503", "502"])
async def test_an_event_that_was_not_created_is_asked_for_again(world: World, fault: str):
    world.google.fault(fault, method="events.insert", times=2)
    result = await world.calendar.run(Journal().begun(), meeting(world))
    assert created(world) == [result["id"]]
    assert paths(world.http.asked) == [INSERT] * 3


async def test_when_all_answers_were_lost_a_look_finds_the_event(world: World):
    world.google.fault("500;effect=yes", method="events.insert")
    result = await world.calendar.run(Journal().begun(), meeting(world))
    assert created(world) == [result["id"]]


@pytest.mark.parametrize("fault", ["500", "lost-before"])
async def test_a_calendar_that_creates_nothing_is_an_error_that_says_so(world: World, fault: str):
    world.google.fault(fault, method="events.insert")
    with pytest.raises(ToolExecutionError, match="Nothing was created") as caught:
        await world.calendar.run(Journal().begun(), meeting(world))
    assert (caught.value.code, created(world)) == ("tool_call_failure", [])


async def test_a_calendar_that_may_still_be_at_work_leaves_the_outcome_open(world: World):
    world.http.fails_at = lambda asked: ("before", late()) if asked.startswith("POST") else None
    with pytest.raises(ToolExecutionError, match="gave no answer in time") as caught:
        await world.calendar.run(Journal().begun(), meeting(world))
    assert caught.value.code == "outcome_unknown"


async def test_a_look_that_fails_leaves_the_outcome_open_with_words_for_the_person(world: World):
    world.google.fault("lost", method="events.insert")
    world.google.fault("500", method="events.get")
    with pytest.raises(ToolExecutionError) as caught:
        await world.calendar.run(Journal().begun(), meeting(world))
    assert caught.value.code == "outcome_unknown"
    assert "Look for it in the calendar on its day" in str(caught.value)
    assert "`pollux actions settle act_1_1.0 --done`" in str(caught.value)


async def test_a_refused_event_is_told_in_googles_words(world: World):
    args = meeting(world) | {"start": f"{TOMORROW}T13:00:00Z", "end": f"{TOMORROW}T12:00:00Z"}
    with pytest.raises(ToolExecutionError, match=r"time range is empty.*Nothing was created") as caught:
        await world.calendar.run(Journal().begun(), args)
    assert (caught.value.code, paths(world.http.asked)) == ("tool_call_failure", [INSERT])


async def test_a_missing_scope_ends_it(world: World):
    world.google.fault("403", method="events.insert")
    with pytest.raises(AuthError) as caught:
        await world.calendar.run(Journal().begun(), meeting(world))
    assert caught.value.connect_url
    assert paths(world.http.asked) == [INSERT]


async def test_a_rate_limit_that_lasts_is_told(world: World):
    world.google.fault("429;retry=90", method="events.insert")
    with pytest.raises(ToolExecutionError, match="Try again in 90 seconds"):
        await world.calendar.run(Journal().begun(), meeting(world))


@pytest.mark.parametrize("fault", ["403", "429;retry=90", "403-rate"])
async def test_a_refusal_of_a_later_attempt_does_not_hide_what_an_earlier_one_did(world: World, fault: str):
    journal, args = Journal(), meeting(world)
    first = await world.calendar.run(journal.begun(), args)
    world.google.fault(fault, method="events.insert")
    assert await world.calendar.run(journal.begun(), args) == first


@pytest.mark.parametrize("fault", ["403", "429;retry=90"])
async def test_a_refusal_after_a_lost_answer_does_not_hide_that_the_event_was_created(world: World, fault: str):
    world.google.fault("lost", method="events.insert", times=1)
    world.google.fault(fault, method="events.insert")
    result = await world.calendar.run(Journal().begun(), meeting(world))
    assert created(world) == [result["id"]]


async def test_a_refusal_of_a_later_attempt_stands_where_no_earlier_one_did_anything(world: World):
    journal, args = Journal(), meeting(world)
    journal.begun()
    world.google.fault("403", method="events.insert")
    with pytest.raises(AuthError):
        await world.calendar.run(journal.begun(), args)
    assert paths(world.http.asked) == [INSERT] + [f"GET {EVENTS}/{event_id('act_1_1.0')}"] * 3


async def test_a_later_attempt_that_may_neither_write_nor_look_leaves_the_outcome_open(world: World):
    journal, args = Journal(), meeting(world)
    journal.begun()
    world.google.fault("403", path="/events")
    with pytest.raises(ToolExecutionError, match="could not be asked") as caught:
        await world.calendar.run(journal.begun(), args)
    assert caught.value.code == "outcome_unknown"


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ([refused(409, "Exists", "duplicate"), refused(404, "Not Found", "notFound")], "outcome_unknown"),
        ([refused(409, "Exists", "duplicate"), refused(410, "Resource has been deleted", "deleted")], ""),
        ([refused(409, "Exists", "duplicate"), said(200, {"id": "x", "status": "cancelled"})], ""),
        ([refused(409, "Exists", "duplicate"), said(200, {"id": "x", "extendedProperties": {}})], "tool_call_failure"),
    ],
)
async def test_an_id_that_is_taken_is_looked_at(world: World, answers: list[Any], code: str):
    async with answering() as google, Http() as http:
        google.gives(*answers)
        api = GoogleApi(http, Tokens("t"), google.url, pause=Paused())
        tool = CalendarEventCreate(api, accounts=CONNECTED, pause=Paused())
        if not code:
            assert "deleted" in await tool.run(Journal().begun(), meeting(world))
            return
        with pytest.raises(ToolExecutionError) as caught:
            await tool.run(Journal().begun(), meeting(world))
    assert caught.value.code == code


async def test_a_crash_anywhere_leaves_exactly_one_event(world: World):
    crashes = 0
    for first in range(1, 3):
        for second in range(1, 5):
            for when in TWICE:
                title = f"{first} {second} {when}"
                journal, args = Journal(f"act_{title}"), meeting(world, title)
                world.http.asked.clear()
                world.http.fails = {first: (when[0], Crash()), first + second: (when[1], Crash())}
                while True:
                    try:
                        outcome, _ = await finished(world.calendar, journal, args)
                        break
                    except Crash:
                        crashes += 1
                assert (outcome, created(world, title)) == ("done", [event_id(f"act_{title}")])
    assert crashes >= 20


async def test_an_event_that_began_with_one_account_is_not_created_in_another(world: World):
    world.google.fault("lost", method="events.insert", times=1)

    class Swapping(Paused):
        async def __call__(self, seconds: float) -> None:
            world.tokens.connected = "other@example.com"

    tool = CalendarEventCreate(world.api, accounts=CONNECTED, pause=Swapping())
    journal, args = Journal(), meeting(world)
    for _ in ("the same attempt", "a later one"):
        with pytest.raises(ToolExecutionError, match=r"but other@example\.com is connected now") as caught:
            await tool.run(journal.begun(), args)
        assert caught.value.code == "outcome_unknown"
    assert paths(world.http.asked) == [INSERT]
    world.tokens.connected = ACCOUNT
    assert [(await world.calendar.run(journal.begun(), args))["id"]] == created(world)


async def test_an_attempt_of_an_older_version_goes_on_with_the_account_that_is_connected(world: World):
    journal, args = Journal(), meeting(world)
    journal.begun()
    assert (await world.calendar.run(journal.begun(), args))["created"]
    assert journal.noted == {"account": ACCOUNT}


async def test_of_two_processes_that_create_the_same_event_one_does_and_both_know(world: World):
    journal, args = Journal(), meeting(world)
    first, second = await asyncio.gather(
        world.calendar.run(journal.begun(), args), world.calendar.run(journal.begun(), args)
    )
    assert first == second
    assert len(created(world)) == 1
