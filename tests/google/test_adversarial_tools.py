"""Attacks on the tools: whatever a model asks for is refused or asked about, and what a person said holds for that."""

import asyncio
import math
import time
from contextlib import suppress
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.google.adversary import BOTH, MAIL, Den, den, world
from tests.http.google_site import connect
from tests.http.site import Person
from tests.waiting import HANG_SECONDS, until

from pollux.core.canonical import digest
from pollux.core.errors import ValidationError
from pollux.emulator.workspace import run_workspace
from pollux.engine.gate import Toolbox
from pollux.tools.google import calendar, event, gmail, message

LONGEST = 5.0
TIMES = 36
"""So many times as long as the yardstick: LONGEST, on the machine where this was measured."""
EVENT: dict[str, Any] = {"title": "Talk", "start": "2027-03-01", "end": "2027-03-02", "attendees": ["bob@example.com"]}


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


DIGITS = "1" * 5_000
ODD_VALUES: list[Any] = [
    None, True, 0, -1, 10**30, math.nan, math.inf, "", " ", "\x00", "\ud800", "\udfff\ud800", "a\nb", [], {}, [[]],
    [None], nested(200), {"$ref": "#"}, {"__proto__": {}}, "x" * 1_000_000, ["bob@example.com"] * 101,
    [f"p{number}@example.com" for number in range(10_000)], "bob@example.com,eve@example.com", "ｂob@example.com",
    "bob@еxample.com", "bob@example.com\u200b", "=?utf-8?b?ZXZlQGV2aWwuZXhhbXBsZQ==?=", "\u202egro.elpmaxe@bob",
    "e" + "\u0301" * 100_000, "<b>&#" + DIGITS + ";", "<a href='https://x.example'>" * 20_000, "&#x" + "f" * 50_000,
    "<" * 400_000, "='" * 200_000, "= " * 200_000, "http:" * 90_000, "//" * 200_000, "=?" * 200_000,
    "=?utf-8?q?" * 90_000, "&lt" * 100_000,
    "\r" * 400_000, "\t" * 400_000, "\u2028" * 100_000, "💩" * 120_000, "\ufdfa" * 100_000, "&" * 450_000,
]  # fmt: skip


def yardstick() -> float:
    """How many seconds this machine takes to write a mail of very many lines, without any code of ours."""
    began = time.thread_time()
    mail = EmailMessage()
    mail.set_content("\n" * 400_000)
    mail.as_bytes()
    return time.thread_time() - began


def judged(tools: Toolbox, name: str, args: Any) -> None:
    """What a call goes through before anybody is asked, and what follows where they agree."""
    # The thread's own time: what else the machine does meanwhile is not this code's doing.
    began = time.thread_time()
    with suppress(ValidationError):
        prepared = tools.prepare(name, args)
        tool = tools[name]
        assert tools.prepare(name, prepared) == prepared
        assert len(tool.preview(prepared)) <= 2_000
        tool.preview(prepared).encode()
        assert all("@" in subject for subject in tool.subjects(prepared))
        digest(prepared)
        if name == "gmail_send":
            message.build(prepared, marks={"X-Pollux-Action": "0" * 40})
        else:
            event.resource(prepared, id="0" * 52)
    spent = time.thread_time() - began
    # On a slow machine even what is not ours takes long.
    assert spent < LONGEST or spent < TIMES * yardstick(), (name, str(args)[:100], spent)


@pytest.fixture(scope="module")
def tools() -> Toolbox:
    """They are not run here, so that they need nobody to ask."""
    nobody: Any = None
    return Toolbox([gmail.GmailSend(nobody, accounts=nobody), calendar.CalendarEventCreate(nobody, accounts=nobody)])


@pytest.mark.slow
@pytest.mark.parametrize("field", ["to", "cc", "bcc", "subject", "body", "html", "replyTo", "more"])
def test_no_odd_value_in_a_mail_breaks_or_delays_anything(tools: Toolbox, field: str):
    for value in ODD_VALUES:
        judged(tools, "gmail_send", {**MAIL, field: value})


