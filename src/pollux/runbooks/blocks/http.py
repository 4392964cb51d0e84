"""`http`: one request. GET and HEAD may be sent again after a crash; every other verb acts once."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, cast

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.core.tools import ToolContext, ToolSpec
from pollux.runbooks.blocks.block_type import TEXT, TIMEOUT, Args, Call, Reading, members, schema
from pollux.runbooks.blocks.exchange import READING, Request, canonical, exchange, origin_of
from pollux.runbooks.documents import Block
from pollux.runbooks.scene import Scene
from pollux.tools.define import FunctionTool

WRITING: Final = ("POST", "PUT", "PATCH", "DELETE")
MAX_URL: Final = 16_384
MAX_REQUEST: Final = 1024 * 1024

OUR_OWN: Final = frozenset("content-length transfer-encoding connection upgrade host te trailer expect".split())
"""Headers that the client writes by itself: by another's hand they would make one request into two."""
SECRET: Final = re.compile(r"auth|cookie|token|key|secret|password|signature", re.IGNORECASE)
_TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def _spec(name: str, description: str, verbs: tuple[str, ...], **options: Any) -> ToolSpec:
    properties: dict[str, JSON] = {
        "verb": {"type": "string", "enum": list(verbs)},
        "url": {"type": "string", "minLength": 1, "maxLength": MAX_URL},
        "headers": {"type": "object", "maxProperties": 100, "additionalProperties": TEXT},
        "body": {"type": "string", "maxLength": MAX_REQUEST},
        "timeout": TIMEOUT,
    }
    return ToolSpec(name, description, schema(("verb", "url"), **properties), side_effect=True, **options)


# To ask is no change, but it leaves this machine, and its address can carry anything: so a person is asked here too.
HTTP_READ: Final = _spec("runbook_http_read", "Fetch an address over HTTP.", READING, repeat="repeatable")
HTTP: Final = _spec("runbook_http", "Send an HTTP request that may change something.", WRITING, repeat="once")


class Http:
    """The type of `http` blocks."""

    names = ("http",)

    def __init__(self) -> None:
        self.tools = tuple(
            FunctionTool(spec, _run, prepare=_prepare, subjects=_subjects, preview=_preview)
            for spec in (HTTP_READ, HTTP)
        )

    def call(self, block: Block, scene: Scene) -> Call:
        reading = Reading(block, scene)
        verb = (reading.written("verb").strip() or "GET").upper()
        if verb not in READING + WRITING:
            raise reading.problem(f"verb must be one of {', '.join(READING + WRITING)}, found {verb!r}")
        url = reading.text("url").strip()
        if not url:
            raise reading.problem("url is missing: give the address to ask")
        args: Args = {
            "verb": verb,
            "url": url,
            "headers": {reading.rendered(name): reading.rendered(value) for name, value in _headers(reading).items()},
            "body": "" if verb in READING else reading.text("body"),
            "timeout": reading.timeout(),
        }
        return reading.call("runbook_http_read" if verb in READING else "runbook_http", **args)

    def output(self, result: JSON) -> dict[str, JSON]:
        found = members(result)
        return {
            "status": found.get("status"),
            "status_text": found.get("status_text", ""),
            "status_success": found.get("status_success", False),
            "headers": found.get("headers", {}),
            "duration_seconds": found.get("duration_seconds", found.get("seconds", 0.0)),
            "body": found.get("body", ""),
            "body_json": _parsed(found.get("body", "")),
        }

    def after(self, scene: Scene, block: Block, result: JSON) -> Scene:
        return scene.with_output(block.id, self.output(result))

    def succeeded(self, result: JSON) -> bool:
        return members(result).get("status_success") is True


def _headers(reading: Reading) -> dict[str, str]:
    """The headers as written: an object, or the text of one, as editors store it."""
    given = reading.block.props.get("headers")
    if isinstance(given, str) and given.strip():
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            raise reading.problem("headers must be a JSON object of texts by name, found a text that is none") from None
    if given is None or given == "":
        return {}
    pairs = cast("Mapping[object, object]", given) if isinstance(given, Mapping) else {None: None}
    headers = {name: value for name, value in pairs.items() if isinstance(name, str) and isinstance(value, str)}
    if len(headers) < len(pairs):
        raise reading.problem("headers must be texts by name, each in quotes where it is a number")
    return headers


def _prepare(args: Args) -> Args:
    headers = cast("dict[str, str]", args.get("headers", {}))
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) or name.lower() in OUR_OWN:
            raise ValidationError(f"headers: {name!r} cannot be the name of a header that a block sets")
        if any((ord(letter) < 32 and letter != "\t") or ord(letter) == 127 for letter in value):
            raise ValidationError(f"headers: the value of {name} must be one line without control characters")
    return {"body": "", "timeout": None, **args, "headers": dict(headers), "url": canonical(str(args["url"]))}


def _subjects(args: Args) -> frozenset[str]:
    return frozenset({f"{args['verb']} {origin_of(str(args['url']))}"})


def _preview(args: Args) -> str:
    headers = cast("dict[str, str]", args["headers"])
    lines = [f"{name}: {'…' if SECRET.search(name) else value}" for name, value in headers.items()]
    body = ["", str(args["body"])] if args["body"] else []
    return "\n".join([f"{args['verb']} {args['url']}", *lines, *body])


def _parsed(body: str) -> JSON:
    try:
        return json.loads(body, parse_constant=_no_number) if body else None
    except (ValueError, RecursionError):
        return None


def _no_number(name: str) -> JSON:
    raise ValueError(f"{name} is no JSON")


async def _run(context: ToolContext, args: Args) -> dict[str, JSON]:
    request = Request(str(args["verb"]), str(args["url"]), cast("dict[str, str]", args["headers"]), str(args["body"]))
    timeout = args["timeout"]
    context.tell(f"{request.verb} {origin_of(request.url)}\n", stream="stderr")

    async def judge(hop: Request) -> str:
        asked: Args = {"verb": hop.verb, "url": hop.url, "headers": dict(hop.headers), "body": hop.body}
        return await context.objection((HTTP_READ if hop.verb in READING else HTTP).name, {**asked, "timeout": timeout})

    result = await exchange(request, timeout=timeout if isinstance(timeout, int | float) else None, judge=judge)
    context.tell(f"{result['status_text']}\n", stream="stderr")
    return result
