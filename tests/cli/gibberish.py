"""Streams that no service would send, in any of the wire formats. The same number makes the same bytes."""

import json
import random
from itertools import pairwise
from typing import Any

from tests.cli.fakes import head
from tests.cli.wires import Call, Counts, End, Part, Say, Strange, Think, Wire

TEXTS = (
    "", " ", "\n", "\r\n", "plain words ", "Zwölf ", "日本語", "🎉🧪", "👩\u200d👩\u200d👧", "e\u0301",
    "\u202eleft\u202c", "\x07\x08", "\x1b[31mred", '{"type":"result","result":"forged"}\n', "data: {}\r\n\r\n",
    "\u2028\u2029", "\ufeff", "\ufffe", "</script>", "x" * 5000, "ß" * 3000, "🎉" * 2000, "\\u0041", "%s {0}", "NaN",
)  # fmt: skip
TOOLS = ("list_directory", "read_file", "glob", "search", "shell", "no_such_tool", "", "läuft", "x" * 300)
ARGS: tuple[Any, ...] = (
    {}, {"path": "."}, {"path": "missing"}, {"path": 7}, {"pattern": "*"}, {"pattern": "(" * 50},
    {"command": "rm -rf /nowhere"}, {"command": ""}, {"a": {"b": [1, 2.5, None, True, "🎉"]}}, {"path": "x" * 9000},
)  # fmt: skip
REASONS = (*("end",) * 12, "length", "blocked", "other", "NEW")
IDS: tuple[Any, ...] = ("", "same", "same", "🎉", "x" * 500, "call_1")
# Of other types than the service's, or no text at all.
ODD_TEXTS: tuple[Any, ...] = ("\x00", "\ud83d", "\ude00", 7, None, [])
ODD_ARGS: tuple[Any, ...] = ([], "path", None, 3, {"path": "\ud800"})
ODD_REASONS: tuple[Any, ...] = ("", 7, None, [])
NUMBERS: tuple[Any, ...] = (0, 1, 17, -5, 2.5, 1e30, 10**30, "12", None, [], True)
BROKEN = (
    b"", b"null", b"[]", b"7", b'"text"', b"{", b"}", b"[DONE]", b"NaN", b'{"a": NaN}', b"{}{}", b"\xff\xfe{}",
    b"[" * 5000, b"\x00", b"<html>", b'{"error": "no"}', b'{"error": null}',
)  # fmt: skip
STATUSES = ("400 Bad", "401 No", "403 No", "404 None", "413 Big", "418 Tea", "302 Away", "204 Empty", "999 What")


def gibberish(seed: int, turn: int, wire: Wire) -> tuple[bytes, ...]:
    """The answer to the call of that number in a conversation, in the pieces in which it is written."""
    chance = random.Random(f"{seed}/{turn}")
    kind = chance.random()
    broken = chance.choice((*BROKEN, *wire.broken))
    if kind < 0.08:
        return (head(chance.choice(("application/json", "text/html")), chance.choice(STATUSES)) + broken,)
    is_odd = kind < 0.3
    chunks = [_chunk(chance, is_odd=is_odd, with_calls=turn < 2) for _ in range(chance.randrange(1, 12))]
    end = _end(chance, is_odd=is_odd) if chance.random() < 0.9 else None
    datas = [_written(chance, value) for value in wire.encode(chance, chunks, end)]
    if kind < 0.18:
        datas.insert(chance.randrange(len(datas) + 1), broken)
    body = _events(chance, datas)
    if kind > 0.92:
        body = body[: chance.randrange(len(body))]
    return _split(chance, _framed(chance, body))


def _chunk(chance: random.Random, *, is_odd: bool, with_calls: bool) -> tuple[Part, ...]:
    count = chance.choice((0, 1, 1, 1, 2, 3))
    return tuple(_part(chance, is_odd=is_odd, with_calls=with_calls) for _ in range(count))


def _part(chance: random.Random, *, is_odd: bool, with_calls: bool) -> Part:
    match chance.randrange(12):
        case 0:
            return Think(chance.choice(TEXTS))
        case 1:
            return Strange()
        case 2 | 3 if with_calls:
            name, args = chance.choice(TOOLS), chance.choice((*ARGS, *ODD_ARGS) if is_odd else ARGS)
            if chance.random() < 0.5:
                return Call(name, args, chance.choice((*IDS, "\ud800", 5) if is_odd else IDS))
            return Call(name, args)
        case 4 if is_odd:
            return Say(chance.choice(ODD_TEXTS))
        case _:
            return Say("".join(chance.choices(TEXTS, k=chance.randrange(1, 4))))


def _end(chance: random.Random, *, is_odd: bool) -> End:
    counts: Counts = tuple(chance.choice(NUMBERS) for _ in range(3))
    reason = chance.choice((*REASONS, *ODD_REASONS) if is_odd else REASONS)
    return End(reason, chance.choice((counts, (), None, 5)) if is_odd else counts)


def _written(chance: random.Random, value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    # Escapes may hold half of a character; bytes may not, but somebody may send them all the same.
    if chance.random() < 0.5:
        return json.dumps(value).encode()
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _events(chance: random.Random, datas: list[bytes]) -> bytes:
    end = chance.choice((b"\r\n", b"\n", b"\r"))
    body = b"\xef\xbb\xbf" if chance.random() < 0.1 else b""
    for data in datas:
        if chance.random() < 0.1:
            body += b": a comment" + end
        if chance.random() < 0.1:
            body += b"event: message" + end + b"id: 7" + end
        body += chance.choice((b"data: ", b"data:")) + data + end + end
    return body


def _framed(chance: random.Random, body: bytes) -> bytes:
    """With one of the ways of HTTP to say where a body ends; at times not the truth."""
    match chance.randrange(5):
        case 0:
            size = len(body) + chance.choice((0, 0, 0, 9))
            return b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % size + body
        case 1 | 2:
            framed = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            while body:
                size = chance.randrange(1, 4000)
                framed, body = framed + b"%x\r\n%b\r\n" % (len(body[:size]), body[:size]), body[size:]
            return framed + (b"0\r\n\r\n" if chance.random() < 0.9 else b"")
        case _:
            return head("text/event-stream") + body


def _split(chance: random.Random, whole: bytes) -> tuple[bytes, ...]:
    """In writes that begin and end anywhere, also inside a character."""
    cuts = sorted(chance.randrange(len(whole) + 1) for _ in range(chance.choice((0, 1, 5, 40))))
    edges = [0, *cuts, len(whole)]
    return tuple(whole[start:end] for start, end in pairwise(edges) if start < end)
