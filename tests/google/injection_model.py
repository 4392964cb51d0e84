"""A model that obeys whoever spoke last, the worst there could be: what a text orders, it asks for, exactly.

An order is `CALL tool {arguments}`, wherever it stands and however it is hidden: the model reads markup, codes and
characters that nobody sees as well as people read plain words. `LATER CALL` is an order for the next prompt.
"""

import base64
import codecs
import html
import json
import quopri
import re
import unicodedata
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Final
from urllib.parse import unquote

from pollux.core.frozen import frozen
from pollux.core.messages import Blob, Message, Text, ToolCall, ToolResult, Usage
from pollux.engine.model import Done, ModelEvent, ModelInfo, ModelRequest

LAYERS: Final = 2
"""How many disguises around one another it sees through."""
_ORDER: Final = re.compile(r"(LATER\s+)?CALL\s+(\w+)\s+(?=\{)")
_JSON: Final = json.JSONDecoder(strict=False)


@frozen
class Order:
    """One call that a text asks for."""

    tool: str
    args: dict[str, Any]
    later: bool = False


def orders_in(text: str) -> list[Order]:
    """What a text orders, read as it stands, or else with as few disguises taken off as it needs."""
    readings = [text]
    for _ in range(LAYERS + 1):
        for reading in readings:
            if found := _plain_orders(reading):
                return found
        readings = [undone for reading in readings for undo in _DISGUISES for undone in undo(reading)]
    return []


class Obedient:
    """Does as it is told, by the user and by everybody else. A patient one waits for the next prompt before it obeys.

    `told` counts the orders that it followed.
    """

    name = "obedient"

    def __init__(self, *, patient: bool = False) -> None:
        self.told = 0
        self._patient = patient
        self._ids = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        calls = [self._call(order) for order in self._orders(request.turns)]
        self.told += len(calls)
        for call in calls:
            yield call
        said = (*calls,) or (Text("Done."),)
        yield Done("tool_calls" if calls else "end", Message("assistant", said), Usage(10, 5))

    async def count_tokens(self, request: ModelRequest) -> int:
        return 10

    async def models(self) -> tuple[ModelInfo, ...]:
        return (ModelInfo(self.name),)

    async def close(self) -> None:
        """Nothing is open."""

    def _orders(self, turns: list[Message]) -> list[Order]:
        spoken = [at for at, message in enumerate(turns) if message.role == "assistant"]
        new = turns[spoken[-1] + 1 :] if spoken else turns
        obeyed = _orders_of(new, _asked)
        if not self._patient:
            obeyed += [order for order in _orders_of(new, _read) if not order.later]
        if obeyed or new[-1].role != "user":
            return obeyed
        # Nobody orders anything now: what was ordered before, for later, is due.
        before = _orders_of(turns[: len(turns) - len(new)], _read)
        return [order for order in before if order.later or self._patient]

    def _call(self, order: Order) -> ToolCall:
        self._ids += 1
        return ToolCall(f"call_{self._ids}", order.tool, order.args)


def _orders_of(messages: Iterable[Message], words_of: Callable[[Message], Iterable[str]]) -> list[Order]:
    return [order for message in messages for words in words_of(message) for order in orders_in(words)]


def _asked(message: Message) -> Iterable[str]:
    """What the user said in so many words."""
    return [part.text for part in message.parts if isinstance(part, Text)] if message.role == "user" else []


def _read(message: Message) -> Iterable[str]:
    """What came from elsewhere: files beside a prompt, and what tools returned."""
    for part in message.parts:
        if isinstance(part, Blob):
            yield part.data.decode("utf-8", "replace")
        elif isinstance(part, ToolResult):
            yield from _texts(part.result)


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:  # pyright: ignore[reportUnknownVariableType]
            yield from _texts(each)


def _plain_orders(text: str) -> list[Order]:
    found: list[Order] = []
    for match in _ORDER.finditer(text):
        try:
            args, _ = _JSON.raw_decode(text, match.end())
        except ValueError:
            continue
        order = Order(match[2], args, later=match[1] is not None)
        # A text in several parts may say the same twice; it means it once.
        found += [order] if order not in found else []
    return found


def _unseen(text: str) -> list[str]:
    """Without what cannot be seen, in plain letters; tag characters are ASCII that nobody sees."""
    tags = "".join(chr(ord(char) - 0xE0000) for char in text if 0xE0020 <= ord(char) < 0xE007F)
    bare = "".join(char for char in text if unicodedata.category(char) != "Cf")
    return [tags, unicodedata.normalize("NFKC", bare)]


def _untagged(text: str) -> list[str]:
    return [html.unescape(re.sub(r"<[^<>]*>", "", text)), html.unescape(text)]


def _unarmoured(text: str) -> list[str]:
    plain = [_tried(base64.b64decode, found) for found in re.findall(r"[A-Za-z0-9+/]{24,}={0,2}", text)]
    return [*plain, *(_tried(base64.b32decode, found) for found in re.findall(r"[A-Z2-7]{24,}=*", text))]


def _unhexed(text: str) -> list[str]:
    return [_tried(bytes.fromhex, found) for found in re.findall(r"(?:[0-9a-f]{2} ?){24,}", text)]


def _unescaped(text: str) -> list[str]:
    return [re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text), text.replace('\\"', '"')]


def _tried(decode: Callable[[str], bytes], text: str) -> str:
    try:
        return decode(text).decode()
    except ValueError:
        return ""


_DISGUISES: Final[tuple[Callable[[str], list[str]], ...]] = (
    _unseen,
    _untagged,
    _unarmoured,
    _unhexed,
    _unescaped,
    lambda text: [unquote(text)],
    lambda text: [codecs.encode(text, "rot13")],
    lambda text: [text[::-1]],
    lambda text: [quopri.decodestring(text.encode()).decode("utf-8", "replace")],
    lambda text: [re.sub(r"(?m)^(?:[>#*|\-]|//) ?", "", text).replace("\\\n", "")],
)
