"""What Gemini answers: chunks folded into events, neutral parts, and the service's own turn kept as it came.

The reader is tolerant: unknown fields and parts survive, names come in camelCase or snake_case, and only what cannot
be read at all is an error.
"""

from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import msgspec

from pollux.core.errors import ModelError
from pollux.core.events import Stop
from pollux.core.hosted import WEB
from pollux.core.messages import JSON, NO_USAGE, Blob, FileRef, Message, Native, Part, Text, Thought, ToolCall, Usage
from pollux.engine.model import Done, ModelEvent, NativePart, TextDelta, ThoughtDelta
from pollux.providers.encoding import mint_call_id, to_json
from pollux.providers.gemini_partial import PIECEMEAL, PartialCall
from pollux.providers.gemini_request import NAME
from pollux.providers.unreadable import UNREADABLE
from pollux.wire.floats import finite

_BLOCKED = {
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MODEL_ARMOR",
}
_BAD_CALL = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"}
_SIGNED = frozenset({"thoughtSignature", "thought_signature", "thought"})
_HOSTED = frozenset(
    """executableCode executable_code codeExecutionResult code_execution_result toolCall tool_call toolResponse
    tool_response""".split()
)
"""Parts of tools that the service runs itself."""
_TOOL_TOKENS = ("toolUsePromptTokenCount", "tool_use_prompt_token_count")
_NO_RAW = msgspec.Raw()


class _Content(msgspec.Struct):
    parts: list[dict[str, Any]] | None = None


class _Candidate(msgspec.Struct):
    content: _Content | None = None
    index: int = 0
    finishReason: str | None = None
    finish_reason: str | None = None
    finishMessage: str | None = None
    finish_message: str | None = None
    groundingMetadata: JSON = None
    grounding_metadata: JSON = None
    urlContextMetadata: JSON = None
    url_context_metadata: JSON = None

    @property
    def has_read(self) -> bool:
        """Whether the service looked something up for it."""
        return any(
            found is not None
            for found in (
                self.groundingMetadata,
                self.grounding_metadata,
                self.urlContextMetadata,
                self.url_context_metadata,
            )
        )


class _Chunk(msgspec.Struct):
    """One answer, or one piece of a streamed one. Usage is read only once, from the last chunk that has it."""

    candidates: list[_Candidate] | None = None
    usageMetadata: msgspec.Raw = _NO_RAW
    usage_metadata: msgspec.Raw = _NO_RAW
    promptFeedback: dict[str, Any] | None = None
    prompt_feedback: dict[str, Any] | None = None
    modelVersion: str | None = None
    model_version: str | None = None
    error: JSON = None


