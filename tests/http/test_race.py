"""One decision, one execution: many who answer the same question at once, over HTTP."""

import asyncio
from pathlib import Path

import pytest
from tests.http.scenes import MAIL, mail, refused
from tests.http.site import site

from pollux.stores.sqlite import SqliteStore
from pollux.testing import call, reply
from pollux.testing import scripted as model

RESOLVERS = 64


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [20, pytest.param(200, marks=pytest.mark.soak)])
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_of_64_who_approve_at_once_one_is_heard_and_the_tool_runs_once(tmp_path: Path, kind: str, rounds: int):
    tool = mail()
    script = model(*[call("send_mail", MAIL), reply("Sent.")] * rounds)
    store = SqliteStore(tmp_path / "pollux.db", key=b"k" * 32) if kind == "sqlite" else None
    async with site(tmp_path, script, tools=[tool], store=store, burst=RESOLVERS * rounds * 2) as here:
        for number in range(rounds):
            run = await here.ada.run(f"round {number}")
            approval = run["approvals"][0]["id"]
            got = await asyncio.gather(*(here.ada.resolve(approval) for _ in range(RESOLVERS)))
            (heard,) = [each for each in got if each.status == 200]
            assert heard.body["run"]["status"] == "completed"
            for each in got:
                if each is not heard:
                    error = refused(each, 409, "already_resolved")
                    assert error["outcome"]["status"] == "approved"
        assert (await here.ada.get("/api/agent/audit/verify")).body["valid"] is True
    assert len(tool.ran) == len({key for key, _ in tool.ran}) == rounds


async def test_of_those_who_approve_and_those_who_reject_at_once_one_is_heard(tmp_path: Path):
    tool, rounds = mail(), 20
    script = model(*[call("send_mail", MAIL), reply("As you say.")] * rounds)
    approved = 0
    async with site(tmp_path, script, tools=[tool], burst=5_000) as here:
        for number in range(rounds):
            run = await here.ada.run(f"round {number}")
            approval = run["approvals"][0]["id"]
            answers = ("approve_once", "reject") if number % 2 else ("reject", "approve_once")
            got = await asyncio.gather(*(here.ada.resolve(approval, answers[n % 2]) for n in range(16)))
            (heard,) = [each for each in got if each.status == 200]
            approved += heard.body["status"] == "approved"
            assert {each.code for each in got if each is not heard} == {"already_resolved"}
    assert len(tool.ran) == approved
