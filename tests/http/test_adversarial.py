"""What a patient adversary tries: several servers on one store, races of everything with everything, a configuration
that changes while people think, a store in trouble, and HTTP that is almost HTTP."""

import asyncio
import fcntl
import json
import os
import random
import resource
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.engine.builders import FakeTool
from tests.http.scenes import LOCKED, MAIL, mail, refused, settled
from tests.http.site import TOKENS, Got, Person, Process, Site, process, site
from tests.http.test_serve import models
from tests.waiting import HANG_SECONDS, until

from pollux.core.policy import Rule
from pollux.core.profile import Limits, Profile
from pollux.engine.model import ModelEvent, ModelInfo, ModelRequest
from pollux.providers.scripted import ScriptedProvider
from pollux.stores.memory import MemoryStore
from pollux.stores.sqlite import SqliteStore
from pollux.testing import FakeClock, call, reply
from pollux.testing import scripted as model

RUN = "/api/agent/run"
PENDING = "/api/agent/approvals/pending"
BODY = b'{"prompt":"hello"}'
LETTER = 'call demo_mail {"to": "bob@example.com", "subject": "Report", "body": "Ready."}'
OTHER = {"to": "carl@example.com"}
LIFE = 100.0
"""Seconds until a question runs out."""


def stored(path: Path) -> SqliteStore:
    return SqliteStore(path / "pollux.db", key=b"k" * 32)


def outbox(path: Path) -> list[dict[str, Any]]:
    file = path / "home" / "outbox.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


# HTTP that is almost HTTP.


