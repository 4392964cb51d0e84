"""Journals as files: how they are written, and how they are read again.

A directory holds what one version of the stored form looked like: a journal for each scene, as the bytes that were
stored, with `expected.json`, what the code of that time made of them; `samples.jsonl`, one of every event with every
field filled; `store.sql`, the whole SQLite file; and `vocabulary.txt`, every shape, field and word that could occur. A
directory is never written again: it stands for stores that are out there. v0 is by the first code that had a store.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple, NewType, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from pollux.core.events import Event
from pollux.core.machine import fold, pending, wake_at
from pollux.core.thread import Thread, ThreadEvent, step_thread
from pollux.wire.codec import decode

HERE = Path(__file__).parent
KEY = b"k" * 32


class Row(NamedTuple):
    """A stored event."""

    thread: str
    stream: str
    seq: int
    kind: str
    v: int
    at: float
    facts: str


class Journal(NamedTuple):
    """The events of one thread's streams, and what they refer to."""

    rows: Sequence[Row]
    contents: Mapping[str, bytes]

    def streams(self) -> Mapping[str, list[Event | ThreadEvent]]:
        """The events by stream, decoded."""
        found: dict[str, list[Event | ThreadEvent]] = {}
        for row in self.rows:
            found.setdefault(row.stream, []).append(decode(row.kind, row.v, row.facts, self.contents))
        return found


def read(path: Path) -> Journal:
    """The journal in a file."""
    rows: list[Row] = []
    contents: dict[str, bytes] = {}
    for line in path.read_text("utf-8").split("\n")[:-1]:
        found = json.loads(line)
        if "digest" in found:
            contents[found["digest"]] = found["body"].encode()
        else:
            rows.append(Row(**found))
    return Journal(rows, contents)


def write(path: Path, journal: Journal) -> None:
    """Keep a journal."""
    lines: list[Mapping[str, Any]] = [row._asdict() for row in journal.rows]
    lines += [{"digest": digest, "body": body.decode()} for digest, body in journal.contents.items()]
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")


def told(events: Sequence[Event | ThreadEvent]) -> dict[str, Any]:
    """What a journal says in the end, in plain values."""
    if type(events[0]).__name__ == "ThreadOpened":
        return _plain(_thread(cast("Sequence[ThreadEvent]", events)))
    run = fold(cast("Sequence[Event]", events))
    return {
        "status": run.status,
        "ending": _plain(run.ending),
        "usage": _plain(run.usage),
        "messages": _plain(run.messages),
        "actions": [_plain(action) | {"status": action.status} for action in run.actions],
        "text": run.text,
        "version": run.version,
        "epoch": run.epoch,
        "turn": run.turn,
        "model_calls": run.model_calls,
        "wake_at": wake_at(run),
        "pending": [type(effect).__name__ for effect in pending(run)],
    }


def missing(expected: Any, found: Any, place: str = "") -> Iterator[str]:
    """Where something was said that is not said any more. New fields are no loss."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for name, value in cast("dict[str, Any]", expected).items():
            yield from missing(value, cast("dict[str, Any]", found).get(name, "(nothing)"), f"{place}.{name}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):  # pyright: ignore[reportUnknownArgumentType]
        for number, pair in enumerate(zip(cast("list[Any]", expected), cast("list[Any]", found), strict=True)):
            yield from missing(*pair, f"{place}[{number}]")
    elif expected != found:
        yield f"{place}: expected {expected!r}, found {found!r}"


def threads_in(path: Path) -> Mapping[str, Journal]:
    """Every thread of a SQLite file with the journals of its runs."""
    with closing(sqlite3.connect(path)) as db:
        owners = {f"t:{thread_id}": thread_id for (thread_id,) in db.execute("SELECT thread_id FROM threads")}
        owners |= {f"r:{run_id}": thread for run_id, thread in db.execute("SELECT run_id, thread_id FROM runs")}
        found = {thread_id: Journal([], {}) for thread_id in owners.values()}
        for stored in db.execute("SELECT stream, seq, kind, v, at, facts FROM events ORDER BY rowid"):
            thread_id = owners[stored[0]]
            cast("list[Row]", found[thread_id].rows).append(Row(thread_id, *stored))
        for thread_id, digest, body in db.execute("SELECT thread_id, digest, body FROM content ORDER BY id"):
            cast("dict[str, bytes]", found[thread_id].contents)[digest] = body
    return found


def dump(path: Path) -> str:
    """A SQLite file as the statements that make it."""
    with closing(sqlite3.connect(path)) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        return "\n".join([*db.iterdump(), f"PRAGMA user_version = {version};", ""])


def restore(directory: Path, path: Path) -> None:
    """The SQLite file that was kept in a directory."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript((directory / "store.sql").read_text("utf-8"))


def vocabulary(*roots: type[Any]) -> set[str]:
    """Every shape, field and word that can occur in a stored event."""
    found: set[str] = set()
    for root in roots:
        found |= _names(root)
    return found


def _names(hint: Any) -> set[str]:
    if isinstance(hint, NewType):
        return _names(hint.__supertype__)
    if is_dataclass(hint):
        cls = cast("type[Any]", hint)
        hints, name = get_type_hints(cls), cls.__name__
        found = {name, *(f"{name}.{each.name}" for each in fields(cls))}
        for each in fields(cls):
            inner = _names(hints[each.name])
            found |= {f"{name}.{each.name}{word}" if word.startswith("=") else word for word in inner}
        return found
    if get_origin(hint) in (Union, UnionType, tuple):
        return {name for choice in get_args(hint) for name in _names(choice)}
    # What is left with arguments that are text: the words of a Literal.
    return {f"={word}" for word in get_args(hint) if isinstance(word, str)}


def _thread(events: Sequence[ThreadEvent]) -> Thread:
    thread: Thread | None = None
    for event in events:
        thread = step_thread(thread, event)
    assert thread is not None
    return thread


def _plain(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))
