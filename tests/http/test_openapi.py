"""The OpenAPI document and the schemas of stream lines: valid, checked in, and true of what is really told.

Every answer in these tests is also held to them as it comes, by `tests.http.conform`.
"""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest
import schemathesis
from tests.http.conform import check_answer, check_line
from tests.http.endless import Endless, note
from tests.http.site import site

from pollux.cli.schema import schema
from pollux.core.events import Event, HistoryCompressed, ModelReplied, RunStarted
from pollux.core.machine import step
from pollux.core.messages import Message, Native, Text
from pollux.core.run import Compressed
from pollux.engine.feed import Delta, Item, TurnRestarted
from pollux.engine.ports import Recorded
from pollux.http.journal import line_of
from pollux.http.lines import JOURNAL_LINES, RUN_LINES
from pollux.serve import document, endpoints
from pollux.testing import Answer
from pollux.testing import scripted as model
from pollux.testing.store_lab import EVERY_EVENT, Story

CHECKED_IN = Path(__file__).parent.parent.parent / "schema"
EVENTS = "/api/agent/runs/run_1/events"
STREAM = "/api/agent/run/stream"
RUN = step(None, Story("1").began())


def test_the_document_is_openapi():
    schemathesis.openapi.from_dict(json.loads(document())).validate()


def test_the_document_is_checked_in():
    assert (CHECKED_IN / "openapi.json").read_text() == document(), "run `pollux schema --write schema`"


def test_every_route_and_nothing_else_is_in_the_document():
    paths = json.loads(document())["paths"]
    told = {(method.upper(), path) for path, operations in paths.items() for method in operations}
    assert told == {(row.method, row.path) for row in endpoints()}


def test_every_name_in_the_document_leads_somewhere_and_every_operation_has_its_own():
    told = json.loads(document())
    assert set(re.findall(r'"#/components/schemas/(\w+)"', document())) <= told["components"]["schemas"].keys()
    names = [operation["operationId"] for operations in told["paths"].values() for operation in operations.values()]
    assert len(set(names)) == len(names)


def test_what_is_always_there_is_required_in_answers_and_may_be_left_out_of_bodies():
    shapes = json.loads(document())["components"]["schemas"]
    assert shapes["RunBody"]["required"] == ["prompt"]
    assert {"ok", "runId", "errorCode", "connectUrl"} <= set(shapes["RunView"]["required"])
    assert shapes["RunView"]["properties"]["ok"] == {"const": True}
    assert shapes["ErrorDetail"]["required"] == ["code", "message", "correlationId"]


def test_what_a_query_needs_is_marked():
    paths = json.loads(document())["paths"]
    (path,) = paths["/api/runbooks/documents"]["get"]["parameters"]
    assert (path["name"], path["required"]) == ("path", True)
    assert not any(one["required"] for one in paths["/api/agent/runs"]["get"]["parameters"])


async def test_the_server_tells_the_document_to_anybody_and_takes_nothing_there(tmp_path: Path):
    async with site(tmp_path, Endless()) as here:
        async with here.nobody.open("GET", "/openapi.json") as answer:
            assert (answer.status, await answer.text()) == (200, document())
        refused = await here.nobody.post("/openapi.json", {})
    assert (refused.status, refused.code) == (405, "method_not_allowed")


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, {"ok": True, "runId": "run_1"}),
        (418, {"ok": False, "error": {"code": "teapot", "message": "no", "correlationId": "req_1"}}),
        (400, {"ok": False, "error": {"code": "invalid", "message": "no"}}),
        (409, {"ok": False, "error": {"code": "x", "message": "", "correlationId": "req_1", "runId": 7}}),
    ],
)
def test_an_answer_that_does_not_fit_is_noticed(status: int, body: dict[str, Any]):
    with pytest.raises((AssertionError, jsonschema_rs.ValidationError)):
        check_answer("POST", "/api/agent/run", status, "application/json", body)


async def test_a_run_tells_lines_of_every_kind_and_all_fit(tmp_path: Path):
    thinks = Answer(("Let me ", "see."), "Hm.", calls=(("note", {"to": "bob"}),))
    async with site(tmp_path, model(thinks), tools=[note()]) as here:
        told = await here.ada.stream("ask")
        journal = await journal_until(here, told[0]["runId"], "ActionDecided")
    for line in journal:
        check_line(EVENTS, line)
    assert {line["type"] for line in told} == {"status", "delta", "thought_delta", "tool_call", "result"}


async def journal_until(here: Any, run_id: str, kind: str) -> list[dict[str, Any]]:
    """The lines of a journal up to an event of this kind."""
    told: list[dict[str, Any]] = []
    async with here.ada.open("GET", f"/api/agent/runs/{run_id}/events") as answer:
        async for line in answer.content:
            told.append(json.loads(line))
            if told[-1]["type"] == kind:
                return told
    raise AssertionError(told)


@pytest.mark.parametrize("event", EVERY_EVENT, ids=lambda event: type(event).__name__)
def test_every_event_fits_as_it_is_told(event: Event):
    line = json.loads(msgspec.json.encode(line_of(Recorded(7, event), RUN)))
    check_line(EVENTS, line)
    with pytest.raises(jsonschema_rs.ValidationError):
        check_line(EVENTS, {**line, "seq": "7"})
    with pytest.raises(jsonschema_rs.ValidationError):
        check_line(STREAM, line)


@pytest.mark.parametrize("item", [Delta(1, 1, 0, "text", "a"), Delta(1, 1, 0, "thought", "b"), TurnRestarted(1, 2)])
def test_what_has_no_number_fits_as_well(item: Item):
    check_line(EVENTS, line_of(item, RUN))


def test_what_a_provider_wrote_for_itself_is_never_told():
    said = Message("assistant", (Text("a"),), Native("gemini", '{"secret": 1}'))
    compressed = Compressed(1, said, 1)
    for event in EVERY_EVENT:
        match event:
            case RunStarted():
                event = replace(event, prompt=said, compressed=compressed)
            case ModelReplied():
                event = replace(event, message=said)
            case HistoryCompressed():
                event = replace(event, compressed=compressed)
            case _:
                continue
        assert b"secret" not in msgspec.json.encode(line_of(Recorded(1, event), RUN))


@pytest.mark.parametrize(
    "line",
    [
        {"type": "delta", "delta": ""},
        {"type": "delta", "text": "a"},
        {"type": "status", "status": "planning", "threadId": "thr_1"},
        {"type": "result", "result": {"ok": True}},
        {"type": "error", "error": "no"},
        {"type": "tool_call", "id": "act_1", "toolName": "note", "preview": "", "args": {}},
        {"type": "nonsense"},
    ],
    ids=json.dumps,
)
def test_a_line_that_does_not_fit_is_noticed(line: dict[str, Any]):
    with pytest.raises(jsonschema_rs.ValidationError):
        check_line(STREAM, line)


def test_every_kind_of_line_is_in_the_document():
    lines = schema("http-lines")["$defs"]
    assert {f"#/$defs/{line.__name__}" for line in RUN_LINES} == {each["$ref"] for each in lines["RunLine"]["anyOf"]}
    assert {line.__name__ for line in (*RUN_LINES, *JOURNAL_LINES)} <= lines.keys()
    types = {lines[line.__name__]["properties"]["type"]["const"] for line in RUN_LINES}
    assert types == {"status", "delta", "thought_delta", "tool_call", "turn_restarted", "result", "error"}
