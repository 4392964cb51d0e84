"""The ledger: a line for each effect, on the disk before the answer; and what else the emulator tells of itself."""

import hashlib
import json
from pathlib import Path

import aiohttp
import pytest
from tests.emulator.workspace.desk import GMAIL, MAIL, Clock, Desk

from pollux.emulator.workspace import Workspace, run_workspace


async def test_an_effect_is_a_line_with_people_subject_and_hash(desk: Desk, ledger_file: Path, clock: Clock):
    sent = await desk.send_draft(await desk.draft())
    await desk.insert()
    mail, event = [json.loads(line) for line in ledger_file.read_text("utf-8").splitlines()]
    assert mail == {
        "time": clock.now,
        "service": "gmail",
        "method": "gmail.users.drafts.send",
        "id": sent.json["id"],
        "to": ["ann@example.com"],
        "cc": ["bob@example.com"],
        "bcc": ["eve@example.com"],
        "subject": "Hello",
        "sha256": hashlib.sha256(MAIL).hexdigest(),
    }
    assert event.keys() == mail.keys() and event["method"] == "calendar.events.insert"
    assert (event["id"], event["to"], event["subject"]) == ("abcde12345", ["ann@example.com"], "Planning")
    assert (await desk.get("/_emulator/ledger")).json == [mail, event]


async def test_the_line_is_in_the_file_before_anybody_has_an_answer(desk: Desk, ledger_file: Path):
    draft = await desk.draft()
    with pytest.raises(aiohttp.ClientError):
        await desk.send_draft(draft, headers={"x-emulator-fault": "lost"})
    assert len(ledger_file.read_text().splitlines()) == 1


async def test_the_file_goes_on_where_the_last_life_ended(tmp_path: Path, desk: Desk):
    file = tmp_path / "kept.jsonl"
    for life in range(2):
        async with run_workspace(ledger=file) as running:
            desk.url, desk.token = running.url, running.tokens({"https://mail.google.com/"})["access_token"]
            await desk.send(MAIL + f"{life}".encode())
            assert len(running.ledger) == 1
    assert len(file.read_text().splitlines()) == 2


async def test_two_lives_of_one_seed_name_different_things_differently(desk: Desk):
    drafts: list[str] = []
    for life in (1, 2, 1):
        async with run_workspace() as running:
            desk.url, desk.token = running.url, running.tokens({"https://mail.google.com/"})["access_token"]
            drafts.append(await desk.draft(MAIL + f"{life}".encode()))
    assert drafts[0] == drafts[2] != drafts[1]


async def test_a_ledger_nobody_can_write_is_an_error_at_the_start(tmp_path: Path):
    with pytest.raises(OSError, match="none"):
        async with run_workspace(ledger=tmp_path / "none" / "ledger.jsonl"):
            pass


async def test_requests_are_listed_and_cleared_and_the_ledger_is_not(workspace: Workspace, desk: Desk):
    await desk.send()
    [seen] = (await desk.get("/_emulator/requests")).json
    assert (seen["method"], seen["path"]) == ("POST", f"{GMAIL}/messages/send")
    assert (await desk.ask("DELETE", "/_emulator/requests")).json == []
    refused = await desk.ask("DELETE", "/_emulator/ledger")
    assert (refused.status, refused.headers["Allow"]) == (405, "GET")
    assert len(workspace.ledger) == 1


async def test_a_server_left_running_does_not_grow_without_end(
    workspace: Workspace, desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    from pollux.emulator.workspace import calendar, grants, ledger, mailbox, server

    for module in (calendar, grants, ledger, mailbox, server):
        monkeypatch.setattr(module, "_KEPT", 10)
    for n in range(30):
        await desk.draft()
        assert (await desk.send()).status == 200 and (await desk.insert(id=f"abcde{n}")).status == 200
        desk.token = workspace.tokens({"https://mail.google.com/", "https://www.googleapis.com/auth/calendar"})[
            "access_token"
        ]
    box = workspace.accounts.mailbox("demo@example.com")
    sizes = [len(box.mails), len(box.drafts), len(workspace.requests), len(workspace.ledger)]
    assert max(sizes) <= 10 and len(workspace.accounts.events("demo@example.com")) <= 10
    assert set(box.drafts.values()) <= box.mails.keys()