async def spoken(here: Site, *pieces: bytes, answers: int = 1) -> list[tuple[int, dict[str, Any]]]:
    """What is answered to these bytes on one connection, piece by piece."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(here.url.rpartition(":")[2]))
    told: list[tuple[int, dict[str, Any]]] = []
    try:
        async with asyncio.timeout(HANG_SECONDS):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            while len(told) < answers:
                head = await reader.readuntil(b"\r\n\r\n")
                lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                body = await reader.readexactly(int(lengths[0].partition(b":")[2])) if lengths else b"{}"
                told.append((int(head.split()[1]), json.loads(body)))
    finally:
        writer.close()
    return told


def head(line: str, *headers: str, token: str | None = TOKENS["ada"]) -> bytes:
    own = ["Host: 127.0.0.1", *([f"Authorization: Bearer {token}"] if token else [])]
    return "\r\n".join([f"{line} HTTP/1.1", *own, *headers, "", ""]).encode()


def chunked(*trailers: str) -> bytes:
    return b"%x\r\n%b\r\n0\r\n" % (len(BODY), BODY) + "".join(f"{each}\r\n" for each in (*trailers, "")).encode()


CHUNKED, H2C = "Transfer-Encoding: chunked", ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c")
SESSION = head("GET /api/session")


async def test_a_credential_behind_the_body_is_none(tmp_path: Path):
    async with site(tmp_path, model()) as here:
        request = head(f"POST {RUN}", CHUNKED, token=None) + chunked(f"Authorization: Bearer {TOKENS['ada']}")
        ((status, answer),) = await spoken(here, request)
        assert (status, answer["error"]["code"]) == (401, "auth_error")
        assert (await here.ada.get("/api/agent/runs")).body["items"] == []


async def test_nothing_behind_the_body_counts_as_a_header(tmp_path: Path):
    async with site(tmp_path, model(reply("One."), reply("Two."))) as here:
        request = head(f"POST {RUN}", CHUNKED) + chunked("Idempotency-Key: k", "Origin: https://evil.example")
        (first, one), (second, two) = await spoken(here, request, request, answers=2)
    assert (first, second) == (200, 200) and one["runId"] != two["runId"]


@pytest.mark.parametrize("offer", [H2C, ("Connection: upgrade", "Upgrade: websocket")])
@pytest.mark.parametrize("form", ["whole", "chunked"])
async def test_an_offer_of_another_protocol_is_passed_over_and_its_body_read(
    tmp_path: Path, offer: Sequence[str], form: str
):
    # Java's client makes one with the first request of every connection.
    if form == "whole":
        request = head(f"POST {RUN}", *offer, f"Content-Length: {len(BODY)}") + BODY
    else:
        request = head(f"POST {RUN}", *offer, CHUNKED) + chunked("X-Trailer: x")
    async with site(tmp_path, model(*[reply("Hello.")] * 2)) as here:
        told = await spoken(here, request + SESSION + request, answers=3)
    assert [status for status, _ in told] == [200, 200, 200]
    assert (told[0][1]["summary"], told[1][1]["user"], told[2][1]["summary"]) == ("Hello.", "ada", "Hello.")


async def test_the_body_behind_such_an_offer_is_never_taken_for_a_request(tmp_path: Path):
    inner = head("GET /api/agent/runs")
    start = head(f"POST {RUN}", *H2C, f"Content-Length: {len(inner)}")
    async with site(tmp_path, model()) as here:
        for pieces in ([start + inner + SESSION], [start, inner, SESSION], [start, inner[:9], inner[9:] + SESSION]):
            (status, refusal), (after, session) = await spoken(here, *pieces, answers=2)
            assert (status, refusal["error"]["code"]) == (400, "invalid")
            assert (after, session["user"]) == (200, "ada")


async def test_a_thousand_such_offers_at_once_are_answered_one_by_one(tmp_path: Path):
    async with site(tmp_path, model(), burst=2_000) as here:
        told = await spoken(here, head("GET /api/session", *H2C) * 1_000, answers=1_000)
    assert {status for status, _ in told} == {200}


async def test_who_wants_the_head_of_a_stream_alone_can_go_on_with_the_connection(tmp_path: Path):
    async with site(tmp_path, model(call("send_mail", MAIL)), tools=[mail()]) as here:
        run = await here.ada.run("email Bob")
        told = await spoken(here, head(f"HEAD /api/agent/runs/{run['runId']}/events"), SESSION, answers=2)
    assert [status for status, _ in told] == [200, 200] and told[1][1]["user"] == "ada"


async def test_a_prompt_sent_twice_without_waiting_is_two_runs_and_with_one_key_it_is_one(tmp_path: Path):
    size = f"Content-Length: {len(BODY)}"
    async with site(tmp_path, model(*[reply("Hello.")] * 4)) as here:
        plain = await spoken(here, (head(f"POST {RUN}", size) + BODY) * 2, answers=2)
        keyed = await spoken(here, (head(f"POST {RUN}", size, "Idempotency-Key: k") + BODY) * 3, answers=3)
    assert len({answer["runId"] for _, answer in plain}) == 2
    assert len({answer["runId"] for _, answer in keyed}) == 1


async def test_what_a_proxy_may_have_added_changes_neither_who_asks_nor_what(tmp_path: Path):
    added = ["X-Forwarded-User: bob", "X-Forwarded-Host: evil.example", "X-Forwarded-Proto: https"]
    added += ["Forwarded: for=192.0.2.1;host=evil.example", "X-HTTP-Method-Override: DELETE", "X-Original-URL: /"]
    async with site(tmp_path, model()) as here:
        assert await spoken(here, head("GET /api/session", *added)) == await spoken(here, SESSION)


# What a new user gets wrong.


@pytest.mark.parametrize(
    ("path", "body", "hint"),
    [
        (RUN, b"", "it is empty"),
        (RUN, b'{"message":"hello"}', "Known: prompt, threadId, profile, supersede"),
        (RUN, b"{'prompt':'hello'}", "double quotes"),
        (RUN, b'{"prompt":"hello"," - at Invalid enum value `$.threadId":1}', "does not fit"),
        ("/api/agent/approvals/resolve", b'{"approvalId":"a","decision":"approve"}', "Expected one of: reject, appro"),
    ],
)
async def test_a_refusal_says_what_would_have_been_taken(tmp_path: Path, path: str, body: bytes, hint: str):
    async with site(tmp_path, model()) as here:
        assert hint in refused(await here.ada.send("POST", path, raw=body), 400, "invalid")["message"]


async def test_a_token_with_a_line_break_and_tls_are_told_where_to_look(tmp_path: Path):
    async with site(tmp_path, model()) as here:
        for said in (head("GET /api/session", token=f"{TOKENS['ada']}\r"), b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03"):
            ((status, answer),) = await spoken(here, said)
            assert status == 400
            assert "https" in answer["error"]["message"] and "line break" in answer["error"]["message"]


async def test_before_the_first_message_there_is_none(tmp_path: Path):
    async with site(tmp_path, model(reply("Hello."))) as here:
        run = await here.ada.run("hello")
        for before in (0, 1):
            got = await here.ada.get(f"/api/agent/threads/{run['threadId']}/messages?before={before}")
            assert (got.body["items"], got.body["next"]) == ([], None)


# Everything at once.


class Obedient:
    """A model that writes to Bob whenever it is asked anything, and is content with what comes of it."""

    name = "obedient"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        step = reply("So be it.") if request.turns[-1].role == "tool" else call("send_mail", MAIL)
        async for event in ScriptedProvider(step).stream(request):
            yield event

    async def count_tokens(self, request: ModelRequest) -> int:
        return 1

    async def models(self) -> tuple[ModelInfo, ...]:
        return ()

    async def close(self) -> None: ...


class Crowd:
    """People who do what they like with one run, all at once."""

    def __init__(self, here: Site, clock: FakeClock, dice: random.Random) -> None:
        self._here, self._clock, self._dice = here, clock, dice
        self.seen: list[Got] = []

    async def fall_upon(self, run: dict[str, Any], number: int) -> None:
        ada, run_id, thread = self._here.ada, run["runId"], f"/api/agent/threads/{run['threadId']}"
        approval = run["approvals"][0]["id"]
        again = {"prompt": "go", "threadId": run["threadId"], "supersede": True}
        deeds = [
            lambda: ada.resolve(approval),
            lambda: ada.resolve(approval, query="?wait=0"),
            lambda: ada.resolve(approval, "approve_and_always_allow_recipient"),
            lambda: ada.resolve(approval, "reject", feedback="No."),
            lambda: ada.post(f"/api/agent/approvals/{approval}/edit", {"args": OTHER}),
            lambda: ada.post(f"/api/agent/runs/{run_id}/cancel"),
            lambda: ada.send("DELETE", thread),
            lambda: ada.send("PATCH", thread, {"title": "Mail"}),
            lambda: ada.post(RUN, again),
            lambda: ada.post(RUN, again, {"Idempotency-Key": f"key-{number}"}),
            lambda: ada.get(PENDING),
            self._let_time_pass,
            self._revoke_all,
        ]
        chosen = self._dice.choices(deeds, k=self._dice.randint(2, 7))
        async with asyncio.timeout(HANG_SECONDS):
            self.seen += [got for got in await asyncio.gather(*(deed() for deed in chosen)) if got]
        await self._revoke_all()

    async def _let_time_pass(self) -> None:
        self._clock.advance(self._dice.choice([LIFE - 0.001, LIFE, LIFE + 0.001]))

    async def _revoke_all(self) -> None:
        for grant in (await self._here.ada.get("/api/agent/grants")).body["items"]:
            await self._here.ada.send("DELETE", f"/api/agent/grants/{grant['id']}")


@pytest.mark.parametrize("rounds", [60, pytest.param(2_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_whatever_people_do_at_once_an_action_runs_once_and_every_run_ends_or_waits(
    tmp_path: Path, kind: str, rounds: int
):
    tool, clock, dice = mail(), FakeClock(), random.Random(rounds)
    store = stored(tmp_path) if kind == "sqlite" else MemoryStore()
    limits = Limits(model_calls=3, approval_seconds=LIFE)
    default = Profile(tools=("send_mail",), limits=limits)
    profiles = {"default": default, "strict": replace(default, name="strict", on_reject="fail")}
    async with site(
        tmp_path, Obedient(), tools=[tool], store=store, clock=clock, profiles=profiles, burst=10**6
    ) as here:
        crowd = Crowd(here, clock, dice)
        for number in range(rounds):
            run = await here.ada.run("go", profile=dice.choice(list(profiles)))
            await crowd.fall_upon(run, number)
            for row in (await here.ada.get("/api/agent/runs?limit=10")).body["items"]:
                if row["state"] in ("planning", "executing"):
                    await settled(here, row["runId"])
        assert (await here.ada.get("/api/agent/audit/verify")).body["valid"] is True
    assert len(tool.ran) == len({key for key, _ in tool.ran}) > 0
    assert {got.status for got in crowd.seen} <= {200, 201, 404, 409}


# Several servers on one store.


@asynccontextmanager
async def pair(path: Path, *, silent: int) -> AsyncGenerator[tuple[Process, Process, Person, Person]]:
    """Two servers, and the same person at each. So many counts fall silent after a few numbers."""
    scenario = [{"match": {"contains": "count to 300"}, "fault": "idle;after=3", "times": silent}]
    async with (
        models(scenario) as (_, environ),
        process(path, **environ) as one,
        process(path, **environ) as two,
        aiohttp.ClientSession() as http,
    ):
        yield one, two, Person(http, one.url, TOKENS["ada"]), Person(http, two.url, TOKENS["ada"])


async def under_way(person: Person) -> dict[str, Any]:
    """The run that is being answered."""
    found: list[dict[str, Any]] = []

    async def is_there() -> bool:
        found[:] = [each for each in (await person.get("/api/agent/runs")).body["items"] if each["state"] == "planning"]
        return bool(found)

    await until(is_there)
    return found[0]


@pytest.mark.slow
async def test_what_one_server_began_another_watches_answers_stops_and_replaces(tmp_path: Path):
    async with pair(tmp_path, silent=2) as (_, _, ada, same):
        run = await ada.run(LETTER)
        watching = asyncio.create_task(ada.lines("GET", f"/api/agent/runs/{run['runId']}/events"))
        got = await asyncio.gather(*(who.resolve(run["approvals"][0]["id"]) for who in (ada, same) * 4))
        assert sorted(each.status for each in got) == [200] + [409] * 7
        async with asyncio.timeout(HANG_SECONDS):
            assert (await watching)[-1]["type"] == "RunCompleted"

        key = {"Idempotency-Key": "k"}
        begun = await asyncio.gather(*(who.post(RUN, {"prompt": "say hi"}, key) for who in (ada, same) * 4))
        assert {each.status for each in begun} == {200} and len({each.body["runId"] for each in begun}) == 1

        counting = asyncio.create_task(ada.stream("count to 300"))
        stopped = await same.post(f"/api/agent/runs/{(await under_way(same))['runId']}/cancel")
        assert stopped.body["state"] == (await counting)[-1]["result"]["state"] == "cancelled"

        counting = asyncio.create_task(ada.stream("count to 300"))
        thread = (await under_way(same))["threadId"]
        assert (await same.run("say new", threadId=thread, supersede=True))["summary"] == "new"
        assert (await counting)[-1]["result"]["state"] == "cancelled"
        assert (await same.get("/api/agent/audit/verify")).body["valid"] is True
    assert len(outbox(tmp_path)) == 1


@pytest.mark.slow
async def test_while_one_server_is_frozen_another_serves_what_it_left(tmp_path: Path):
    async with pair(tmp_path, silent=1) as (one, _, ada, same):
        run = await ada.run(LETTER)
        counting = asyncio.create_task(ada.stream("count to 300"))
        busy = await under_way(same)
        one.popen.send_signal(signal.SIGSTOP)
        try:
            after = (await same.resolve(run["approvals"][0]["id"])).body["run"]
            assert after["status"] == "completed"
            assert (await same.run("say new", threadId=busy["threadId"], supersede=True))["summary"] == "new"
        finally:
            one.popen.send_signal(signal.SIGCONT)
        assert (await counting)[-1]["result"]["state"] == "cancelled"
        # Back again, it knows what happened meanwhile.
        refused(await ada.resolve(run["approvals"][0]["id"]), 409, "already_resolved")
    assert len(outbox(tmp_path)) == 1


def command(path: Path, environ: dict[str, str], *words: str) -> "subprocess.CompletedProcess[str]":
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "pollux.cli", *words],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, cwd=path, check=False,
        env={**kept, "HOME": str(path), "POLLUX_HOME": str(path / "home"), **environ},
    )  # fmt: skip


@pytest.mark.slow
async def test_what_the_command_line_asks_is_answered_over_http_and_gone_on_with_there(tmp_path: Path):
    prompt = 'call write_file {"path": "x.txt", "content": "hello"}'
    async with (
        models() as (_, environ),
        process(tmp_path, POLLUX_TOKENS="", **environ) as serving,
        aiohttp.ClientSession() as http,
    ):
        owner = Person(http, serving.url, (tmp_path / "home" / "token").read_text().strip())
        asked = await asyncio.to_thread(command, tmp_path, environ, "run", "--output-format", "json", prompt)
        assert asked.returncode == 3
        (question,) = (await owner.get(PENDING)).body["items"]
        assert (await owner.resolve(question["id"])).body["status"] == "approved"
        # The server has none of the command line's tools: it records, and leaves the rest.
        assert not (tmp_path / "x.txt").exists()
        resumed = await asyncio.to_thread(command, tmp_path, environ, "sessions", "resume", question["threadId"])
        assert resumed.returncode == 0
        assert (tmp_path / "x.txt").read_text() == "hello"
        assert (await owner.get(f"/api/agent/runs/{question['runId']}")).body["status"] == "completed"


# A configuration that changes while people think.


async def answered_under(path: Path, *, tool: FakeTool | None, rules: Sequence[Rule] = (), offers: bool = True) -> Got:
    """A question asked by one server and approved at the next, which has other tools, rules or profiles."""
    async with site(path, model(call("send_mail", MAIL)), tools=[mail()], store=stored(path)) as here:
        run = await here.ada.run("email Bob")
    names = ("send_mail",) if offers else ()
    async with site(
        path,
        model(reply("So be it.")),
        tools=[tool] if tool else [],
        profiles={"default": Profile(tools=names, limits=Limits(model_calls=3))},
        rules=rules,
        store=stored(path),
    ) as here:
        return await here.ada.resolve(run["approvals"][0]["id"])


def said_of_nothing(got: Got) -> str:
    """The action's code, where the answer says that the approval came to nothing: a conflict, never a completed run."""
    error, action = got.body["error"], got.body["error"]["outcome"]["action"]
    assert (got.status, error["code"]) == (409, "policy_changed"), got.body
    assert "nothing ran" in error["message"]
    assert action["state"] == "rejected"
    return action["errorCode"]


