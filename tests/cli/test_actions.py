"""What may or may not have happened: listed, settled by a person, and recorded."""

import asyncio
import json
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.fakes import nobody
from tests.cli.store_bench import Place, place, send
from tests.engine.builders import FakeTool
from tests.http.site import TOKENS, Site, site
from tests.waiting import HANG_SECONDS

from pollux import Approve, PolluxError, tool
from pollux.bootstrap import Fixed, open_store
from pollux.cli import main
from pollux.core.ids import UserId
from pollux.core.messages import JSON
from pollux.core.policy import Rule
from pollux.core.profile import Profile
from pollux.core.tools import ToolContext
from pollux.dispatch.local import LocalDispatcher
from pollux.engine import queries
from pollux.engine.engine import Engine, Start
from pollux.engine.queries import Queries
from pollux.sdk.events import ApprovalRequired
from pollux.sdk.setup import USER
from pollux.testing import FakeClock, ScriptedModel, call, calls, fail, reply, scripted

__all__ = ["place"]

JUNK = [
    "",
    "act_",
    "act_nobody",
    "act_1_1.0",
    "apr_1_1.0",
    "act_\n\x1b[31m_1.0",
    "act_\udcff_1.0",
    "act_" + "a" * 10_000,
]


@tool(side_effect=True, subjects=lambda args: args["to"], preview=lambda args: f"Post to {args['to']}")
def post(to: str) -> str:
    """Post a letter."""
    raise ConnectionResetError


def yes(question: ApprovalRequired) -> Approve:
    return Approve()


async def posted(place: Place, to: str = "bob") -> str:
    """An action of which nobody knows what became of it; the result is its id."""
    async with place.agent(call("post", {"to": to}), tools=[post], on_approval=yes) as agent:
        with pytest.raises(PolluxError, match="may or may not"):
            await agent.send(f"Post it to {to}")
    return place.data("actions", "list", "--json")["items"][0]["id"]


async def sent(place: Place) -> str:
    """An action that went well."""
    async with place.agent(call("send", {"to": "bob"}), reply("Sent."), tools=[send], on_approval=yes) as agent:
        await agent.send("Mail Bob")
    return place.data("audit", "list", "--json")["items"][-1]["actionId"]


# Listing.


async def test_what_may_have_happened_is_listed_with_what_can_be_done(place: Place):
    action = await posted(place)
    done = place.pollux("actions", "list")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{action}  post, begun 2")
    assert "    to bob\n    Post to bob\n" in done.stdout
    assert "may or may not have happened" in done.stdout
    assert f"pollux actions settle {action} --done, or --not-done" in done.stdout


async def test_it_is_listed_for_programs(place: Place):
    action = await posted(place)
    (item,) = place.data("actions", "list", "--json")["items"]
    assert (item["id"], item["status"], item["errorCode"]) == (action, "failed", "outcome_unknown")
    assert (item["tool"], item["args"], item["subjects"], item["preview"]) == (
        "post",
        {"to": "bob"},
        ["bob"],
        "Post to bob",
    )
    assert item["runId"].startswith("run_") and item["sessionId"].startswith("thr_") and item["cwd"] == str(place.cwd)
    assert item["startedAt"] <= item["endedAt"] <= time.time()


async def test_the_newest_come_first_and_no_more_than_was_asked_for(place: Place):
    ids = [await posted(place, to) for to in ("ada", "bob", "eve")]
    listed = [item["id"] for item in place.data("actions", "list", "--json")["items"]]
    assert listed == ids[::-1]
    assert [item["id"] for item in place.data("actions", "list", "--json", "--limit", "2")["items"]] == ids[:0:-1]


async def test_several_of_one_run_are_several(place: Place):
    steps = calls(("post", {"to": "ada"}), ("post", {"to": "bob"}))
    async with place.agent(steps, tools=[post], on_approval=yes) as agent:
        with pytest.raises(PolluxError, match="may or may not"):
            await agent.send("Post both")
    items = place.data("actions", "list", "--json")["items"]
    assert [item["args"]["to"] for item in items] == ["bob", "ada"]
    assert place.data("actions", "list", "--json", "--limit", "1")["items"] == items[:1]


async def test_what_went_well_is_not_listed(place: Place):
    await sent(place)
    done = place.pollux("actions", "list")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "pollux: there is no action whose outcome is unknown\n"


async def test_a_recipient_cannot_give_orders_to_the_terminal(place: Place):
    await posted(place, "\x1b]0;owned\x07\u202ebob")
    done = place.pollux("actions", "list")
    assert "\x1b" not in done.stdout and "\u202e" not in done.stdout
    assert r"to \x1b]0;owned\x07\u202ebob" in done.stdout


