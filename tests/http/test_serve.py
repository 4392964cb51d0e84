"""`pollux serve` as an operator starts and stops it."""

import asyncio
import gc
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from tests.http.scenes import Held, refused, soon
from tests.http.site import TOKENS, Person, Process, free_port, process, settings_in, site
from tests.waiting import until

from pollux.asgi.listening import bound
from pollux.emulator import run_emulator
from pollux.emulator.server import Emulator
from pollux.testing import reply, scripted

pytestmark = pytest.mark.slow

FALLS_SILENT: list[dict[str, Any]] = [{"match": {"contains": "count to 200"}, "fault": "idle;after=3", "times": 1}]


@asynccontextmanager
async def models(scenario: object = None) -> AsyncGenerator[tuple[Emulator, dict[str, str]]]:
    """A model that speaks over HTTP, and the environment that leads to it."""
    async with run_emulator(scenario=scenario) as emulator:
        yield emulator, {"GEMINI_API_KEY": "demo", "GOOGLE_GEMINI_BASE_URL": emulator.url}


@asynccontextmanager
async def caller(serving: Process, token: str = "ada") -> AsyncGenerator[Person]:
    """Somebody who talks to that process."""
    async with aiohttp.ClientSession() as http:
        yield Person(http, serving.url, TOKENS.get(token, token))


