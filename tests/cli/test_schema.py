"""What is checked in under schema/ is what the code makes, and what the code writes fits it."""

import json
from pathlib import Path
from typing import Any, get_args

import jsonschema_rs
import msgspec
import pytest
from tests.cli.machine import Machine

from pollux.cli.schema import documents, schema, written
from pollux.core.events import EVENT_TYPES, Event
from pollux.core.messages import Usage
from pollux.core.thread import THREAD_EVENT_TYPES, ThreadEvent
from pollux.sdk import events
from pollux.sdk.events import AgentEvent
from pollux.testing.store_lab import EVERY_EVENT, EVERY_THREAD_EVENT
from pollux.wire.codec import VERSION, Codec

REPOSITORY = Path(__file__).parent.parent.parent
CHECKED_IN = REPOSITORY / "schema"
CAPTURED = REPOSITORY.parent / "shared/samples/captured"

SCHEMAS = [name for name in documents() if name != "openapi"]
EVERY_SDK_EVENT: tuple[AgentEvent, ...] = (
    events.ModelInfo("gemini-3.8-flash", "thr_1", "run_1"),
    events.Content("Hello"),
    events.Thought("Hm."),
    events.TurnRestarted(),
    events.ToolCallRequest("c1", "add", {"a": 1}),
    events.ToolCallResponse("c1", "add", result=[1, None]),
    events.ApprovalRequired("apr_1", "c1", "mail", {"to": "bob"}, "sha256:0", "asks", "to bob", 1.5, ("bob",)),
    events.ChatCompressed(100, 10, "compressed"),
    events.ToolCallStarted("call_1", "add"),
    events.UsageUpdate(Usage(1, 2), Usage(3, 4, 5, 6), 0.5, 0.25),
    events.Failure("timeout", "too late"),
    events.Finished("completed"),
)


def test_the_folder_holds_every_document_and_no_other():
    assert sorted(path.name for path in CHECKED_IN.iterdir()) == sorted(f"{name}.json" for name in documents())


@pytest.mark.parametrize("name", documents())
def test_a_document_is_the_one_that_the_code_makes(name: str):
    assert (CHECKED_IN / f"{name}.json").read_text() == written(schema(name)), "run `pollux schema --write schema`"


@pytest.mark.parametrize("name", [*SCHEMAS, "content", "usage", "RunStarted", "MessagesImported"])
def test_every_schema_is_one(name: str):
    jsonschema_rs.meta.validate(schema(name))
    jsonschema_rs.validator_for(schema(name))


def test_every_event_of_an_agent_is_among_the_samples():
    assert {type(event) for event in EVERY_SDK_EVENT} == set(get_args(AgentEvent))


@pytest.mark.parametrize("event", EVERY_SDK_EVENT, ids=lambda event: event.type)
def test_an_event_of_an_agent_fits_its_schema_and_no_other_event_does(event: AgentEvent):
    document, alone = (jsonschema_rs.validator_for(schema(name)) for name in ("sdk-events", event.type))
    told = [json.loads(msgspec.json.encode(each)) for each in EVERY_SDK_EVENT]
    assert all(document.is_valid(each) for each in told)
    assert [each["type"] for each in told if alone.is_valid(each)] == [event.type]


@pytest.mark.parametrize("event", [*EVERY_EVENT, *EVERY_THREAD_EVENT], ids=lambda event: type(event).__name__)
def test_an_event_of_the_journal_fits_its_schema_as_it_is_stored(event: Event | ThreadEvent):
    stored = Codec(b"key").encode("thr_1", event)
    facts = json.loads(stored.facts)
    jsonschema_rs.validate(schema(stored.kind), facts)
    jsonschema_rs.validate(schema("journal-events"), {"kind": stored.kind, "v": VERSION, "facts": facts})


def test_every_event_of_the_journal_is_among_the_samples():
    known = {type(event).__name__ for event in (*EVERY_EVENT, *EVERY_THREAD_EVENT)}
    assert known == EVENT_TYPES.keys() | THREAD_EVENT_TYPES.keys()


def test_what_was_said_does_not_fit_among_the_facts():
    [event] = [event for event in EVERY_EVENT if type(event).__name__ == "RunFailed"]
    facts: dict[str, Any] = json.loads(Codec(b"key").encode("thr_1", event).facts)
    validator = jsonschema_rs.validator_for(schema("RunFailed"))
    assert validator.is_valid(facts)
    assert not validator.is_valid({**facts, "message": "the words themselves"})
    assert not validator.is_valid({**facts, "at": "noon"})


def test_what_gemini_cli_wrote_fits_its_dialect():
    samples = sorted(CAPTURED.glob("*.stream-json.jsonl"))
    if not samples:
        pytest.skip(f"no captured streams in {CAPTURED}")
    validator = jsonschema_rs.validator_for(schema("gemini-stream-json"))
    for sample in samples:
        for line in sample.read_text().splitlines():
            validator.validate(json.loads(line))


@pytest.mark.slow
def test_the_command_lists_prints_and_writes(tmp_path: Path):
    machine = Machine(tmp_path)
    listed = [line.split()[0] for line in machine.run("schema").stdout.splitlines()]
    assert listed[:8] == [*documents()] and {"content", "RunStarted", "ThreadErased"} < set(listed)
    assert [entry["name"] for entry in machine.told("schema", "--json")["schemas"]] == listed
    assert machine.told("schema", "finished") == schema("finished")
    assert machine.run("schema", "--write", "made").returncode == 0
    assert {path.stem for path in (machine.cwd / "made").iterdir()} == documents().keys()


@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_same_text_comes_out_whatever_the_order_of_hashes(tmp_path: Path, seed: str):
    made = Machine(tmp_path, PYTHONHASHSEED=seed).run("schema", "journal-events").stdout
    assert made == written(schema("journal-events"))


def test_a_name_that_is_none_and_a_folder_that_cannot_be_made_are_one_line(tmp_path: Path):
    machine = Machine(tmp_path)
    unknown = machine.run("schema", "nonsense")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert unknown.stderr == "pollux: there is no schema 'nonsense'. `pollux schema` lists what there is\n"
    (machine.cwd / "file").touch()
    refused = machine.run("schema", "--write", "file/below")
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (1, "", 1)