async def test_what_was_erased_is_not_listed(place: Place):
    await posted(place)
    (item,) = place.data("actions", "list", "--json")["items"]
    assert place.pollux("sessions", "delete", item["sessionId"], "--yes").returncode == 0
    assert place.data("actions", "list", "--json") == {"items": []}
    assert place.pollux("actions", "settle", item["id"], "--done").returncode == 1


async def unknown(place: Place, user: str = USER, **options: Any) -> list[str]:
    store = open_store(place.settings())
    await store.open()
    try:
        return [question.action.id for question in await Queries(store).unknown(UserId(user), **options)]
    finally:
        await store.close()


async def test_it_is_found_behind_pages_of_others_but_not_beyond_the_bound(
    place: Place, monkeypatch: pytest.MonkeyPatch
):
    action = await posted(place)
    async with place.agent(*[fail("bad_request")] * 4) as agent:
        for _ in range(4):
            with pytest.raises(PolluxError):
                await agent.send("Fail")
    monkeypatch.setattr(queries, "PAGE", 2)
    assert await unknown(place) == [action]
    monkeypatch.setattr(queries, "MOST_RUNS", 4)
    # Of runs that are known to hold none, any number may come before it.
    assert await unknown(place) == [action]
    db = sqlite3.connect(place.store, isolation_level=None)
    db.execute("UPDATE runs SET told = 0")
    db.close()
    assert await unknown(place) == []


async def test_a_run_that_was_stopped_may_leave_one_behind(place: Place):
    clock, began = FakeClock(), asyncio.Event()

    async def hold(context: ToolContext, args: dict[str, JSON]) -> object:
        began.set()
        return await asyncio.Event().wait()

    engine = Engine(
        store=open_store(place.settings()),
        providers=Fixed(scripted(call("hold"))),
        tools=[FakeTool("hold", body=hold, side_effect=True, repeat="once")],
        profiles={"default": Profile(tools=("hold",))},
        rules=[Rule("allow")],
        clock=clock,
        dispatcher=LocalDispatcher(clock),
    )
    async with engine:
        run = await engine.start(Start("Hold", user=USER, door="cli", origin=str(place.cwd)))
        async with asyncio.timeout(HANG_SECONDS):
            await began.wait()
        await engine.cancel(run.id, by=USER, user=USER)
        run = await engine.wait_settled(run.id, seconds=HANG_SECONDS)
    assert run.status == "cancelled"
    assert await unknown(place) == [run.actions[0].id]
    assert await unknown(place, "somebody") == []


# Settling.


@pytest.mark.parametrize(
    ("word", "status", "code", "said"),
    [("--done", "completed", None, "settled as done by local"),
     ("--not-done", "failed", "not_done", "settled as not done by local")],
)  # fmt: skip
async def test_a_persons_word_is_what_it_is_from_then_on(
    place: Place, word: str, status: str, code: str | None, said: str
):
    first, second = await posted(place), await posted(place, "eve")
    done = place.pollux("actions", "settle", first, word)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{first}  post, {status}: {said}\n", "")
    told = place.data("actions", "settle", second, word, "--json")
    assert (told["id"], told["status"], told["errorCode"], told["message"]) == (second, status, code, said)
    assert place.data("actions", "list", "--json") == {"items": []}


async def test_a_persons_word_is_in_the_audit(place: Place):
    action = await posted(place)
    place.pollux("actions", "settle", action, "--done")
    last = place.data("audit", "list", "--json")["items"][-1]
    assert (last["kind"], last["actionId"], last["by"]) == ("settled", action, "local")
    assert place.pollux("audit", "verify").returncode == 0


async def test_it_is_settled_once(place: Place):
    action = await posted(place)
    place.pollux("actions", "settle", action, "--done")
    again = place.pollux("actions", "settle", action, "--not-done")
    assert (again.returncode, again.stdout) == (1, "")
    assert "it was settled as done by local" in again.stderr
    entries = place.data("audit", "list", "--json")["items"]
    assert [entry["kind"] for entry in entries].count("settled") == 1


async def test_what_went_well_has_nothing_to_settle(place: Place):
    action = await sent(place)
    done = place.pollux("actions", "settle", action, "--not-done")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"that of {action} is not: it is completed" in done.stderr


async def test_what_waits_has_nothing_to_settle(place: Place):
    action = (await place.waiting()).replace("apr_", "act_")
    done = place.pollux("actions", "settle", action, "--done")
    assert (done.returncode, done.stdout) == (1, "")
    assert "it is awaiting_confirmation" in done.stderr


