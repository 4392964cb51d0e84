"""JSON-RPC 2.0 messages, read from lines that anybody may have written. Whatever is none of them reads as None."""

import re
from typing import Any, Final, cast

import msgspec

from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.wire.floats import finite

Id = int | str | None

METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
REQUEST_CANCELLED: Final = -32800
AUTH_REQUIRED: Final = -32000
NOT_FOUND: Final = -32002

LONGEST_ID: Final = 1_000
LONGEST_MENDED: Final = 2**20
"""A longer line with half characters in it is junk: mending takes a second for each ten MiB, and everybody waits."""

_ANSWERED = re.compile(rb'"id"\s*:\s*(\d{1,18})\s*[,}]')
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_UNFIT = re.compile(rb"\\u(?:[dD][89a-fA-F][0-9a-fA-F]{2}|0000)\Z")


@frozen
class Request:
    """The agent wants something and waits."""

    id: Id
    method: str
    params: dict[str, JSON]
    size: int = 0


@frozen
class Notification:
    """The agent tells something."""

    method: str
    params: dict[str, JSON]
    size: int = 0


@frozen
class Reply:
    """The agent's answer to a request of ours. Where there is an `error`, the result does not count."""

    id: Id
    result: JSON = None
    error: dict[str, JSON] | None = None


Message = Request | Notification | Reply


class Refused(Exception):
    """An error as an answer, either way. The text is for the other side."""

    def __init__(self, code: int, text: str, data: JSON = None) -> None:
        super().__init__(text)
        self.code = code
        self.data = data


def parse(line: bytes) -> Message | None:
    """The message that a line holds, if it holds one."""
    value = decoded(line)
    if not isinstance(value, dict):
        return None
    message = cast("dict[str, JSON]", value)
    number = message.get("id")
    if message.get("jsonrpc") != "2.0" or not _is_id(number):
        return None
    method = message.get("method")
    if isinstance(method, str):
        found = message.get("params")
        params = cast("dict[str, JSON]", found) if isinstance(found, dict) else {}
        # "id": null is a request whose answer nobody can match; it gets one all the same.
        return (
            Request(number, method, params, len(line)) if "id" in message else Notification(method, params, len(line))
        )
    if method is not None or "id" not in message:
        return None
    error = message.get("error")
    if error is not None:
        return Reply(number, error=cast("dict[str, JSON]", error) if isinstance(error, dict) else {})
    return Reply(number, message["result"]) if "result" in message else None


def answered_by(line: bytes) -> Id:
    """Of a line that is no message: the request that it means to answer; None where it does not look like an answer.

    Agents write logs where their messages belong, and those do no harm. But whoever waits for an answer that came and
    could not be read, say with a NaN in it, would wait for ever.
    """
    start = line.lstrip()
    # With the quotes: within a text they would be escaped.
    is_answer = start.startswith(b"{") and b'"jsonrpc"' in line and b'"method"' not in line
    found = _ANSWERED.search(line) if is_answer and (b'"result"' in line or b'"error"' in line) else None
    return int(found[1]) if found else None


def encoded(message: dict[str, Any]) -> bytes:
    """One line."""
    return msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n"


_line = msgspec.json.Decoder(float_hook=finite)


def decoded(line: bytes) -> JSON:
    """The JSON value of a line; None if it is none.

    Half characters and NULs become U+FFFD: agents that cut text into pieces send them, and no store of ours takes them.
    """
    if b"\\u0000" not in line:
        try:
            return _line.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    if b"\\u" not in line or len(line) > LONGEST_MENDED:
        return None
    try:
        return _line.decode(_ESCAPE.sub(_mended, line))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _mended(escape: re.Match[bytes]) -> bytes:
    return rb"\ufffd" if _UNFIT.match(escape[0]) else escape[0]


def _is_id(value: JSON) -> bool:
    # In Python True is 1: an answer to `true` must not count as one to our first request.
    if isinstance(value, str):
        return len(value) <= LONGEST_ID
    return value is None or (isinstance(value, int) and not isinstance(value, bool))
