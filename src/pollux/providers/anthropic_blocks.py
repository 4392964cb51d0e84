"""One content block of an answer, whole or arriving in pieces: what it says, and how it goes back to the service."""

from typing import Any, Final, cast

import msgspec

from pollux.core.messages import JSON
from pollux.providers.encoding import to_json
from pollux.providers.unreadable import UNREADABLE
from pollux.wire.floats import finite

THOUGHTS: Final = frozenset({"thinking", "redacted_thinking"})
_SAID: Final = THOUGHTS | {"text", "tool_use"}
_FILED: Final = frozenset({"char_location", "page_location", "content_block_location"})


class Delta(msgspec.Struct):
    """The next piece of a block, or of what is said about the whole message."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    partial_json: str = ""
    citation: JSON = None
    stop_reason: str | None = None
    stop_details: dict[str, Any] | None = None


_fields = msgspec.json.Decoder(dict[str, Any], float_hook=finite)


class Block:
    """A block being put together. Fields nobody knows are kept: the service wants its blocks back as they were."""

    __slots__ = ("_fields", "_input", "_raw", "_signature", "_text")

    def __init__(self, raw: msgspec.Raw) -> None:
        self._raw: msgspec.Raw | None = raw
        self._fields = _fields.decode(raw)
        if not isinstance(self._fields.get("text") or "", str):
            raise msgspec.ValidationError("expected the text of a block to be one")
        self._text = [self._word("thinking" if self.type == "thinking" else "text")]
        self._signature = [self._word("signature")]
        self._input: list[str] = []

    @property
    def type(self) -> str:
        return self._word("type")

    @property
    def text(self) -> str:
        """What is said, or thought."""
        return "".join(self._text)

    @property
    def name(self) -> str:
        return self._word("name")

    @property
    def id(self) -> str:
        return self._word("id")

    @id.setter
    def id(self, value: str) -> None:
        self._raw = None
        self._fields["id"] = value

    @property
    def args(self) -> dict[str, JSON] | None:
        """The arguments of a call; None where they cannot be read."""
        if not self._input:
            given = self._fields.get("input")
            return cast("dict[str, JSON]", given) if isinstance(given, dict) else None
        try:
            return _fields.decode("".join(self._input))
        except UNREADABLE:
            return None

    @property
    def is_thought(self) -> bool:
        return self.type in THOUGHTS

    @property
    def has_read(self) -> bool:
        """Whether the service brought it from elsewhere: by a tool of its own, or from no file of the thread's."""
        if self.type not in _SAID:
            return True
        citations = self._fields.get("citations")
        cited = cast("list[Any]", citations) if isinstance(citations, list) else []
        return any(not isinstance(each, dict) or cast("Any", each).get("type") not in _FILED for each in cited)

    @property
    def is_fit(self) -> bool:
        """Whether the service would take it back: it refuses texts without a word and thoughts without a signature."""
        if self.type == "text":
            return bool(self.text.strip())
        return self.type != "thinking" or bool("".join(self._signature))

    def add(self, delta: Delta) -> None:
        """Take the next piece."""
        self._raw = None
        match delta.type:
            case "text_delta":
                self._text.append(delta.text)
            case "thinking_delta":
                self._text.append(delta.thinking)
            case "signature_delta":
                self._signature.append(delta.signature)
            case "input_json_delta":
                if delta.partial_json:
                    self._input.append(delta.partial_json)
            case "citations_delta":
                self._fields["citations"] = [*(self._fields.get("citations") or []), delta.citation]
            case _:
                pass  # New kinds of pieces may come at any time; the service asks that they be passed over.

    def sent(self) -> msgspec.Raw:
        """The block as it goes back: byte for byte where it came whole, put together where it came in pieces."""
        if self._raw is not None:
            return self._raw
        fields = dict(self._fields)
        if self.type == "text":
            fields["text"] = self.text
        elif self.type == "thinking":
            fields |= {"thinking": self.text, "signature": "".join(self._signature)}
        elif self._input:
            # Arguments are not written anew: 1.0 stays 1.0.
            fields["input"] = msgspec.Raw("".join(self._input)) if self.args is not None else {}
        return msgspec.Raw(to_json(fields))

    def _word(self, key: str) -> str:
        value = self._fields.get(key)
        return value if isinstance(value, str) else ""