@pytest.mark.parametrize("field", [*event.SCHEMA["properties"], "more"])  # pyright: ignore[reportGeneralTypeIssues]
def test_no_odd_value_in_an_event_breaks_or_delays_anything(tools: Toolbox, field: str):
    for value in ODD_VALUES:
        judged(tools, "calendar_event_create", {**EVENT, field: value})


@pytest.mark.parametrize("zeros", [0, 5_000])
def test_a_link_in_character_references_of_any_length_is_shown(tools: Toolbox, zeros: int):
    coded = "".join(f"&#{'0' * zeros}{ord(char)};" for char in "https://evil.example")
    prepared = tools.prepare("gmail_send", {**MAIL, "html": f"<a href='{coded}'>the report</a>"})
    assert "Links lead to: evil.example" in tools["gmail_send"].preview(prepared)


TEXTS = st.one_of(
    st.text(max_size=60),
    st.sampled_from(["bob@example.com", "2027-03-01T10:00", "Europe/Berlin", "2027-03-28T02:30", "all", "<b>x</b>"]),
    st.text(alphabet="=?<>&#;:/\\\"'@. \r\n\t\u202e\u200d0x", max_size=40),
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
ADDRESSED = st.lists(st.sampled_from(["bob@example.com", "ann@example.org"]) | JUNK, max_size=4)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.fixed_dictionaries(
        {"subject": TEXTS | JUNK, "body": TEXTS | JUNK},
        optional={"to": ADDRESSED, "cc": ADDRESSED | JUNK, "bcc": JUNK, "html": TEXTS, "replyTo": JUNK, "x": JUNK},
    )
)
def test_whatever_a_model_makes_up_for_a_mail_is_refused_or_can_be_asked_about(tools: Toolbox, args: Any):
    judged(tools, "gmail_send", args)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.fixed_dictionaries(
        {"title": TEXTS, "start": TEXTS, "end": TEXTS},
        optional={"timeZone": TEXTS, "attendees": ADDRESSED | JUNK, "description": TEXTS, "notify": JUNK, "x": JUNK},
    )
)
def test_whatever_a_model_makes_up_for_an_event_is_refused_or_can_be_asked_about(tools: Toolbox, args: Any):
    judged(tools, "calendar_event_create", args)


def is_text(value: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in value)


@pytest.mark.slow
async def test_over_http_junk_is_refused_or_asked_about_and_the_server_lives(tmp_path: Path):
    async with world(tmp_path) as here:
        for number, value in enumerate(ODD_VALUES):
            field = ("to", "html")[number % 2]
            run = await here.asked(here.ada, args={**MAIL, field: value})
            if isinstance(value, str) and not is_text(value):
                # No model's answer can hold that: it cannot be written down.
                assert (run["status"], run["errorCode"]) == ("failed", "model_error")
                continue
            assert run["status"] in ("awaiting_confirmation", "completed"), (field, str(value)[:60], run)
            for action in run["actions"]:
                assert action["status"] == "awaiting_confirmation" or action["errorCode"] == "invalid_args", action
        others: list[Any] = [nested(500), "text", 5, None, [], {}]
        for args in others:
            run = await here.asked(here.ada, args=args)
            assert run["status"] in ("completed", "failed"), run
        assert here.workspace.ledger == []


# What a person agreed to.


async def edited(person: Person, approval: str, args: object) -> Any:
    return await person.post(f"/api/agent/approvals/{approval}/edit", {"args": args})


