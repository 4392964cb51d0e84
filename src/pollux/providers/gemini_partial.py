"""A function call whose arguments arrive in pieces, each with its place: `{"jsonPath": "$.to[0]", "stringValue": …}`.

Gemini streams arguments like this when a request asks for it. The whole call is what goes into the turn.
"""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, cast

from pollux.core.messages import JSON

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[['\"](.+?)['\"]\]")
_MAX_INDEX = 10_000


PIECEMEAL = frozenset({"willContinue", "will_continue", "partialArgs", "partial_args"})
"""A call with one of these is to be continued, or brings its arguments in pieces."""


class PartialCall:
    """One call being put together. `add` says whether it is whole."""

    def __init__(self) -> None:
        self._part: dict[str, Any] = {}
        self._call: dict[str, Any] = {}
        self._args: dict[str, JSON] = {}

    def add(self, part: Mapping[str, Any], call: Mapping[str, Any]) -> bool:
        """Take the next piece. True when the call is whole."""
        self._part |= {key: value for key, value in part.items() if key not in ("functionCall", "function_call")}
        for key in ("name", "id"):
            if call.get(key):
                self._call[key] = call[key]
        if isinstance(call.get("args"), dict):
            self._args |= call["args"]
        for piece in cast("list[Any]", call.get("partialArgs", call.get("partial_args")) or []):
            if isinstance(piece, dict):
                _place(self._args, cast("dict[str, Any]", piece))
        return not call.get("willContinue", call.get("will_continue"))

    def whole(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The part and the call inside it, as if they had come at once."""
        call = self._call | {"args": self._args}
        return {"functionCall": call, **self._part}, call


def _place(args: dict[str, JSON], piece: Mapping[str, Any]) -> None:
    path = str(piece.get("jsonPath", piece.get("json_path")) or "")
    steps: list[str | int] = [
        int(index) if index else name or quoted for name, index, quoted in _STEP.findall(path.removeprefix("$"))
    ]
    where: Any = args
    for step, following in pairwise(steps):
        if _at(where, step) is None:
            _put(where, step, [] if isinstance(following, int) else {})
        where = _at(where, step)
    if not steps:
        return
    before, value = _at(where, steps[-1]), _value(piece)
    _put(where, steps[-1], before + value if isinstance(before, str) and isinstance(value, str) else value)


def _at(where: Any, step: str | int) -> Any:
    match where, step:
        case dict(), str():
            return cast("dict[str, Any]", where).get(step)
        case list(), int():
            items = cast("list[Any]", where)
            return items[step] if step < len(items) else None
        case _:
            return None


def _put(where: Any, step: str | int, value: JSON) -> None:
    """Set what lies at `step`. A step that does not fit what is there is dropped: the schema will refuse the rest."""
    match where, step:
        case dict(), str():
            where[step] = value
        case list(), int() if step < _MAX_INDEX:
            items = cast("list[Any]", where)
            items.extend([None] * (step + 1 - len(items)))
            items[step] = value
        case _:
            pass


def _value(piece: Mapping[str, Any]) -> JSON:
    for camel, snake in (("stringValue", "string_value"), ("numberValue", "number_value"), ("boolValue", "bool_value")):
        if camel in piece or snake in piece:
            return piece.get(camel, piece.get(snake))
    return None
