"""Requests the real service would refuse are refused here, in its words and its shape."""

from typing import Any

import pytest
from tests.emulator.wire import ADD, FLASH, Wire, prompt, user

from pollux.emulator.server import Emulator


def declare(**fields: Any) -> dict[str, Any]:
    return prompt("hi", {"name": "f"} | fields)


def generation(**config: Any) -> dict[str, Any]:
    return prompt("hi", generationConfig=config)


BAD: dict[str, tuple[Any, str]] = {
    "malformed JSON": (b'{"contents": [', "Invalid JSON payload received. Unexpected token."),
    "not an object": (b"[1]", "Invalid value at ''"),
    "too deep": (b'{"contents":' + b"[" * 300 + b"]" * 300 + b"}", "Message too deep"),
    "no contents": ({}, "* GenerateContentRequest.contents: contents is not specified\n"),
    "empty contents": ({"contents": []}, "contents is not specified"),
    "bad role": ({"contents": [{"role": "robot", "parts": [{"text": "hi"}]}]}, "Please use a valid role: user, model."),
    "no parts": ({"contents": [{"role": "user", "parts": []}]}, "contents[0].parts: contents.parts must not be empty."),
    "empty part": ({"contents": [{"parts": [{}]}]}, "contents[0].parts[0].data: required oneof field 'data'"),
    "two kinds in a part": (
        {"contents": [{"parts": [{"text": "a", "functionCall": {"name": "f"}}]}]},
        "oneof field 'data' is already set",
    ),
    "unknown field": (prompt("hi") | {"color": 1}, 'Invalid JSON payload received. Unknown name "color": Cannot find'),
    "unknown field below": (
        {"contents": [{"parts": [{"txt": "a"}]}]},
        "Unknown name \"txt\" at 'contents[0].parts[0]': Cannot find field.",
    ),
    "wrong type": (
        {"contents": [{"parts": [{"text": 5}]}]},
        "Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), 5",
    ),
    "model last": ({"contents": [user("hi"), {"role": "model", "parts": [{"text": "ho"}]}]}, "end with a user turn"),
    "no name": (declare(name=""), "tools[0].function_declarations[0].name: [FIELD_INVALID] Invalid function name"),
    "name too long": (declare(name="f" * 65), "with a maximum length of 64."),
    "name with a space": (declare(name="my tool"), "Invalid function name"),
    "duplicate names": (prompt("hi", ADD, ADD), "Duplicate function declaration found: add"),
    "reference in the OpenAPI form": (
        declare(parameters={"type": "OBJECT", "properties": {"a": {"$ref": "#/x"}}}),
        "Unknown name \"$ref\" at 'tools[0].function_declarations[0].parameters.properties[0].value': Cannot find",
    ),
    "additionalProperties in the OpenAPI form": (
        declare(parameters={"type": "OBJECT", "additionalProperties": False}),
        'Unknown name "additionalProperties"',
    ),
    "list of types in the OpenAPI form": (
        declare(parameters={"type": ["STRING", "NULL"]}),
        "Proto field is not repeating, cannot start list.",
    ),
    "required but not defined": (
        declare(parameters={"type": "OBJECT", "properties": {}, "required": ["a"]}),
        "parameters.required[a]: property is not defined",
    ),
    "array without items": (declare(parameters={"type": "ARRAY"}), "parameters.items: missing field."),
    "both schema forms": (
        declare(parameters={"type": "OBJECT"}, parametersJsonSchema={"type": "object"}),
        "must not be set at the same time",
    ),
    "broken JSON Schema": (declare(parametersJsonSchema={"type": 5}), "parameters_json_schema: "),
    "bad calling mode": (
        prompt("hi", ADD, toolConfig={"functionCallingConfig": {"mode": "SOMETIMES"}}),
        "Invalid value at 'tool_config.function_calling_config.mode'",
    ),
    "unknown allowed name": (
        prompt("hi", ADD, toolConfig={"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["sub"]}}),
        "`sub` is not among",
    ),
    "output schema without JSON": (generation(responseJsonSchema={"type": "object"}), "response_mime_type"),
    "broken output schema": (
        generation(responseMimeType="application/json", responseJsonSchema={"type": "thing"}),
        "response_json_schema: ",
    ),
    "temperature out of range": (generation(temperature=9), "temperature must be in the range"),
    "no tokens allowed": (generation(maxOutputTokens=0), "max_output_tokens must be positive"),
    "bad base64": (
        {"contents": [{"parts": [{"inlineData": {"mimeType": "image/png", "data": "!!"}}]}]},
        "Base64 decoding failed",
    ),
}


@pytest.mark.parametrize(("body", "text"), BAD.values(), ids=BAD.keys())
async def test_a_bad_request_is_named(wire: Wire, body: Any, text: str):
    for got in [await wire.ask(body), await wire.stream(body)]:
        assert (got.status, got.error["code"], got.error["status"]) == (400, 400, "INVALID_ARGUMENT")
        assert text in got.error["message"]


async def test_field_violations_are_listed_in_the_details(wire: Wire):
    got = await wire.ask({"contents": [{"parts": [{"txt": "a"}]}], "extra": 1})
    [details] = got.error["details"]
    assert details["@type"] == "type.googleapis.com/google.rpc.BadRequest"
    assert [one.get("field") for one in details["fieldViolations"]] == ["contents[0].parts[0]", None]


async def test_a_missing_key_is_the_real_403(wire: Wire):
    got = await wire.ask(prompt("hi"), key=None)
    assert got.status == 403 and got.error["status"] == "PERMISSION_DENIED"
    assert got.error["message"].startswith("Method doesn't allow unregistered callers")


async def test_an_invalid_key_is_the_real_400(wire: Wire):
    got = await wire.ask(prompt("hi"), key="invalid")
    assert got.status == 400 and got.error["message"] == "API key not valid. Please pass a valid API key."
    assert got.error["details"][0]["reason"] == "API_KEY_INVALID"


async def test_the_key_may_stand_in_the_query(wire: Wire, emulator: Emulator):
    got = await wire.send("POST", f"/v1beta/models/{FLASH}:generateContent?key=secret", prompt("hi"), key=None)
    assert got.status == 200
    assert "secret" not in repr(emulator.requests)


async def test_an_unknown_model_is_the_real_404(wire: Wire):
    got = await wire.ask(prompt("hi"), model="gemini-3.6-flahs")
    assert got.json == {
        "error": {
            "code": 404,
            "message": "models/gemini-3.6-flahs is not found for API version v1beta, or is not supported for"
            " generateContent. Call ModelService.ListModels to see the list of available models and their supported"
            " methods.",
            "status": "NOT_FOUND",
        }
    }


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("POST", "/v2/models/gemini-3.8-flash:generateContent", 404),
        ("POST", "/v1beta/models/gemini-3.8-flash:sing", 404),
        ("GET", "/v1beta/models/gemini-3.8-flash:generateContent", 405),
        ("POST", "/v1beta/models", 405),
        ("GET", "/v1beta/models/nothing", 404),
        ("PUT", "/_emulator/requests", 405),
    ],
)
async def test_unknown_paths_and_wrong_methods(wire: Wire, method: str, path: str, status: int):
    assert (await wire.send(method, path)).status == status


