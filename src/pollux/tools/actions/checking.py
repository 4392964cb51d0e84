"""Hold a plugin's handlers against the files that describe them, before anybody calls one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.tools.actions.documents import FileError
from pollux.tools.actions.handlers import Handler
from pollux.tools.actions.metadata import ActionFile, read_action
from pollux.tools.actions.places import find_file
from pollux.tools.actions.plugins import Plugin, PluginAction, resolve_action_metadata_path
from pollux.tools.actions.registered import handler_for

Schema = Mapping[str, Any]


@frozen
class Finding:
    """Something about a plugin, and where. A note is no mistake."""

    path: Path
    line: int
    text: str
    kind: Literal["error", "note"] = "error"

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {'note: ' if self.kind == 'note' else ''}{self.text}"


def check_plugin(plugin: Plugin, handlers: Iterable[Handler[..., Any]]) -> list[Finding]:
    """What is wrong between a plugin's files and its handlers, or worth knowing."""
    known = list(handlers)
    described: set[str] = set()
    findings: list[Finding] = []
    for entry in plugin.actions:
        try:
            path = resolve_action_metadata_path(plugin.folder, entry)
            file = read_action(path) if path is not None else None
        except FileError as problem:
            findings.append(Finding(problem.path, problem.line, problem.reason))
            continue
        handler = handler_for(entry.name, known)
        findings += _of_entry(plugin, entry, file, handler)
        if handler is not None and file is not None:
            described.add(handler.name)
            findings += check_handler(handler, file)
    findings += [
        Finding(plugin.manifest, each.line, f"{each.name}: expected the contract {each.contract}, found no such file")
        for each in plugin.contracts
        if find_file(plugin.folder, each.contract) is None
    ]
    findings += [_undescribed(handler) for handler in known if handler.name not in described]
    return findings


def check_handler(handler: Handler[..., Any], file: ActionFile) -> list[Finding]:
    """Where a handler and the file that describes it do not agree."""
    path, line = handler.place
    said = _Comparison(handler, file).findings()
    return [Finding(path, line, f"{handler.name}: {text}", kind) for kind, text in said]


def _of_entry(
    plugin: Plugin, entry: PluginAction, file: ActionFile | None, handler: Handler[..., Any] | None
) -> Iterator[Finding]:
    if handler is None:
        yield Finding(plugin.manifest, entry.line, f"{entry.name}: expected a handler of this name, found none")
    if file is not None and file.metadata.name.rpartition(".")[2] != entry.name.rpartition(".")[2]:
        text = f"{entry.name}: expected the same name in the file that describes it, found {file.metadata.name}"
        yield Finding(plugin.manifest, entry.line, text)


def _undescribed(handler: Handler[..., Any]) -> Finding:
    path, line = handler.place
    return Finding(path, line, f"{handler.name}: no .jay-action describes it, so no model hears of it", "note")


@frozen
class _Comparison:
    """A handler's signature beside the schema of its input."""

    handler: Handler[..., Any]
    file: ActionFile

    def findings(self) -> Iterator[tuple[Literal["error", "note"], str]]:
        own: Schema = self.handler.tool.spec.input_schema
        if "properties" not in own:
            return
        described: Schema = self.file.metadata.input_schema
        properties: Schema = described.get("properties", {})
        taken: Schema = own["properties"]
        parameters = {self.handler.parameter(member): member for member in properties}
        is_open = own.get("additionalProperties", True) is not False
        for parameter, member in parameters.items():
            if parameter in taken:
                yield from self._member(own, described, parameter, member)
            elif not is_open:
                yield "error", f"{self._at(member)} is in inputSchema, but the handler has no such parameter"
        for parameter in taken.keys() - parameters.keys():
            if parameter in own.get("required", ()):
                yield "error", f"the parameter {parameter} is not in inputSchema, so nobody gives it"
            else:
                yield "note", f"the parameter {parameter} is not in inputSchema: it always has its default"

    def _member(
        self, own: Schema, described: Schema, parameter: str, member: str
    ) -> Iterator[tuple[Literal["error", "note"], str]]:
        schema: Schema = described["properties"][member]
        is_given = member in described.get("required", ()) or "default" in schema
        if parameter in own.get("required", ()) and not is_given:
            yield "error", f"{self._at(member)} may be missing, but the parameter {parameter} has no default"
        for kind, text in _misfits(schema, own["properties"][parameter], own, member):
            yield kind, f"{text} ({self.file.path}:{self._line(member)})"

    def _at(self, member: str) -> str:
        return f"{member} ({self.file.path}:{self._line(member)})"

    def _line(self, member: str) -> int:
        return self.file.lines.get(member, self.file.lines[""])


