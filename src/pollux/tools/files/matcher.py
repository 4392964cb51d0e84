"""The process that a search runs its regular expression in, started as a script of its own.

Some expressions take longer than the age of the world on one line, and hold everything else in their process up
meanwhile. This one can be killed, and ends by itself when nobody does. It sees bytes, never a file.

It reads a line of JSON {pattern} and answers {} or {problem}; then, for every file, a length of eight bytes and as many
bytes, and answers a line of JSON with the matches [[line, text], …].
"""

import json
import re
import sys
from contextlib import suppress
from typing import Any, BinaryIO

MAX_LINE = 10_000
MAX_SHOWN = 500
MAX_MATCHES = 500
MAX_MEMORY = 2**30


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer until there is nothing more to read."""
    try:
        search = re.compile(json.loads(source.readline())["pattern"]).search
    except (re.error, OverflowError, RecursionError) as problem:
        _answer(sink, {"problem": str(problem) or "it is too large"})
        return
    _answer(sink, {})
    while length := source.read(8):
        text = source.read(int.from_bytes(length, "big")).decode("utf-8", "replace")
        found: list[tuple[int, str]] = []
        for number, line in enumerate(text.split("\n"), 1):
            if search(line[:MAX_LINE]):
                found.append((number, line.removesuffix("\r")[:MAX_SHOWN]))
                if len(found) > MAX_MATCHES:
                    break
        _answer(sink, found)


def _answer(sink: BinaryIO, answer: Any) -> None:
    sink.write(json.dumps(answer).encode() + b"\n")
    sink.flush()


def _bound_myself(seconds: int) -> None:
    """Whoever started this may die before it can kill: the kernel then does."""
    import resource
    import signal

    signal.alarm(seconds)
    for what, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, MAX_MEMORY)):
        with suppress(OSError, ValueError):  # Narrower already, or a system without such a bound.
            resource.setrlimit(what, (most, most))


if __name__ == "__main__":
    _bound_myself(int(sys.argv[1]))
    serve(sys.stdin.buffer, sys.stdout.buffer)
