"""Hold a captured output of `pollux run` against what it promises, and name what is not kept.

    V1  an error is one object with `type`, `error` and `code`; that a key is missing is told alone
    V2  text comes in lines that are never empty, and the last line holds all of it
    V3  in text format there is the text alone
    V4  standard output holds nothing but lines of JSON
    V5  every call is followed by its result, by id

Violations say where and why, and quote nothing: what was captured may hold what is nobody else's business.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NoReturn, cast

from pollux.core.frozen import frozen

Invariant = Literal["V1", "V2", "V3", "V4", "V5"]
Format = Literal["stream-json", "gemini-stream-json", "json", "text"]
Line = dict[str, Any]

KEYLESS: Final = "missing_credential"
LONGEST_REASON: Final = 200
MOST: Final = 1_000
"""Where so much is wrong it is another thing, a log perhaps, and need not have an end."""


@frozen
class Violation:
    """A promise that is not kept: which, in which line, and why."""

    invariant: Invariant
    line: int
    why: str


def check(lines: Iterable[bytes], format_: Format) -> tuple[int, list[Violation]]:
    """How many lines were read, and what is wrong with them, in their order. After `MOST` it reads no further."""
    if format_ == "text":
        return _check_text(lines)
    reader = _Reader(_dialect(format_))
    found: list[Violation] = []
    count = 0
    for count, raw in enumerate(lines, start=1):
        line, why = _parsed(raw)
        found += reader.read(count, line) if line is not None else [Violation("V4", count, why)]
        if len(found) >= MOST:
            return count, found[:MOST]
    found += reader.end(max(count, 1))
    return count, sorted(found, key=lambda violation: violation.line)


@frozen
class _Dialect:
    """What one format's lines look like."""

    validators: Mapping[str, Any]
    """By type of line."""
    error: Any
    first: str = ""
    calls: str = ""
    """The type of line that is a call; `tool_result` answers it."""
    id: str = "id"


def _dialect(format_: Format) -> _Dialect:
    import jsonschema_rs

    from pollux.wire import lines

    chosen: dict[str, tuple[Any, ...]] = {
        "json": (lines.JSON_RESULT, lines.ERROR),
        "stream-json": (lines.ASSISTANT, lines.TOOL_CODE, lines.TOOL_RESULT, lines.RESULT, lines.ERROR),
        "gemini-stream-json": lines.GEMINI,
    }
    made = {
        schema["properties"]["type"]["const"]: jsonschema_rs.validator_for(schema, mask="the value")
        for schema in chosen[format_]
    }
    error = jsonschema_rs.validator_for(lines.ERROR, mask="the value")
    match format_:
        case "stream-json":
            return _Dialect(made, error, calls="tool_code")
        case "gemini-stream-json":
            return _Dialect(made, error, first="init", calls="tool_use", id="tool_id")
        case _:
            return _Dialect(made, error)


