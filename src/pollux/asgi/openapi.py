"""The OpenAPI document, made from the table of routes and the types it names. `schema/openapi.json` is that text."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, get_args

import msgspec

from pollux._version import __version__
from pollux.asgi.endpoint import Endpoint
from pollux.asgi.ndjson import NDJSON

Json = dict[str, Any]

REASONS = {
    400: "The request does not fit",
    401: "No valid credential",
    403: "Not allowed",
    404: "Unknown, or somebody else's",
    408: "The body did not come in time",
    409: "It does not fit what is there; the code says why",
    413: "The body is too large",
    429: "Too many requests, or a budget is spent; Retry-After says when to come again",
    503: "On its way out, or the store is in trouble; try again",
}
COMPONENT = "#/components/schemas/{name}"
LINES = "Lines as they happen, each one a JSON object: schema/http-lines.json tells the shapes of all"
MOVED = "The same, and Location leads there"
OK = {200: "Done", 201: "Made", 303: "Signed in; on to the first page"}


def document_of(endpoints: Sequence[Endpoint], error: type[Any]) -> str:
    """The whole document as JSON text. `error` is the shape of every refusal."""
    return json.dumps(_document(endpoints, error), indent=2) + "\n"


def filled(definition: Json) -> Json:
    """A type as it is told: what has a default need not be given in Python, but is always there in what we write."""
    members: dict[str, Json] = definition.get("properties", {})
    always = [name for name, member in members.items() if name in definition.get("required", ()) or "default" in member]
    told = {name: {key: value for key, value in member.items() if key != "default"} for name, member in members.items()}
    if members.get("ok", {}).get("default") is True:
        told["ok"] = {"const": True}
    return {**definition, "properties": told, "required": always} if members else definition


def _document(endpoints: Sequence[Endpoint], error: type[Any]) -> Json:
    bodies = [row.body for row in endpoints if row.body is not None]
    answers = [row.returns for row in endpoints if row.returns is not None]
    _, taken = msgspec.json.schema_components(bodies, ref_template=COMPONENT)
    _, given = msgspec.json.schema_components((*answers, error), ref_template=COMPONENT)
    components = {**taken, **{name: filled(definition) for name, definition in given.items()}}
    paths: dict[str, Json] = {}
    for row in endpoints:
        paths.setdefault(row.path, {})[row.method.lower()] = _operation(row, error)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Pollux", "version": __version__, "description": "Runs, approvals, grants and the audit."},
        "security": [{"bearer": []}, {"cookie": []}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "pollux_session"},
            },
        },
    }


def _operation(row: Endpoint, error: type[Any]) -> Json:
    operation: Json = {
        "operationId": f"{row.method.lower()}{re.sub(r'[^A-Za-z0-9]+', '_', row.path)}".strip("_"),
        "summary": row.summary,
        "parameters": list(_parameters(row)),
        "responses": {str(row.status): _answer(row)},
    }
    if row.moves:
        operation["responses"][str(row.moves)] = {**_answer(row), "description": MOVED}
    if row.public:
        operation["security"] = []
    if row.body is not None:
        media = "application/x-www-form-urlencoded" if row.form else "application/json"
        operation["requestBody"] = {"required": True, "content": {media: {"schema": _ref(row.body)}}}
    usual = {400, 403, 429} if row.public else {400, 401, 403, 429, 503}
    for status in sorted({*usual, *row.errors, *((408, 413) if row.takes_body else ())}):
        content: Json = {"application/json": {"schema": _ref(error)}}
        if row.also == "text/html":
            content["text/html"] = {"schema": {"type": "string"}}
        operation["responses"][str(status)] = {"description": REASONS[status], "content": content}
    return operation


def _answer(row: Endpoint) -> Json:
    others = (row.also,) if isinstance(row.also, str) else row.also
    media = [kind.partition(";")[0] for kind in (row.media_type, *others) if kind]
    # A stream or a page has no shape as a whole; each line of a stream has one.
    schema = _ref(row.returns) if row.returns is not None else {"type": "string"}
    description = LINES if row.media_type == NDJSON else OK[row.status]
    return {"description": description, "content": {kind: {"schema": schema} for kind in media}}


def _parameters(row: Endpoint) -> Iterator[Json]:
    for name in re.findall(r"\{(\w+)\}", row.path):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
    for name in row.headers:
        yield {"name": name, "in": "header", "required": False, "schema": {"type": "string"}}
    if row.query is not None:
        schema = msgspec.json.schema(row.query)["$defs"][row.query.__name__]
        needed = schema.get("required", ())
        for name, member in schema["properties"].items():
            yield {"name": name, "in": "query", "required": name in needed, "schema": member}


def _ref(kind: Any) -> Json:
    """Where a type is told. Of several, it is one."""
    if kinds := get_args(kind):
        return {"oneOf": [_ref(one) for one in kinds]}
    return {"$ref": COMPONENT.format(name=kind.__name__)}
