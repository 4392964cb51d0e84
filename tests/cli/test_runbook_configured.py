"""Tools and profiles of the configuration, as `pollux runbook` and `pollux serve` give them to agents in runbooks."""

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.cli.machine import Machine
from tests.http.site import TOKENS, Person, process
from tests.runbooks.http.site import begun, ended, put
from tests.runbooks.lab import agent, document

from pollux.emulator import Emulator

pytestmark = pytest.mark.slow

SOURCE = str(Path(__file__).parents[2])
CONFIG = """\
[tools.hello]
use = "tests.cli.greeting:hello"

[tools.save_note]
use = "tests.cli.greeting:save_note"

[profiles.brief]
instructions = "Be very brief."
tools = ["hello", "read_file"]
model = "gemini-2.5-flash"

# Runbooks at the command line have no accounts: it matters where a block names it, and nowhere else.
[profiles.mail]
tools = ["gmail_send"]
"""
ALWAYS = {"readFiles": True, "alwaysAllowTools": True}
OWN = {"get_runbook_document", "get_block_docs", "read_file", "list_directory", "glob", "search"}


@pytest.fixture
def machine(tmp_path: Path, emulator: Emulator) -> Machine:
    made = Machine(tmp_path, GEMINI_API_KEY="demo", GOOGLE_GEMINI_BASE_URL=emulator.url, PYTHONPATH=SOURCE)
    (made.cwd / "agents.toml").write_text(CONFIG)
    return made


def written(machine: Machine, prompt: str, **props: Any) -> str:
    block = agent("us", prompt, **{"source": {"type": "internal"}, "capabilities": {"readFiles": True}, **props})
    (machine.cwd / "a.json").write_text(document(block))
    return "a.json"


def offered(emulator: Emulator) -> set[str]:
    body = emulator.requests[-1].body
    return {each["name"] for tools in body["tools"] for each in tools["functionDeclarations"]}


def test_a_named_configuration_gives_its_tools_to_agents(machine: Machine, emulator: Emulator):
    file = written(machine, "Say hi")
    done = machine.run("runbook", "run", file, "--trust", "--config", "agents.toml")
    assert done.returncode == 0, done
    assert offered(emulator) == {*OWN, "hello", "save_note"}
    assert machine.run("runbook", "run", file).returncode == 0 and offered(emulator) == OWN
    machine.environ["POLLUX_CONFIG"] = str(machine.cwd / "agents.toml")
    assert machine.run("runbook", "run", file).returncode == 0 and "hello" in offered(emulator)


def test_a_project_file_gives_them_once_it_is_accepted(machine: Machine, emulator: Emulator):
    (machine.cwd / "agents.toml").rename(machine.cwd / "pollux.toml")
    file = written(machine, "Say hi")
    assert machine.run("runbook", "run", file, "--trust").returncode == 0 and offered(emulator) == OWN
    refused = machine.run("runbook", "run", file, "--profile", "brief")
    assert refused.returncode == 2 and "is not accepted: pollux trust ." in refused.stderr, refused
    assert machine.run("trust", "--yes").returncode == 0
    assert machine.run("runbook", "run", file).returncode == 0 and "hello" in offered(emulator)


def test_a_trust_from_before_the_tool_covers_no_call_of_it(machine: Machine):
    file = written(machine, 'Save the note "eggs"', capabilities=ALWAYS)
    assert machine.run("runbook", "run", file, "--trust").returncode == 0
    done = machine.run("runbook", "run", file, "--config", "agents.toml", "--output-format", "stream-json")
    last = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 3 and len(last["approvals"]) == 1, done
    asked = machine.told("approvals", "show", last["approvals"][0]["id"], "--json")
    assert (asked["tool"], asked["args"]) == ("save_note", {"note": "eggs"})
    assert machine.run("approvals", "approve", last["approvals"][0]["id"], "--session").returncode == 0
    gone_on = machine.run("runbook", "resume", last["runId"], "--config", "agents.toml")
    assert gone_on.returncode == 0 and (machine.cwd / "notes.txt").read_text() == "eggs\n", gone_on


def test_a_profile_is_named_by_the_block_or_for_the_run(machine: Machine, emulator: Emulator):
    named = {"type": "internal", "profile": "brief"}
    for file, words in (
        (written(machine, "Say hi", source=named), ()),
        (written(machine, "Say hi"), ("--profile", "brief")),
    ):
        written(machine, "Say hi", source=named if not words else {"type": "internal"})
        done = machine.run("runbook", "run", file, "--trust", "--config", "agents.toml", *words)
        assert done.returncode == 0, done
        sent = emulator.requests[-1]
        assert offered(emulator) == {"get_runbook_document", "get_block_docs", "hello", "read_file"}
        assert "Be very brief." in str(sent.body["systemInstruction"]) and "gemini-2.5-flash" in sent.path


def test_a_profile_with_a_tool_that_runbooks_do_not_have_fails_its_block_alone(machine: Machine):
    file = written(machine, "Say hi", source={"type": "internal", "profile": "mail"})
    done = machine.run("runbook", "run", file, "--trust", "--config", "agents.toml")
    assert done.returncode == 1 and "profile 'mail' names gmail_send" in done.stdout + done.stderr, done
    unknown = machine.run("runbook", "run", file, "--config", "agents.toml", "--profile", "nosuch")
    assert unknown.returncode == 2 and "no profile 'nosuch'. Known: brief, mail" in unknown.stderr, unknown


async def test_a_server_gives_its_tools_and_profiles_to_agents_in_runbooks(tmp_path: Path, emulator: Emulator):
    config = tmp_path / "serve.toml"
    # A prompt over HTTP has no files: none of its profiles names them.
    text = CONFIG.partition("# Runbooks")[0].replace(', "read_file"', "")
    config.write_text(f'{text}[runbooks]\nfolder = "runbooks"\nusers = ["ada"]\n')
    blocks = (
        agent("us", "Say hi", source={"type": "internal"}, capabilities={"readFiles": True}),
        agent("them", "Say hi", source={"type": "internal", "profile": "brief"}, capabilities={"readFiles": True}),
    )
    put(tmp_path / "runbooks", "a.atrb", document(*blocks))
    environ = {"GEMINI_API_KEY": "demo", "GOOGLE_GEMINI_BASE_URL": emulator.url, "PYTHONPATH": SOURCE}
    async with process(tmp_path, "--config", str(config), **environ) as here, aiohttp.ClientSession() as http:
        ada = Person(http, here.url, TOKENS["ada"])
        over = await ended(ada, (await begun(ada, "a.atrb"))["runId"])
    assert over["state"] == "completed", over
    first, second = emulator.requests[-2:]
    names = [{each["name"] for each in sent.body["tools"][0]["functionDeclarations"]} for sent in (first, second)]
    assert {"hello", "save_note"} <= names[0] and names[1] == {*OWN, "hello"}
    assert "Be very brief." in str(second.body["systemInstruction"])