@pytest.mark.parametrize("version", ["v1", "v1beta", "v1alpha"])
async def test_every_version_answers(wire: Wire, version: str):
    assert (await wire.send("POST", f"/{version}/models/{FLASH}:generateContent", prompt("say hi"))).status == 200
    assert (await wire.send("GET", f"/{version}/models?pageSize=2")).json["nextPageToken"] == "2"


async def test_snake_case_is_as_good_as_camel_case(wire: Wire):
    declaration = {"name": "add", "parameters_json_schema": ADD["parametersJsonSchema"]}
    body = {
        "contents": {"parts": {"text": "add 2 and 3"}},
        "system_instruction": {"parts": {"text": "be brief"}},
        "tools": {"function_declarations": declaration},
        "generation_config": {"max_output_tokens": 100, "thinking_config": {"include_thoughts": True}},
    }
    parts = (await wire.ask(body)).json["candidates"][0]["content"]["parts"]
    assert parts[0]["thought"] is True and parts[1]["functionCall"]["args"] == {"a": 2, "b": 3}


async def test_what_was_seen_can_be_asked_for_and_cleared(wire: Wire, emulator: Emulator):
    await wire.ask(prompt("say hi"))
    [seen] = (await wire.send("GET", "/_emulator/requests", key=None)).json
    assert seen["path"] == f"/v1beta/models/{FLASH}:generateContent" and seen["body"] == prompt("say hi")
    assert (await wire.send("GET", "/_emulator/ledger", key=None)).json == []
    emulator.clear()
    assert (await wire.send("GET", "/_emulator/requests", key=None)).json == []
