"""From recorded messages to a conversation that Gemini's API accepts.

The API wants every call of a model's turn answered in the very next content, once. Records do not keep to that: results
stand beside their call, in a message of their own, in both or in neither. Here each call takes the result that is
nearest, and one that has none is told to have been interrupted.
"""

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.sdk.gemini_cli.parts import Part, as_response, call_of, is_media, parts_of
from pollux.sdk.gemini_cli.sessions import MessageRecord

INTERRUPTED: Final = "interrupted: the session ended before this call had a result"
_FORGOTTEN: Final = "[The beginning of this conversation is not kept.]"
_COMMANDS: Final = ("/", "?")
_INJECTED: Final = ("<session_context>", "<hook_context>")


def message_records_to_history(records: Iterable[MessageRecord]) -> list[Part]:
    """The conversation as Gemini's contents, `{role, parts}`. Junk in a record is left out, never an error."""
    spoken = [record for record in records if record.type in ("user", "gemini")]
    found = _results_by_call(spoken)
    history: list[Part] = []
    known: set[_Identity] = set()
    media: set[str] = set()
    for at, record in enumerate(spoken):
        if record.type == "user":
            _append(history, "user", _said(record, but=media))
            continue
        turn = _Turn.of(record, known, found)
        _append(history, "model", turn.parts)
        if turn.calls:
            media = set(turn.media)
            answers = turn.answers(_responses_after(spoken, at))
            history.append({"role": "user", "parts": [*answers, *turn.media.values()]})
    if history and history[0]["role"] == "model":
        # A call must follow something that a user said.
        history.insert(0, {"role": "user", "parts": [{"text": _FORGOTTEN}]})
    return history


_Identity = tuple[str, str, str]
"""Id, name and arguments of a call: the same again is the same call told twice."""


@frozen
class _Recorded:
    """An entry of toolCalls: the call, the answer where there is one, and the files that came with it."""

    call: Part
    answer: Part | None = None
    media: tuple[Part, ...] = ()

    @classmethod
    def of(cls, entry: JSON) -> "_Recorded | None":
        call = call_of(entry)
        if call is None:
            return None
        result = cast("Part", entry).get("result")
        if result is None:
            return cls(call)
        if isinstance(result, str):
            return cls(call, {"response": as_response(result)})
        parts = list(parts_of(result))
        responses = [cast("Part", part["functionResponse"]) for part in parts if "functionResponse" in part]
        # It may hold the answers of the whole turn: this call's is the one with its id.
        mine = [one for one in responses if "id" not in one or one["id"] == call.get("id", one["id"])]
        if mine:
            return cls(call, mine[0], tuple(part for part in parts if is_media(part)))
        words = "".join(str(part.get("text", "")) for part in parts)
        return cls(call, {"response": as_response(words or result)} if not responses else None)


@dataclass(slots=True)
class _Turn:
    """What the model said in one record, each call once, and what is known of the answers."""

    parts: list[Part] = field(default_factory=list[Part])
    calls: list[Part] = field(default_factory=list[Part])
    own: list[Part | None] = field(default_factory=list["Part | None"])
    media: dict[str, Part] = field(default_factory=dict[str, Part])

    @classmethod
    def of(cls, record: MessageRecord, known: set[_Identity], found: "dict[_Identity, _Recorded]") -> "_Turn":
        turn = cls()
        recorded = _Entries(record)
        for part in parts_of(record.content):
            if "functionResponse" in part:
                continue
            call = cast("Part | None", part.get("functionCall"))
            if call is None:
                turn.parts.append(part)
            else:
                turn._add(part, recorded.take(call), known, found)
        for entry in recorded.left():
            turn._add({"functionCall": entry.call}, entry, known, found)
        return turn

    def answers(self, responses: "_Responses") -> Iterator[Part]:
        """One for each call, in their order."""
        for call, own in zip(self.calls, self.own, strict=True):
            after = responses.take(call)
            answer = own or after or {"response": {"error": INTERRUPTED}}
            named = {name: call[name] for name in ("id", "name") if name in call}
            rest = {name: answer[name] for name in ("response", "parts") if name in answer}
            yield {"functionResponse": named | rest}

    def _add(
        self, part: Part, entry: _Recorded | None, known: set[_Identity], found: "dict[_Identity, _Recorded]"
    ) -> None:
        call = cast("Part", part["functionCall"])
        if "id" in call:
            identity = _identity(call)
            if identity in known:
                return
            known.add(identity)
            entry = entry if entry and entry.answer else found.get(identity, entry)
        self.parts.append(part)
        self.calls.append(call)
        self.own.append(entry.answer if entry else None)
        self.media |= {_text_of(one): one for one in (entry.media if entry else ())}


