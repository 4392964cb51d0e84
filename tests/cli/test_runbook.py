"""`pollux runbook`: documents from the command line, as an operator types it."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.machine import POLLUX, Machine, emulator
from tests.cli.terminal import ENTER, Terminal
from tests.runbooks.lab import agent, block, document, id_of, script
from tests.waiting import HANG_SECONDS

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "examples" / "runbooks"
LAST = ("result", "error")


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    with emulator() as url:
        yield url


@pytest.fixture
def machine(tmp_path: Path, model: str) -> Machine:
    return Machine(tmp_path, GEMINI_API_KEY="demo", GOOGLE_GEMINI_BASE_URL=model)


def written(machine: Machine, *blocks: dict[str, Any], name: str = "test.json") -> str:
    (machine.cwd / name).write_text(document(*blocks))
    return name


def lines(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """Every line, all of them events but the last."""
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(set(line) == {"type", "data"} for line in found[:-1]), found
    assert found[-1]["type"] in LAST, done
    return found


def test_a_trusted_document_runs_with_its_variables_and_an_agent(machine: Machine):
    file = written(
        machine,
        script("greet", "echo hello {{ var.who }}"),
        agent("echo", 'Say exactly: "fine"', source={"type": "internal", "model": "gemini-3.8-flash"}),
        name="a.json",
    )
    done = machine.run("runbook", "run", file, "--trust", "--var", "who=Ada")
    assert done.returncode == 0, done
    assert "│ hello Ada" in done.stdout and "✓ echo" in done.stdout and "2 blocks done" in done.stdout


def test_without_trust_and_without_a_terminal_it_waits_and_exits_with_3(machine: Machine):
    file = written(machine, script("act", "echo x >> made"))
    done = machine.run("runbook", "run", file, "--output-format", "stream-json")
    assert done.returncode == 3, done
    last = lines(done)[-1]
    assert last["status"] == "awaiting_confirmation" and not (machine.cwd / "made").exists()
    assert machine.run("approvals", "approve", last["approvals"][0]["id"]).returncode == 0
    again = machine.run("runbook", "resume", last["runId"])
    assert again.returncode == 0 and (machine.cwd / "made").read_text() == "x\n"
    # It has run to its end, and is not run again.
    assert machine.run("runbook", "resume", last["runId"]).returncode == 1
    assert (machine.cwd / "made").read_text() == "x\n"


def test_trust_is_for_the_document_as_it_stands(machine: Machine):
    file = written(machine, script("act", "true"))
    assert machine.run("runbook", "run", file, "--trust").returncode == 0
    assert machine.run("runbook", "run", file).returncode == 0
    written(machine, script("act", "true # changed"))
    assert machine.run("runbook", "run", file).returncode == 3


def test_a_failed_block_exits_with_1_and_says_how_to_go_on(machine: Machine):
    file = written(machine, script("one", "echo x >> count"), script("bad", "exit 7"), script("last", "touch end"))
    done = machine.run("runbook", "run", file, "--trust")
    assert done.returncode == 1 and "exit code 7" in done.stdout
    run = next(word for word in done.stdout.split() if word.startswith("run_"))
    assert f"resume {run} --retry {id_of('bad')}" in done.stdout
    undecided = machine.run("runbook", "resume", run)
    assert undecided.returncode == 4 and "--skip" in undecided.stdout
    skipped = machine.run("runbook", "resume", run, "--skip", "bad")
    assert skipped.returncode == 0 and (machine.cwd / "end").exists()
    assert (machine.cwd / "count").read_text() == "x\n"
    shown = machine.told("runbook", "show", run, "--json")
    assert [each["state"] for each in shown["blocks"]] == ["done", "skipped", "done"]


def test_stream_json_tells_every_event_and_then_how_it_ended(machine: Machine):
    file = written(machine, script("one", "echo out; echo err >&2"), block("var", "x", value="1"))
    done = machine.run("runbook", "run", file, "--trust", "--output-format", "stream-json")
    found = lines(done)
    assert found[-1] == {**found[-1], "type": "result", "status": "completed", "result": "Test: 2 blocks done."}
    assert {"runbookStarted", "blockStarted", "blockOutput", "blockFinished", "runbookFinished"} == {
        each["type"] for each in found[:-1]
    }
    shown = [each["data"] for each in found if each["type"] == "blockOutput"]
    assert {"stdout": "out\n", "blockId": id_of("one")} in shown and {
        "stderr": "err\n",
        "blockId": id_of("one"),
    } in shown


def test_without_a_terminal_an_agents_question_is_waited_for_and_answered_elsewhere(tmp_path: Path):
    pytest.importorskip("acp")
    machine = Machine(tmp_path)
    shutil.copytree(EXAMPLE, machine.cwd, dirs_exist_ok=True)
    with subprocess.Popen(
        [*POLLUX, "runbook", "run", "todo.atrb", "--trust"], cwd=machine.cwd, env=machine.environ, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as running:  # fmt: skip
        try:
            assert running.stderr is not None
            told = next(line for line in running.stderr if "waiting for approval" in line)
            found = re.search(
                r"approval: write report\.md … \(\d+ more: `pollux approvals show \S+`\);"
                r" answer with `pollux approvals approve (\S+)` elsewhere,"
                r" denied in (\d+) s (.*)",
                told,
            )
            # The block of the example takes no longer than a minute, and a question could wait for five.
            assert found is not None and 0 < int(found[2]) <= 60, told
            assert found[3] == "with the block, by its own time-out"
            assert machine.run("approvals", "approve", found[1]).returncode == 0
            output, _ = running.communicate(timeout=2 * HANG_SECONDS)
        finally:
            running.kill()
    assert running.returncode == 0 and "approved by local" in output, output
    assert (machine.cwd / "report.md").exists()


def test_a_run_is_gone_on_with_where_it_began_wherever_that_is_said(machine: Machine):
    (machine.cwd / "inner").mkdir()
    source = {"type": "internal", "model": "gemini-3.8-flash"}
    again = agent("echo", 'Say exactly: "fine"', source=source, workingDirectory="inner")
    file = written(machine, script("wait", "[ -e go ]"), again)
    done = machine.run("runbook", "run", file, "--trust", "--output-format", "stream-json")
    assert done.returncode == 1
    (machine.cwd / "go").touch()
    elsewhere = machine.cwd / "elsewhere"
    elsewhere.mkdir()
    words = [*POLLUX, "runbook", "resume", lines(done)[-1]["runId"], "--retry", "wait"]
    resumed = subprocess.run(
        words, cwd=elsewhere, env=machine.environ, capture_output=True, text=True, timeout=2 * HANG_SECONDS
    )
    assert resumed.returncode == 0, resumed


@pytest.mark.parametrize("rule", ["nosuchtool", "runbook_scirpt:ls"])
def test_allow_refuses_a_tool_that_is_not_there(machine: Machine, rule: str):
    file = written(machine, script("greet", "echo hello"))
    done = machine.run("runbook", "run", file, "--trust", "--allow", rule)
    assert done.returncode == 2 and "hello" not in done.stdout
    assert f"unknown tool '{rule.partition(':')[0]}'" in done.stdout and "runbook_script" in done.stdout
    if rule.startswith("runbook_"):
        assert "Did you mean 'runbook_script'?" in done.stdout


def test_allow_lets_what_a_trusted_document_would_ask_about(machine: Machine):
    words = agent("poet", 'Say exactly: "hi"', source={"type": "internal", "model": "gemini-3.8-flash"})
    file = written(machine, words, script("say", "echo {{ doc.previous.output.text }}"))
    assert machine.run("runbook", "run", file, "--trust").returncode == 3
    assert machine.run("runbook", "run", file, "--allow", "runbook_script").returncode == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "line 1"),
        (document({"type": "script", "props": {}}), "Missing block id"),
        (document({"id": id_of("x"), "type": "agent", "props": {}}), "Missing source"),
        (document(block("agent", "x", source={"type": "acp"})), "Invalid source: "),
        (document(block("ssh-connect", "x", userHost="root@example.com")), "another machine"),
        (document(block("script", "x", code=123)), "code must be text, found a number. Put it in quotes (script block"),
    ],
    ids=["no JSON", "no id", "no source", "half a source", "elsewhere", "no text"],
)
def test_what_is_wrong_with_a_document_is_said_with_its_place(machine: Machine, text: str, says: str):
    (machine.cwd / "bad.json").write_text(text)
    checked = machine.run("runbook", "check", "bad.json")
    assert checked.returncode == 1 and says in checked.stdout
    done = machine.run("runbook", "run", "bad.json", "--trust", "--output-format", "stream-json")
    assert done.returncode == 1 and says in lines(done)[-1]["error"]


def test_a_new_document_can_be_checked_and_run_as_it_is(machine: Machine):
    assert machine.run("runbook", "new", "mine.atrb", "--name", "Mine").returncode == 0
    assert machine.run("runbook", "new", "mine.atrb").returncode == 2
    assert machine.run("runbook", "check", "mine.atrb").returncode == 0
    done = machine.run("runbook", "run", "mine.atrb", "--trust")
    assert done.returncode == 0 and "✓ explain" in done.stdout, done
    assert [each["name"] for each in machine.told("runbook", "list", "--json")["documents"]] == ["Mine"]


def test_mistakes_on_the_command_line_are_usage_errors(machine: Machine):
    for words in (
        ("run", "nowhere.atrb"),
        ("run", "x.json", "--var", "nothing"),
        ("run", "x.json", "--cwd", "nowhere"),
        ("resume", "run_1", "--retry", "a", "--skip", "b"),
    ):
        assert machine.run("runbook", *words).returncode == 2, words
    assert machine.run("runbook", "resume", "run_nothing").returncode == 1


def test_what_the_example_leaves_behind_is_no_untracked_file():
    done = subprocess.run(["git", "check-ignore", "report.md"], cwd=EXAMPLE, capture_output=True, text=True)
    assert done.stdout.strip() == "report.md", done


@pytest.mark.story
def test_the_example_works_without_a_key(tmp_path: Path):
    machine = Machine(tmp_path)
    shutil.copytree(EXAMPLE, machine.cwd, dirs_exist_ok=True)
    done = machine.run("runbook", "run", "todo.atrb", "--trust", "--allow", "agent_write_file:report.md")
    assert done.returncode == 0, done
    assert "3 tasks are open" in done.stdout and (machine.cwd / "report.md").read_text().count("- ") == 3


def test_where_the_package_for_agents_is_missing_it_is_said_what_to_install(tmp_path: Path):
    machine = Machine(tmp_path)
    shutil.copytree(EXAMPLE, machine.cwd, dirs_exist_ok=True)
    code = "import sys; sys.modules['acp'] = None; from pollux.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "runbook", "run", "todo.atrb", "--trust"],
        capture_output=True, text=True, timeout=2 * HANG_SECONDS, cwd=machine.cwd, env=machine.environ,
    )  # fmt: skip
    # Not 4: nothing was started, so nobody has to find out what happened.
    assert done.returncode == 1, done
    assert "pip install 'pollux[acp]'" in done.stdout + done.stderr


async def test_at_a_terminal_the_document_is_asked_about_once_and_agents_each_time(tmp_path: Path):
    machine = Machine(tmp_path)
    shutil.copytree(EXAMPLE, machine.cwd, dirs_exist_ok=True)
    terminal = Terminal([*POLLUX, "runbook", "run", "todo.atrb"], cwd=machine.cwd, env=machine.environ)
    try:
        await terminal.until("trust it as it stands?")
        assert "grep -rn TODO notes" in terminal.text
        terminal.type(f"y{ENTER}")
        await terminal.until("run it?")
        assert "report.md" in terminal.text
        terminal.type(f"y{ENTER}")
        await terminal.until("3 blocks done")
    finally:
        terminal.close()
    assert (machine.cwd / "report.md").exists()


async def test_the_question_about_a_document_shows_all_that_decides_what_it_does(tmp_path: Path):
    machine = Machine(tmp_path)
    started = {"type": "acp", "command": "sh", "args": ["-c", "touch made"], "env": {"KEY": "k"}}
    source = document(
        block("script", "list", code="ls notes", interpreter="bash -c rm${IFS}notes"),
        block("http", "get", verb="DELETE", url="http://127.0.0.1:1/all", code="GET http://127.0.0.1:1/one"),
        agent("ask", "Say hello", source=started, capabilities={"alwaysAllowTools": True}, mcpServers=[{"name": "m"}]),
        agent("sum up", "Say more", source={"type": "internal", "model": "openai:http://127.0.0.1:1/v1/m"}),
        agent("think", "Say all", source={"type": "internal", "model": "gpt-x"}),
        block("sub-runbook", "other", runbookPath="other.atrb"),
    )
    (machine.cwd / "it.runbook.json").write_text(source)
    terminal = Terminal([*POLLUX, "runbook", "run", "it.runbook.json"], cwd=machine.cwd, env=machine.environ)
    try:
        asked = await terminal.until("trust it as it stands?")
    finally:
        terminal.close()
    for words in ("bash -c rm${IFS}notes", "DELETE", "http://127.0.0.1:1/all", "sh -c 'touch made'", "alwaysAllowTools",
                  '"m"', "KEY", "other.atrb", "model: gpt-x",
                  "openai-keyless:http://127.0.0.1:1/v1/m"):  # fmt: skip
        assert words in asked
    assert "GET http" not in asked


async def test_what_was_accepted_before_scripts_were_pinned_is_asked_about_once_with_its_programs(tmp_path: Path):
    machine = Machine(tmp_path)
    tools = machine.cwd / "tools"
    tools.mkdir()
    (tools / "mytool").write_text("#!/bin/sh\ntouch made\n")
    (tools / "mytool").chmod(0o755)
    machine.environ["PATH"] = f"{tools}:/usr/bin:/bin"
    (machine.cwd / "it.runbook.json").write_text(document(script("one", "ls; mytool")))
    words = (*POLLUX, "runbook", "run", "it.runbook.json")
    done = machine.run("runbook", "run", "it.runbook.json", "--trust")
    assert f"accepted: mytool is {tools}/mytool (sha256 " in done.stderr and "ls is" not in done.stderr
    (file,) = machine.home.rglob("trust.json")
    told = json.loads(file.read_text())
    del told["pins"][0]["scripts"]
    file.write_text(json.dumps(told))
    (machine.cwd / "made").unlink()
    terminal = Terminal([*words], cwd=machine.cwd, env=machine.environ)
    try:
        asked = await terminal.until("trust it as it stands?")
        terminal.type(f"y{ENTER}")
        await terminal.until("1 block done")
    finally:
        terminal.close()
    assert f"mytool is {tools}/mytool" in asked and (machine.cwd / "made").exists()
    (machine.cwd / "made").unlink()
    assert machine.run("runbook", "run", "it.runbook.json").returncode == 0 and (machine.cwd / "made").exists()


async def test_what_was_typed_before_the_question_trusts_nothing(tmp_path: Path):
    machine = Machine(tmp_path)
    (machine.cwd / "it.runbook.json").write_text(document(script("one", "touch made")))
    terminal = Terminal([*POLLUX, "runbook", "run", "it.runbook.json"], cwd=machine.cwd, env=machine.environ)
    try:
        terminal.type(f"y{ENTER}")
        await terminal.until("trust it as it stands?")
        terminal.type(f"n{ENTER}")
        await terminal.until("run it?")
    finally:
        terminal.close()
    assert not (machine.cwd / "made").exists()


def test_whoever_goes_on_elsewhere_gives_an_agent_no_other_files(tmp_path: Path):
    with emulator() as url:
        machine = Machine(tmp_path, GEMINI_API_KEY="k", GOOGLE_GEMINI_BASE_URL=url)
        inner = machine.cwd / "inner"
        inner.mkdir()
        (machine.cwd / "notes.txt").write_text("outside")
        (inner / "notes.txt").write_text("inside")
        asked = agent(
            "look",
            'call read_file {"path": "notes.txt"}',
            source={"type": "internal", "model": "gemini-3.8-flash"},
            capabilities={"readFiles": True},
        )
        (inner / "it.runbook.json").write_text(document(block("pause", "wait"), asked))
        first = machine.run("runbook", "run", "inner/it.runbook.json", "--trust", "--output-format", "stream-json")
        last = json.loads(first.stdout.splitlines()[-1])
        machine.run("approvals", "approve", last["approvals"][0]["id"])
        done = machine.run("runbook", "resume", last["runId"])
    assert done.returncode == 0 and "inside" in done.stdout and "outside" not in done.stdout


def test_a_variable_that_was_missing_is_given_to_whoever_goes_on(tmp_path: Path):
    machine = Machine(tmp_path)
    source = document(
        script("pay", "echo paid >> log"), block("local-var", "region"), script("end", "echo {{ var.region }}")
    )
    (machine.cwd / "it.runbook.json").write_text(source)
    first = machine.run("runbook", "run", "it.runbook.json", "--trust", "--output-format", "stream-json")
    last = json.loads(first.stdout.splitlines()[-1])
    assert "--var region=VALUE" in last["error"]
    done = machine.run("runbook", "resume", last["runId"], "--var", "region=eu")
    assert done.returncode == 0 and "eu" in done.stdout
    assert (machine.cwd / "log").read_text() == "paid\n"


def test_a_part_of_a_run_is_not_gone_on_with_by_itself(tmp_path: Path):
    machine = Machine(tmp_path)
    (machine.cwd / "part.runbook.json").write_text(document(script("fail", "false")))
    outer = document(block("sub-runbook", "part", runbookPath="part.runbook.json"))
    (machine.cwd / "it.runbook.json").write_text(outer)
    words = ("--trust", "--allow", "runbook_script", "--output-format", "stream-json")
    assert machine.run("runbook", "run", "part.runbook.json", "--trust").returncode == 1
    told = lines(machine.run("runbook", "run", "it.runbook.json", *words))
    outer_id, child = (each["data"]["runId"] for each in told if each["type"] == "runbookStarted")
    done = machine.run("runbook", "resume", child, "--retry", "fail")
    assert done.returncode == 1 and f"{child} is a part of {outer_id}" in done.stdout, done


def test_what_a_run_that_waits_cannot_take_is_refused(tmp_path: Path):
    machine = Machine(tmp_path)
    (machine.cwd / "it.runbook.json").write_text(document(script("one", "touch made")))
    first = machine.run("runbook", "run", "it.runbook.json", "--output-format", "stream-json")
    run_id = json.loads(first.stdout.splitlines()[-1])["runId"]
    done = machine.run("runbook", "resume", run_id, "--allow", "runbook_script")
    assert done.returncode == 1 and "begun with" in done.stdout
    assert machine.run("runbook", "resume", run_id, "--trust").returncode == 2


def test_the_lines_of_a_terminal_block_end_as_lines_do(tmp_path: Path):
    machine = Machine(tmp_path)
    (machine.cwd / "it.runbook.json").write_text(document(block("terminal", "look", code="echo one; echo two")))
    done = machine.run("runbook", "run", "it.runbook.json", "--trust")
    assert "│ one\n" in done.stdout and "│ two\n" in done.stdout
