"""Declarations encoded once for each set of tools, because a run sends the same set with every call."""

from collections.abc import Callable, Sequence

from pollux.core.tools import ToolSpec

_KEPT = 64

Declared = tuple[bytes, dict[str, str]]
"""The encoded declarations, and the map from each sent name back to its tool."""

_NONE: Declared = (b"", {})


class ToolCache:
    """Remembers the wire form of the last few sets of tools, by name, schema and description."""

    def __init__(
        self, encode: Callable[[Sequence[ToolSpec]], bytes], names: Callable[[Sequence[ToolSpec]], dict[str, str]]
    ) -> None:
        self._encode = encode
        self._names = names
        self._known: dict[tuple[tuple[str, str, str], ...], Declared] = {}
        self._last: tuple[Sequence[ToolSpec], Declared] = (), _NONE

    def __call__(self, tools: tuple[ToolSpec, ...]) -> Declared:
        """The wire form of these tools. The very same tuple, as a run passes it, costs nothing."""
        if tools is self._last[0]:
            return self._last[1]
        declared = self._declared(tools) if tools else _NONE
        self._last = tools, declared
        return declared

    def _declared(self, tools: Sequence[ToolSpec]) -> Declared:
        key = tuple((tool.name, tool.schema_hash, tool.description) for tool in tools)
        if (known := self._known.get(key)) is not None:
            return known
        declared = self._encode(tools), self._names(tools)
        if len(self._known) >= _KEPT:
            del self._known[next(iter(self._known))]
        self._known[key] = declared
        return declared
