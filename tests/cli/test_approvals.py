"""A question that waited is answered from the command line, and its run finished: by whoever may."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import jsonschema_rs
import pytest
from tests.cli.store_bench import Done, Place, place, send
from tests.waiting import HANG_SECONDS

from pollux import tool
from pollux.bootstrap import Fixed, open_store
from pollux.cli.answer import CliAgent
from pollux.core.errors import ThreadBusy
from pollux.core.profile import Limits, Profile
from pollux.dispatch.local import LocalDispatcher
from pollux.engine.engine import Engine, Start
from pollux.providers.scripted import ScriptedProvider
from pollux.sdk.setup import USER
from pollux.testing import FakeClock, call, reply, scripted
from pollux.wire.lines import LINES

pytestmark = pytest.mark.slow

__all__ = ["place"]

KEY = "canary-key-0123456789"
TOUCH = 'call shell {"command":"touch made.txt"}'


@pytest.fixture(scope="module")
def model_url() -> Iterator[str]:
    command = [sys.executable, "-m", "pollux.emulator", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as emulator:
        assert emulator.stdout is not None
        yield json.loads(emulator.stdout.readline())["url"]
        emulator.terminate()
        emulator.wait(HANG_SECONDS)


@pytest.fixture
def online(place: Place, model_url: str) -> Place:
    """A machine with a key, and a model behind it."""
    place.environ |= {"GOOGLE_GEMINI_BASE_URL": model_url, "GEMINI_API_KEY": KEY}
    return place


@tool(side_effect=True, subjects=lambda args: args["to"], preview=lambda args: f"Post {args['body']}")
def post(body: str, to: list[str]) -> str:
    """Post to many."""
    return body


async def test_a_large_question_is_short_in_the_list_and_whole_by_itself(place: Place):
    args = {"body": "b" * 60_000, "to": [f"reader{number:05}@example.com" for number in range(2_000)]}
    async with place.agent(call("post", args), tools=[post], on_approval="defer") as agent:
        approval_id = (await agent.send("Post it")).approvals[0].id
    (listed,) = place.data("approvals", "list", "--json")["items"]
    assert listed["truncated"] and len(json.dumps(listed)) < 20_000
    assert listed["args"]["body"] == "b" * 2_048 + "…" and 10 < len(listed["subjects"]) < 2_000
    lines = place.pollux("approvals", "list").stdout.splitlines()
    assert len(lines) < 30 and "    and to more: `pollux approvals show ID` names all" in lines
    whole = place.data("approvals", "show", approval_id, "--json")
    assert whole["args"] == args and len(whole["subjects"]) >= 2_000 and whole["argsHash"] == listed["argsHash"]
    assert "b" * 60_000 in place.pollux("approvals", "show", approval_id).stdout


def asked(place: Place, prompt: str = TOUCH) -> str:
    """The question that this prompt ends with."""
    done = place.process("run", prompt, "--output-format", "json")
    assert done.returncode == 3, done
    return json.loads(done.stdout)["approvals"][0]["id"]


def lines_of(done: Done) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    validator = jsonschema_rs.validator_for(LINES["stream-json"])
    assert all(validator.is_valid(line) for line in lines), lines
    return lines


async def waiting_long_ago(place: Place, *, door: str, life: float = 60) -> str:
    """A question that was asked in the last century, by an engine that has ended since."""
    clock, model = FakeClock(1.0), scripted(call("send", {"to": "bob@example.com"}))
    profile = Profile(tools=("send",), limits=Limits(approval_seconds=life))
    engine = Engine(
        store=open_store(place.settings()),
        providers=Fixed(model),
        tools=[send],
        profiles={"default": profile},
        clock=clock,
        dispatcher=LocalDispatcher(clock),
    )
    async with engine:
        run = await engine.start(Start("Mail Bob", user=USER, door=door, origin=str(place.cwd)))
        run = await engine.wait_settled(run.id, seconds=HANG_SECONDS)
    return run.approvals[0].id


# Looking.


async def test_questions_are_listed_newest_first(place: Place):
    first = await place.waiting()
    second = await place.waiting({"to": "ada@example.com"})
    items = place.data("approvals", "list", "--json")["items"]
    assert [(item["id"], item["subjects"]) for item in items] == [
        (second, ["ada@example.com"]),
        (first, ["bob@example.com"]),
    ]
    assert place.data("approvals", "list", "--json", "--limit", "1")["items"] == items[:1]


async def test_people_read_what_it_is_whom_it_concerns_and_how_long_it_waits(place: Place):
    question = await place.waiting()
    done = place.pollux("approvals", "list")
    assert (done.returncode, done.stderr) == (0, "")
    first, *rest = done.stdout.splitlines()
    assert first.startswith(f"{question}  send, asked ") and first.endswith("24 h left")
    assert rest == ["    to bob@example.com", "    Mail to bob@example.com"]


def test_without_questions_there_is_nothing_on_standard_output(place: Place):
    done = place.pollux("approvals", "list")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "pollux: nothing waits for approval\n")


async def test_a_question_is_shown_whole_as_it_is_stored(place: Place):
    question = await place.waiting({"to": "x\n    to nobody\x1b[8m"})
    shown = place.pollux("approvals", "show", question).stdout
    assert r"    to: x\x0a    to nobody\x1b[8m" in shown.splitlines()
    document = place.data("approvals", "show", question, "--json")
    assert (document["args"], document["status"]) == ({"to": "x\n    to nobody\x1b[8m"}, "pending")
    assert document["decision"]["mode"] == "require_approval"
    for name in ("argsHash", "provenance", "runId", "sessionId", "expiresAt", "reason"):
        assert document[name]
    for word in (document["argsHash"], document["runId"], document["sessionId"], "words from"):
        assert word in shown


def test_a_key_in_the_arguments_is_not_shown(online: Place):
    question = asked(online, f'call shell {{"command":"echo {KEY}"}}')
    for words in (["list"], ["list", "--json"], ["show", question], ["show", question, "--json"]):
        done = online.process("approvals", *words)
        assert done.returncode == 0 and "echo [redacted]" in done.stdout
        assert KEY not in done.stdout + done.stderr


@pytest.mark.parametrize("question", ["apr_nobody_1.0", "nonsense", "", "\x1b[2J"])
def test_a_question_that_is_not_there_is_said_to_be_missing(place: Place, question: str):
    done = place.pollux("approvals", "show", question)
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no approval" in done.stderr and "\x1b" not in done.stderr


@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_a_question_that_is_not_there_cannot_be_answered(place: Place, verb: str):
    done = place.process("approvals", verb, "nonsense")
    assert (done.returncode, json.loads(done.stdout)["code"]) == (1, "not_found")
    assert "there is no approval 'nonsense'" in done.stderr


# Answering what `pollux run` asked.


@pytest.mark.story
def test_a_yes_finishes_the_run_and_prints_the_answer(online: Place):
    question = asked(online)
    assert not (online.cwd / "made.txt").exists()
    done = online.process("approvals", "approve", question)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("shell returned {")
    assert (online.cwd / "made.txt").exists()


def test_it_may_be_said_from_another_directory(online: Place, tmp_path: Path):
    question = asked(online)
    online.cwd, work = tmp_path, online.cwd
    assert online.process("approvals", "approve", question).returncode == 0
    assert (work / "made.txt").exists() and not (tmp_path / "made.txt").exists()


def test_the_rest_is_told_as_lines_with_the_call_beside_its_result(online: Place):
    done = online.process("approvals", "approve", asked(online), "--output-format", "stream-json")
    lines = lines_of(done)
    assert [line["type"] for line in lines[:2]] == ["tool_code", "tool_result"]
    assert lines[0]["id"] == lines[1]["id"] and lines[0]["args"] == {"command": "touch made.txt"}
    said = "".join(line["message"]["content"][0]["text"] for line in lines if line["type"] == "assistant")
    assert (lines[-1]["result"], lines[-1]["status"]) == (said, "completed")


def test_a_no_is_read_by_the_model_and_nothing_runs(online: Place):
    done = online.process("approvals", "reject", asked(online), "--feedback", "not on Sundays")
    assert done.returncode == 0
    assert "rejected" in done.stdout and not (online.cwd / "made.txt").exists()
    (session,) = online.data("sessions", "list", "--json")["items"]
    messages = online.data("sessions", "show", session["sessionId"], "--json")["messages"]
    (result,) = [part["result"] for message in messages for part in message["parts"] if part["type"] == "tool_result"]
    assert result["feedback"] == "not on Sundays"


def test_a_second_answer_is_refused(online: Place):
    question = asked(online)
    online.process("approvals", "reject", question)
    for verb in ("approve", "reject"):
        done = online.process("approvals", verb, question, "--output-format", "json")
        assert (done.returncode, json.loads(done.stdout)["code"]) == (1, "already_resolved")
        assert "already_resolved" in done.stderr
    assert "rejected by local" in online.pollux("approvals", "show", question).stdout
    assert not (online.cwd / "made.txt").exists()


def test_a_run_that_asks_again_waits_again_and_tells_nothing_twice(online: Place):
    first = asked(online, f'{TOUCH} then call shell {{"command":"touch second.txt"}}')
    done = online.process("approvals", "approve", first, "--output-format", "stream-json")
    assert done.returncode == 3
    (*_, result) = lines_of(done)
    (approval,) = result["approvals"]
    assert approval["args"] == {"command": "touch second.txt"}
    assert f"pollux approvals approve {approval['id']}" in done.stderr and first not in done.stderr
    done = online.process("approvals", "approve", approval["id"], "--output-format", "stream-json")
    assert done.returncode == 0
    told = [line["args"] for line in lines_of(done) if line["type"] == "tool_code"]
    assert told == [{"command": "touch second.txt"}]
    assert (online.cwd / "second.txt").exists()


def test_of_two_questions_the_other_one_still_waits(online: Place):
    prompt = f'{TOUCH} and call shell {{"command":"touch second.txt"}}'
    done = online.process("run", prompt, "--output-format", "json")
    first, second = (approval["id"] for approval in json.loads(done.stdout)["approvals"])
    done = online.process("approvals", "approve", first, "--output-format", "json")
    assert done.returncode == 3 and second in done.stderr and first not in done.stderr
    assert [approval["id"] for approval in json.loads(done.stdout)["approvals"]] == [second]
    assert online.process("approvals", "reject", second).returncode == 0


@pytest.mark.parametrize("format_", ["text", "json", "stream-json", "gemini-stream-json"])
async def test_what_was_said_before_the_question_is_not_said_again(online: Place, format_: str):
    asks = call("shell", {"command": "touch made.txt"}, text="I touch it first. ")
    model = ScriptedProvider(asks, name="gemini-2.5-flash")
    given: dict[str, Any] = {"tools": ("files", "shell"), "model": model, "cwd": online.cwd, "on_approval": "defer"}
    async with CliAgent(settings=online.settings(), **given) as agent:
        result = await agent.send("Touch it")
    assert result.text == "I touch it first. "
    done = online.process("approvals", "approve", result.approvals[0].id, "--output-format", format_)
    assert (done.returncode, done.stderr) == (0, "")
    assert "I touch it first" not in done.stdout
    assert done.stdout.count("touch made.txt") == (0 if format_ == "text" else 1)
    assert (online.cwd / "made.txt").exists()


def test_always_is_remembered(online: Place):
    done = online.process("approvals", "approve", asked(online), "--always")
    assert done.returncode == 0
    (grant,) = online.data("grants", "list", "--json")["items"]
    assert (grant["tool"], grant["subject"], grant["scope"]) == ("shell", "run:touch made.txt", "always")
    (online.cwd / "made.txt").unlink()
    assert online.process("run", TOUCH).returncode == 0
    assert (online.cwd / "made.txt").exists()


def test_without_a_key_nothing_is_recorded_and_nothing_runs(online: Place):
    question = asked(online)
    done = online.process("approvals", "approve", question, GEMINI_API_KEY="")
    assert (done.returncode, json.loads(done.stdout)["code"]) == (1, "missing_credential")
    assert online.data("approvals", "show", question, "--json")["status"] == "pending"
    assert not (online.cwd / "made.txt").exists()


def test_where_the_directory_is_gone_nothing_is_recorded(online: Place, tmp_path: Path):
    question = asked(online)
    online.cwd.rename(tmp_path / "moved")
    online.cwd = tmp_path
    done = online.process("approvals", "approve", question)
    assert done.returncode == 1 and "directory that exists" in done.stderr
    done = online.process("approvals", "show", question)
    assert done.stdout.splitlines()[0].endswith("pending")


# Answering what others asked.


async def test_the_answer_to_a_script_is_recorded_and_the_script_goes_on(place: Place):
    question = await place.waiting()
    done = place.process("approvals", "approve", question)
    assert (done.returncode, done.stdout) == (0, "")
    assert "recorded. " in done.stderr and "agent.resume()" in done.stderr
    (session,) = place.data("sessions", "list", "--json")["items"]
    options: dict[str, Any] = {"tools": [send], "session_id": session["sessionId"]}
    async with place.agent(reply("Sent."), **options) as agent:
        result = await agent.resume()
    assert (result.text, result.tool_calls[0].result) == ("Sent.", "sent")


async def test_a_run_that_a_live_process_holds_is_left_to_it(place: Place):
    model = scripted(call("send", {"to": "bob@example.com"}), reply("Sent."))
    given: dict[str, Any] = {"tools": [send], "model": model, "cwd": place.cwd, "on_approval": "defer"}
    async with CliAgent("Be brief.", settings=place.settings(), **given) as agent:
        question = (await agent.send("Mail Bob")).approvals[0].id
        done = place.process("approvals", "approve", question)
        assert (done.returncode, done.stdout) == (0, "")
        assert "The process that holds run_" in done.stderr
        result = await agent.resume()
    assert (result.text, result.tool_calls[0].result) == ("Sent.", "sent")


async def test_what_names_nobody_cannot_be_allowed_for_always(place: Place):
    @tool(side_effect=True)
    def launch() -> str:
        """Launch."""
        return "launched"

    async with place.agent(call("launch", {}), tools=[launch], on_approval="defer") as agent:
        question = (await agent.send("Go")).approvals[0].id
    done = place.process("approvals", "approve", question, "--always")
    assert (done.returncode, json.loads(done.stdout)["code"]) == (1, "no_recipient")
    assert place.data("approvals", "show", question, "--json")["status"] == "pending"


async def test_a_question_that_ran_out_is_no_longer_answered(place: Place):
    question = await waiting_long_ago(place, door="cli")
    assert "ran out" in place.pollux("approvals", "list").stdout
    done = place.process("approvals", "approve", question, GEMINI_API_KEY=KEY)
    assert (done.returncode, json.loads(done.stdout)["code"]) == (1, "expired")


async def test_the_answer_to_a_run_of_a_server_is_recorded_for_that_server(place: Place):
    question = await waiting_long_ago(place, door="http", life=1e12)
    done = place.process("approvals", "reject", question, "--feedback", "no")
    assert (done.returncode, done.stdout) == (0, "")
    assert "came through http: whoever serves that goes on with it" in done.stderr
    assert "expires" not in place.pollux("approvals", "show", question).stdout
    resolution = place.data("approvals", "show", question, "--json")["resolution"]
    assert (resolution["status"], resolution["feedback"], resolution["by"]) == ("rejected", "no", "local")


async def test_a_waiting_session_takes_no_other_prompt_until_it_is_answered(place: Place):
    question = await place.waiting()
    document = place.data("approvals", "show", question, "--json")
    async with place.agent(reply("?"), tools=[send], session_id=document["sessionId"]) as agent:
        with pytest.raises(ThreadBusy):
            await agent.send("and now?")


# Using it wrongly.


@pytest.mark.parametrize(
    "words",
    [[], ["approve"], ["reject", "x", "--always"], ["approve", "x", "--timeout", "0"], ["list", "--limit", "0"]],
)
def test_what_cannot_be_meant_is_a_usage_error(place: Place, words: list[str]):
    done = place.pollux("approvals", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage: pollux approvals" in done.stderr


def test_a_question_may_be_answered_after_the_time_of_its_command(online: Place, tmp_path: Path):
    done = online.process("run", TOUCH, "--output-format", "json", "--timeout", "60")
    assert done.returncode == 3, done
    # Python imports a `sitecustomize` before the program: there it is an hour later.
    (tmp_path / "later").mkdir()
    (tmp_path / "later/sitecustomize.py").write_text("import time\nnow = time.time\ntime.time = lambda: now() + 3600\n")
    question = json.loads(done.stdout)["approvals"][0]["id"]
    done = online.process("approvals", "approve", question, PYTHONPATH=str(tmp_path / "later"))
    assert done.returncode == 0 and (online.cwd / "made.txt").exists(), done


def test_the_rest_is_told_what_the_run_was_begun_with(online: Place):
    done = online.process("run", TOUCH, "--output-format", "json", "--system-prompt", "Speak like a pirate.")
    question = json.loads(done.stdout)["approvals"][0]["id"]
    assert online.process("approvals", "approve", question, "--allow", "shell").returncode == 0
    with urlopen(online.environ["GOOGLE_GEMINI_BASE_URL"] + "/_emulator/requests") as answer:
        bodies = [json.dumps(request) for request in json.load(answer)]
    assert sum("Speak like a pirate." in body for body in bodies[-2:]) == 2


def test_a_run_that_nobody_wants_any_more_is_stopped_and_the_session_goes_on(online: Place):
    done = online.process("run", TOUCH, "--output-format", "json")
    session = json.loads(done.stdout)["sessionId"]
    assert online.process("run", "and?", "--session", session).returncode == 1
    assert online.process("sessions", "cancel", session).returncode == 0
    assert online.process("run", "say hello", "--session", session).stdout == "hello"
    assert "no open run" in online.process("sessions", "cancel", session).stderr
    assert not (online.cwd / "made.txt").exists()
