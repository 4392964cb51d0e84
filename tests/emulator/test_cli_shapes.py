"""What Google's Gemini CLI sends and other clients do not. The CLI itself is met in tests/interop."""

import json
from typing import Any

import pytest
from tests.emulator.wire import Wire, prompt

CONTEXT = "<session_context>\nMy files:\n/home/ada/notes.txt\nread the file notes.txt\n</session_context>"
READ: dict[str, Any] = {
    "functionDeclarations": [
        {
            "name": "read_file",
            "description": "Reads a file",
            "parametersJsonSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
        }
    ]
}


def said(*texts: str) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [{"text": text} for text in texts]}], "tools": [READ]}


async def test_a_tagged_block_beside_the_prompt_asks_for_nothing(wire: Wire):
    answer = await wire.ask(said(CONTEXT, "say hi"))
    assert answer.json["candidates"][0]["content"]["parts"][0]["text"] == "hi"


async def test_a_tagged_block_alone_is_the_prompt(wire: Wire):
    answer = await wire.ask(said("<request>read the file notes.txt</request>"))
    assert answer.json["candidates"][0]["content"]["parts"][0]["functionCall"]["args"] == {"path": "notes.txt"}


async def test_types_in_an_output_schema_may_be_in_upper_case(wire: Wire):
    schema = {
        "type": "OBJECT",
        "properties": {
            "type": {"type": "STRING"},
            "score": {"type": "INTEGER", "enum": [7]},
            "list": {"type": "ARRAY"},
        },
        "required": ["type", "score", "list"],
    }
    config = {"responseMimeType": "application/json", "responseJsonSchema": schema}
    answer = await wire.ask(prompt("say marzipan", generationConfig=config))
    value = json.loads(answer.json["candidates"][0]["content"]["parts"][0]["text"])
    assert isinstance(value["type"], str) and value["score"] == 7 and isinstance(value["list"], list)


@pytest.mark.parametrize("model", ["gemini-3.5-flash-lite", "gemini-3.1-pro-preview-customtools"])
async def test_the_models_that_the_cli_chooses_among_are_known(wire: Wire, model: str):
    assert (await wire.ask(prompt("say hi"), model=model)).status == 200
