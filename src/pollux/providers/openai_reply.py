"""What an OpenAI-compatible service answers: chunks folded into events, neutral parts, and its own turn kept as is.

Whole answers and streamed ones are one path: a message is a delta that says everything at once.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import msgspec

from pollux.core.errors import ModelError
from pollux.core.events import Stop
from pollux.core.hosted import WEB
from pollux.core.messages import JSON, NO_USAGE, Message, Native, Part, Text, Thought, ToolCall, Usage
from pollux.engine.model import Done, ModelEvent, TextDelta, ThoughtDelta
from pollux.providers.encoding import mint_call_id, to_json
from pollux.providers.openai_calls import CallPieces
from pollux.providers.openai_request import NAME
from pollux.providers.unreadable import UNREADABLE
from pollux.wire.floats import finite

_THOUGHTS = ("reasoning_content", "reasoning")
_FOLDED = {"role", "content", "tool_calls", "function_call", "refusal"}
_CALLS = ("function", "", None)
_SAID = ("text", "output_text", "refusal", "thinking", "reasoning", "image_url", None)
_HOSTED = frozenset(
    """annotations citations references sources search_results web_search web_search_calls search_info executed_tools
    server_tools tool_outputs tool_results grounding_metadata groundingMetadata context documents output""".split()
)
"""What servers put beside an answer for which they searched, read or ran something."""

# Gemini's own words, as its OpenAI-compatible face passes them on.
_BAD_CALL = ("malformed_function_call", "unexpected_tool_call", "too_many_tool_calls")


class _Choice(msgspec.Struct):
    delta: dict[str, Any] | None = None
    message: dict[str, Any] | None = None
    finish_reason: str | None = None
    index: int = 0


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: dict[str, Any] | None = None
    model: str | None = None
    error: JSON = None
    citations: JSON = None
    search_results: JSON = None
    search_info: JSON = None
    web_search: JSON = None


class OpenAIFold:
    """Collects one answer, chunk by chunk. `names` leads from a sent tool name back to the tool."""

    def __init__(self, names: Mapping[str, str], refusal: Callable[[JSON], ModelError]) -> None:
        self._names = names
        self._refusal = refusal
        self._text: list[str] = []
        self._thoughts: list[str] = []
        self._refused: list[str] = []
        self._calls = CallPieces()
        self._more: dict[str, JSON] = {}
        self._usage: dict[str, Any] = {}
        self._finish = ""
        self._model = ""
        self._has_bad_call = False
        self._has_choice = False
        self._has_chunk = False
        self._is_over = False
        self._has_read = False
        self.failure: ModelError | None = None

    def add(self, chunks: Iterable[bytes]) -> list[ModelEvent]:
        """What these chunks bring. Text that arrived together is one delta; calls come whole, at the end."""
        text, thoughts = len(self._text), len(self._thoughts)
        for data in chunks:
            if data == b"[DONE]":
                self._is_over = True
                continue
            chunk = self._read(data)
            if chunk is None:
                break
            for choice in chunk.choices or ():
                if not choice.index:
                    self._take(choice)
        events: list[ModelEvent] = []
        if new := "".join(self._thoughts[thoughts:]):
            events.append(ThoughtDelta(new))
        if new := "".join(self._text[text:]):
            events.append(TextDelta(new))
        return events

    def finish(self) -> list[ModelEvent]:
        """The calls and the end of the answer. Raises ModelError when there was no answer at all."""
        if not self._has_chunk:
            raise ModelError("the model service sent an empty answer", kind="protocol")
        wire, calls = self._made_calls()
        parts: list[Part] = []
        if thoughts := "".join(self._thoughts):
            parts.append(Thought(thoughts))
        if text := "".join(self._text):
            parts.append(Text(text))
        stop = self._stop(text, calls)
        # An answer cut off for its length keeps what it began: whoever reads it must see that a call was cut.
        kept = calls if stop in ("tool_calls", "other", "length") else ()
        parts.extend(kept)
        turn: dict[str, JSON] = {"role": "assistant", "content": text or None} | self._more
        if kept:
            turn["tool_calls"] = wire
        native = Native(NAME, to_json(turn).decode()) if text or kept else None
        has_read = self._has_read or any(value for key, value in self._more.items() if key in _HOSTED)
        message = Message("assistant", tuple(parts), native=native, sources=WEB if has_read else ())
        detail = "".join(self._refused)
        done = Done(stop, message, usage=self.usage, reason=self._finish, detail=detail, model=self._model)
        return [*kept, done]

    @property
    def usage(self) -> Usage:
        """Tokens as last reported; none where the server does not count."""
        if not self._usage:
            return NO_USAGE
        return Usage(
            input=_count(self._usage, "prompt_tokens"),
            output=_count(self._usage, "completion_tokens"),
            thoughts=_count(self._usage.get("completion_tokens_details"), "reasoning_tokens"),
            cached=_count(self._usage.get("prompt_tokens_details"), "cached_tokens"),
        )

    def _read(self, data: bytes) -> _Chunk | None:
        try:
            chunk = _decoder.decode(data)
        except UNREADABLE:
            self.failure = ModelError("the model service sent something that is no answer", kind="protocol")
            return None
        if chunk.error is not None:
            self.failure = self._refusal(chunk.error)
            return None
        self._has_chunk = True
        if chunk.citations or chunk.search_results or chunk.search_info or chunk.web_search:
            self._has_read = True
        self._usage = chunk.usage or self._usage
        self._model = chunk.model or self._model
        return chunk

    def _take(self, choice: _Choice) -> None:
        self._has_choice = True
        self._finish = choice.finish_reason or self._finish
        delta = choice.delta or choice.message
        if not delta:
            return
        if (content := delta.get("content")) is not None and not _is_said(content):
            self.failure = ModelError("the model service sent a text that is none", kind="protocol")
            return
        if content:
            self._text.append(content if isinstance(content, str) else _joined(content))
            self._has_read = self._has_read or (not isinstance(content, str) and _is_cited(content))
        if len(delta) > 1 or content is None:
            self._take_rest(delta)

    def _take_rest(self, delta: Mapping[str, Any]) -> None:
        if thought := next((delta[key] for key in _THOUGHTS if isinstance(delta.get(key), str)), ""):
            self._thoughts.append(thought)
        if isinstance(refusal := delta.get("refusal"), str):
            self._refused.append(refusal)
        pieces = delta.get("tool_calls")
        for piece in cast("list[Any]", pieces) if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                self._has_read = self._has_read or cast("Any", piece).get("type", "function") not in _CALLS
                self._calls.add(cast("dict[str, Any]", piece))
        if isinstance(legacy := delta.get("function_call"), dict):
            self._calls.add({"index": 0, "function": legacy})
        for key in delta.keys() - _FOLDED:
            self._more[key] = _appended(self._more.get(key), delta[key])

    def _made_calls(self) -> tuple[list[dict[str, JSON]], tuple[ToolCall, ...]]:
        """The calls as the service will read them again, and in neutral form."""
        wire: list[dict[str, JSON]] = []
        calls: list[ToolCall] = []
        ids: set[str] = set()
        for sent in self._calls.whole():
            minted = not sent["id"] or sent["id"] in ids
            if minted:
                # The service wants an id back with every result, so ours goes into its turn as well.
                sent["id"] = mint_call_id()
            ids.add(sent["id"])
            wire.append(sent)
            name, args = sent["function"]["name"], _object(sent["function"]["arguments"])
            self._has_bad_call = self._has_bad_call or args is None or not name
            calls.append(ToolCall(sent["id"], self._names.get(name, name), args or {}, minted))
        return wire, tuple(calls)

    def _stop(self, text: str, calls: tuple[ToolCall, ...]) -> Stop:
        reason = self._finish.lower()
        if not self._has_choice:
            return "empty"
        if not reason and not self._is_over:
            # Nothing says that the answer is whole, so nothing may run from it.
            return "truncated"
        if self._refused or "content_filter" in reason:
            return "blocked"
        if reason == "length":
            return "length"
        if self._has_bad_call or any(word in reason for word in _BAD_CALL):
            return "bad_call"
        if reason in ("", "stop", "tool_calls", "function_call"):
            return "tool_calls" if calls else "end" if text else "empty"
        return "other"


def _is_said(content: JSON) -> bool:
    """Whether it is a text, or parts of which each has a text or none."""
    if isinstance(content, list):
        pieces = [cast("dict[str, Any]", piece) for piece in cast("list[Any]", content) if isinstance(piece, dict)]
        return all(isinstance(piece.get("text") or "", str) for piece in pieces)
    return isinstance(content, str)


def _joined(content: JSON) -> str:
    """Content in parts, as some servers send it."""
    pieces = cast("list[Any]", content) if isinstance(content, list) else []
    return "".join(str(cast("dict[str, Any]", piece).get("text") or "") for piece in pieces if isinstance(piece, dict))


def _is_cited(content: JSON) -> bool:
    """Whether a part of the content is from elsewhere."""
    pieces = cast("list[Any]", content) if isinstance(content, list) else []
    return any(
        isinstance(piece, dict)
        and (cast("dict[str, Any]", piece).get("annotations") or cast("dict[str, Any]", piece).get("type") not in _SAID)
        for piece in pieces
    )


def _appended(before: JSON, value: JSON) -> JSON:
    if isinstance(before, str) and isinstance(value, str):
        return before + value
    if isinstance(before, list) and isinstance(value, list):
        return [*cast("list[JSON]", before), *cast("list[JSON]", value)]
    return cast("JSON", before if value is None else value)


def _object(text: str) -> dict[str, JSON] | None:
    try:
        return _args.decode(text or "{}")
    except UNREADABLE:
        return None


def _count(fields: JSON, name: str) -> int:
    value = cast("dict[str, Any]", fields).get(name) if isinstance(fields, dict) else None
    return value if isinstance(value, int) and 0 <= value < 2**53 else 0


_decoder = msgspec.json.Decoder(_Chunk, float_hook=finite)
_args = msgspec.json.Decoder(dict[str, Any], float_hook=finite)
