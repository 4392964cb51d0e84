"""Faults: what breaks, breaks before the effect or after it, as often as was asked; the ledger knows which."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.emulator.workspace.desk import CALENDAR, COMPOSE, GMAIL, Desk, refresh_form
from tests.waiting import until

from pollux.emulator.faults import UnknownFault
from pollux.emulator.workspace import Workspace, run_workspace
from pollux.emulator.workspace.faults import KINDS


@pytest.mark.parametrize(("fault", "effects"), [("lost", 1), ("lost-before", 0), ("half", 1)])
async def test_a_broken_connection_comes_before_or_after_the_effect(
    workspace: Workspace, desk: Desk, fault: str, effects: int
):
    draft = await desk.draft()
    with pytest.raises(aiohttp.ClientError):
        await desk.send_draft(draft, headers={"x-emulator-fault": fault})
    assert len(workspace.ledger) == effects
    assert (await desk.get(f"{GMAIL}/drafts/{draft}")).status == (404 if effects else 200)


@pytest.mark.parametrize(
    ("fault", "status", "reason"),
    [
        ("400", 400, "failedPrecondition"),
        ("401", 401, "authError"),
        ("403", 403, "insufficientPermissions"),
        ("403-rate", 403, "userRateLimitExceeded"),
        ("404", 404, "notFound"),
        ("429;retry=7", 429, "rateLimitExceeded"),
        ("500", 500, "backendError"),
        ("502", 502, "backendError"),
        ("503", 503, "backendError"),
        ("504", 504, "backendError"),
    ],
)
async def test_a_status_comes_in_googles_form_with_or_without_the_effect(
    workspace: Workspace, desk: Desk, fault: str, status: int, reason: str
):
    for more, effects in (("", 0), (";effect=yes", 1)):
        draft = await desk.draft()
        got = await desk.send_draft(draft, headers={"x-emulator-fault": fault + more})
        assert (got.status, got.reason, len(workspace.ledger)) == (status, reason, effects)
        assert ("Retry-After" in got.headers) == ("retry" in fault)


async def test_a_page_of_the_network_is_no_answer(workspace: Workspace, desk: Desk):
    got = await desk.insert()
    assert got.status == 200
    got = await desk.ask("POST", CALENDAR, json={}, headers={"x-emulator-fault": "html"})
    assert got.status == 200 and got.headers["Content-Type"].startswith("text/html") and len(workspace.ledger) == 1


async def test_a_slow_answer_comes_after_its_effect(workspace: Workspace, desk: Desk):
    draft = await desk.draft()
    sending = asyncio.create_task(desk.send_draft(draft, headers={"x-emulator-fault": "slow;seconds=1000"}))
    await until(lambda: len(workspace.ledger) == 1)
    assert not sending.done()
    sending.cancel()
    quick = await desk.ask("GET", f"{GMAIL}/profile", headers={"x-emulator-fault": "slow;seconds=0.01"})
    assert quick.status == 200


async def test_rules_are_given_and_taken_back_while_it_runs(workspace: Workspace, desk: Desk):
    rules = [{"match": {"path": "drafts/send$"}, "fault": "503", "times": 2, "after": 1}]
    given = await desk.ask("POST", "/_emulator/faults", json=rules)
    assert given.json == [{"match": {"path": "drafts/send$"}, "fault": "503", "times": 2, "after": 1}]
    statuses = [(await desk.send_draft(await desk.draft())).status for _ in range(4)]
    assert statuses == [200, 503, 503, 200]
    await desk.ask("POST", "/_emulator/faults", json=[{"fault": "500"}])
    assert (await desk.get(f"{GMAIL}/profile")).status == 500
    assert (await desk.ask("DELETE", "/_emulator/faults")).json == []
    assert (await desk.get(f"{GMAIL}/profile")).status == 200


@pytest.mark.parametrize(
    ("match", "spoiled"),
    [
        ({"method": "drafts.send"}, {"send"}),
        ({"method": "gmail.users.drafts.send"}, {"send"}),
        ({"method": "post"}, {"create", "send", "insert"}),
        ({"path": "/drafts"}, {"create", "send"}),
        ({"path": "calendars/[a-z]+/events$"}, {"insert"}),
        ({"contains": "Subject: Hello"}, {"create"}),
        ({"contains": "Planning"}, {"insert"}),
        ({"method": "POST", "path": "events"}, {"insert"}),
    ],
)
async def test_a_rule_fits_by_method_path_and_words(
    workspace: Workspace, desk: Desk, match: dict[str, Any], spoiled: set[str]
):
    draft = await desk.draft()
    workspace.fault("503", **match)
    message = {"message": {"raw": "VG86IGFubkBleGFtcGxlLmNvbQ0KU3ViamVjdDogSGVsbG8NCg0KaGk="}}
    statuses = {
        "create": (await desk.ask("POST", f"{GMAIL}/drafts", json=message)).status,
        "send": (await desk.send_draft(draft)).status,
        "insert": (await desk.insert()).status,
        "get": (await desk.get(f"{GMAIL}/profile")).status,
    }
    assert {name for name, status in statuses.items() if status == 503} == spoiled


async def test_the_token_endpoint_fails_in_its_own_form(workspace: Workspace, desk: Desk):
    form = refresh_form(workspace.tokens({COMPOSE}, client="client-1")["refresh_token"])
    seen: list[tuple[int, str]] = []
    for fault in ("invalid-grant", "400", "401", "403", "429;retry=3", "500", "503"):
        got = await desk.ask("POST", "/token", data=form, headers={"x-emulator-fault": fault})
        seen.append((got.status, got.json["error"]))
    assert seen == [
        (400, "invalid_grant"),
        (400, "invalid_grant"),
        (401, "invalid_client"),
        (403, "rate_limit_exceeded"),
        (429, "rate_limit_exceeded"),
        (500, "internal_failure"),
        (503, "internal_failure"),
    ]
    assert (await desk.ask("POST", "/token", data=form)).status == 200


@pytest.mark.parametrize(
    "rules",
    [
        [{"fault": "boom"}],
        [{"match": {"path": "("}, "fault": "500"}],
        [{"match": {"pat": "x"}, "fault": "500"}],
        [{"match": [], "fault": "500"}],
        [{"fault": "500", "time": 1}],
        [{}],
        ["500"],
        {"fault": "500"},
    ],
)
async def test_a_rule_that_cannot_be_read_is_refused_wherever_it_comes_from(desk: Desk, rules: Any):
    got = await desk.ask("POST", "/_emulator/faults", json=rules)
    assert got.status == 400 and got.json["error"]
    assert (await desk.get("/_emulator/faults")).json == []
    with pytest.raises(UnknownFault):
        async with run_workspace(scenario=rules):
            pass


async def test_what_is_no_json_is_no_rule_and_no_riddle(workspace: Workspace, desk: Desk):
    assert (await desk.ask("POST", "/_emulator/faults", data=b"{")).status == 400
    workspace.fault("503", contains="half a wo")
    assert (await desk.ask("POST", "/token", data=b"half a word")).status == 503


async def test_an_unknown_fault_in_a_header_is_told_with_those_there_are(workspace: Workspace, desk: Desk):
    got = await desk.ask("GET", f"{GMAIL}/profile", headers={"x-emulator-fault": "boom"})
    assert got.status == 400 and all(kind in got.json["error"] for kind in KINDS)


async def test_a_ledger_that_cannot_be_written_stops_the_effect(workspace: Workspace, desk: Desk, ledger_file: Path):
    draft = await desk.draft()
    ledger_file.unlink()
    ledger_file.mkdir()
    assert (await desk.send_draft(draft)).status == 500
    assert (await desk.insert()).status == 500
    ledger_file.rmdir()
    assert workspace.ledger == []
    assert (await desk.send_draft(draft)).status == 200 and (await desk.insert()).status == 200
    assert len(ledger_file.read_text().splitlines()) == 2
