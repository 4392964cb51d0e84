"""Tool calls that arrive in pieces: by index where there is one, else by id, else as more of the last."""

from typing import Any, cast

from pollux.core.messages import JSON
from pollux.providers.encoding import to_json


class CallPieces:
    """Calls being put together. Fields nobody knows are kept: some services hide what they want back in them."""

    def __init__(self) -> None:
        self._calls: list[dict[str, Any]] = []
        self._places: dict[int, dict[str, Any]] = {}

    def add(self, piece: dict[str, Any]) -> None:
        """Take the next piece of some call."""
        call = self._call_of(piece)
        for key, value in piece.items():
            if key == "id":
                call["id"] = call["id"] or (value if isinstance(value, str) else "")
            elif key == "function":
                _extend(call["function"], _function(piece))
            elif key != "index" and value is not None:
                call[key] = value

    def whole(self) -> list[dict[str, Any]]:
        """Every call, in the order they began."""
        return [
            call | {"function": call["function"] | {"arguments": "".join(call["function"]["arguments"])}}
            for call in self._calls
        ]

    def _call_of(self, piece: dict[str, Any]) -> dict[str, Any]:
        index = piece.get("index")
        if isinstance(index, int):
            if index not in self._places:
                self._places[index] = self._begin()
            return self._places[index]
        # Without an index, a piece that names a call begins it.
        is_new = not self._calls or piece.get("id") or _function(piece).get("name")
        return self._begin() if is_new else self._calls[-1]

    def _begin(self) -> dict[str, Any]:
        call: dict[str, Any] = {
            "id": "",
            "type": "function",
            "function": {"name": "", "arguments": cast("list[str]", [])},
        }
        self._calls.append(call)
        return call


def _extend(function: dict[str, Any], piece: dict[str, JSON]) -> None:
    for key, value in piece.items():
        if key == "arguments":
            if value is not None:
                function["arguments"].append(value if isinstance(value, str) else to_json(value).decode())
        elif key == "name":
            function["name"] += value if isinstance(value, str) else ""
        elif value is not None:
            function[key] = value


def _function(piece: dict[str, Any]) -> dict[str, Any]:
    function = piece.get("function")
    return cast("dict[str, Any]", function) if isinstance(function, dict) else {}