async def test_what_was_approved_does_not_run_once_its_tool_is_gone_or_another(tmp_path: Path):
    changed = FakeTool("send_mail", schema={**LOCKED, "required": ["to", "body"]}, side_effect=True, repeat="keyed")
    for number, (tool, code) in enumerate(((None, "policy_changed"), (changed, "superseded"))):
        (place := tmp_path / str(number)).mkdir()
        got = await answered_under(place, tool=tool)
        assert said_of_nothing(got) == code
    assert changed.ran == []


async def test_what_was_approved_does_not_run_once_a_rule_forbids_it(tmp_path: Path):
    tool = mail()
    got = await answered_under(tmp_path, tool=tool, rules=[Rule("deny", tool="send_mail")])
    assert (said_of_nothing(got), tool.ran) == ("policy_changed", [])


async def test_what_was_approved_does_not_run_once_the_profile_has_lost_the_tool(tmp_path: Path):
    tool = mail()
    got = await answered_under(tmp_path, tool=tool, offers=False)
    assert (said_of_nothing(got), tool.ran) == ("policy_changed", [])


@pytest.mark.slow
async def test_a_workspace_nobody_accepted_gives_no_rights_and_may_take_some(tmp_path: Path):
    file = tmp_path / "pollux.toml"
    widening = '[[rules]]\ndecision = "allow"\ntool = "demo_mail"\n[profiles.wide]\ntools = ["demo_mail"]\n'
    async with models() as (_, environ), aiohttp.ClientSession() as http:
        file.write_text(f'{widening}[serve]\nhost = "0.0.0.0"\n')
        async with process(tmp_path, **environ) as serving:
            ada = Person(http, serving.url, TOKENS["ada"])
            assert serving.url.startswith("http://127.0.0.1:")
            assert (await ada.run(LETTER))["status"] == "awaiting_confirmation"
            refused(await ada.post(RUN, {"prompt": LETTER, "profile": "wide"}), 404, "not_found")
        file.write_text('[[rules]]\ndecision = "deny"\ntool = "demo_mail"\n')
        async with process(tmp_path, **environ) as serving:
            assert (await Person(http, serving.url, TOKENS["ada"]).run(LETTER))["approvals"] == []
    assert outbox(tmp_path) == []