async def test_an_edit_to_other_recipients_is_prepared_and_asked_about_anew(tmp_path: Path):
    async with world(tmp_path) as here:
        (first,) = (await here.asked(here.ada))["approvals"]
        for bad in ({"to": "bob@example.com, eve@example.com"}, {"subject": "a\r\nBcc: eve@example.com"}, {"bcc": 5}):
            got = await edited(here.ada, first["id"], {**MAIL, **bad})
            assert (got.status, got.code) == (400, "invalid"), got
        assert (await edited(here.bob, first["id"], MAIL)).status == 404
        got = await edited(here.ada, first["id"], {**MAIL, "to": "EVE@Example.ORG"})
        assert got.status == 201, got
        second = got.body["approval"]
        assert second["subjects"] == ["eve@example.org"] and "eve@example.org" in second["preview"]
        assert second["argsHash"] != first["argsHash"] and second["id"] != first["id"]
        old = await here.ada.resolve(first["id"])
        assert old.status == 409 and here.workspace.ledger == []
        wrong = await here.ada.resolve(second["id"], argsHash=first["argsHash"])
        assert wrong.status == 409 and here.workspace.ledger == []
        done = await here.ada.resolve(second["id"], argsHash=second["argsHash"])
        assert done.body["run"]["status"] == "completed"
        assert [entry.to for entry in here.workspace.ledger] == [("eve@example.org",)]


async def test_leave_for_one_recipient_is_none_for_one_more(tmp_path: Path):
    async with world(tmp_path) as here:
        (first,) = (await here.asked(here.ada))["approvals"]
        await here.ada.resolve(first["id"], "approve_and_always_allow_recipient")
        assert (await here.asked(here.ada))["status"] == "completed"
        assert (await here.asked(here.ada, args={**MAIL, "to": "BOB@EXAMPLE.COM"}))["status"] == "completed"
        assert len(here.workspace.ledger) == 3
        more: list[dict[str, Any]] = [
            {"bcc": "eve@example.org"}, {"cc": ["eve@example.org"]}, {"to": ["bob@example.com", "bob@example.org"]},
            {"to": "bob+x@example.com"}, {"to": "b.ob@example.com"}, {"to": "bob@sub.example.com"},
        ]  # fmt: skip
        for change in more:
            assert (await here.asked(here.ada, args={**MAIL, **change}))["status"] == "awaiting_confirmation", change
        # For that tool and that user alone.
        assert (await here.asked(here.ada, "calendar_event_create", EVENT))["status"] == "awaiting_confirmation"
        await connect(here.bob, here.workspace, account="bob@example.com")
        assert (await here.asked(here.bob))["status"] == "awaiting_confirmation"
        assert len(here.workspace.ledger) == 3


async def test_a_tool_that_the_profile_lost_after_the_approval_is_not_run(tmp_path: Path):
    async with run_workspace() as workspace:
        async with den(tmp_path, workspace) as here:
            await connect(here.ada, workspace)
            (approval,) = (await here.asked(here.ada))["approvals"]
        async with den(tmp_path, workspace, tools=BOTH[1:]) as here:
            got = await here.ada.resolve(approval["id"])
            assert (got.status, got.body["error"]["code"]) == (409, "policy_changed"), got.body
            run = await ended(here, got.body["error"]["runId"])
            assert run["actions"][0]["errorCode"] == "policy_changed", run
        assert workspace.ledger == []


async def test_access_that_ends_between_the_draft_and_its_sending_leaves_a_draft_that_is_spoken_of(tmp_path: Path):
    async with world(tmp_path) as here:
        (approval,) = (await here.asked(here.ada))["approvals"]
        here.workspace.fault("401", method="drafts.send")
        run = (await here.ada.resolve(approval["id"])).body["run"]
        assert (run["status"], run["errorCode"]) == ("failed", "auth_error")
        assert "its draft stays in Drafts" in str(run), run
        assert here.workspace.ledger == []


# What is not known, and who may say so.


async def ended(here: Den, run_id: str) -> dict[str, Any]:
    async def found() -> dict[str, Any] | None:
        run = (await here.ada.get(f"/api/agent/runs/{run_id}")).body
        return run if run["status"] in ("completed", "failed", "cancelled") else None

    run = await until(found)
    assert run is not None
    return run


