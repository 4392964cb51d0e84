"""Serve recordings instead of planning: VCR cassettes (YAML) and JSON lines of our own.

A line is `{"request": {"method", "path", "body"}, "response": {"status", "headers", "body"}}`; a string body is sent as
it is, anything else as JSON. Law: recorded bytes are answered unchanged, cut only between events. A request is matched
by path and body, else it gets the next recording of its path, else the next of all.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pollux.emulator.answer import Answer
from pollux.emulator.files import read_text
from pollux.emulator.jsons import canonical, compact, is_list, is_object, objects

_EVENT = re.compile(rb".*?(?:\r\n\r\n|\n\n|\r\r|\Z)", re.DOTALL)
# What describes the recorded connection, not the answer.
_HOP = frozenset({"content-length", "transfer-encoding", "content-encoding", "connection", "alt-svc", "server-timing"})


@dataclass(frozen=True)
class Exchange:
    """One recorded request and its answer."""

    method: str
    path: str
    body: bytes
    answer: Answer


@dataclass
class Recording:
    """Recorded exchanges, each served once; the last of its kind again and again."""

    exchanges: tuple[Exchange, ...]
    served: set[int] = field(default_factory=set[int])

    def find(self, method: str, path: str, content: bytes) -> Answer | None:
        """The recorded answer for this request."""
        body = _canonical_body(content)
        asked = urlsplit(path).path
        here = [at for at, one in enumerate(self.exchanges) if one.method == method]
        same_path = [at for at in here if self.exchanges[at].path == asked]
        same = [at for at in same_path if self.exchanges[at].body == body]
        candidates = same or same_path or here
        if not candidates:
            return None
        at = next((one for one in candidates if one not in self.served), candidates[-1])
        self.served.add(at)
        return self.exchanges[at].answer


def load(path: Path) -> Recording:
    """Read one recording, or every one in a directory by name. Raises ValueError when there is none."""
    files = sorted(one for one in path.iterdir() if one.suffix in _READERS) if path.is_dir() else [path]
    found = tuple(exchange for file in files for exchange in _read(file))
    if not found:
        raise ValueError(f"{path} holds no recordings; expected *.yaml cassettes or *.jsonl lines")
    return Recording(found)


def _read(file: Path) -> Iterator[Exchange]:
    reader = _READERS.get(file.suffix)
    if reader is None:
        raise ValueError(f"{file.name} is no recording; expected .yaml, .yml or .jsonl")
    return reader(read_text(file))


def _cassette(text: str) -> Iterator[Exchange]:
    import yaml  # PyYAML is wanted here only

    document: Any = yaml.safe_load(text)
    for interaction in objects(document.get("interactions") if is_object(document) else None):
        request, response = interaction["request"], interaction["response"]
        headers = {
            name.lower(): values[0] if is_list(values) else values for name, values in response["headers"].items()
        }
        yield Exchange(
            method=request["method"],
            path=urlsplit(str(request["uri"])).path,
            body=_request_body(request.get("parsed_body", request.get("body"))),
            answer=_answer(response["status"]["code"], headers, _recorded_body(response)),
        )


def _lines(text: str) -> Iterator[Exchange]:
    for line in text.splitlines():
        if not line.strip():
            continue
        entry: Any = json.loads(line)
        request, response = entry["request"], entry["response"]
        yield Exchange(
            method=request.get("method", "POST"),
            path=urlsplit(str(request["path"])).path,
            body=_request_body(request.get("body")),
            answer=_answer(response.get("status", 200), response.get("headers", {}), _bytes(response.get("body", ""))),
        )


_READERS = {".yaml": _cassette, ".yml": _cassette, ".jsonl": _lines}


def _answer(status: int, headers: dict[str, str], body: bytes) -> Answer:
    kept = {name.lower(): value for name, value in headers.items() if name.lower() not in _HOP}
    default = "text/event-stream" if body.startswith(b"data:") else "application/json; charset=UTF-8"
    content_type = kept.pop("content-type", default)
    if content_type.startswith("text/event-stream"):
        frames = tuple(frame for frame in _EVENT.findall(body) if frame)
        return Answer(status, frames, content_type, streamed=True, headers=kept)
    return Answer(status, (body,), content_type, headers=kept)


def _recorded_body(response: dict[str, Any]) -> bytes:
    if "parsed_body" in response:
        return _bytes(response["parsed_body"])
    body = response.get("body")
    return _bytes(body.get("string", "") if is_object(body) else body)


def _bytes(body: object) -> bytes:
    if isinstance(body, bytes):
        return body
    return body.encode() if isinstance(body, str) else compact(body).encode()


def _request_body(body: object) -> bytes:
    if isinstance(body, str | bytes):
        return _canonical_body(body.encode() if isinstance(body, str) else body)
    return canonical(body) if body is not None else b""


def _canonical_body(content: bytes) -> bytes:
    try:
        return canonical(json.loads(content)) if content.strip() else b""
    except (ValueError, RecursionError):
        return content