# A store in trouble, and a server about to end.


async def test_a_damaged_store_is_told_without_its_place_and_used_again_once_it_is_mended(tmp_path: Path):
    file = tmp_path / "pollux.db"
    async with site(tmp_path, model(reply("One.")), store=stored(tmp_path)) as here:
        await here.ada.run("one")
    sound = file.read_bytes()
    async with site(tmp_path, model(reply("Two.")), store=stored(tmp_path)) as here:
        file.write_bytes(b"damaged!" * 1_024)
        for path in (RUN, f"{RUN}/stream"):
            error = refused(await here.ada.post(path, {"prompt": "two"}), 503, "store_error")
            assert str(tmp_path) not in json.dumps(error)
        file.write_bytes(sound)
        assert (await here.ada.run("two"))["summary"] == "Two."


async def test_a_server_whose_store_takes_no_writes_is_not_ready(tmp_path: Path):
    async with site(tmp_path, model(), store=stored(tmp_path)) as here:
        with (tmp_path / "pollux.db.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            refused(await here.nobody.get("/readyz"), 503, "store_error")


@pytest.mark.slow
async def test_a_start_on_a_full_disk_leaves_nothing_behind(tmp_path: Path):
    async with process(tmp_path, POLLUX_TOKENS="") as serving:
        await serving.stop()
    (tmp_path / "home" / "token").unlink()
    before = sorted(os.listdir(tmp_path / "home"))
    ended = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "pollux.cli", "serve", "--port", "0"],
        env={**os.environ, "HOME": str(tmp_path), "POLLUX_HOME": str(tmp_path / "home")},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=tmp_path,
        timeout=60,
    )
    assert ended.returncode in (1, 2)
    assert b"Traceback" not in ended.stderr
    # SQLite leaves files of its own beside the store; drafts of keys and tokens are ours.
    ours = [name for name in os.listdir(tmp_path / "home") if not name.startswith("pollux.db-")]
    assert sorted(ours) == before


