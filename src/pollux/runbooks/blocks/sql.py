"""What the blocks that ask a database have in common: their tools, and the form of their results."""

import math
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.core.tools import ToolSpec
from pollux.runbooks.blocks.block_type import TIMEOUT, Args, Call, Reading, members, schema
from pollux.runbooks.blocks.sql_text import Dialect, reads_only, statements
from pollux.runbooks.documents import Block
from pollux.runbooks.scene import Scene
from pollux.tools.define import Execute, FunctionTool

MAX_ROWS: Final = 10_000
MAX_BYTES: Final = 4 * 1024 * 1024
"""How much of the rows is kept, of all statements of a block together."""
MAX_QUERY: Final = 1024 * 1024


PARTLY: Final = "Some of the statements may have been carried out for good"


def sql_spec(name: str, description: str, *, writes: bool, **properties: JSON) -> ToolSpec:
    """A tool that asks a database. A person is asked also where it only reads: it opens what the document names."""
    parts: dict[str, JSON] = {
        "uri": {"type": "string", "minLength": 1, "maxLength": 4_096},
        "query": {"type": "string", "maxLength": MAX_QUERY},
        "timeout": TIMEOUT,
        **properties,
    }
    required = ("uri", "query", *properties)
    repeat = "once" if writes else "repeatable"
    return ToolSpec(name, description, schema(required, **parts), side_effect=True, repeat=repeat)


class SqlBlocks:
    """The better part of a type of blocks that ask a database. It has two tools: one that reads, one for all the rest.

    `prepare` is told whether the call may write.
    """

    def __init__(
        self,
        name: str,
        dialect: Dialect,
        *,
        specs: tuple[ToolSpec, ToolSpec],
        runs: tuple[Execute, Execute],
        prepare: Callable[[Args, bool], Args],
        database: Callable[[Args], str],
    ) -> None:
        self.names = (name,)
        self._dialect: Dialect = dialect
        self._reading, self._writing = specs
        self._prepare = prepare
        self._database = database
        self.tools = tuple(
            FunctionTool(
                spec,
                run,
                prepare=self._checked(spec),
                subjects=lambda args: frozenset({database(args)}),
                preview=self._preview,
            )
            for spec, run in zip(specs, runs, strict=True)
        )

    def call(self, block: Block, scene: Scene) -> Call:
        reading = Reading(block, scene)
        uri, query = reading.text("uri").strip(), reading.text("query")
        if not uri:
            raise reading.problem("uri is missing: name the database")
        found = statements(query, self._dialect)
        if not found:
            raise reading.problem("query is missing: give at least one statement")
        reads = all(reads_only(one, self._dialect) for one in found) and reading.flag("readOnly", default=True)
        spec = self._reading if reads else self._writing
        return reading.call(spec.name, **self._args(scene, uri, query), timeout=reading.timeout())

    def output(self, result: JSON) -> dict[str, JSON]:
        results: list[Any] = members(result).get("results", [])
        queries = [one["data"] for one in results if one["type"] == "Query"]
        changes = [one["data"] for one in results if one["type"] == "Statement"]
        return {
            "results": results,
            "first": results[0] if results else None,
            "total_rows": sum(len(one["rows"]) for one in queries),
            "total_rows_affected": sum(one["rowsAffected"] for one in changes),
            "total_duration": sum(one["data"]["duration"] for one in results),
            "result_count": len(results),
            "rows": queries[0]["rows"] if queries else [],
            "columns": queries[0]["columns"] if queries else [],
            "rows_affected": changes[0]["rowsAffected"] if changes else 0,
        }

    def after(self, scene: Scene, block: Block, result: JSON) -> Scene:
        return scene.with_output(block.id, self.output(result))

    def succeeded(self, result: JSON) -> bool:
        return "results" in members(result)

    def _args(self, scene: Scene, uri: str, query: str) -> Args:
        return {"uri": uri, "query": query}

    def _checked(self, spec: ToolSpec) -> Callable[[Args], Args]:
        def prepare(args: Args) -> Args:
            found = statements(str(args["query"]), self._dialect)
            if not found:
                raise ValidationError("query: expected at least one statement, found none")
            writes = spec is self._writing
            if not writes and not all(reads_only(one, self._dialect) for one in found):
                raise ValidationError(f"query: {spec.name} only reads; {self._writing.name} takes what writes")
            return self._prepare({"timeout": None, **args}, writes)

        return prepare

    def _preview(self, args: Args) -> str:
        return f"on {self._database(args)}:\n{args['query']}"


class Results:
    """The results of a block's statements as they come in, no more than there is room for."""

    def __init__(self) -> None:
        self.is_full = False
        self._results: list[JSON] = []
        self._rows: list[JSON] = []
        self._count = self._bytes = 0

    def begin(self) -> None:
        """Another statement answers with rows."""
        self._rows = []

    def add(self, columns: Sequence[str], row: Sequence[object]) -> bool:
        """Take a row. Says whether there is room for another one."""
        values = [_plain(value) for value in row]
        self._count += 1
        self._bytes += sum(len(value) if isinstance(value, str) else 8 for value in values)
        if self._count > MAX_ROWS or self._bytes > MAX_BYTES:
            self.is_full = True
            return False
        self._rows.append(dict(zip(columns, values, strict=True)))
        return True

    def end(self, columns: Sequence[str], duration: float) -> None:
        data: dict[str, JSON] = {"columns": list(columns), "rows": self._rows, "duration": round(duration, 6)}
        self._results.append({"type": "Query", "data": data})

    def changed(self, rows: int, duration: float, **more: JSON) -> None:
        """A statement that answered with no rows has changed so many."""
        data: dict[str, JSON] = {"rowsAffected": max(rows, 0), **more, "duration": round(duration, 6)}
        self._results.append({"type": "Statement", "data": data})

    @property
    def result(self) -> dict[str, JSON]:
        result: dict[str, JSON] = {"results": self._results}
        if self.is_full:
            result["note"] = (
                f"only the first {MAX_ROWS} rows and {MAX_BYTES // 2**20} MiB are kept: the rest was left out"
            )
        return result


def _plain(value: object) -> JSON:
    """A database's value as JSON. What has no form there is told as text, exactly."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case bytes():
            return b64encode(value).decode()
        case Mapping():
            return {str(name): _plain(each) for name, each in cast("Mapping[object, object]", value).items()}
        case list() | tuple():
            return [_plain(each) for each in cast("Sequence[object]", value)]
        case _:
            return str(value)