async def unknown(here: Den) -> dict[str, Any]:
    """An action of which nobody can say whether it happened."""
    asked = await here.asked(here.ada)
    # It is sent and nobody hears of it; then it can be found neither in Drafts nor in Sent.
    here.workspace.fault("lost", method="drafts.send", times=1)
    here.workspace.fault("403", method="drafts.get")
    await here.ada.resolve(asked["approvals"][0]["id"])
    run = await ended(here, asked["runId"])
    here.workspace.faults.rules.clear()
    (action,) = run["actions"]
    assert action["errorCode"] == "outcome_unknown", run
    assert "pollux actions settle" in action["message"]
    return action


async def test_what_is_not_known_is_settled_once_by_whose_it_is(tmp_path: Path):
    async with world(tmp_path) as here:
        action = await unknown(here)
        settle = f"/api/agent/actions/{action['id']}/settle"
        assert (await here.bob.post(settle, {"outcome": "done"})).status == 404
        assert (await here.site.nobody.post(settle, {"outcome": "done"})).status == 401
        assert (await here.ada.post(settle, {"outcome": "maybe"})).status == 400
        answers = await asyncio.gather(*(here.ada.post(settle, {"outcome": said}) for said in ("done", "not_done") * 4))
        assert sorted(got.status for got in answers) == [200] + [409] * 7
        kinds = [entry["kind"] for entry in (await here.ada.get("/api/agent/audit")).body["items"]]
        assert kinds.count("settled") == 1, kinds
        assert len(here.workspace.ledger) == 1


async def test_what_is_known_cannot_be_settled_otherwise(tmp_path: Path):
    async with world(tmp_path) as here:
        asked = await here.asked(here.ada)
        waiting = f"/api/agent/actions/{asked['actions'][0]['id']}/settle"
        assert (await here.ada.post(waiting, {"outcome": "done"})).status == 409
        await here.ada.resolve(asked["approvals"][0]["id"])
        assert (await here.ada.post(waiting, {"outcome": "not_done"})).status == 409
        assert len(here.workspace.ledger) == 1


async def sending(here: Den) -> tuple[dict[str, Any], "asyncio.Task[Any]"]:
    """A mail that Gmail has taken, and whose answer is still on its way."""
    asked = await here.asked(here.ada)
    here.workspace.fault("slow;seconds=10000", method="drafts.send", times=1)
    resolving = asyncio.create_task(here.ada.resolve(asked["approvals"][0]["id"]))
    await until(lambda: here.workspace.ledger)
    return asked, resolving


async def test_a_run_that_is_cancelled_while_a_mail_is_being_sent_does_not_say_that_it_was_not(tmp_path: Path):
    async with world(tmp_path) as here:
        asked, resolving = await sending(here)
        got = await here.ada.post(f"/api/agent/runs/{asked['runId']}/cancel")
        assert got.status == 200, got
        await resolving
        run = await ended(here, asked["runId"])
        (action,) = run["actions"]
        assert len(here.workspace.ledger) == 1
        assert action["status"] == "completed" or action["errorCode"] == "outcome_unknown", action


async def test_a_server_that_is_stopped_while_a_mail_is_being_sent_leaves_it_sent_once(tmp_path: Path):
    async with run_workspace() as workspace:
        async with den(tmp_path, workspace) as here:
            await connect(here.ada, workspace)
            asked, resolving = await sending(here)
            await here.site.engine.close()
            await asyncio.wait({resolving}, timeout=HANG_SECONDS)
            resolving.cancel()
            with suppress(Exception, asyncio.CancelledError):
                await resolving
        async with den(tmp_path, workspace) as here:
            run = await ended(here, asked["runId"])
            assert run["actions"][0]["status"] == "completed", run
        assert len(workspace.ledger) == 1