async def test_who_asks_a_server_that_has_closed_its_store_hears_that_it_is_stopping(tmp_path: Path):
    async with site(tmp_path, model(call("send_mail", MAIL)), tools=[mail()], store=stored(tmp_path)) as here:
        run = await here.ada.run("email Bob")
        await here.engine.close()
        for got in (
            await here.ada.get("/api/agent/runs"),
            await here.ada.get(f"/api/agent/runs/{run['runId']}/events"),
            await here.ada.resolve(run["approvals"][0]["id"]),
            await here.ada.post(f"/api/agent/runs/{run['runId']}/cancel"),
            await here.ada.post(RUN, {"prompt": "hello"}),
        ):
            refused(got, 503, "draining")
            assert got.headers["retry-after"]


# What piles up.


def held(serving: Process) -> tuple[int, int]:
    """Megabytes and files that a process has."""
    status = Path(f"/proc/{serving.popen.pid}/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(resident.split()[1]) // 1024, len(os.listdir(f"/proc/{serving.popen.pid}/fd"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("times", [1, pytest.param(25, marks=pytest.mark.soak)])
async def test_runs_watchers_and_guesses_leave_neither_memory_nor_files_behind(tmp_path: Path, times: int):
    config = tmp_path / "agents.toml"
    config.write_text("[serve]\nrequests_per_minute = 1000000\nburst = 1000000\n")
    async with models() as (_, environ), process(tmp_path, "--config", str(config), **environ) as serving:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=16)) as http:
            ada, nobody = Person(http, serving.url, TOKENS["ada"]), Person(http, serving.url)
            run = await ada.run(LETTER)

            async def watch() -> None:
                events = f"/api/agent/runs/{run['runId']}/events"
                async with ada.open("GET", events, headers={"Accept": "text/event-stream"}) as stream:
                    await stream.content.readline()
                    stream.close()

            async def turn() -> None:
                await asyncio.gather(*(ada.run(f"say {number}") for number in range(100)))
                await asyncio.gather(*(watch() for _ in range(100)))
                guesses = [nobody.post("/api/session/sign-in", {"token": f"guess-{n}"}) for n in range(50)]
                assert {got.status for got in await asyncio.gather(*guesses)} == {401}

            await turn()
            before, _ = held(serving)
            for _ in range(2 * times):
                await turn()

        async def has_let_go() -> bool:
            return held(serving)[1] < 40

        await until(has_let_go)
        assert held(serving)[0] - before < 16
        # Every connection is one: there is room for more than shells allow by themselves.
        soft, hard = resource.prlimit(serving.popen.pid, resource.RLIMIT_NOFILE)
        assert soft == hard or soft >= 65_536
