"""`pollux doctor`: whatever is wrong with an installation is found and said, and nothing is changed by looking."""

import json
import shlex
import socket
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.machine import POLLUX, Machine, emulator

from pollux import Agent, tool
from pollux.cli.doctor.checks import sqlite
from pollux.testing import call, reply, scripted

pytestmark = pytest.mark.slow

KEY = "canary-key-0001"
RESULT = {
    "type": "result",
    "result": "Hello",
    "status": "completed",
    "runId": "run_1",
    "sessionId": "thr_1",
    "usage": {"input": 1, "output": 1, "total": 2},
}
ASSISTANT = {"type": "assistant", "message": {"content": [{"type": "text", "text": "Hello"}]}}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with emulator() as url:
        yield url


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def found(machine: Machine, *words: str, code: int) -> dict[str, dict[str, Any]]:
    """The checks by name."""
    told = machine.told("doctor", "--json", *words, code=code)
    assert told["ok"] is (code == 0)
    assert {frozenset(check) for check in told["checks"]} == {
        frozenset({"name", "status", "message", "advice", "details"})
    }
    return {check["name"]: check for check in told["checks"]}


def status(checks: dict[str, dict[str, Any]], *names: str) -> list[str]:
    return [checks[name]["status"] for name in names]


# The tools

CODE = """
from pollux import tool

@tool(side_effect=True, default_approval="not_required")
def post(text: str) -> str:
    "Post it."
    return text

@tool
def look() -> str:
    "Look."
    return "seen"
"""


@pytest.mark.parametrize(("names", "expected"), [(("look",), "ok"), (("look", "post"), "warning")])
def test_configured_tools_that_act_without_a_question_are_named(
    machine: Machine, names: tuple[str, ...], expected: str
):
    (machine.cwd / "own_tools.py").write_text(CODE)
    (machine.cwd / "own.toml").write_text("".join(f'[tools.{name}]\nuse = "own_tools:{name}"\n' for name in names))
    machine.environ |= {"GEMINI_API_KEY": KEY, "PYTHONPATH": str(machine.cwd)}
    check = found(machine, "--offline", "--config", "own.toml", code=0)["tools"]
    assert check["status"] == expected
    assert check["details"] == (["post"] if "post" in names else [])


def test_a_tool_that_cannot_be_loaded_is_an_error(machine: Machine):
    (machine.cwd / "own.toml").write_text('[tools.look]\nuse = "no_such_module:look"\n')
    machine.environ |= {"GEMINI_API_KEY": KEY}
    check = found(machine, "--offline", "--config", "own.toml", code=1)["tools"]
    assert check["status"] == "error" and "no_such_module" in check["message"]


# The service


def test_where_all_is_well_every_check_says_so_and_nothing_is_made(machine: Machine, url: str):
    machine.environ |= {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url}
    checks = found(machine, code=0)
    names = ["python", "sqlite", "parts", "modules", "sandbox", "config", "access", "key", "endpoint", "model", "store"]
    assert list(checks) == names
    assert status(checks, "python", "parts", "config", "key", "endpoint", "model", "store") == ["ok"] * 7
    assert list(machine.home.iterdir()) == [] and list(machine.cwd.iterdir()) == []


