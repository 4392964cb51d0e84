"""Session files as Gemini CLI writes them, line by line, and the samples of real ones."""

import json
from pathlib import Path
from typing import Any, Final

SAMPLES: Final = Path(__file__).parents[3] / "shared/samples"
SESSIONS: Final = sorted([*SAMPLES.glob("gemini-sessions/*"), *SAMPLES.glob("captured/sessions/*")])
AT: Final = "2026-11-15T05:56:07.359Z"
HEAD: Final = {"sessionId": "2219058d", "projectHash": "daa801", "startTime": AT, "lastUpdated": AT, "kind": "main"}
SIGNATURE: Final = "c2lnbmVkIGJ5IHRoZSBtb2RlbA=="


def message(id: str, type: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": id, "timestamp": AT, "type": type, "content": content, **more}


def user(id: str, text: str) -> dict[str, Any]:
    return message(id, "user", [{"text": text}])


def gemini(id: str, content: Any, **more: Any) -> dict[str, Any]:
    return message(id, "gemini", content, **more)


def call(id: str | None, name: str = "look", **args: Any) -> dict[str, Any]:
    """The part with which the model calls a tool."""
    return {"functionCall": ({"id": id} if id else {}) | {"name": name, "args": args}}


def response(id: str | None, name: str = "look", **result: Any) -> dict[str, Any]:
    """The part that answers it."""
    return {"functionResponse": ({"id": id} if id else {}) | {"name": name, "response": result}}


def entry(id: str | None, name: str = "look", *, result: Any = None, **args: Any) -> dict[str, Any]:
    """An entry of toolCalls."""
    made = {"name": name, "args": args, "status": "success" if result else "executing"}
    return ({"id": id} if id else {}) | made | ({"result": result} if result is not None else {})


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def written(folder: Path, *records: Any, name: str = "session-2026-11-15T05-56-2219058d.jsonl") -> Path:
    path = folder / name
    path.write_bytes(lines(*records))
    return path
