"""Everything that can go wrong between us and Google, over HTTP: told as it is, done once or not at all.

What is told as completed is in the workspace's ledger, and what is told as failed is not. Nobody hears that an outcome
is unknown unless nobody could know, and then they hear what to do; what they say is taken, and is in the audit.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest
from tests.google.crash import EVENT, MAIL
from tests.google.faulty import Case, Fault, Outcome, problems_of

from pollux.emulator import run_emulator

PASSING = (
    "lost", "lost-before", "half", "html", "html;effect=yes", "500", "500;effect=yes", "502", "503;retry=1",
    "504;effect=yes", "429;retry=1", "403-rate", "401", "slow;seconds=1.5",
)  # fmt: skip
"""What goes by when it happens once."""
SENT_BUT_LOST = Fault("lost", "drafts.send")
CREATED_BUT_LOST = Fault("lost", "events.insert")
NOT_SENT = Fault("lost-before", "drafts.send")
STALE = Fault("401", "/v1/users/me/drafts")
AT_ONCE = 20
LASTING = [
    # Only the person can mend it.
    Case(MAIL, [Fault("403", "drafts.create")], "auth_error"),
    Case(MAIL, [Fault("403", "drafts.send")], "auth_error"),
    Case(EVENT, [Fault("403", "events.insert")], "auth_error"),
    Case(MAIL, [Fault("401", "drafts.create", 2)], "auth_error"),
    Case(EVENT, [Fault("401", "events.insert", 2)], "auth_error"),
    Case(MAIL, [STALE, Fault("invalid-grant", "/token", None)], "auth_error"),
    Case(MAIL, [Fault("401", "drafts.send"), Fault("invalid-grant", "/token", None)], "auth_error"),
    # It was not done.
    Case(MAIL, [Fault("lost-before", "drafts.create", None)], "tool_call_failure"),
    Case(MAIL, [Fault("html", "drafts.create", None)], "tool_call_failure"),
    Case(MAIL, [Fault("500", "drafts.send", None)], "tool_call_failure"),
    Case(MAIL, [Fault("lost-before", "drafts.send", None)], "tool_call_failure"),
    Case(MAIL, [Fault("429;retry=60", "drafts.send")], "tool_call_failure"),
    Case(MAIL, [STALE, Fault("500", "/token", None)], "tool_call_failure"),
    Case(MAIL, [Fault("401", "drafts.send"), Fault("503", "/token", None)], "tool_call_failure"),
    Case(MAIL, [NOT_SENT, Fault("401", "drafts.send"), Fault("500", "/token", 3)]),
    Case(MAIL, [STALE, Fault("401", "/token")], "tool_call_failure"),
    Case(EVENT, [Fault("500", "events.insert", None)], "tool_call_failure"),
    Case(EVENT, [Fault("429;retry=60", "events.insert")], "tool_call_failure"),
    Case(EVENT, [Fault("lost-before", "events.insert", None)], "tool_call_failure"),
    # It was done, and no answer said so.
    Case(MAIL, [Fault("lost", "drafts.send", None)]),
    Case(MAIL, [Fault("500;effect=yes", "drafts.send", None)]),
    Case(MAIL, [Fault("lost", "drafts.create", None)]),
    Case(EVENT, [Fault("lost", "events.insert", None)]),
    Case(EVENT, [Fault("html;effect=yes", "events.insert", None)]),
    Case(EVENT, [CREATED_BUT_LOST, Fault("429;retry=60", "events.insert", None)]),
    # A refusal speaks of one request, not of those before it; so does a token that is not to be had.
    Case(EVENT, [CREATED_BUT_LOST, Fault("401", "events.insert", None), Fault("500", "/token", None)]),
    # Nobody can know.
    Case(MAIL, [SENT_BUT_LOST, Fault("500", "drafts.get", None)], "outcome_unknown"),
    Case(MAIL, [SENT_BUT_LOST, Fault("403", "drafts.get", None)], "outcome_unknown"),
    Case(MAIL, [SENT_BUT_LOST, Fault("503", "messages.list", None)], "outcome_unknown"),
    Case(MAIL, [Fault("504", "drafts.send", None)], "outcome_unknown"),
    Case(
        MAIL,
        [Fault("504", "drafts.send"), Fault("401", "drafts.send", None), Fault("500", "/token", None)],
        "outcome_unknown",
    ),
    Case(EVENT, [Fault("504", "events.insert", None)], "outcome_unknown"),
    Case(EVENT, [Fault("lost", "events.insert", None), Fault("500", "events.get", None)], "outcome_unknown"),
    Case(
        EVENT,
        [CREATED_BUT_LOST, Fault("401", "/events", None), Fault("500", "/token", None)],
        "outcome_unknown",
    ),
]
"""What does not go by, each with what is to be told of it in the end."""


@pytest.fixture
async def model() -> AsyncGenerator[str]:
    async with run_emulator() as emulator:
        yield emulator.url


@pytest.mark.parametrize("method", ["drafts.create", "drafts.send"])
async def test_what_goes_wrong_once_keeps_no_mail_from_being_sent_once(tmp_path: Path, model: str, method: str):
    await check(tmp_path, model, [Case(MAIL, [Fault(text, method)]) for text in PASSING])


async def test_what_goes_wrong_once_keeps_no_event_from_being_created_once(tmp_path: Path, model: str):
    await check(tmp_path, model, [Case(EVENT, [Fault(text, "events.insert")]) for text in PASSING])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["drafts.get", "messages.list", "messages.get"])
async def test_a_look_that_fails_once_is_had_again(tmp_path: Path, model: str, method: str):
    first = NOT_SENT if method == "drafts.get" else SENT_BUT_LOST
    await check(tmp_path, model, [Case(MAIL, [first, Fault(text, method)]) for text in PASSING])


async def test_a_look_for_an_event_that_fails_once_is_had_again(tmp_path: Path, model: str):
    lost = [CREATED_BUT_LOST, Fault("403", "events.insert", None)]
    await check(tmp_path, model, [Case(EVENT, [*lost, Fault(text, "events.get")]) for text in PASSING])


async def test_a_token_that_cannot_be_renewed_at_first_is_renewed_then(tmp_path: Path, model: str):
    mishaps = ("lost", "lost-before", "half", "html", "500", "502", "503", "504", "429;retry=1", "slow;seconds=1.5")
    await check(tmp_path, model, [Case(MAIL, [STALE, Fault(text, "/token")]) for text in mishaps])


@pytest.mark.slow
async def test_what_lasts_ends_in_what_can_be_said_of_it(tmp_path: Path, model: str):
    await check(tmp_path, model, LASTING)


async def test_a_case_that_is_told_wrongly_is_noticed(tmp_path: Path, model: str):
    wrong: Outcome = "tool_call_failure"
    unmet = Fault("500", "events.delete")
    case = Case(EVENT, [CREATED_BUT_LOST, unmet], wrong)
    problems = await problems_of(case, tmp_path / "case", model)
    assert "500 at events.delete was not met" in problems[0]
    assert "it is completed (None), not tool_call_failure" in problems[1]
    assert len(problems) == 2


# The large version.


@pytest.mark.soak
@pytest.mark.parametrize("method", ["drafts.create", "drafts.send", "events.insert"])
async def test_an_answer_that_never_comes_ends_as_well(tmp_path: Path, model: str, method: str):
    """What is asked for happens at once in the workspace, and the answer after every patience of ours."""
    deed = EVENT if method == "events.insert" else MAIL
    await check(tmp_path, model, [Case(deed, [Fault("slow;seconds=60", method, times)]) for times in (1, None)])


async def check(path: Path, model: str, cases: Sequence[Case]) -> None:
    """All at once, as far as that is sensible: most of the time goes into waiting."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, case: Case) -> list[str]:
        async with gate:
            return await problems_of(case, path / str(number), model)

    found = await asyncio.gather(*(one(number, case) for number, case in enumerate(cases)))
    assert [problem for problems in found for problem in problems] == []
