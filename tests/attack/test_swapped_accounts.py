"""Another Google account is connected while an action is under way, and the server is killed: it happens once."""

import asyncio
import contextlib
from pathlib import Path

import aiohttp
import pytest
from tests.google.crash import EVENT, MAIL, Deed
from tests.http.google_site import connect, environ_for
from tests.http.site import TOKENS, Person, process
from tests.waiting import until

from pollux.emulator import run_emulator
from pollux.emulator.workspace import run_workspace

ADA, OTHER = "ada@example.com", "other@example.com"

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("deed", "then", "outcome"),
    [
        (MAIL, [OTHER], "outcome_unknown"),
        (EVENT, [OTHER], "outcome_unknown"),
        (MAIL, [OTHER, ADA], None),
        (EVENT, [OTHER, ADA], None),
    ],
    ids=["mail", "event", "mail, swapped back", "event, swapped back"],
)
async def test_an_action_that_is_resumed_under_another_account_is_not_done_again(
    tmp_path: Path, deed: Deed, then: list[str], outcome: str | None
):
    method = deed.method.removeprefix("gmail.users.")
    async with run_emulator() as model, run_workspace() as workspace, aiohttp.ClientSession() as http:
        environ = environ_for(tmp_path, workspace.url, model.url, tools=(deed.tool,))
        async with process(tmp_path, **environ) as first:
            ada = Person(http, first.url, TOKENS["ada"])
            await connect(ada, workspace, account=ADA)
            asked = await ada.run(deed.wish.prompt)
            workspace.fault("slow;seconds=60", method=method, times=1)
            resolving = asyncio.create_task(ada.resolve(asked["approvals"][0]["id"]))
            await until(lambda: workspace.ledger)
            for account in then:
                await ada.post("/api/google/disconnect")
                assert (await connect(ada, workspace, account=account)).status == 200
            first.kill()
            with contextlib.suppress(aiohttp.ClientError):
                await resolving
        async with process(tmp_path, **environ) as second:
            ada = Person(http, second.url, TOKENS["ada"])
            await ada.lines("GET", f"/api/agent/runs/{asked['runId']}/events")
            run = (await ada.get(f"/api/agent/runs/{asked['runId']}")).body
    (action,) = run["actions"]
    assert len(workspace.ledger) == 1
    assert action["errorCode"] == outcome
    if outcome:
        assert f"began with the Google account {ADA}, but {OTHER} is connected now" in action["message"]
        assert f"pollux actions settle {action['id']} --done" in action["message"]