def test_people_read_a_line_for_each_check_without_colour_or_key(machine: Machine, url: str):
    machine.environ |= {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url}
    done = machine.run("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    assert {line.split()[1] for line in done.stdout.splitlines() if line[0] != " "} > {"python", "key", "store"}
    assert KEY not in done.stdout and "\x1b" not in done.stdout


def test_a_missing_key_is_an_error_that_says_what_to_set(machine: Machine, url: str):
    machine.environ["GOOGLE_GEMINI_BASE_URL"] = url
    checks = found(machine, code=1)
    assert status(checks, "key", "endpoint") == ["error", "ok"]
    assert checks["key"]["message"] == "GEMINI_API_KEY is not set"
    assert checks["key"]["advice"].startswith("Set it, or put `api_key` in the config file")


def test_a_key_that_the_service_refuses_is_told_apart_from_a_service_that_is_gone(machine: Machine, url: str):
    machine.environ |= {"GEMINI_API_KEY": "invalid-canary", "GOOGLE_GEMINI_BASE_URL": url}
    refused = found(machine, code=1)["endpoint"]
    assert "refuses the key" in refused["message"] and "invalid-canary" not in refused["message"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        machine.environ["GOOGLE_GEMINI_BASE_URL"] = f"http://127.0.0.1:{taken.getsockname()[1]}"
    assert "cannot be reached" in found(machine, code=1)["endpoint"]["message"]
    del machine.environ["GEMINI_API_KEY"]
    assert "cannot be reached" in found(machine, code=1)["endpoint"]["message"]


def test_an_unknown_model_is_a_warning_with_the_nearest(machine: Machine, url: str):
    machine.environ |= {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url}
    model = found(machine, "--model", "gemini-3.8-flush", code=0)["model"]
    assert (model["status"], model["advice"].split(" or ")[0]) == ("warning", "Did you mean gemini-3.8-flash")


@pytest.mark.parametrize(("model", "key"), [("claude-opus-5", "ANTHROPIC_API_KEY"), ("gpt-5", "OPENAI_API_KEY")])
def test_the_key_that_is_missed_is_that_of_the_model_in_use(machine: Machine, model: str, key: str):
    machine.environ["GEMINI_API_KEY"] = KEY
    assert found(machine, "--offline", "--model", model, code=1)["key"]["message"] == f"{key} is not set"


def test_offline_asks_nobody(machine: Machine):
    machine.environ["GEMINI_API_KEY"] = KEY
    assert not {"endpoint", "model"} & found(machine, "--offline", code=0).keys()


# The store


@tool(side_effect=True)
def note(text: str) -> str:
    """Write something down."""
    return text


def fill_store(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in machine.environ.items():
        monkeypatch.setenv(name, value)
    steps = scripted(call("note", {"text": "x"}), reply("Noted."))
    agent = Agent("Be brief.", model=steps, tools=[note], policy="allow_all", cwd=machine.cwd)
    agent.send_sync("Go")
    agent.close()
    machine.environ["GEMINI_API_KEY"] = KEY
    return machine.home / "pollux" / "pollux.db"


def test_a_sound_store_opens_and_its_audit_is_whole(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    fill_store(machine, monkeypatch)
    checks = found(machine, "--offline", code=0)
    assert status(checks, "store", "audit") == ["ok", "ok"]
    assert int(checks["audit"]["message"].split()[0]) > 0


def test_a_changed_audit_is_an_error_that_names_the_place(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    store = fill_store(machine, monkeypatch)
    db = sqlite3.connect(store)
    db.execute("DROP TRIGGER audit_refuses_update")
    db.execute("UPDATE audit SET tool_name = 'other' WHERE seq = 1")
    db.commit()
    db.close()
    audit = found(machine, "--offline", code=1)["audit"]
    assert audit["status"] == "error"
    assert "update: entry 1 changed after being written" in audit["details"]


def test_a_lost_key_of_the_audit_is_told_and_no_new_one_is_made(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    key = fill_store(machine, monkeypatch).with_name("audit.key")
    key.unlink()
    assert "audit.key is missing" in found(machine, "--offline", code=1)["store"]["message"]
    assert not key.exists()


def test_a_file_that_is_no_store_is_an_error(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    fill_store(machine, monkeypatch)
    (machine.cwd / "other.db").write_text("This is no database, however long one reads it. " * 100)
    store = found(machine, "--offline", "--store", "other.db", code=1)["store"]
    assert store["status"] == "error" and "other.db" in store["message"]


def test_a_folder_is_no_store_and_a_place_that_is_not_ours_will_be_none(machine: Machine):
    machine.environ["GEMINI_API_KEY"] = KEY
    assert "is a folder" in found(machine, "--offline", "--store", ".", code=1)["store"]["message"]
    (machine.cwd / "file").touch()
    assert found(machine, "--offline", "--store", "file/below/pollux.db", code=1)["store"]["status"] == "error"
    assert list(machine.home.iterdir()) == []


# Settings and parts


def test_a_broken_file_is_an_error_and_the_rest_is_looked_at_all_the_same(machine: Machine):
    (machine.cwd / "pollux.toml").write_text("broken = [")
    checks = found(machine, code=1)
    assert status(checks, "python", "config") == ["ok", "error"]
    assert "pollux.toml is not valid TOML" in checks["config"]["message"]


def test_what_does_not_count_is_listed_with_its_reason(machine: Machine):
    machine.environ["GEMINI_API_KEY"] = KEY
    (machine.cwd / ".env").write_text("POLLUX_STORE=/elsewhere\n")
    (machine.cwd / "pollux.toml").write_text('[[rules]]\ndecision = "allow"\ntool = "shell"\n')
    config = found(machine, "--offline", code=0)["config"]
    assert config["status"] == "warning" and str(machine.cwd / "pollux.toml") in config["message"]
    assert [detail.split()[0] for detail in config["details"]] == ["POLLUX_STORE", "rule"]


def test_a_name_with_control_characters_is_written_out(machine: Machine):
    machine.environ["GEMINI_API_KEY"] = KEY
    (machine.cwd / "pollux.toml").write_text('"\\u001b[31mred" = 1\n')
    done = machine.run("doctor", "--offline")
    assert "\\x1b[31mred" in done.stdout and "\x1b" not in done.stdout


def test_without_bubblewrap_there_is_a_warning(machine: Machine):
    machine.environ |= {"GEMINI_API_KEY": KEY, "PATH": str(machine.cwd)}
    sandbox = found(machine, "--offline", code=0)["sandbox"]
    assert sandbox["status"] == "warning" and "bubblewrap is not installed" in sandbox["message"]


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ((3, 40, 1), "warning"),
        ((3, 44, 5), "warning"),
        ((3, 44, 6), "ok"),
        ((3, 45, 0), "warning"),
        ((3, 50, 7), "ok"),
        ((3, 51, 2), "warning"),
        ((3, 51, 3), "ok"),
        ((3, 53, 0), "ok"),
    ],
)
def test_an_sqlite_with_the_fault_in_its_log_is_a_warning(version: tuple[int, int, int], expected: str):
    assert sqlite(version).status == expected


# A captured output


def test_a_stream_that_keeps_its_word_is_ok_from_a_file_and_from_a_pipe(machine: Machine):
    lines = f"{json.dumps(ASSISTANT)}\n{json.dumps(RESULT)}\n"
    (machine.cwd / "captured.jsonl").write_text(lines)
    for done in (
        machine.run("doctor", "--stream", "captured.jsonl"),
        machine.run("doctor", "--stream", "-", said=lines),
    ):
        assert (done.returncode, done.stdout, done.stderr) == (0, "ok: 2 lines keep V1 to V5\n", "")


def test_a_stream_that_does_not_is_an_error_that_names_promise_line_and_reason(machine: Machine):
    lines = f"Loading models\n{json.dumps(RESULT)}\n"
    done = machine.run("doctor", "--stream", "-", said=lines)
    assert done.returncode == 1
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["V4  line 1", "V2  line 2"]
    (machine.cwd / "captured.jsonl").write_text(lines)
    told = machine.told("doctor", "--stream", "captured.jsonl", "--json", code=1)
    assert (told["ok"], told["lines"], told["format"]) == (False, 2, "stream-json")
    assert [(each["invariant"], each["line"]) for each in told["violations"]] == [("V4", 1), ("V2", 2)]


def test_another_format_is_held_against_its_own_rules(machine: Machine):
    done = machine.run("doctor", "--stream", "-", "--format", "text", said="Hello\n")
    assert (done.returncode, done.stdout) == (0, "ok: 1 line keeps V1 to V5\n")
    done = machine.run("doctor", "--stream", "-", "--format", "gemini", said=json.dumps(RESULT))
    assert done.returncode == 1 and "the first line must be init" in done.stdout


def test_standard_input_that_was_closed_is_a_usage_error(machine: Machine):
    command = f"exec {shlex.join([*POLLUX, 'doctor', '--stream', '-'])} <&-"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, env=machine.environ)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "pollux: --stream standard input cannot be read (Bad file descriptor)\n"


def test_a_capture_that_is_not_there_is_a_usage_error(machine: Machine):
    done = machine.run("doctor", "--stream", "nowhere.jsonl")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "pollux: --stream nowhere.jsonl cannot be read (No such file or directory)\n"
