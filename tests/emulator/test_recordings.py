"""Real recordings as the measure: their requests are accepted here, and our answers and errors have their shape."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.emulator.wire import ADD, FLASH, OLD, Wire, answered, prompt

from pollux.emulator.gemini import fields, history, rules
from pollux.emulator.jsons import is_list, is_object

SHARED = Path(__file__).parents[3] / "shared" / "samples" / "cassettes"
pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared recordings are not here")

# Gemini 3 began to give these after the recordings were made.
NEWER = {"candidates.content.parts.functionCall.id"}


def interactions() -> list[dict[str, Any]]:
    yaml = pytest.importorskip("yaml")
    files = sorted((SHARED / "pydantic-ai").glob("*.yaml"))
    return [one for file in files for one in yaml.safe_load(file.read_text("utf-8"))["interactions"]]


def recorded_errors() -> list[dict[str, Any]]:
    lines = (SHARED / "errors" / "errors.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["body"] for line in lines]


def recorded_answers() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for one in interactions():
        response = one["response"]
        if "parsed_body" in response:
            found.append(response["parsed_body"])
        else:
            lines = response["body"]["string"].splitlines()
            found += [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    return found


def paths(value: Any, at: str = "") -> set[str]:
    """The dotted names of every field, without positions and without what is inside arguments."""
    if is_list(value):
        return {path for item in value for path in paths(item, at)}
    if not is_object(value) or at.endswith(".args"):
        return {at}
    return {path for name, below in value.items() for path in paths(below, f"{at}.{name}".lstrip("."))} | {at}


def test_every_recorded_request_is_well_formed_here():
    for one in interactions():
        counting = "countTokens" in one["request"]["uri"]
        kind = "CountTokensRequest" if counting else "GenerateContentRequest"
        request = fields.read(kind, one["request"]["parsed_body"])
        rules.check(request)
        history.check(request["contents"], model=OLD, vertex=False)


@pytest.mark.parametrize("model", [FLASH, OLD])
async def test_our_answers_have_no_field_the_recordings_lack(wire: Wire, model: str):
    known = {path for answer in recorded_answers() for path in paths(answer)} | NEWER
    thinking = {"thinkingConfig": {"includeThoughts": True}}
    for body in [prompt("say hi", generationConfig=thinking), prompt("add 2 and 3", ADD), prompt("count to 9")]:
        for answer in [(await wire.ask(body, model=model)).json, *(await wire.stream(body, model=model)).events]:
            assert paths(answer) <= known


async def test_a_missing_signature_is_refused_word_for_word(wire: Wire):
    [recorded] = [
        body["error"]["message"]
        for body in recorded_errors()
        if is_object(body) and "error" in body and "missing a thought_signature in" in body["error"]["message"]
    ]
    body = prompt("add 2 and 3", ADD)
    content = (await wire.ask(body)).json["candidates"][0]["content"]
    del content["parts"][0]["thoughtSignature"]
    got = (await wire.ask(answered(body, content, {"result": 5}))).error["message"]
    assert got == recorded.replace("task_complete", "add").replace("position 30", "position 2")


async def test_a_quota_error_has_the_recorded_details(wire: Wire):
    [recorded] = [body for body in recorded_errors() if "RetryInfo" in json.dumps(body)]
    got = (await wire.ask(prompt("hi"), fault="429;retry=26")).json
    assert paths(got) == paths(recorded)
    assert got["error"]["message"] == recorded["error"]["message"]


async def test_an_unknown_model_is_refused_word_for_word(wire: Wire):
    [recorded] = [answer for answer in recorded_answers() if "error" in answer]
    assert (await wire.ask(prompt("hi"), model="gemini-3.6-flahs")).json == recorded