def _misfits(
    given: JSON, taken: JSON, root: Schema, place: str, depth: int = 0
) -> Iterator[tuple[Literal["error", "note"], str]]:
    """Where values that one schema lets through are not what the other takes."""
    given, branches = _as_schema(given), _branches(_as_schema(taken), root)
    if not given or not all(branches) or depth > 20:
        return
    kinds, wanted = _kinds(given), {kind for branch in branches for kind in _kinds(branch)}
    if not kinds or not wanted:
        return
    if wrong := sorted(kind for kind in kinds if kind not in wanted and not (kind == "integer" and "number" in wanted)):
        if wrong == ["number"] and "integer" in wanted:
            yield "note", f"{place} is a number, and the handler takes whole ones only"
        else:
            yield "error", f"{place} is {' or '.join(wrong)}, but the handler takes {' or '.join(sorted(wanted))}"
        return
    yield from _choices(given, branches, place)
    yield from _parts(given, branches, root, place, depth)


def _choices(given: Schema, branches: Sequence[Schema], place: str) -> Iterator[tuple[Literal["error"], str]]:
    if not all("enum" in branch or "const" in branch for branch in branches):
        return
    taken = [value for branch in branches for value in branch.get("enum", [branch.get("const")])]
    if "enum" not in given:
        yield "error", f"{place} is any {' or '.join(sorted(_kinds(given)))}, but the handler takes only some values"
    elif wrong := [value for value in given["enum"] if value not in taken]:
        yield "error", f"{place} may be {wrong[0]!r}, which the handler does not take"


def _parts(
    given: Schema, branches: Sequence[Schema], root: Schema, place: str, depth: int
) -> Iterator[tuple[Literal["error", "note"], str]]:
    if len(branches) > 1:
        return
    taken = branches[0]
    if "items" in given and "items" in taken:
        yield from _misfits(given["items"], taken["items"], root, f"{place}[]", depth + 1)
    properties: Schema = given.get("properties", {})
    others: Schema = taken.get("properties", {})
    for member, schema in properties.items():
        if member in others:
            yield from _misfits(schema, others[member], root, f"{place}.{member}", depth + 1)
        elif others and taken.get("additionalProperties") is False:
            yield "error", f"{place}.{member} is in inputSchema, but the handler's type has no such member"
    for member in taken.get("required", ()) if properties else ():
        if member not in given.get("required", ()) and "default" not in properties.get(member, {}):
            yield "error", f"{place}.{member} may be missing, but the handler's type needs it"


def _branches(schema: Schema, root: Schema) -> list[Schema]:
    """What a schema stands for: references followed, unions taken apart."""
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        return _branches(_as_schema(root.get("$defs", {}).get(reference.removeprefix("#/$defs/"), {})), root)
    if isinstance(parts := schema.get("anyOf") or schema.get("oneOf"), list):
        return [branch for part in cast("list[JSON]", parts) for branch in _branches(_as_schema(part), root)]
    return [schema]


def _kinds(schema: Schema) -> set[str]:
    kind = schema.get("type")
    if kind is None and "enum" in schema:
        return {_kind(value) for value in cast("list[JSON]", schema["enum"])}
    if kind is None and isinstance(parts := schema.get("anyOf"), list):
        return {kind for part in cast("list[JSON]", parts) for kind in _kinds(_as_schema(part))}
    return set(cast("list[str]", kind)) if isinstance(kind, list) else {kind} if isinstance(kind, str) else set()


def _as_schema(schema: JSON) -> Schema:
    return cast("Schema", schema) if isinstance(schema, Mapping) else {}


def _kind(value: JSON) -> str:
    match value:
        case str():
            return "string"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case None:
            return "null"
        case _:
            return "array" if isinstance(value, list) else "object"
