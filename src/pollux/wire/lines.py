"""The lines that the command line writes, as JSON Schema. The writer checks each line against them before it leaves.

`stream-json` is the dialect of our own; `gemini-stream-json` is Gemini CLI's, so that its consumers work unchanged.
"""

from typing import Any, Final

Schema = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
SOME_TEXT: Final[Schema] = {"type": "string", "minLength": 1}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}


def _object(required: Schema, optional: Schema | None = None) -> Schema:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def _is(word: str) -> Schema:
    return {"const": word}


USAGE: Final = _object(
    {"input": COUNT, "output": COUNT, "total": COUNT}, {"thoughts": COUNT, "cached": COUNT, "cost": {"type": "number"}}
)
APPROVAL: Final = _object(
    {
        "id": SOME_TEXT,
        "tool": SOME_TEXT,
        "args": {"type": "object"},
        "argsHash": SOME_TEXT,
        "reason": TEXT,
        "preview": TEXT,
        "expiresAt": {"type": "number"},
    }
)
ASSISTANT: Final = _object(
    {
        "type": _is("assistant"),
        "message": _object(
            {
                "content": {
                    "type": "array",
                    "minItems": 1,
                    "items": _object({"type": _is("text"), "text": SOME_TEXT}),
                }
            }
        ),
    }
)
TOOL_CODE: Final = _object({"type": _is("tool_code"), "id": SOME_TEXT, "name": SOME_TEXT, "args": {"type": "object"}})
TOOL_RESULT: Final = _object({"type": _is("tool_result"), "id": SOME_TEXT, "name": SOME_TEXT, "result": {}})
FINISH: Final = {"finishReason": _is("length"), "incomplete": {"const": True}, "cut": {"const": True}}
"""Of an answer that is not whole."""
RESULT: Final = _object(
    {
        "type": _is("result"),
        "result": TEXT,
        "status": {"enum": ["completed", "awaiting_confirmation"]},
        "runId": SOME_TEXT,
        "sessionId": SOME_TEXT,
        "usage": USAGE,
    },
    {"approvals": {"type": "array", "items": APPROVAL}, **FINISH},
)
ERROR: Final = _object({"type": _is("error"), "error": SOME_TEXT, "code": SOME_TEXT}, {"runId": SOME_TEXT})
TOOL_CALL: Final = _object({"id": SOME_TEXT, "name": SOME_TEXT, "args": {"type": "object"}, "result": {}})
JSON_RESULT: Final[Schema] = {
    **RESULT,
    "properties": {**RESULT["properties"], "toolCalls": {"type": "array", "items": TOOL_CALL}},
    "required": [*RESULT["required"], "toolCalls"],
}

STAMPED: Final[Schema] = {"timestamp": SOME_TEXT}
MODEL_STATS: Final = _object(
    {"total_tokens": COUNT, "input_tokens": COUNT, "output_tokens": COUNT, "cached": COUNT, "input": COUNT}
)
STATS: Final = _object(
    {
        **MODEL_STATS["properties"],
        "duration_ms": COUNT,
        "tool_calls": COUNT,
        "models": {"type": "object", "additionalProperties": MODEL_STATS},
    }
)
GEMINI: Final[tuple[Schema, ...]] = (
    _object({"type": _is("init"), **STAMPED, "session_id": SOME_TEXT, "model": SOME_TEXT}),
    _object(
        {"type": _is("message"), **STAMPED, "role": {"enum": ["user", "assistant"]}, "content": TEXT},
        {"delta": {"type": "boolean"}},
    ),
    _object(
        {
            "type": _is("tool_use"),
            **STAMPED,
            "tool_name": SOME_TEXT,
            "tool_id": SOME_TEXT,
            "parameters": {"type": "object"},
        }
    ),
    _object(
        {
            "type": _is("tool_result"),
            **STAMPED,
            "tool_id": SOME_TEXT,
            "status": {"enum": ["success", "error"]},
        },
        {"output": TEXT, "error": _object({"type": SOME_TEXT, "message": TEXT})},
    ),
    _object({"type": _is("error"), **STAMPED, "severity": {"enum": ["warning", "error"]}, "message": TEXT}),
    _object(
        {"type": _is("result"), **STAMPED, "status": {"enum": ["success", "error"]}},
        {"error": _object({"type": SOME_TEXT, "message": TEXT}), "stats": STATS},
    ),
)

LINES: Final[dict[str, Schema]] = {
    "stream-json": {"anyOf": [ASSISTANT, TOOL_CODE, TOOL_RESULT, RESULT, ERROR]},
    "json": {"anyOf": [JSON_RESULT, ERROR]},
    # Where there is no key, the error comes before any dialect is spoken: one object, the same in every format.
    "gemini-stream-json": {"anyOf": [*GEMINI, ERROR]},
    "text": ERROR,
}
"""What a line of each format may be. In `text` only an error that came before any text is JSON."""


def schema_of(format_: str) -> Schema:
    """The schema of a format's lines, whole."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A line of pollux run --output-format {format_}",
        **LINES[format_],
    }
