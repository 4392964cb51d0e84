"""Every field a request may have, and its kind: the request's schema as a table.

Law: a name is taken in camelCase or snake_case and given on in camelCase; a name or value the table does not have is
refused with the service's own words; what is opaque (arguments, results, JSON Schemas) is passed untouched.

Kinds: string, bool, number, integer, any, a message's name; `*` repeats, `{}` is a map, `a|b|c` an enumeration.
"""

import math
import re
from typing import Any

from pollux.emulator.gemini.errors import bad_fields
from pollux.emulator.jsons import compact, is_list, is_number, is_object

MESSAGES: dict[str, dict[str, str]] = {
    "GenerateContentRequest": {
        "model": "string",
        "contents": "Content*",
        "systemInstruction": "Content",
        "tools": "Tool*",
        "toolConfig": "ToolConfig",
        "safetySettings": "SafetySetting*",
        "generationConfig": "GenerationConfig",
        "cachedContent": "string",
        "labels": "any",
        "serviceTier": "any",
        "store": "bool",
        "modelArmorConfig": "any",
    },
    "CountTokensRequest": {
        "model": "string",
        "contents": "Content*",
        "generateContentRequest": "GenerateContentRequest",
        "systemInstruction": "Content",
        "tools": "Tool*",
        "generationConfig": "GenerationConfig",
    },
    "Content": {"parts": "Part*", "role": "string"},
    "Part": {
        "text": "string",
        "inlineData": "Blob",
        "fileData": "FileData",
        "functionCall": "FunctionCall",
        "functionResponse": "FunctionResponse",
        "executableCode": "any",
        "codeExecutionResult": "any",
        "toolCall": "any",
        "toolResponse": "any",
        "thought": "bool",
        "thoughtSignature": "string",
        "videoMetadata": "any",
        "mediaResolution": "any",
        "partMetadata": "any",
        "audioTranscription": "any",
        "mediaProcessing": "any",
        "speechMetadata": "any",
        # What the fault `unknown-part` sends: a service knows its own parts when they come back.
        "hologram": "any",
        "sparkle": "any",
    },
    "Blob": {"mimeType": "string", "data": "string", "displayName": "string"},
    "FileData": {"mimeType": "string", "fileUri": "string", "displayName": "string"},
    "FunctionCall": {
        "id": "string",
        "name": "string",
        "args": "object",
        "partialArgs": "any",
        "willContinue": "bool",
    },
    "FunctionResponse": {
        "id": "string",
        "name": "string",
        "response": "object",
        "parts": "any",
        "willContinue": "bool",
        "scheduling": "string",
    },
    "Tool": {
        "functionDeclarations": "FunctionDeclaration*",
        "googleSearch": "any",
        "googleSearchRetrieval": "any",
        "googleMaps": "any",
        "codeExecution": "any",
        "urlContext": "any",
        "fileSearch": "any",
        "computerUse": "any",
        "mcpServers": "any",
        "retrieval": "any",
        "enterpriseWebSearch": "any",
    },
    "FunctionDeclaration": {
        "name": "string",
        "description": "string",
        "parameters": "Schema",
        "parametersJsonSchema": "any",
        "response": "Schema",
        "responseJsonSchema": "any",
        "behavior": "string",
    },
    "ToolConfig": {
        "functionCallingConfig": "FunctionCallingConfig",
        "retrievalConfig": "any",
        "includeServerSideToolInvocations": "bool",
    },
    "FunctionCallingConfig": {
        "mode": "MODE_UNSPECIFIED|AUTO|ANY|NONE|VALIDATED",
        "allowedFunctionNames": "string*",
        "streamFunctionCallArguments": "bool",
    },
    "SafetySetting": {"category": "string", "threshold": "string", "method": "string"},
    "GenerationConfig": {
        "candidateCount": "integer",
        "stopSequences": "string*",
        "maxOutputTokens": "integer",
        "temperature": "number",
        "topP": "number",
        "topK": "number",
        "seed": "integer",
        "presencePenalty": "number",
        "frequencyPenalty": "number",
        "responseMimeType": "string",
        "responseSchema": "Schema",
        "responseJsonSchema": "any",
        "responseModalities": "any",
        "responseLogprobs": "bool",
        "logprobs": "integer",
        "responseFormat": "any",
        "thinkingConfig": "ThinkingConfig",
        "speechConfig": "any",
        "imageConfig": "any",
        "mediaResolution": "any",
        "audioTimestamp": "bool",
        "audioTranscriptionConfig": "any",
        "translationConfig": "any",
        "enableEnhancedCivicAnswers": "bool",
        "enableAffectiveDialog": "bool",
        "routingConfig": "any",
        "modelSelectionConfig": "any",
    },
    "ThinkingConfig": {"includeThoughts": "bool", "thinkingBudget": "integer", "thinkingLevel": "string"},
    "Schema": {
        "type": "TYPE_UNSPECIFIED|STRING|NUMBER|INTEGER|BOOLEAN|ARRAY|OBJECT|NULL",
        "format": "string",
        "title": "string",
        "description": "string",
        "nullable": "bool",
        "enum": "string*",
        "maxItems": "integer",
        "minItems": "integer",
        "properties": "Schema{}",
        "required": "string*",
        "minProperties": "integer",
        "maxProperties": "integer",
        "minLength": "integer",
        "maxLength": "integer",
        "pattern": "string",
        "example": "any",
        "anyOf": "Schema*",
        "propertyOrdering": "string*",
        "default": "any",
        "items": "Schema",
        "minimum": "number",
        "maximum": "number",
    },
}


