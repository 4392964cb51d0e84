"""Holds what a server answered to what it says of itself: the OpenAPI document, and the schemas of stream lines."""

import json
import re
from functools import cache
from typing import Any

import jsonschema_rs

from pollux.cli.schema import schema
from pollux.serve import document

STREAMS = {
    "/api/agent/run/stream": "RunLine",
    "/api/agent/runs/{id}/events": "JournalLine",
    "/api/page/send-message/stream": "PageLine",
    "/api/runbooks/runs/{id}/events": "RunbookLine",
    "/api/page/submit-tool-results/stream": "PageLine",
}


def check_answer(method: str, target: str, status: int, media: str, body: Any) -> None:
    """Raises unless the document says that this may be answered. `body` is JSON, or bytes of another kind."""
    path = path_of(target)
    told = _document()["paths"].get(path, {}).get(method.lower())
    if told is None:
        # There is nothing here to describe: what comes back can only be an error.
        assert status >= 400, (method, target, status)
        _validator('{"$ref": "#/components/schemas/ErrorAnswer"}').validate(body)
        return
    assert str(status) in told["responses"], (method, path, status, body)
    content = told["responses"][str(status)]["content"]
    assert media in content, (method, path, media)
    if media == "application/json":
        _validator(json.dumps(content[media]["schema"])).validate(body)


def check_line(target: str, line: dict[str, Any]) -> None:
    """Raises unless this may be a line of that route's stream."""
    _line(STREAMS[path_of(target)]).validate(line)


def path_of(target: str) -> str:
    """The route that a target belongs to, or what was asked for."""
    asked = target.partition("?")[0]
    return next((path for path, pattern in _patterns() if pattern.fullmatch(asked)), asked)


@cache
def _document() -> dict[str, Any]:
    return json.loads(document())


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    # What has no parameter is tried first: `/runs/{id}` is not meant where something stands by name.
    paths = sorted(_document()["paths"], key=lambda path: "{" in path)
    return [(path, re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)))) for path in paths]


@cache
def _validator(schema: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for({**json.loads(schema), "components": _document()["components"]})


@cache
def _line(name: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for({**schema("http-lines"), "anyOf": [{"$ref": f"#/$defs/{name}"}]})
