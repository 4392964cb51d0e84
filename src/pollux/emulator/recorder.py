"""What the emulator saw, for tests to look at. Keys are never kept."""

import time
from dataclasses import dataclass
from typing import Any

import msgspec
from aiohttp import web

from pollux.emulator.jsons import compact

_SECRETS = frozenset({"x-goog-api-key", "x-api-key", "authorization", "cookie", "proxy-authorization"})


@dataclass(frozen=True)
class RecordedRequest:
    """One request as it arrived, without its key."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    content: bytes
    time: float

    @property
    def body(self) -> Any:
        """The content as JSON; None when it is none."""
        return _parsed(self.content)


def record(request: web.Request, content: bytes) -> RecordedRequest:
    """Keep a request."""
    return RecordedRequest(
        method=request.method,
        path=request.path,
        query={key: value for key, value in request.query.items() if key != "key"},
        headers={key.lower(): value for key, value in request.headers.items() if key.lower() not in _SECRETS},
        content=content,
        time=time.time(),
    )


def shown(recorded: RecordedRequest) -> dict[str, Any]:
    """As `GET /_emulator/requests` lists it."""
    return {
        "method": recorded.method,
        "path": recorded.path,
        "query": recorded.query,
        "headers": recorded.headers,
        "body": recorded.body,
        "time": recorded.time,
    }


def searchable(content: bytes) -> str:
    """The body as text for a scenario's `contains`, however it was escaped."""
    return compact(_parsed(content)) if content else ""


def _parsed(content: bytes) -> Any:
    try:
        return msgspec.json.decode(content) if content else None
    except (ValueError, RecursionError):
        return None
