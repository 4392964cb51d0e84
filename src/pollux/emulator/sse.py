"""Frame payloads as server-sent events, in the real service's way or in one of the ways a client must also survive."""

import json
from collections.abc import Callable

from pollux.emulator.faults import Fault

_BROKEN = '{"candidates": [{"content": {"parts": [{"text": "cut of'


def frames(
    payloads: list[str],
    *,
    error: str,
    fault: Fault | None,
    line_end: str = "\r\n",
    name: Callable[[str], str] | None = None,
) -> list[bytes]:
    """One frame per payload. `error` is what a stream-error puts into the stream instead of the rest.

    `name` gives each event the name it has in formats that name them.
    """
    kind = fault.kind if fault is not None else ""
    after = fault.number("after", 1) if fault is not None else 0
    if kind == "half" and fault is not None and "after" in fault.options:
        payloads = payloads[:after]
    if kind == "stream-error":
        payloads = [*payloads[:after], error]
    if kind == "bad-json":
        payloads = [*payloads[:after], _BROKEN, *payloads[after:]]
    events = [
        _event(payload, kind=kind, position=at, name=name(payload) if name else "")
        for at, payload in enumerate(payloads)
    ]
    end = {"lf": "\n", "cr": "\r", "crlf": "\r\n"}.get(kind, line_end)
    return [event.replace("\n", end).encode() for event in events]


def _event(payload: str, *, kind: str, position: int, name: str) -> str:
    named = f"event: {name}\n" if name else ""
    match kind:
        case "comments":
            return f": keep-alive\n\n{named}data: {payload}\n\n"
        case "events":
            return f"event: {name or 'message'}\nid: {position}\nretry: 1000\ndata: {payload}\n\n"
        case "multi-line":
            return named + "".join(f"data: {line}\n" for line in _lines(payload)) + "\n"
        case _:
            return f"{named}data: {payload}\n\n"


def _lines(payload: str) -> list[str]:
    try:
        return json.dumps(json.loads(payload), indent=1, ensure_ascii=False).split("\n")
    except ValueError:
        return [payload]