class _Entries:
    """The toolCalls of a record, each to be taken by the call in its content that it belongs to."""

    def __init__(self, record: MessageRecord) -> None:
        self._entries = dict(enumerate(filter(None, map(_Recorded.of, record.tool_calls))))
        self._by_id: dict[str, int] = {}
        self._by_words: defaultdict[_Identity, deque[int]] = defaultdict(deque)
        for at, entry in self._entries.items():
            if "id" in entry.call:
                self._by_id[entry.call["id"]] = at
            self._by_words[_identity(entry.call, anonymous=True)].append(at)

    def take(self, call: Part) -> _Recorded | None:
        if "id" in call:
            return self._entries.pop(self._by_id.get(call["id"], -1), None)
        # What came without an id has been given one by the program that recorded it.
        waiting = self._by_words.get(_identity(call, anonymous=True), deque[int]())
        while waiting:
            if entry := self._entries.pop(waiting.popleft(), None):
                return entry
        return None

    def left(self) -> Iterable[_Recorded]:
        return self._entries.values()


class _Responses:
    """Responses that follow a turn, each to be taken by the call it answers: by id, or by name where one has no id."""

    def __init__(self, responses: Iterable[Part]) -> None:
        self._by_id: dict[str, Part] = {}
        self._ids: defaultdict[str, deque[str]] = defaultdict(deque)
        self._without_id: defaultdict[str, deque[Part]] = defaultdict(deque)
        for response in responses:
            if "id" in response:
                self._by_id.setdefault(response["id"], response)
                self._ids[response["name"]].append(response["id"])
            else:
                self._without_id[response["name"]].append(response)

    def take(self, call: Part) -> Part | None:
        if "id" in call and (exact := self._by_id.pop(call["id"], None)):
            return exact
        if waiting := self._without_id[call["name"]]:
            return waiting.popleft()
        ids = self._ids[call["name"]]
        while ids and "id" not in call:
            if response := self._by_id.pop(ids.popleft(), None):
                return response
        return None


def _results_by_call(records: Iterable[MessageRecord]) -> dict[_Identity, _Recorded]:
    """The recorded results of calls that have an id, wherever they stand."""
    found: dict[_Identity, _Recorded] = {}
    for record in records:
        for entry in filter(None, map(_Recorded.of, record.tool_calls)):
            if "id" in entry.call and entry.answer:
                found[_identity(entry.call)] = entry
    return found


def _responses_after(records: Sequence[MessageRecord], at: int) -> _Responses:
    """The responses in the messages that follow, up to the next turn of the model that calls something."""

    def following() -> Iterator[Part]:
        for index in range(at + 1, len(records)):
            record = records[index]
            parts = list(parts_of(record.content))
            if record.type == "gemini" and (record.tool_calls or any("functionCall" in part for part in parts)):
                return
            for part in parts:
                if record.type == "user" and "functionResponse" in part:
                    yield part["functionResponse"]

    return _Responses(following())


def _said(record: MessageRecord, *, but: set[str]) -> list[Part]:
    """What a user said: no responses, no commands, nothing that a program put before or beside it."""
    parts = list(parts_of(record.content))
    is_answer = any("functionResponse" in part for part in parts)
    kept: list[Part] = []
    for part in parts:
        if "functionResponse" in part or "functionCall" in part:
            continue
        if str(part.get("text", "")).lstrip().startswith(_INJECTED):
            continue
        # Files that came with a result stand beside the call as well.
        if not (is_answer and _text_of(part) in but):
            kept.append(part)
    text = "".join(str(part.get("text", "")) for part in kept).strip()
    has_files = any(is_media(part) for part in kept)
    return kept if (text or has_files) and not text.startswith(_COMMANDS) else []


def _append(history: list[Part], role: str, parts: list[Part]) -> None:
    if not parts:
        return
    last = history[-1] if history else None
    if last and last["role"] == role and "functionResponse" not in last["parts"][0]:
        last["parts"].extend(parts)
    else:
        history.append({"role": role, "parts": parts})


def _identity(call: Part, *, anonymous: bool = False) -> _Identity:
    return "" if anonymous else call.get("id", ""), call["name"], _text_of(call["args"])


def _text_of(value: JSON) -> str:
    return json.dumps(value, sort_keys=True)
