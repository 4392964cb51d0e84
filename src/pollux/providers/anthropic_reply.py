"""What Anthropic answers: events folded into ours, neutral parts, and the service's own turn kept as it came.

Whole answers and streamed ones are one path: a message brings its blocks at once, a stream piece by piece.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

import msgspec

from pollux.core.errors import ModelError
from pollux.core.events import Stop
from pollux.core.hosted import WEB
from pollux.core.messages import JSON, NO_USAGE, Message, Native, Part, Text, Thought, ToolCall, Usage
from pollux.engine.model import Done, ModelEvent, NativePart, TextDelta, ThoughtDelta
from pollux.providers.anthropic_blocks import Block, Delta
from pollux.providers.anthropic_request import CALL_ID, NAME
from pollux.providers.encoding import mint_call_id, to_json
from pollux.providers.unreadable import UNREADABLE

_STOPS: Final[dict[str, Stop]] = {
    "refusal": "blocked",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    # Gemini's own words, as gateways that speak this format pass them on.
    "malformed_function_call": "bad_call",
    "unexpected_tool_call": "bad_call",
    "too_many_tool_calls": "bad_call",
}
_ENDED: Final = frozenset({"", "end_turn", "stop_sequence", "tool_use"})
_WITH_CALLS: Final[frozenset[Stop]] = frozenset({"tool_calls", "other", "length"})
_NEUTRAL: Final = frozenset({"text", "thinking", "tool_use"})
_KINDS: Final = frozenset(
    "message message_start message_delta message_stop content_block_start content_block_delta content_block_stop"
    " error".split()
)
_NO_RAW: Final = msgspec.Raw()


class _Message(msgspec.Struct):
    model: str = ""
    usage: dict[str, Any] | None = None


class _Kind(msgspec.Struct):
    type: str


class _Event(msgspec.Struct):
    """An event of a stream, or a whole message."""

    type: str
    index: int = 0
    delta: Delta | None = None
    content_block: msgspec.Raw = _NO_RAW
    message: _Message | None = None
    usage: dict[str, Any] | None = None
    error: JSON = None
    model: str = ""
    content: list[msgspec.Raw] | None = None
    stop_reason: str | None = None
    stop_details: dict[str, Any] | None = None


class AnthropicFold:
    """Collects one answer, event by event. `names` leads from a sent tool name back to the tool."""

    def __init__(self, names: Mapping[str, str], refusal: Callable[[JSON], ModelError]) -> None:
        self._names = names
        self._refusal = refusal
        self._blocks: dict[int, Block] = {}
        self._usage: dict[str, Any] = {}
        self._finish = ""
        self._detail = ""
        self._model = ""
        self._has_message = False
        self._is_over = False
        self.failure: ModelError | None = None

    def add(self, chunks: Iterable[bytes]) -> list[ModelEvent]:
        """What these events bring. Text that arrived together is one delta; calls come whole, at the end."""
        said: list[ModelEvent] = []
        run: list[str] = []
        kind: type[TextDelta | ThoughtDelta] = TextDelta
        for data in chunks:
            event = self._read(data)
            if event is None:
                break
            for part in self._take(event):
                if run and not isinstance(part, kind):
                    said.append(kind("".join(run)))
                    run = []
                if isinstance(part, NativePart):
                    said.append(part)
                else:
                    kind = type(part)
                    run.append(part.text)
        return [*said, kind("".join(run))] if run else said

    def finish(self) -> list[ModelEvent]:
        """The calls and the end of the answer. Raises ModelError when there was no answer at all."""
        if not self._has_message:
            raise ModelError("Anthropic sent an empty answer", kind="protocol")
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        calls = self._made_calls(blocks)
        stop = self._stop(blocks, calls)
        # An answer cut off for its length keeps what it began: whoever reads it must see that a call was cut.
        kept = calls if stop in _WITH_CALLS else {}
        has_read = any(block.has_read for block in blocks) or self._is_served()
        message = Message(
            "assistant",
            tuple(_parts(blocks, kept)),
            native=_native(blocks, kept),
            sources=WEB if has_read else (),
        )
        done = Done(stop, message, usage=self.usage, reason=self._finish, detail=self._detail, model=self._model)
        return [*kept.values(), done]

    @property
    def usage(self) -> Usage:
        """Tokens as last reported."""
        if not self._usage:
            return NO_USAGE
        cached = _count(self._usage, "cache_read_input_tokens")
        return Usage(
            # The service counts what it read from its cache, and what it wrote there, apart from the rest.
            input=_count(self._usage, "input_tokens") + _count(self._usage, "cache_creation_input_tokens") + cached,
            output=_count(self._usage, "output_tokens"),
            thoughts=_count(self._usage.get("output_tokens_details"), "thinking_tokens"),
            cached=cached,
        )

    def _read(self, data: bytes) -> _Event | None:
        try:
            event = _decoder.decode(data)
        except UNREADABLE:
            if _is_new(data):
                return _Event("")
            self.failure = ModelError("Anthropic sent something that is no answer", kind="protocol")
            return None
        if event.type == "error" or event.error is not None:
            self.failure = self._refusal(event.error or {})
            return None
        return event

    def _take(self, event: _Event) -> Iterable[TextDelta | ThoughtDelta | NativePart]:
        match event.type:
            case "content_block_delta":
                return self._continued(event.index, event.delta)
            case "content_block_start" if event.content_block is not _NO_RAW:
                return self._begun(event.index, event.content_block)
            case "content_block_stop":
                return self._ended(event.index)
            case "message_start":
                message = event.message or _Message()
                self._note(message.model, message.usage, None)
            case "message_delta":
                self._note("", event.usage, event.delta)
            case "message_stop":
                self._is_over = True
            case "message":
                ending = Delta(stop_reason=event.stop_reason, stop_details=event.stop_details)
                self._note(event.model, event.usage, ending)
                return self._whole(event.content or [])
            case _:
                pass  # Pings, and kinds of events that are yet to come: the service asks that they be passed over.
        return ()

    def _note(self, model: str, usage: dict[str, Any] | None, ending: Delta | None) -> None:
        self._has_message = True
        self._model = model or self._model
        # Counts are of everything so far. A stream says what went in at its beginning, and may leave it out later.
        self._usage |= {key: value for key, value in (usage or {}).items() if value is not None}
        if ending is not None:
            self._finish = ending.stop_reason or self._finish
            explanation = (ending.stop_details or {}).get("explanation")
            self._detail = explanation if isinstance(explanation, str) else self._detail

    def _begun(self, index: int, raw: msgspec.Raw) -> Iterable[TextDelta | ThoughtDelta]:
        try:
            block = self._blocks[index] = Block(raw)
        except UNREADABLE:
            self.failure = ModelError("Anthropic sent a block that cannot be read", kind="protocol")
            return ()
        return _delta(block.type, block.text)

    def _continued(self, index: int, delta: Delta | None) -> Iterable[TextDelta | ThoughtDelta]:
        block = self._blocks.get(index)
        if block is None or delta is None:
            return ()
        block.add(delta)
        return _delta(block.type, delta.text or delta.thinking)

    def _ended(self, index: int) -> Iterable[NativePart]:
        block = self._blocks.get(index)
        if block is None or block.type in _NEUTRAL:
            return ()
        return (NativePart(msgspec.json.decode(block.sent())),)

    def _whole(self, content: list[msgspec.Raw]) -> Iterable[TextDelta | ThoughtDelta | NativePart]:
        for index, raw in enumerate(content):
            yield from self._begun(index, raw)
            yield from self._ended(index)

    def _made_calls(self, blocks: list[Block]) -> dict[Block, ToolCall]:
        calls: dict[Block, ToolCall] = {}
        ids: set[str] = set()
        for block in blocks:
            if block.type != "tool_use":
                continue
            minted = not CALL_ID.fullmatch(block.id) or block.id in ids
            if minted:
                # The service wants an id back with every result, so ours goes into its turn as well.
                block.id = mint_call_id()
            ids.add(block.id)
            calls[block] = ToolCall(block.id, self._names.get(block.name, block.name), block.args or {}, minted)
        return calls

    def _is_served(self) -> bool:
        """Whether the service counts calls of its own tools."""
        served = self._usage.get("server_tool_use")
        counted = cast("dict[str, Any]", served) if isinstance(served, dict) else {}
        return any(_count(counted, name) for name in counted)

    def _stop(self, blocks: list[Block], calls: Mapping[Block, ToolCall]) -> Stop:
        if not self._finish and not self._is_over:
            # Nothing says that the answer is whole, so nothing may run from it.
            return "truncated"
        if stop := _STOPS.get(self._finish):
            return stop
        if any(block.args is None or not block.name for block in calls):
            return "bad_call"
        if self._finish not in _ENDED:
            return "other"
        if calls:
            return "tool_calls"
        return "end" if any(block.is_fit and not block.is_thought for block in blocks) else "empty"


def _is_new(data: bytes) -> bool:
    """Whether this is an event of a kind that we do not know, whose fields may be anything."""
    try:
        return msgspec.json.decode(data, type=_Kind).type not in _KINDS
    except UNREADABLE:
        return False


def _delta(kind: str, text: str) -> Iterable[TextDelta | ThoughtDelta]:
    if not text or kind not in ("text", "thinking"):
        return ()
    return (ThoughtDelta(text),) if kind == "thinking" else (TextDelta(text),)


def _parts(blocks: list[Block], calls: Mapping[Block, ToolCall]) -> list[Part]:
    parts: list[Part] = []
    for block in blocks:
        last = parts[-1] if parts else None
        if block in calls:
            parts.append(calls[block])
        elif block.type == "text" and isinstance(last, Text):
            parts[-1] = Text(last.text + block.text)
        elif block.type == "text" and block.text:
            parts.append(Text(block.text))
        elif block.type == "thinking" and block.text:
            parts.append(Thought(block.text))
    return parts


def _native(blocks: list[Block], calls: Mapping[Block, ToolCall]) -> Native | None:
    """The turn as the service takes it back; None where nothing but thoughts would be left."""
    kept = [block for block in blocks if block.is_fit and (block.type != "tool_use" or block in calls)]
    while kept and kept[-1].is_thought:
        # A turn must not end in a thought, as one does that was cut off there.
        kept.pop()
    if not kept:
        return None
    return Native(NAME, to_json({"role": "assistant", "content": [block.sent() for block in kept]}).decode())


def _count(fields: JSON, name: str) -> int:
    value = cast("dict[str, Any]", fields).get(name) if isinstance(fields, dict) else None
    return value if isinstance(value, int) and 0 <= value < 2**53 else 0


_decoder = msgspec.json.Decoder(_Event)
