"""Google's own Gemini CLI against `pollux emulator gemini`: a client that we did not write and cannot bend."""

import json
from typing import Any

import pytest
from tests.interop.peers import GeminiCli, Served

from pollux.emulator.model import Call
from pollux.emulator.seal import verify

pytestmark = pytest.mark.interop

FLASH = ("-m", "gemini-3.8-flash")
LINES = ("--output-format", "stream-json")
READ = 'call read_file {"file_path": "notes.txt"}'


@pytest.fixture(autouse=True)
def notes(gemini: GeminiCli) -> None:
    (gemini.workspace / "notes.txt").write_text("the word is marzipan\n")


def test_hello_is_answered_in_text(gemini: GeminiCli, served: Served):
    ran = gemini("-p", "hello")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("Hello! I am a demo model, rule-based")
    assert {request["headers"]["user-agent"].split("/")[1] for request in served.requests} == {"0.61.0"}


def test_the_client_s_own_question_which_model_to_take_gets_the_shape_it_asks_for(gemini: GeminiCli, served: Served):
    assert gemini("-p", "say marzipan").out == "marzipan\n"
    [router] = [request for request in served.requests if request["path"].endswith(":generateContent")]
    schema = router["body"]["generationConfig"]["responseJsonSchema"]
    assert schema["type"] == "OBJECT" and "complexity_score" in schema["properties"]
    # One question and one turn: the answer to the question was understood.
    assert len(served.requests) == 2


def test_hello_is_answered_in_lines(gemini: GeminiCli):
    ran = gemini(*FLASH, "-p", "count to 5", *LINES)
    assert ran.code == 0, ran.err
    assert [line["type"] for line in ran.lines][:2] == ["init", "message"]
    assert ran.said == "1\n2\n3\n4\n5" and len(ran.of("message")) > 2
    [result] = ran.of("result")
    assert result["status"] == "success"
    assert result["stats"]["input_tokens"] > 0 and result["stats"]["output_tokens"] > 0


def test_a_file_is_read_and_told_of(gemini: GeminiCli, served: Served):
    ran = gemini(*FLASH, "--yolo", "-p", "read the file notes.txt", *LINES)
    [use], [result] = ran.of("tool_use"), ran.of("tool_result")
    assert (use["tool_name"], use["parameters"]) == ("read_file", {"file_path": "notes.txt"})
    assert (result["tool_id"], result["status"]) == (use["tool_id"], "success")
    assert "the word is marzipan" in ran.said
    assert signatures(served.turns[-1]) == ["genuine"]


def test_several_rounds_and_parallel_calls_keep_their_signatures(gemini: GeminiCli, served: Served):
    ran = gemini(*FLASH, "--yolo", "-p", f'{READ} {READ} then call list_directory {{"dir_path": "."}}', *LINES)
    assert [use["tool_name"] for use in ran.of("tool_use")] == ["read_file", "read_file", "list_directory"]
    assert ran.code == 0 and "marzipan" in ran.said
    assert [len(turn["body"]["contents"]) for turn in served.turns] == [1, 3, 5]
    # One signature for each turn of the model's, on its first call, as the service gives them.
    assert signatures(served.turns[-1]) == ["genuine", "genuine"]


def test_a_conversation_goes_on_over_several_calls_of_the_program(gemini: GeminiCli, served: Served):
    assert gemini(*FLASH, "-p", "say one").out == "one\n"
    assert gemini(*FLASH, "--resume", "latest", "-p", "say two").out == "two\n"
    assert gemini(*FLASH, "--yolo", "--resume", "latest", "-p", READ).out == "read_file returned the word is marzipan\n"
    assert [len(turn["body"]["contents"]) for turn in served.turns] == [1, 3, 5, 7]
    assert signatures(served.turns[-1]) == ["genuine"]


def test_the_session_file_holds_what_was_said(gemini: GeminiCli):
    gemini(*FLASH, "--yolo", "-p", READ)
    [session] = gemini.sessions
    records: list[dict[str, Any]] = [json.loads(line) for line in session.read_text().splitlines()]
    said = [record["content"] for record in records if record.get("type") == "gemini"]
    assert "read_file returned the word is marzipan" in said
    calls = [call["name"] for record in records for call in record.get("toolCalls", [])]
    assert "read_file" in calls


@pytest.mark.parametrize("fault", ["429-retry1-times1", "503-times1"])
def test_a_refusal_that_passes_is_tried_again(gemini: GeminiCli, served: Served, fault: str):
    ran = gemini("-m", f"gemini-3.8-flash--{fault}", "-p", "say marzipan", *LINES)
    assert ran.code == 0 and ran.said == "marzipan", ran.err
    first, second = served.turns
    assert second["time"] - first["time"] >= 1


def test_a_daily_quota_is_not_waited_for(gemini: GeminiCli, served: Served):
    ran = gemini("-m", "gemini-3.8-flash--429-quotaday", "-p", "say marzipan", *LINES)
    assert ran.code != 0 and len(served.turns) == 1
    assert "daily quota" in ran.err


def test_a_bad_request_is_told_and_not_tried_again(gemini: GeminiCli, served: Served):
    ran = gemini("-m", "gemini-3.8-flash--400", "-p", "say marzipan", *LINES)
    assert ran.code != 0 and len(served.turns) == 1
    [result] = ran.of("result")
    assert result["status"] == "error" and "INVALID_ARGUMENT" in result["error"]["message"]


def test_a_key_that_is_not_valid_is_said_so(gemini: GeminiCli):
    ran = gemini(*FLASH, "-p", "hello", key="invalid-key")
    assert ran.code != 0 and "API key not valid" in ran.err


def test_a_session_resumed_after_a_call_repeats_its_result_and_is_refused_as_the_service_refuses_it(
    gemini: GeminiCli, served: Served
):
    # The CLI keeps a call's result twice, with the call and as a message, and sends both when it resumes.
    gemini(*FLASH, "--yolo", "-p", READ)
    ran = gemini(*FLASH, "--resume", "latest", "-p", "say marzipan", *LINES)
    results = [part for part in served.turns[-1]["body"]["contents"][2]["parts"] if "functionResponse" in part]
    assert len(results) == 2 and results[0] == results[1]
    [result] = ran.of("result")
    assert "number of function response parts" in result["error"]["message"]


def signatures(request: dict[str, Any]) -> list[str]:
    """The verdict on every thought signature that came back on a call, in order."""
    parts = [part for content in request["body"]["contents"] for part in content["parts"] if "thoughtSignature" in part]
    return [
        verify(part["thoughtSignature"], Call(part["functionCall"]["name"], part["functionCall"]["args"]))
        for part in parts
        if "functionCall" in part
    ]