class GeminiFold:
    """Collects one answer, chunk by chunk. `names` leads from a sent tool name back to the tool."""

    def __init__(self, names: Mapping[str, str], refusal: Callable[[JSON], ModelError]) -> None:
        self._names = names
        self._refusal = refusal
        self._native: list[dict[str, Any]] = []
        self._neutral: list[Part] = []
        self._text: list[str] = []
        self._ids: set[str] = set()
        self._partial: PartialCall | None = None
        self._usage = _NO_RAW
        self._finish = ""
        self._message = ""
        self._feedback: dict[str, Any] = {}
        self._model = ""
        self._has_candidate = False
        self._has_chunk = False
        self._has_read = False
        self.failure: ModelError | None = None

    def add(self, chunks: Iterable[bytes]) -> list[ModelEvent]:
        """What these chunks bring. Text that arrived together is one delta."""
        events: list[ModelEvent] = []
        new = len(self._text)
        for data in chunks:
            chunk = self._read(data)
            if chunk is None:
                break
            for candidate in chunk.candidates or ():
                self._has_read = self._has_read or candidate.has_read
                if candidate.index:
                    continue
                self._has_candidate = True
                content = candidate.content
                for part in (content.parts if content else None) or ():
                    text = part.get("text")
                    if text and len(part) == 1 and text.__class__ is str:
                        self._text.append(text)
                        continue
                    self._flush(events, new)
                    new = 0
                    self._part(part, events)
                if reason := candidate.finishReason or candidate.finish_reason:
                    self._finish = reason
                    self._message = candidate.finishMessage or candidate.finish_message or ""
        if len(self._text) > new:
            events.append(TextDelta("".join(self._text[new:])))
        return events

    def finish(self) -> list[ModelEvent]:
        """The end of the answer. Raises ModelError when there was no answer at all."""
        if not self._has_chunk:
            raise ModelError("the model service sent an empty answer", kind="protocol")
        self._flush([], len(self._text))
        counts = self._counts()
        stop, reason, detail = self._ending()
        if self._partial is not None:
            # Whoever reads an answer that was cut off must see that a call was cut.
            self._made(*self._partial.whole())
        native = Native(NAME, to_json({"role": "model", "parts": self._native}).decode())
        message = Message(
            "assistant",
            tuple(self._neutral),
            native=native if self._native else None,
            sources=WEB if self._has_read or _count(counts, *_TOOL_TOKENS) else (),
        )
        return [Done(stop, message, usage=_usage(counts), reason=reason, detail=detail, model=self._model)]

    @property
    def usage(self) -> Usage:
        """Tokens as last reported."""
        return _usage(self._counts())

    def _counts(self) -> dict[str, Any]:
        try:
            return msgspec.json.decode(self._usage, type=dict[str, Any]) if bytes(self._usage) else {}
        except UNREADABLE:
            return {}

    def _read(self, data: bytes) -> _Chunk | None:
        try:
            chunk = _decoder.decode(data)
        except UNREADABLE:
            self.failure = ModelError("the model service sent something that is no answer", kind="protocol")
            return None
        if chunk.error is not None:
            self.failure = self._refusal(chunk.error)
            return None
        self._note(chunk)
        return chunk

    def _note(self, chunk: _Chunk) -> None:
        self._has_chunk = True
        if chunk.usageMetadata is not _NO_RAW:
            self._usage = chunk.usageMetadata
        elif chunk.usage_metadata is not _NO_RAW:
            self._usage = chunk.usage_metadata
        if feedback := chunk.promptFeedback or chunk.prompt_feedback:
            self._feedback = feedback
        if model := chunk.modelVersion or chunk.model_version:
            self._model = model

    def _flush(self, events: list[ModelEvent], shown: int) -> None:
        """Close the run of plain text: one part of the turn; what was not shown yet becomes a delta."""
        if not self._text:
            return
        if len(self._text) > shown:
            events.append(TextDelta("".join(self._text[shown:])))
        whole = "".join(self._text)
        self._text.clear()
        self._native.append({"text": whole})
        self._say(whole)

    def _part(self, part: dict[str, Any], events: list[ModelEvent]) -> None:
        self._has_read = self._has_read or not _HOSTED.isdisjoint(part)
        call = part.get("functionCall", part.get("function_call"))
        if isinstance(call, dict):
            self._call(part, cast("dict[str, Any]", call), events)
            return
        text = part.get("text")
        if text is not None and not isinstance(text, str):
            self.failure = ModelError("the model service sent a text that is none", kind="protocol")
            return
        if text is None:
            self._native.append(part)
            media = _media(part)
            self._neutral.extend(media)
            # A part of a kind that nobody knows may hold anybody's words.
            self._has_read = self._has_read or not (media or _SIGNED.issuperset(part))
            events.append(NativePart(part))
            return
        if len(part) > 1:
            self._native.append(part)
        if not text:
            return
        if part.get("thought"):
            self._think(text)
            events.append(ThoughtDelta(text))
        else:
            self._say(text)
            events.append(TextDelta(text))

    def _call(self, part: dict[str, Any], call: dict[str, Any], events: list[ModelEvent]) -> None:
        if self._partial is not None or not PIECEMEAL.isdisjoint(call):
            self._partial = self._partial or PartialCall()
            if not self._partial.add(part, call):
                return
            part, call = self._partial.whole()
            self._partial = None
        events.append(self._made(part, call))

    def _made(self, part: dict[str, Any], call: dict[str, Any]) -> ToolCall:
        self._native.append(part)
        args = call.get("args")
        sent = str(call.get("name") or "")
        given = call.get("id")
        minted = not isinstance(given, str) or not given or given in self._ids
        call_id = mint_call_id() if minted else cast("str", given)
        self._ids.add(call_id)
        args = cast("dict[str, JSON]", args) if isinstance(args, dict) else {}
        made = ToolCall(call_id, self._names.get(sent, sent), args, minted)
        self._neutral.append(made)
        return made

    def _say(self, text: str) -> None:
        last = self._neutral[-1] if self._neutral else None
        if isinstance(last, Text):
            self._neutral[-1] = Text(last.text + text)
        else:
            self._neutral.append(Text(text))

    def _think(self, text: str) -> None:
        last = self._neutral[-1] if self._neutral else None
        if isinstance(last, Thought):
            self._neutral[-1] = Thought(last.text + text)
        else:
            self._neutral.append(Thought(text))

    def _ending(self) -> tuple[Stop, str, str]:
        blocked = _word(self._feedback, "blockReason", "block_reason")
        if blocked and not self._has_candidate:
            return "blocked", blocked, _word(self._feedback, "blockReasonMessage", "block_reason_message")
        if not self._has_candidate:
            return "empty", "", ""
        if not self._finish:
            # Nothing says that the answer is whole, so nothing may run from it.
            return "truncated", "", ""
        return self._stop(self._finish), self._finish, self._message

    def _stop(self, reason: str) -> Stop:
        if self._partial is not None:
            # The answer says that it ended, in the middle of a call: nothing may run from it.
            return "length" if reason == "MAX_TOKENS" else "bad_call"
        if reason == "STOP":
            if any(isinstance(part, ToolCall) for part in self._neutral):
                return "tool_calls"
            return "end" if any(not _is_thought(part) for part in self._native) else "empty"
        if reason == "MAX_TOKENS":
            return "length"
        if reason in _BLOCKED or reason.startswith("IMAGE_"):
            return "blocked"
        return "bad_call" if reason in _BAD_CALL else "other"


