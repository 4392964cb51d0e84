"""Overviews: outcomes that nobody knows, runs in a list, what was used, what it cost, and how the server is."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.engine.builders import HeldTool
from tests.http.scenes import MAIL, left, mail, refused, soon
from tests.http.site import Person, Site, site
from tests.stores.postgres import fresh_database

from pollux._version import __version__
from pollux.core.messages import Usage
from pollux.core.profile import Limits, Profile
from pollux.engine.ports import Store
from pollux.stores.memory import MemoryStore
from pollux.stores.postgres.store import PostgresStore
from pollux.stores.sqlite import SqliteStore
from pollux.testing import Answer, FakeClock, call, reply
from pollux.testing import scripted as model

ACTIONS, RUNS, USAGE, HEALTH = "/api/agent/actions", "/api/agent/runs", "/api/agent/usage", "/api/health"
KEY = b"k" * 32
PRICED = "gemini-2.5-flash"
"""0.30 dollars for a million tokens in, 2.50 for a million out."""


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path):
    match request.param:
        case "memory":
            yield MemoryStore()
        case "sqlite":
            yield SqliteStore(tmp_path / "pollux.db", key=KEY)
        case _:
            with fresh_database() as url:
                yield PostgresStore(url, key=KEY)


def said(text: str, input: int = 1_000, output: int = 100) -> Answer:
    return reply(text, usage=Usage(input, output, 40, 10))


def profiles(name: str = PRICED, *tools: str) -> dict[str, Profile]:
    return {"default": Profile(model=name, tools=tools, limits=Limits(model_calls=3))}


async def rows(person: Person, query: str = "") -> list[dict[str, Any]]:
    got = await person.get(f"{RUNS}{query}")
    assert got.status == 200, got
    return got.body["items"]


# Outcomes that nobody knows.


def post() -> HeldTool:
    return HeldTool("post", side_effect=True, default_approval="not_required", repeat="once")


async def lose(here: Site, tool: HeldTool, prompt: str) -> str:
    """A run that was stopped in the middle of what must not be done twice: nobody knows whether it was."""
    asking = asyncio.create_task(here.ada.run(prompt))
    await soon(tool.began)
    tool.began.clear()
    run_id = (await rows(here.ada))[0]["runId"]
    assert (await here.ada.post(f"{RUNS}/{run_id}/cancel")).body["actions"][0]["errorCode"] == "outcome_unknown"
    await left(asking)
    return run_id


async def test_actions_whose_outcome_nobody_knows_are_listed_until_they_are_settled(tmp_path: Path, store: Store):
    tool, steps = post(), [call("post", {"text": f"number {number}"}) for number in range(3)]
    clock = FakeClock()
    async with site(tmp_path, model(reply("Hello."), *steps), tools=[tool], store=store, clock=clock) as here:
        await here.ada.run("say hello")
        lost: list[str] = []
        for number in range(3):
            clock.advance(60)
            lost.append(await lose(here, tool, f"post number {number}"))
        page = (await here.ada.get(ACTIONS)).body
        assert [each["runId"] for each in page["items"]] == lost[::-1] and page["next"] is None
        newest = page["items"][0]
        assert (newest["tool"], newest["args"], newest["prompt"]) == ("post", {"text": "number 2"}, "post number 2")
        assert (newest["profile"], newest["runState"]) == ("default", "cancelled")
        assert newest["message"] and newest["startedAt"] and newest["endedAt"].endswith("Z")
        first = (await here.ada.get(f"{ACTIONS}?limit=2")).body
        assert first["items"] == page["items"][:2] and first["next"] == page["items"][1]["id"]
        second = (await here.ada.get(f"{ACTIONS}?limit=2&before={first['next']}")).body
        assert (second["items"], second["next"]) == (page["items"][2:], None)
        assert (await here.bob.get(ACTIONS)).body["items"] == []
        assert (await here.bob.get(f"{ACTIONS}?before={newest['id']}")).body["items"] == []
        assert (await here.ada.get(HEALTH)).body["unknown"] == 3
        settled = await here.ada.post(f"{ACTIONS}/{newest['id']}/settle", {"outcome": "done"})
        assert settled.status == 200
        assert (await here.ada.get(ACTIONS)).body["items"] == page["items"][1:]
        # From one that was settled meanwhile the list still goes on.
        assert (await here.ada.get(f"{ACTIONS}?before={newest['id']}")).body["items"] == page["items"][1:]
        assert (await here.ada.get(HEALTH)).body["unknown"] == 2
        gone = page["items"][1]["threadId"]
        assert (await here.ada.send("DELETE", f"/api/agent/threads/{gone}")).status == 200
        assert (await here.ada.get(ACTIONS)).body["items"] == page["items"][2:]


# Runs in a list.


async def test_a_list_of_runs_tells_what_each_was_about(tmp_path: Path, store: Store):
    script = model(said("Hello."), call("send_mail", MAIL), said("Never said."))
    clock = FakeClock()
    here_profiles = profiles(PRICED, "send_mail")
    async with site(tmp_path, script, tools=[mail()], profiles=here_profiles, store=store, clock=clock) as here:
        hello = await here.ada.run("say hello " + "and so on " * 100)
        clock.advance(60)
        waiting = await here.ada.run("email Bob")
        second, first = await rows(here.ada)
        assert (first["runId"], first["model"], first["tokens"]) == (hello["runId"], PRICED, 1_100)
        assert first["prompt"] == ("say hello " + "and so on " * 100)[:200]
        assert first["cost"] == hello["cost"] == pytest.approx(990 * 0.3e-6 + 10 * 0.03e-6 + 100 * 2.5e-6)
        assert (first["errorCode"], first["parentRunId"], second["prompt"]) == (None, None, "email Bob")
        asked = await rows(here.ada, "?state=awaiting_confirmation")
        assert [row["runId"] for row in asked] == [waiting["runId"]]
        assert await rows(here.ada, "?state=failed") == [] == await rows(here.bob, "?state=completed")
        refused(await here.ada.get(f"{RUNS}?state=lost"), 400, "invalid")
        await here.ada.post(f"{RUNS}/{waiting['runId']}/cancel")
        [stopped] = await rows(here.ada, "?state=cancelled&limit=1")
        assert stopped["errorCode"] == "cancelled"
        assert (await here.ada.send("DELETE", f"/api/agent/threads/{hello['threadId']}")).status == 200
        [erased] = await rows(here.ada, "?state=completed")
        assert (erased["prompt"], erased["tokens"]) == ("", 1_100)


# What was used, and what it cost.


async def test_what_was_used_is_told_by_day_and_model(tmp_path: Path, store: Store):
    clock = FakeClock()
    clock.advance(datetime(2026, 11, 14, 23, 59, tzinfo=UTC).timestamp() - clock.now())
    named = {**profiles(), "other": Profile("other", model="unheard-of", limits=Limits(model_calls=3))}
    script = model(*(said(f"{number}") for number in range(5)))
    async with site(tmp_path, script, profiles=named, store=store, clock=clock) as here:
        await here.ada.run("late")
        clock.advance(2 * 86_400)
        one = await here.ada.run("one")
        await here.ada.run("two")
        await here.ada.run("three", profile="other")
        await here.bob.run("of bob")
        told = (await here.ada.get(f"{USAGE}?days=3")).body
        assert told["currency"] == "USD"
        assert [day["day"] for day in told["days"]] == ["2026-11-14", "2026-11-15", "2026-11-16"]
        first, nothing, today = [day["models"] for day in told["days"]]
        assert nothing == [] and [each["runs"] for each in first] == [1]
        priced, unpriced = today
        counts = {"input": 2_000, "output": 200, "thoughts": 80, "cached": 20, "total": 2_200}
        assert priced == {"model": PRICED, "runs": 2, **counts, "cost": pytest.approx(2 * one["cost"])}
        assert (unpriced["model"], unpriced["total"], unpriced["cost"]) == ("unheard-of", 1_100, None)
        assert [len(day["models"]) for day in (await here.ada.get(f"{USAGE}?days=1")).body["days"]] == [2]
        assert len((await here.ada.get(USAGE)).body["days"]) == 30
        before, of_bob = (await here.bob.get(f"{USAGE}?days=2")).body["days"]
        assert before["models"] == [] and [each["runs"] for each in of_bob["models"]] == [1]
        for days in ("0", "367", "-1", "x", "1.5", ""):
            refused(await here.ada.get(f"{USAGE}?days={days}"), 400, "invalid")


async def test_the_longer_price_counts_only_for_calls_that_are_long(tmp_path: Path):
    # Two calls of 150,000 tokens are not one of 300,000, for which each token would cost twice as much.
    def big(answer: Answer, input: int) -> Answer:
        return Answer(answer.pieces, calls=answer.calls, usage=Usage(input, 0))

    steps = [big(call("send_mail", MAIL), 150_000), big(reply("Sent."), 150_000), big(reply("Long."), 300_000)]
    async with site(tmp_path, model(*steps), tools=[mail()], profiles=profiles("gemini-2.5-pro", "send_mail")) as here:
        run = await here.ada.run("email Bob")
        run = (await here.ada.resolve(run["approvals"][0]["id"])).body["run"]
        assert run["cost"] == pytest.approx(300_000 * 1.25e-6)
        lines = await here.ada.lines("GET", f"{RUNS}/{run['runId']}/events")
        costs = [line["cost"] for line in lines if line["type"] == "ModelReplied"]
        assert costs == [pytest.approx(150_000 * 1.25e-6)] * 2
        assert (await here.ada.run("a long one"))["cost"] == pytest.approx(300_000 * 2.5e-6)


async def test_an_unheard_of_model_has_no_cost_anywhere(tmp_path: Path):
    async with site(tmp_path, model(said("Hello.")), profiles=profiles("unheard-of")) as here:
        run = await here.ada.run("hello")
        lines = await here.ada.lines("GET", f"{RUNS}/{run['runId']}/events")
        assert run["cost"] is None and (await rows(here.ada))[0]["cost"] is None
    assert [line["cost"] for line in lines if "cost" in line] == [None]


# Health.


async def test_health_tells_how_the_server_is_and_what_waits(tmp_path: Path, store: Store):
    named = profiles("gemini-2.5-flash", "send_mail") | {"brief": Profile("brief", tools=())}
    script = model(call("send_mail", MAIL), call("send_mail", MAIL))
    async with site(tmp_path, script, tools=[mail()], profiles=named, store=store) as here:
        refused(await here.nobody.get(HEALTH), 401, "auth_error")
        for _ in range(2):
            await here.ada.run("email Bob")
        told = (await here.ada.get(HEALTH)).body
        assert told.pop("uptimeSeconds") >= 0
        assert told.pop("missingKey").startswith("GEMINI_API_KEY is not set")
        kind = {"MemoryStore": "memory", "SqliteStore": "sqlite", "PostgresStore": "postgres"}[type(store).__name__]
        assert told == {
            "ok": True,
            "version": __version__,
            "store": {"kind": kind, "writable": True},
            "model": "gemini-2.5-flash",
            "provider": "gemini",
            "profiles": ["brief", "default"],
            "pending": 2,
            "unknown": 0,
            "audit": {"entries": None, "head": None},
            "workers": 0 if kind == "postgres" else None,
            "google": {"configured": False, "connected": False},
            "runbooks": False,
            "draining": False,
        }
        assert str(tmp_path) not in str(told)
        assert (await here.bob.get(HEALTH)).body["pending"] == 0