@dataclass(slots=True)
class _Reader:
    """Reads line after line, and remembers what later ones depend on."""

    dialect: _Dialect
    count: int = 0
    ended: int = 0
    text: list[str] = field(default_factory=list[str])
    calls: dict[str, tuple[int, object]] = field(default_factory=dict[str, tuple[int, object]])
    answered: set[str] = field(default_factory=set[str])

    def read(self, number: int, line: Line) -> Iterator[Violation]:
        """What is wrong with this line, or with its place."""
        self.count += 1
        type_ = line.get("type")
        if self.ended:
            yield Violation("V2", number, f"line {self.ended} was the last one, nothing may follow it")
        if _is_error(line):
            yield from self._read_error(number, line)
            return
        if self.count == 1 and self.dialect.first not in ("", type_):
            yield Violation("V2", number, f"the first line must be {self.dialect.first}")
        if not isinstance(type_, str) or type_ not in self.dialect.validators:
            yield Violation("V2", number, f"`type` must be one of {', '.join(self.dialect.validators)}")
            return
        is_call = type_ in (self.dialect.calls, "tool_result")
        for flaw in _flaws(self.dialect.validators[type_], line):
            yield Violation("V5" if is_call else "V2", number, f"{type_}: {flaw}")
        yield from self._pair(number, line) if is_call else self._join(number, line)
        if type_ == "result" and not self.ended:
            self.ended = number

    def end(self, number: int) -> Iterator[Violation]:
        """What is wrong because nothing more comes."""
        if not self.ended:
            yield Violation("V2", number, "the last line must be a result or an error, but the output ends before it")
        for id_, (line, _) in self.calls.items():
            if id_ not in self.answered:
                yield Violation("V5", line, f"no tool_result has the id of this {self.dialect.calls}")

    def _read_error(self, number: int, line: Line) -> Iterator[Violation]:
        yield from (Violation("V1", number, f"error: {flaw}") for flaw in _flaws(self.dialect.error, line))
        if line.get("code") == KEYLESS and self.count > 1:
            yield Violation("V1", number, "that a key is missing must be told before anything else, and alone")
        self.ended = self.ended or number

    def _pair(self, number: int, line: Line) -> Iterator[Violation]:
        id_, name = line.get(self.dialect.id), line.get("name")
        if not isinstance(id_, str):
            return
        if line["type"] != "tool_result":
            if id_ in self.calls:
                yield Violation("V5", number, f"the call in line {self.calls[id_][0]} has the same id")
            self.calls.setdefault(id_, (number, name))
        elif id_ not in self.calls:
            yield Violation("V5", number, "no call before it has its id")
        elif id_ in self.answered:
            yield Violation("V5", number, f"the call in line {self.calls[id_][0]} has a result already")
        else:
            self.answered.add(id_)
            # Gemini CLI's results do not repeat the name.
            if name is not None and name != self.calls[id_][1]:
                yield Violation("V5", number, f"the call in line {self.calls[id_][0]} has another name")

    def _join(self, number: int, line: Line) -> Iterator[Violation]:
        if line["type"] == "assistant":
            self.text += _texts(line)
        # The other formats tell their text once only: there is nothing to hold it against.
        elif (
            line["type"] == "result"
            and "assistant" in self.dialect.validators
            and line.get("result") != "".join(self.text)
        ):
            yield Violation("V2", number, _difference(line.get("result"), "".join(self.text)))


def _check_text(lines: Iterable[bytes]) -> tuple[int, list[Violation]]:
    """The text may be anything, also JSON that a model wrote; but no lines of ours."""
    import jsonschema_rs

    from pollux.wire.lines import LINES

    ours = jsonschema_rs.validator_for(LINES["stream-json"])
    found: list[Violation] = []
    count = 0
    for count, raw in enumerate(lines, start=1):
        line, _ = _parsed(raw)
        if line is None or not ours.is_valid(line):
            continue
        if not _is_error(line):
            found.append(Violation("V3", count, f"a line of stream-json ({line['type']}) stands in the text"))
        elif count > 1:
            found.append(Violation("V3", count, "an error stands behind text: there it belongs on standard error"))
        if len(found) >= MOST:
            break
    return count, found


def _parsed(raw: bytes) -> tuple[Line | None, str]:
    """The object in a line, or why there is none."""
    try:
        line: object = json.loads(raw.decode("utf-8"), parse_constant=_refuse)
    except UnicodeDecodeError:
        problem = "not UTF-8"
    except (ValueError, RecursionError):
        problem = "not JSON" if raw.strip() else "empty"
    else:
        if isinstance(line, dict):
            return cast(Line, line), ""
        problem = "JSON of another kind"
    return None, f"every line must be a JSON object, but this one is {problem}; diagnostics belong on standard error"


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _is_error(line: Line) -> bool:
    """Whether it is the error that ends an output. Gemini CLI's `error` lines are warnings on the way."""
    return (line.get("type") == "error" and "severity" not in line) or ("type" not in line and "error" in line)


def _flaws(validator: Any, line: Line) -> Iterator[str]:
    for error in validator.iter_errors(line):
        place = ".".join(str(step) for step in error.instance_path)
        yield (f"{place}: {error.message}" if place else str(error.message))[:LONGEST_REASON]


def _texts(line: Line) -> Iterator[str]:
    """The texts of an assistant line, as far as it has any."""
    message: Any = line.get("message")
    content: Any = cast(Line, message).get("content") if isinstance(message, dict) else None
    for part in cast("list[Any]", content) if isinstance(content, list) else ():
        text: Any = cast(Line, part).get("text") if isinstance(part, dict) else None
        if isinstance(text, str):
            yield text


def _difference(result: object, text: str) -> str:
    expected = f"`result` must be the assistant texts joined ({len(text)} characters)"
    if not isinstance(result, str):
        return f"{expected}, but it is no text"
    from itertools import takewhile

    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(result, text, strict=False)))
    return f"{expected}, but it has {len(result)} and differs from character {same + 1} on"
