"""What a well-typed request must still obey: contents, roles, function declarations, schemas.

Law: every broken rule is named in the service's own words, and no request gets further than the first kind of trouble.
"""

import re
from typing import Any

from pollux.emulator.gemini.errors import Refusal, bad_request
from pollux.emulator.schemas import from_openapi, problem, with_plain_types

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
_DATA = (
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
    "hologram",  # The fault `unknown-part`: its own parts a service knows again.
)
_MARKS = ("thought", "thoughtSignature")


def check(request: dict[str, Any]) -> None:
    """Raises Refusal when the request breaks a rule."""
    _check_contents(request.get("contents", []))
    declarations = [one for tool in request.get("tools", []) for one in tool.get("functionDeclarations", [])]
    _check_declarations(request.get("tools", []))
    _check_names(declarations)
    _check_allowed(request, {one["name"] for one in declarations})
    _check_generation(request.get("generationConfig", {}))


def _check_contents(contents: list[dict[str, Any]]) -> None:
    if not contents:
        raise bad_request(["contents: contents is not specified"])
    broken: list[str] = []
    for at, content in enumerate(contents):
        if content.get("role", "user") not in ("user", "model", "function"):
            raise Refusal(400, "Please use a valid role: user, model.")
        parts = content.get("parts", [])
        if not parts and content.get("role") != "model":
            broken.append(f"contents[{at}].parts: contents.parts must not be empty.")
        for part_at, part in enumerate(parts):
            broken += _part_problems(part, path=f"contents[{at}].parts[{part_at}]")
    if broken:
        raise bad_request(broken)


def _part_problems(part: dict[str, Any], *, path: str) -> list[str]:
    given = [name for name in _DATA if name in part]
    if len(given) > 1:
        return [f"{path}.data: oneof field 'data' is already set. Cannot set '{given[1]}'"]
    if not given and not any(name in part for name in _MARKS):
        return [f"{path}.data: required oneof field 'data' must have one initialized field"]
    call = part.get("functionCall")
    if call is not None and not call.get("name"):
        return [f"{path}.function_call.name: Name cannot be empty."]
    response = part.get("functionResponse")
    if response is not None and not response.get("name"):
        return [f"{path}.function_response.name: Name cannot be empty."]
    blob = part.get("inlineData")
    if blob is not None and not blob.get("mimeType"):
        return [f"{path}.inline_data.mime_type: mime_type must be specified."]
    return []


def _check_declarations(tools: list[dict[str, Any]]) -> None:
    broken: list[str] = []
    for tool_at, tool in enumerate(tools):
        for at, declaration in enumerate(tool.get("functionDeclarations", [])):
            broken += _declaration_problems(declaration, path=f"tools[{tool_at}].function_declarations[{at}]")
    if broken:
        raise bad_request(broken)


def _declaration_problems(declaration: dict[str, Any], *, path: str) -> list[str]:
    if not _NAME.fullmatch(declaration.get("name", "")):
        return [
            f"{path}.name: [FIELD_INVALID] Invalid function name. Must start with a letter or an underscore. Must be"
            " alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum"
            " length of 64."
        ]
    if "parameters" in declaration and "parametersJsonSchema" in declaration:
        return [f"{path}: parameters_json_schema and parameters must not be set at the same time."]
    if "parametersJsonSchema" in declaration and (trouble := problem(declaration["parametersJsonSchema"])):
        return [f"{path}.parameters_json_schema: {trouble}"]
    if "parameters" in declaration:
        return _openapi_problems(declaration["parameters"], path=f"{path}.parameters")
    return []


def _openapi_problems(schema: dict[str, Any], *, path: str) -> list[str]:
    broken: list[str] = []
    properties: dict[str, Any] = schema.get("properties", {})
    for name in schema.get("required", []):
        if name not in properties:
            broken.append(f"{path}.required[{name}]: property is not defined")
    if schema.get("type") == "ARRAY" and "items" not in schema:
        broken.append(f"{path}.items: missing field.")
    for name, below in properties.items():
        broken += _openapi_problems(below, path=f"{path}.properties[{name}]")
    if "items" in schema:
        broken += _openapi_problems(schema["items"], path=f"{path}.items")
    return broken or ([f"{path}: {trouble}"] if (trouble := problem(from_openapi(schema))) else [])


def _check_names(declarations: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    for declaration in declarations:
        if declaration["name"] in seen:
            raise Refusal(400, f"Duplicate function declaration found: {declaration['name']}")
        seen.add(declaration["name"])


def _check_allowed(request: dict[str, Any], declared: set[str]) -> None:
    config = request.get("toolConfig", {}).get("functionCallingConfig", {})
    allowed: list[str] = config.get("allowedFunctionNames", [])
    if allowed and config.get("mode") not in ("ANY", "VALIDATED"):
        raise Refusal(400, "Allowed function names should only be set when function calling mode is ANY or VALIDATED.")
    for name in allowed:
        if name not in declared:
            raise Refusal(400, f"Allowed function name `{name}` is not among the function declarations.")
    if config.get("mode") == "ANY" and not declared:
        raise Refusal(400, "Function calling mode is ANY but no function declarations are provided.")


def _check_generation(config: dict[str, Any]) -> None:
    schemas = [name for name in ("responseSchema", "responseJsonSchema") if name in config]
    if len(schemas) == 2:
        raise bad_request(["generation_config: response_schema and response_json_schema must not both be set."])
    if schemas and config.get("responseMimeType") not in ("application/json", "text/x.enum"):
        raise bad_request(
            [
                "generation_config.response_mime_type: response schema is only supported with mime type"
                " application/json or text/x.enum"
            ]
        )
    if "responseSchema" in config and (
        broken := _openapi_problems(config["responseSchema"], path="generation_config.response_schema")
    ):
        raise bad_request(broken)
    if "responseJsonSchema" in config and (trouble := problem(with_plain_types(config["responseJsonSchema"]))):
        raise bad_request([f"generation_config.response_json_schema: {trouble}"])
    if config.get("maxOutputTokens", 1) < 1:
        raise bad_request(["generation_config.max_output_tokens: max_output_tokens must be positive."])
    temperature = config.get("temperature", 1)
    if not 0 <= temperature <= 2:
        raise bad_request(["generation_config.temperature: temperature must be in the range [0.0, 2.0]."])
    if len(config.get("stopSequences", [])) > 5:
        raise bad_request(["generation_config.stop_sequences: the number of stop_sequences must not exceed 5."])
