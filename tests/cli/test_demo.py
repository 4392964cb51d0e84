"""The demo as a newcomer meets it: a real process, three links, five prompts, words to it, and every way to leave."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest
from tests.cli.demos import MAIL, PATIENCE, POLLUX, PROMPT, demo, environment, leftovers, running, survivors
from tests.cli.terminal import Terminal
from tests.waiting import HANG_SECONDS, until

from pollux.emulator import run_emulator

pytestmark = pytest.mark.slow


def test_without_words_it_says_where_everything_is_and_ends(tmp_path: Path):
    done = demo("", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(re.findall("http://", done.stdout)) == 3
    assert len(PROMPT.findall(done.stdout)) == 5
    assert "demo model, rule-based" in done.stdout
    assert all(len(line) <= 100 for line in done.stdout.splitlines())
    assert list(leftovers(tmp_path).iterdir()) == []


def test_it_answers_with_a_tool(tmp_path: Path):
    assert "add returned 5" in demo("add 2 and 3\n", cwd=tmp_path).stdout


def test_a_mail_is_sent_only_after_a_yes(tmp_path: Path):
    done = demo(MAIL + "y\n", cwd=tmp_path)
    assert "to: bob@example.com" in done.stdout
    assert 'gmail_send returned {"sent":true' in done.stdout.replace(" true", "true")


def test_anything_but_a_yes_is_a_no(tmp_path: Path):
    # The last of them is the end of the input.
    answers = ("n\n", "\n", "yikes, no\n", "actually, no\n", "you are mistaken\n", "")
    done = demo("".join(MAIL + answer for answer in answers), cwd=tmp_path)
    assert done.stdout.count("approve?") == done.stdout.count("gmail_send was rejected") == len(answers)
    assert "running act" not in done.stdout and "gmail_send returned" not in done.stdout


def test_always_allow_is_not_asked_again(tmp_path: Path):
    done = demo(MAIL + "a\n" + MAIL, cwd=tmp_path)
    assert done.stdout.count("approve?") == 1
    assert done.stdout.count("gmail_send returned") == 2


@pytest.mark.parametrize(("answer", "mails"), [("YES\n", 1), (" always \n", 2)])
def test_a_yes_may_be_written_out(tmp_path: Path, answer: str, mails: int):
    done = demo(MAIL + answer + MAIL, cwd=tmp_path)
    assert done.stdout.count("gmail_send returned") == mails


async def test_what_was_typed_before_a_question_was_there_is_no_answer_to_it(tmp_path: Path):
    command = [*POLLUX, "demo", "--port", "0"]
    terminal = Terminal(command, cwd=tmp_path, env=environment(tmp_path), columns=100)
    try:
        await terminal.ready()
        # Pasted in one go, with a line to spare.
        terminal.type(MAIL.replace("\n", "\r") + "yes\r")
        await terminal.until("approve?")
        terminal.type("n\r")
        await terminal.until("gmail_send was rejected")
        await terminal.until("[completed, 1 rejected]")
    finally:
        terminal.close()


async def test_an_answer_in_the_console_is_heard_in_the_terminal(tmp_path: Path):
    async with running(tmp_path) as demo:
        await demo.hears("you> ")
        demo.says(MAIL)
        await demo.hears("approve?")
        pending = (await demo.call("GET", "/api/agent/approvals/pending"))["items"]
        [own] = [item for item in pending if item["subjects"] == ["bob@example.com"]]
        body = {"approvalId": own["id"], "decision": "approve_once"}
        await demo.call("POST", "/api/agent/approvals/resolve", body)
        await demo.hears("[answered in the console]")
        await demo.hears("gmail_send returned")
        demo.says("add 2 and 3\n")
        await demo.hears("add returned 5")


async def test_a_conversation_that_goes_on_in_the_console_does_not_end_the_demo(tmp_path: Path):
    async with running(tmp_path) as demo:
        await demo.hears("you> ")
        demo.says("add 2 and 3\n")
        await demo.answers("add returned 5")
        thread = (await demo.call("GET", "/api/agent/threads"))["items"][0]["id"]
        run = await demo.call("POST", "/api/agent/run", {"prompt": MAIL, "threadId": thread})
        demo.says("add 3 and 4\n")
        await demo.hears("goes on in the console")
        body = {"approvalId": run["approvals"][0]["id"], "decision": "reject"}
        await demo.call("POST", "/api/agent/approvals/resolve", body)
        demo.says("add 3 and 4\n")
        await demo.hears("add returned 7")


async def test_after_a_conversation_was_deleted_in_the_console_a_new_one_begins(tmp_path: Path):
    async with running(tmp_path) as demo:
        await demo.hears("you> ")
        demo.says("add 2 and 3\n")
        await demo.answers("add returned 5")
        thread = (await demo.call("GET", "/api/agent/threads"))["items"][0]["id"]
        await demo.call("DELETE", f"/api/agent/threads/{thread}")
        demo.says("add 3 and 4\n")
        await demo.hears("a new one begins")
        demo.says("add 3 and 4\n")
        await demo.hears("add returned 7")


async def test_a_proxy_of_the_environment_is_not_asked_for_what_is_on_this_machine(tmp_path: Path):
    nobody = f"http://127.0.0.1:{_free_port()}"
    async with running(tmp_path, **dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY"), nobody)) as demo:
        await demo.hears("you> ")
        demo.says(MAIL + "y\n")
        await demo.hears("gmail_send returned")


async def test_a_machine_without_a_home_has_a_demo_too(tmp_path: Path):
    environ = {name: value for name, value in environment(tmp_path).items() if name != "HOME"}
    done = subprocess.run(
        [*POLLUX, "demo", "--port", "0"],
        input="add 2 and 3\n", capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path, env=environ,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "add returned 5" in done.stdout


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_lacks_a_character_is_no_error(tmp_path: Path, encoding: str):
    done = demo("say …\n", cwd=tmp_path, PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, "")
    assert r"on this machine \u2026" in done.stdout


async def test_with_a_key_the_service_that_it_is_for_is_asked_and_only_by_the_person(tmp_path: Path):
    async with run_emulator() as service:
        environ = {"GEMINI_API_KEY": "a-key-of-ones-own", "GOOGLE_GEMINI_BASE_URL": service.url}
        async with running(tmp_path, **environ) as demo:
            told = await demo.hears("you> ")
            assert "with your key" in told and "demo model" not in told
            assert "Prompts go to 127.0.0.1, mails and orders nowhere" in told
            assert service.requests == []
            demo.says("add 2 and 3\n")
            await demo.hears("add returned 5")
            assert len(service.requests) == 2


def test_a_broken_workspace_file_is_one_line_and_says_what_to_do(tmp_path: Path):
    (tmp_path / "pollux.toml").write_text("broken = [")
    done = demo("", cwd=tmp_path)
    assert done.returncode != 0
    assert done.stderr.startswith("pollux: ") and "Correct it" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_who_has_seen_enough_is_no_error(tmp_path: Path):
    process = subprocess.Popen(
        [*POLLUX, "demo", "--port", "0"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=environment(tmp_path),
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    process.stdin.write(b"add 2 and 3\n")
    process.stdin.close()
    assert process.wait(timeout=PATIENCE) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
async def test_a_signal_ends_it_without_a_word_and_nothing_is_left(tmp_path: Path, number: signal.Signals, code: int):
    async with running(tmp_path) as demo, aiohttp.ClientSession() as http:
        await demo.hears("you> ")
        # Somebody still has a page of it open, and watches what waits for them.
        [waiting] = (await demo.call("GET", "/api/agent/approvals/pending"))["items"]
        journal = f"{demo.url}/api/agent/runs/{waiting['runId']}/events"
        async with http.get(demo.links["shop"]) as page, http.get(journal, headers=demo.headers) as events:
            await page.read()
            assert await events.content.readline()
            assert await demo.ends(number) == (code, "")
        assert list(leftovers(tmp_path).iterdir()) == []
        for link in demo.links.values():
            with pytest.raises(aiohttp.ClientConnectorError):
                await http.get(link)


async def test_a_runbook_s_agent_that_waits_for_leave_does_not_outlive_it(tmp_path: Path):
    # A server that keeps its word gives it time to end: here a thousand seconds. In a demo nothing is kept.
    # It also looks for lost runs at every moment, and no longer once it has closed its store.
    patient = "from pollux import service; service.GRACE_SECONDS, service.RECOVER_SECONDS = 1000.0, 0.02"
    program = [sys.executable, "-W", "error", "-c", f"{patient}; from pollux.cli import main; raise SystemExit(main())"]
    async with running(tmp_path, program=program) as demo:
        await demo.hears("you> ")
        [document] = (await demo.call("GET", "/api/runbooks"))["items"]
        body = {"path": document["path"], "digest": document["digest"], "trust": True}
        run = await demo.call("POST", "/api/runbooks/runs", body)
        path = f"/api/runbooks/runs/{run['runId']}"

        async def is_asking() -> bool:
            return bool((await demo.call("GET", path))["approvals"])

        await until(is_asking)
        assert survivors(tmp_path) != []
        # What it waits for would hold the server up for a minute and more.
        assert await demo.ends(signal.SIGINT, seconds=HANG_SECONDS) == (130, "")
        assert (survivors(tmp_path), list(leftovers(tmp_path).iterdir())) == ([], [])


async def test_a_signal_before_it_is_open_leaves_nothing_either(tmp_path: Path):
    async with running(tmp_path) as demo:
        await demo.hears("starting")
        code, complaint = await demo.ends(signal.SIGINT)
        assert (code, complaint) == (130, "")
        assert list(leftovers(tmp_path).iterdir()) == []


async def test_ports_that_are_taken_are_others_and_that_is_said(tmp_path: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        async with running(tmp_path, "--port", str(port)) as demo:
            told = await demo.hears("you> ")
            assert "Some of the usual ports are taken" in told
            assert not demo.url.endswith(f":{port}")


async def test_two_that_want_the_same_port_both_open(tmp_path: Path):
    port = _free_port()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    async with (
        running(tmp_path / "one", "--port", str(port)) as first,
        running(tmp_path / "two", "--port", str(port)) as second,
    ):
        # Both are at it at once: that the port was free a moment ago says nothing.
        await asyncio.gather(first.hears("you> "), second.hears("you> "))
        assert len({first.url, second.url}) == 2
        for demo in (first, second):
            assert (await demo.call("GET", "/api/google/status"))["connected"]


async def test_a_port_that_is_meant_for_another_part_of_it_is_no_error(tmp_path: Path):
    port, config = _free_port(), tmp_path / "own.toml"
    config.write_text(f"[emulator]\ngemini_port = {port}\n")
    async with running(tmp_path, "--port", str(port), POLLUX_CONFIG=str(config)) as demo:
        assert "Some of the usual ports are taken" in await demo.hears("you> ")


def test_a_machine_without_a_place_for_temporary_files_is_told_what_to_set(tmp_path: Path):
    # Where nothing at all can be written, as in a container that is read-only.
    nowhere = "import tempfile; tempfile._candidate_tempdir_list = lambda: ['/nowhere']; "
    called = f"{nowhere}from pollux.cli import main; raise SystemExit(main(['demo']))"
    done = subprocess.run(
        [sys.executable, "-c", called], capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "TMPDIR" in done.stderr and "Traceback" not in done.stderr


def test_a_port_that_is_none_is_refused(tmp_path: Path):
    done = demo("", "--port", "http", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "expected a port" in done.stderr


def test_no_command_and_an_unknown_one_list_the_commands(tmp_path: Path):
    for words in ([], ["nonsense"]):
        done = subprocess.run([*POLLUX, *words], capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert "demo" in done.stderr


def test_the_version_is_told_without_opening_the_engine(tmp_path: Path):
    told = "import sys; from pollux.cli import main; main(['version']); print('asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize(("code", "told"), [(130, 0), (0, 0), (1, 2)])
def test_leaving_make_demo_by_ctrl_c_is_no_error_of_make(tmp_path: Path, code: int, told: int):
    program = tmp_path / ".venv/bin/pollux"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\nexit {code}\n")
    program.chmod(0o755)
    # Everything that it would set up is there.
    for name in (".venv/.ready", "src/pollux/_static/pollux.js"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    makefile = Path(__file__).parents[2] / "Makefile"
    # Nor is it a part of the make that may run these tests.
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        ["make", "--silent", "-f", makefile, "demo"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=tmp_path,
        env=environ,
    )
    assert (done.returncode, done.stderr == "") == (told, told == 0)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