async def test_somebody_elses_looks_like_one_that_is_not_there(place: Place, monkeypatch: pytest.MonkeyPatch):
    action = await posted(place)
    monkeypatch.setattr("pollux.sdk.setup.USER", UserId("eve"))
    done = place.pollux("actions", "settle", action, "--done")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"there is no action {action!r}" in done.stderr
    monkeypatch.undo()


@pytest.mark.parametrize("junk", JUNK)
@pytest.mark.parametrize("is_remote", [False, True])
def test_junk_names_no_action(place: Place, monkeypatch: pytest.MonkeyPatch, junk: str, is_remote: bool):
    monkeypatch.setenv("POLLUX_TOKEN", "token-0123456789")
    with nobody() as url:
        done = place.pollux("actions", "settle", junk, "--done", *(["--server", url] if is_remote else []))
    assert (done.returncode, done.stdout) == (1, "")
    plain = junk in ("act_", "act_nobody", "act_1_1.0")
    assert ("cannot be reached" if is_remote and plain else "there is no action '") in done.stderr
    assert len(done.stderr) < 500 and done.stderr.count("\n") == 1 and done.stderr[:-1].isprintable()


@pytest.mark.parametrize(
    "words",
    [[], ["settle"], ["settle", "act_1"], ["settle", "--done"], ["settle", "act_1", "--done", "--not-done"],
     ["settle", "act_1", "--don"], ["settle", "act_1", "act_2", "--done"], ["list", "--limit", "0"], ["undo"],
     ["settle", "act_1", "--done", "--store", "nowhere.db"]],
)  # fmt: skip
def test_a_wrong_command_is_a_usage_error(place: Place, words: list[str]):
    done = place.pollux("actions", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr and "Traceback" not in done.stderr


async def test_the_program_itself_settles_without_a_key(place: Place):
    action = await posted(place)
    done = place.process("actions", "settle", action, "--done", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["status"] == "completed"


def test_help_is_given_with_examples_and_without_an_event_loop(place: Place):
    told = """
import sys
from pollux.cli.actions import main
try:
    main(["--help"])
except SystemExit as end:
    assert end.code == 0
assert "asyncio" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", told],
        capture_output=True,
        text=True,
        timeout=2 * HANG_SECONDS,
        cwd=place.cwd,
        env=place.environ,
    )
    assert done.returncode == 0, done.stderr
    assert "usage: pollux actions" in done.stdout and "examples:" in done.stdout


# On a server.


def posting() -> tuple[ScriptedModel, FakeTool]:
    async def broken(context: ToolContext, args: dict[str, JSON]) -> object:
        raise ConnectionResetError

    spec: dict[str, Any] = {"side_effect": True, "default_approval": "not_required", "repeat": "once"}
    return scripted(call("post")), FakeTool("post", body=broken, **spec)


async def settled(here: Site, path: Path, monkeypatch: pytest.MonkeyPatch, *words: str, who: str = "ada") -> int:
    """The command, in a thread: the server is in this loop."""
    monkeypatch.setenv("POLLUX_HOME", str(path / "elsewhere"))
    monkeypatch.setenv("POLLUX_TOKEN", TOKENS.get(who, who))
    return await asyncio.to_thread(main, ["actions", "settle", *words, "--server", here.url])


@pytest.mark.parametrize(
    ("word", "now"), [("--done", "completed: settled as done"), ("--not-done", "failed: settled as not done by ada")]
)
async def test_what_became_of_it_is_told_to_a_server_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], word: str, now: str
):
    model, post = posting()
    async with site(tmp_path, model, tools=[post]) as here:
        action = (await here.ada.run("post"))["actions"][0]["id"]
        assert await settled(here, tmp_path, monkeypatch, action, word, who="bob") == 1
        assert "there is no run" in capfd.readouterr().err
        assert await settled(here, tmp_path, monkeypatch, action, word) == 0
        assert capfd.readouterr().out == f"{action}  post, {now}\n"
        assert await settled(here, tmp_path, monkeypatch, action, word) == 1
        told = capfd.readouterr()
        assert (told.out, "unknown outcome" in told.err) == ("", True)
        (entry, *_) = (await here.ada.get("/api/agent/audit")).body["items"]
        assert (entry["kind"], entry["by"]) == ("settled", "ada")


async def test_a_server_tells_programs_what_it_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    model, post = posting()
    async with site(tmp_path, model, tools=[post]) as here:
        run = await here.ada.run("post")
        assert await settled(here, tmp_path, monkeypatch, run["actions"][0]["id"], "--not-done", "--json") == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["state"], told["errorCode"], told["runId"]) == ("failed", "not_done", run["runId"])