def attempt(path: Path, *words: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """A start that is meant to fail."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "pollux.cli", "serve", *words],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, cwd=path, check=False,
        env={**kept, "HOME": str(path), "POLLUX_HOME": str(path / "home"), **environ},
    )  # fmt: skip


# Starting.


@pytest.mark.story
async def test_when_it_is_ready_it_says_so_in_one_line_and_its_log_never_holds_the_token(tmp_path: Path):
    async with process(tmp_path, POLLUX_TOKENS="") as first:
        file = tmp_path / "home" / "token"
        assert first.ready == {"ready": True, "url": first.url, "tokenFile": str(file)}
        assert first.url.startswith("http://127.0.0.1:")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        token = file.read_text().strip()
        await until(lambda: f"{first.url}; the token is in {file}" in first.talk)
        async with caller(first, token) as owner:
            assert (await owner.get("/api/session")).body["user"] == "local"
            assert (await owner.get("/healthz")).status == 200
            assert (await owner.get("/readyz")).status == 200
        async with caller(first, "") as nobody:
            health = await nobody.get("/healthz")
            assert (health.status, health.body["ok"], health.body["status"]) == (200, True, "alive")
            assert (await nobody.get("/readyz")).body["status"] == "ready"
            refused(await nobody.get("/api/session"), 401, "auth_error")
        assert await first.stop() == 0
        # Not a word more on standard output.
        assert first.popen.stdout is not None and first.popen.stdout.read() == b""

    async with process(tmp_path, POLLUX_TOKENS="") as second:
        assert file.read_text().strip() == token
        async with caller(second, token) as owner:
            assert (await owner.get("/api/session")).status == 200
        # The same for Ctrl+C.
        assert await second.stop(signal.SIGINT) == 0
        assert token not in second.talk


async def test_a_public_address_without_credentials_is_refused_and_with_them_it_is_served(tmp_path: Path):
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        ended = attempt(tmp_path, "--host", host, "--port", "0")
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "POLLUX_TOKENS" in ended.stderr and "Traceback" not in ended.stderr
    async with process(tmp_path, "--host", "0.0.0.0") as serving:
        assert "tokenFile" not in serving.ready and not (tmp_path / "home" / "token").exists()
        port = serving.url.rpartition(":")[2]
        async with aiohttp.ClientSession() as http:
            ada = Person(http, f"http://127.0.0.1:{port}", TOKENS["ada"])
            assert (await ada.get("/api/session")).body["user"] == "ada"
            # Other machines reach it: what there is, is for those who may call it.
            for person, status in ((Person(http, ada.url), 401), (ada, 200)):
                async with person.open("GET", "/openapi.json") as answer:
                    assert answer.status == status


def test_what_cannot_be_done_is_told_in_a_sentence_with_exit_code_2(tmp_path: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ended = attempt(tmp_path, "--port", port)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert f"127.0.0.1:{port}" in ended.stderr and "--port" in ended.stderr
        assert "Traceback" not in ended.stderr and len(ended.stderr.splitlines()) == 1
    for words in (["--port", "seven"], ["--port", "70000"], ["--nothing"], ["--config", "absent.toml"]):
        ended = attempt(tmp_path, *words)
        assert (ended.returncode, ended.stdout) == (2, ""), ended
        assert ended.stderr and "Traceback" not in ended.stderr


async def test_a_port_can_be_chosen_and_is_free_again_at_once_after_a_stop(tmp_path: Path):
    port = str(free_port())
    for _ in range(2):
        async with process(tmp_path, "--port", port) as serving:
            assert serving.url == f"http://127.0.0.1:{port}"
            async with caller(serving) as ada:
                assert (await ada.get("/healthz")).status == 200
                assert await serving.stop() == 0


async def test_small_answers_leave_at_once_and_do_not_wait_to_be_joined_by_others(tmp_path: Path):
    async def look(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection: socket.socket = writer.get_extra_info("socket")
        found.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    found: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    listener = bound(settings_in(tmp_path))
    async with await asyncio.start_server(look, sock=listener):
        _, writer = await asyncio.open_connection(*listener.getsockname())
        # Without it, every answer to a connection that is used again takes some forty milliseconds longer.
        assert await found != 0
        writer.close()


async def test_profiles_and_the_demo_mail_come_from_the_configuration(tmp_path: Path):
    (tmp_path / "agents.toml").write_text(
        '[profiles.strict]\ninstructions = "Be strict."\ntools = ["demo_mail"]\non_reject = "fail"\n'
    )
    prompt = 'call demo_mail {"to": "Bob@Example.com", "subject": "Report", "body": "Ready."}'
    outbox = tmp_path / "home" / "outbox.jsonl"
    async with models() as (emulator, environ), process(tmp_path, "--config", "agents.toml", **environ) as serving:
        async with caller(serving) as ada:
            run = await ada.run(prompt, profile="strict")
            assert run["approvals"][0]["args"]["to"] == "bob@example.com"
            after = (await ada.resolve(run["approvals"][0]["id"], "reject")).body["run"]
            assert (after["status"], after["errorCode"]) == ("failed", "rejected")

            run = await ada.run(prompt)
            assert not outbox.exists()
            assert (await ada.resolve(run["approvals"][0]["id"])).body["run"]["status"] == "completed"
            thread = f"/api/agent/threads/{run['threadId']}/messages"
            kinds = [each["kind"] for each in (await ada.get(thread)).body["items"]]
        assert len(outbox.read_text().splitlines()) == 1
        # Shown to people, never sent to the model.
        assert "notice" in kinds
        assert "Approval needed" not in json.dumps([each.body for each in emulator.requests], default=str)


# Stopping.

NAPS = """
import pathlib, time
from pollux import tool

@tool
def nap() -> str:
    \"\"\"Sleep where nobody can be woken, the first time.\"\"\"
    bed = pathlib.Path("bed")
    if not bed.exists():
        bed.touch()
        time.sleep(10_000)
    return "rested"
"""
PATIENT = """
import pollux.serve
from pollux import tool

pollux.serve.GRACE_SECONDS = 10_000.0

@tool
def wait() -> str:
    \"\"\"Nothing.\"\"\"
    return ""
"""
"""A server with this tool has all the time in the world when it is told to stop."""


@asynccontextmanager
async def held_back(upstream: str, words: bytes) -> AsyncGenerator[tuple[str, asyncio.Event]]:
    """The way to a model: an answer to these words stops after its first piece, until it is let go."""
    let_go = asyncio.Event()

    async def carry(request: web.Request) -> web.StreamResponse:
        asked = await request.read()
        own = {name: request.headers[name] for name in ("Content-Type", "x-goog-api-key")}
        async with http.post(upstream + request.path_qs, data=asked, headers=own) as answer:
            kind = {"Content-Type": answer.headers["Content-Type"]}
            response = web.StreamResponse(status=answer.status, headers=kind)
            await response.prepare(request)
            async for piece in answer.content.iter_any():
                await response.write(piece)
                if words in asked:
                    await let_go.wait()
        return response

    app = web.Application()
    app.router.add_route("POST", "/{path:.*}", carry)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    async with aiohttp.ClientSession() as http:
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}", let_go
        finally:
            await runner.cleanup()


async def test_told_to_stop_it_lets_go_of_its_streams_finishes_what_it_can_and_the_next_start_does_the_rest(
    tmp_path: Path,
):
    (tmp_path / "naps.py").write_text(NAPS)
    (tmp_path / "agents.toml").write_text('[tools.nap]\nuse = "naps:nap"\n')
    words = ("--config", "agents.toml")
    async with models(FALLS_SILENT) as (model, environ), held_back(model.url, b"count to 12") as (url, let_go):
        environ["GOOGLE_GEMINI_BASE_URL"] = url
        async with process(tmp_path, *words, **environ) as serving, caller(serving) as ada:
            asleep = asyncio.create_task(ada.stream("call nap {}"))
            await until((tmp_path / "bed").exists)
            long = asyncio.create_task(ada.stream("count to 200"))
            short = asyncio.create_task(ada.stream("count to 12"))
            waiting = asyncio.create_task(ada.post("/api/agent/run", {"prompt": "count to 12"}))
            await until(lambda: _are_under_way(ada, 4))
            stopping = asyncio.create_task(serving.stop())
            await until(lambda: _is_draining(ada))
            for path in ("/api/agent/run", "/api/agent/run/stream"):
                refused(await ada.post(path, {"prompt": "hello"}), 503, "draining")
            assert (await ada.get("/healthz")).status == 200

            let_go.set()
            *_, last = await short
            assert (last["type"], last["result"]["status"]) == ("result", "completed")
            assert (await waiting).body["status"] == "completed"
            left = [await asleep, await long]
            for first, *_, last in left:
                assert (last["type"], last["code"], last["runId"]) == ("error", "draining", first["runId"])
            # The tool sleeps for hours, and the model says nothing more: neither was waited for.
            assert await stopping == 0

        async with process(tmp_path, *words, **environ) as serving, caller(serving) as ada:
            summaries: list[str] = []
            for first, *_ in left:
                lines = await ada.lines("GET", f"/api/agent/runs/{first['runId']}/events")
                assert lines[-1]["type"] == "RunCompleted"
                summaries.append((await ada.get(f"/api/agent/runs/{first['runId']}")).body["summary"])
            assert "rested" in summaries[0]
            assert summaries[1].splitlines() == [str(n) for n in range(1, 201)]
            assert await serving.stop() == 0


async def _are_under_way(person: Person, number: int) -> bool:
    items = (await person.get("/api/agent/runs")).body["items"]
    return [each["state"] for each in items if each["state"] in ("planning", "executing")] == [
        *["planning"] * (number - 1),
        "executing",
    ]


async def _is_draining(person: Person) -> bool:
    got = await person.get("/readyz")
    if got.status == 200:
        return False
    refused(got, 503, "draining")
    assert got.headers["retry-after"]
    return True


async def test_told_to_stop_it_does_not_wait_for_those_who_only_watch_a_question(tmp_path: Path):
    (tmp_path / "patient.py").write_text(PATIENT)
    (tmp_path / "agents.toml").write_text('[tools.wait]\nuse = "patient:wait"\n')
    prompt = 'call demo_mail {"to": "bob@example.com", "subject": "Report", "body": "Ready."}'
    async with models() as (_, environ):
        async with process(tmp_path, "--config", "agents.toml", **environ) as serving, caller(serving) as ada:
            run = await ada.run(prompt)
            path = f"/api/agent/runs/{run['runId']}/events?after=4"
            async with ada.open("GET", path) as watching:
                await watching.content.readline()
                assert await serving.stop() == 0
                assert json.loads((await watching.read()).splitlines()[-1])["code"] == "draining"
        async with process(tmp_path, **environ) as serving, caller(serving) as ada:
            after = (await ada.resolve(run["approvals"][0]["id"])).body["run"]
            assert after["status"] == "completed"
    assert len((tmp_path / "home" / "outbox.jsonl").read_text().splitlines()) == 1


async def test_a_run_that_is_cut_short_by_a_stop_leaves_no_traceback_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    step = Held(reply("Never."))
    async with site(tmp_path, scripted(step)) as here:
        asking = asyncio.create_task(here.ada.post("/api/agent/run", {"prompt": "think"}))
        await soon(step.asked)
        await here.engine.close(0.05)
        refused(await asking, 503, "draining")
    gc.collect()
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


# What does not work yet.


@pytest.mark.story
async def test_a_start_says_what_is_left_out_and_which_key_is_missing_and_how_to_mend_both(tmp_path: Path):
    (tmp_path / "pollux.toml").write_text('[profiles.brief]\ninstructions = "Be brief."\n')
    async with process(tmp_path, GEMINI_API_KEY="") as serving, caller(serving) as ada:
        await until(lambda: "pollux trust ." in serving.talk)
        assert "Left out: profiles.brief" in serving.talk
        assert "GEMINI_API_KEY is not set. Set it, or put `api_key` in the config file, then start" in serving.talk
        health = (await ada.get("/api/health")).body
        assert health["missingKey"].startswith("GEMINI_API_KEY is not set") and "--api-key" not in health["missingKey"]
        said = await ada.run("add 2 and 3")
        assert "GEMINI_API_KEY is not set" in said["summary"] and "--api-key" not in said["summary"]