def read(message: str, value: object) -> dict[str, Any]:
    """The request with every name in camelCase. Raises Refusal when a name or value does not fit."""
    reader = _Reader()
    found = reader.message(message, value, path="")
    if reader.violations:
        raise bad_fields(reader.violations)
    return found


class _Reader:
    """One walk over one request; collects everything wrong before refusing, as the service does."""

    def __init__(self) -> None:
        self.violations: list[tuple[str, str]] = []

    def message(self, name: str, value: object, *, path: str) -> dict[str, Any]:
        if not is_object(value):
            self._wrong(path, f"type.googleapis.com/google.ai.generativelanguage.v1beta.{name}", value)
            return {}
        fields = MESSAGES[name]
        found: dict[str, Any] = {}
        for given, item in value.items():
            field = given if given in fields else _camel(given)
            if field not in fields:
                self._unknown(given, path)
            elif item is not None:
                below = f"{path}.{_snake(field)}" if path else _snake(field)
                found[field] = self.value(fields[field], item, path=below)
        return found

    def value(self, kind: str, value: object, *, path: str) -> Any:
        if kind.endswith("*"):
            # One item stands for a list of one: the service's own examples are written so.
            items: list[Any] = value if is_list(value) else [value]
            return [self.value(kind[:-1], item, path=f"{path}[{at}]") for at, item in enumerate(items)]
        if kind.endswith("{}"):
            return self._map(kind[:-2], value, path=path)
        if kind == "any":
            return value
        if is_list(value):
            text = f"Invalid JSON payload received. Unknown name \"{path.rsplit('.', 1)[-1]}\" at '{path}':"
            self.violations.append((path, f"{text} Proto field is not repeating, cannot start list."))
            return None
        if kind in MESSAGES:
            return self.message(kind, value, path=path)
        return self._scalar(kind, value, path=path)

    def _map(self, kind: str, value: object, *, path: str) -> dict[str, Any]:
        if not is_object(value):
            self._wrong(path, "TYPE_MESSAGE", value)
            return {}
        return {key: self.value(kind, item, path=f"{path}[{at}].value") for at, (key, item) in enumerate(value.items())}

    def _scalar(self, kind: str, value: object, *, path: str) -> Any:
        match kind:
            case "string" if isinstance(value, str):
                return value
            case "bool" if isinstance(value, bool):
                return value
            case "object" if is_object(value):
                return value
            case "number" if is_number(value):
                return value
            case "integer" if (whole := _whole(value)) is not None:
                return whole
            case _ if "|" in kind and isinstance(value, str) and value.upper() in kind.split("|"):
                return value.upper()
            case _:
                self._wrong(path, f"TYPE_{_TYPE_NAMES.get(kind, 'ENUM')}", value)
                return None

    def _wrong(self, path: str, expected: str, value: object) -> None:
        shown = compact(value)[:200]
        self.violations.append((path, f"Invalid value at '{path}' ({expected}), {shown}"))

    def _unknown(self, name: str, path: str) -> None:
        place = f" at '{path}'" if path else ""
        text = f'Invalid JSON payload received. Unknown name "{name}"{place}: Cannot find field.'
        self.violations.append((path, text))


_TYPE_NAMES = {"string": "STRING", "bool": "BOOL", "number": "DOUBLE", "integer": "INT32", "object": "MESSAGE"}


def _whole(value: object) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,18}", value):
        return int(value)
    if is_number(value) and math.isfinite(value) and value == int(value):
        return int(value)
    return None


def _camel(name: str) -> str:
    return re.sub(r"_([a-z0-9])", lambda found: found[1].upper(), name)


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda found: "_" + found[0].lower(), name)
