"""What is asked for over HTTP and refused, and what is listed afterwards."""

from pathlib import Path

import pytest
from tests.http.scenes import MAIL, mail, refused
from tests.http.site import TOKENS, site

from pollux.core.profile import Profile
from pollux.testing import call, reply
from pollux.testing import scripted as model

RUN = "/api/agent/run"


# What is asked.


BAD_BODIES: list[object] = [
    {},
    {"prompt": ""},
    {"prompt": " \n\t"},
    {"prompt": 5},
    {"prompt": None},
    {"prompt": ["hello"]},
    {"prompt": "x" * 200_001},
    {"prompt": "hello", "promt": "hello"},
    {"prompt": "hello", "supersede": "yes"},
    {"prompt": "hello", "threadId": 5},
    {"prompt": "hello", "threadId": ""},
    {"prompt": "hello", "profile": ""},
    [],
    "hello",
]


@pytest.mark.parametrize("path", [RUN, f"{RUN}/stream"])
async def test_a_body_that_does_not_fit_is_a_400_and_begins_nothing(tmp_path: Path, path: str):
    async with site(tmp_path, model()) as here:
        for body in BAD_BODIES:
            got = await here.ada.post(path, body)
            refused(got, 400, "invalid")
            assert got.headers["content-type"] == "application/json"
        assert (await here.ada.get("/api/agent/runs")).body["items"] == []


@pytest.mark.parametrize("path", [RUN, f"{RUN}/stream"])
async def test_nobody_without_a_token_begins_a_run(tmp_path: Path, path: str):
    async with site(tmp_path, model()) as here:
        for person in (here.nobody, here.person("wrong-token-0123456789")):
            got = await person.post(path, {"prompt": "hello"})
            refused(got, 401, "auth_error")
            assert got.headers["www-authenticate"].startswith("Bearer")
        assert (await here.ada.get("/api/agent/runs")).body["items"] == []


@pytest.mark.parametrize("path", [RUN, f"{RUN}/stream"])
async def test_an_unknown_thread_and_somebody_elses_look_alike(tmp_path: Path, path: str):
    async with site(tmp_path, model(reply("Hello."))) as here:
        thread_id = (await here.ada.run("hello"))["threadId"]
        theirs = refused(await here.bob.post(path, {"prompt": "hi", "threadId": thread_id}), 404, "not_found")
        none = refused(await here.bob.post(path, {"prompt": "hi", "threadId": "thr_none"}), 404, "not_found")
        assert theirs["message"].replace(thread_id, "") == none["message"].replace("thr_none", "")
        refused(await here.ada.post(path, {"prompt": "hi", "profile": "nobody"}), 404, "not_found")


async def test_a_profile_is_chosen_by_name(tmp_path: Path):
    script = model(reply("Aye."))
    profiles = {"default": Profile(), "pirate": Profile("pirate", instructions="Talk like a pirate.")}
    async with site(tmp_path, script, profiles=profiles) as here:
        run = await here.ada.run("hello", profile="pirate")
    assert run["profile"] == "pirate" and "pirate" in script.requests[0].system


# The lists.


async def test_runs_are_listed_newest_first_page_by_page(tmp_path: Path):
    async with site(tmp_path, model(*[reply("Hello.")] * 5)) as here:
        made = [(await here.ada.run(f"number {n}"))["runId"] for n in range(5)]
        whole = (await here.ada.get("/api/agent/runs")).body
        assert (whole["ok"], whole["next"]) == (True, None)
        found: list[str] = []
        page = (await here.ada.get("/api/agent/runs?limit=2")).body
        while True:
            found += [each["runId"] for each in page["items"]]
            assert len(page["items"]) <= 2
            if page["next"] is None:
                break
            page = (await here.ada.get(f"/api/agent/runs?limit=2&before={page['next']}")).body
        assert found == [each["runId"] for each in whole["items"]] == made[::-1]
        assert (await here.bob.get("/api/agent/runs")).body["items"] == []


async def test_runs_can_be_listed_for_one_thread(tmp_path: Path):
    async with site(tmp_path, model(*[reply("Hello.")] * 3)) as here:
        first = await here.ada.run("one")
        await here.ada.run("two")
        third = await here.ada.run("three", threadId=first["threadId"])
        items = (await here.ada.get(f"/api/agent/runs?threadId={first['threadId']}")).body["items"]
    assert [each["runId"] for each in items] == [third["runId"], first["runId"]]
    assert {each["state"] for each in items} == {"completed"}


async def test_a_limit_that_is_none_is_refused(tmp_path: Path):
    async with site(tmp_path, model()) as here:
        for path in ("runs", "threads", "grants", "audit"):
            for query in ("limit=0", "limit=101", "limit=abc", "limit=", "limit=-1", "limit=1&limit=2"):
                refused(await here.ada.get(f"/api/agent/{path}?{query}"), 400, "invalid")


async def test_a_run_is_shown_as_it_was_answered(tmp_path: Path):
    async with site(tmp_path, model(call("send_mail", MAIL)), tools=[mail()]) as here:
        run = await here.ada.run("email Bob")
        assert (await here.ada.get(f"/api/agent/runs/{run['runId']}")).body == run
        refused(await here.bob.get(f"/api/agent/runs/{run['runId']}"), 404, "not_found")
        refused(await here.ada.get("/api/agent/runs/run_none"), 404, "not_found")


async def test_where_nothing_is_and_where_something_else_is_wanted(tmp_path: Path):
    async with site(tmp_path, model()) as here:
        refused(await here.ada.get("/api/agent/nothing"), 404, "not_found")
        got = await here.ada.get(RUN)
        refused(got, 405, "method_not_allowed")
        assert got.headers["allow"] == "POST"


async def test_every_answer_that_is_no_error_says_ok(tmp_path: Path):
    async with site(tmp_path, model(call("send_mail", MAIL)), tools=[mail()]) as here:
        run = await here.ada.run("email Bob")
        thread, one = f"/api/agent/threads/{run['threadId']}", f"/api/agent/runs/{run['runId']}"
        lists = ("approvals/pending", "threads", "runs", "grants", "audit", "audit/verify", "audit/head")
        paths = (thread, f"{thread}/messages", one, *(f"/api/agent/{each}" for each in lists), "/healthz", "/readyz")
        for path in paths:
            got = await here.ada.get(path)
            assert (got.status, got.body["ok"]) == (200, True), path
            assert got.headers["content-type"] == "application/json" and got.headers["x-correlation-id"]


async def test_the_token_of_one_is_not_the_other(tmp_path: Path):
    assert TOKENS["ada"] != TOKENS["bob"]
    async with site(tmp_path, model(reply("Hello."))) as here:
        await here.ada.run("hello")
        assert len((await here.ada.get("/api/agent/threads")).body["items"]) == 1
        assert (await here.bob.get("/api/agent/threads")).body["items"] == []