def _usage(counts: Mapping[str, Any]) -> Usage:
    if not counts:
        return NO_USAGE
    thoughts = _count(counts, "thoughtsTokenCount", "thoughts_token_count")
    return Usage(
        input=_count(counts, "promptTokenCount", "prompt_token_count") + _count(counts, *_TOOL_TOKENS),
        output=_count(counts, "candidatesTokenCount", "candidates_token_count") + thoughts,
        thoughts=thoughts,
        cached=_count(counts, "cachedContentTokenCount", "cached_content_token_count"),
    )


def _media(part: Mapping[str, Any]) -> list[Part]:
    inline = part.get("inlineData", part.get("inline_data"))
    if isinstance(inline, dict):
        blob = cast("dict[str, Any]", inline)
        try:
            return [Blob(_mime(blob), b64decode(blob.get("data") or ""))]
        except (ValueError, TypeError):
            return []
    linked = part.get("fileData", part.get("file_data"))
    if isinstance(linked, dict):
        file = cast("dict[str, Any]", linked)
        return [FileRef(_mime(file), _word(file, "fileUri", "file_uri"))]
    return []


def _mime(part: Mapping[str, Any]) -> str:
    return _word(part, "mimeType", "mime_type") or "application/octet-stream"


def _is_thought(part: Mapping[str, Any]) -> bool:
    return bool(part.get("thought")) or part.get("text") == ""


def _word(fields: Mapping[str, Any], camel: str, snake: str) -> str:
    value = fields.get(camel, fields.get(snake))
    return value if isinstance(value, str) else ""


def _count(fields: Mapping[str, Any], camel: str, snake: str) -> int:
    value = fields[camel] if camel in fields else fields.get(snake)
    return value if isinstance(value, int) and 0 <= value < 2**53 else 0


_decoder = msgspec.json.Decoder(_Chunk, float_hook=finite)
