"""A mail that goes nowhere: one JSON line in an outbox file. It stands for every tool whose effect must happen once.

Keyed: the line carries the action's key, and a key that is in the outbox is not written again. A second attempt after a
crash therefore finds the first.
"""

import fcntl
import json
import os
import time
from pathlib import Path

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.core.tools import ToolContext, ToolSpec
from pollux.tools.define import Args, FunctionTool

TEXT: JSON = {"type": "string"}
SCHEMA: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "to": {"type": "string", "description": "the recipient's address"},
        "subject": TEXT,
        "body": TEXT,
    },
    "required": ["to", "subject", "body"],
    "additionalProperties": False,
}
MAX_ADDRESS = 254


def demo_mail(outbox: Path) -> FunctionTool:
    """The tool, writing to this file."""
    spec = ToolSpec("demo_mail", "Send an e-mail.", SCHEMA, side_effect=True, repeat="keyed")

    def send(context: ToolContext, args: Args) -> dict[str, JSON]:
        return _append_once(outbox, context.key, args)

    return FunctionTool(
        spec,
        send,
        prepare=_prepare,
        subjects=lambda args: frozenset({str(args["to"])}),
        preview=lambda args: f"E-mail to {args['to']}: {args['subject']}\n\n{args['body']}",
    )


def _prepare(args: Args) -> Args:
    to = str(args["to"]).strip().lower()
    local, at, domain = to.partition("@")
    fits = to.isascii() and to.isprintable() and local and at and "." in domain and len(to) <= MAX_ADDRESS
    if not fits or any(char in to for char in ' ,;<>"') or "@" in domain:
        raise ValidationError("to: expected one address such as bob@example.com")
    if not str(args["subject"]).isprintable():
        raise ValidationError("subject: expected one line of text")
    return {**args, "to": to}


def _append_once(outbox: Path, key: str, args: Args) -> dict[str, JSON]:
    outbox.parent.mkdir(parents=True, exist_ok=True)
    with outbox.open("a+b") as file:
        # Two processes may hold the same key after a takeover: look and write are one step.
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        lines = file.read().split(b"\n")
        if any(_key_of(line) == key for line in lines):
            return {"sent": True, "id": key}
        # A line cut off by a crash was never acknowledged: end it, so that ours stands alone.
        torn = b"\n" if lines[-1] else b""
        line = json.dumps({"id": key, "time": time.time(), **args}, ensure_ascii=False)
        file.write(torn + line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    return {"sent": True, "id": key}


def _key_of(line: bytes) -> str:
    try:
        mail: JSON = json.loads(line)
        return str(mail["id"])
    except (ValueError, KeyError, TypeError):
        return ""
