"""Have a template rendered in a process of its own: whatever it asks for, this one loses nothing but a moment."""

import hashlib
import importlib.util
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from pollux.runbooks.templates.engine import Filled, Payload, missing

SECONDS: Final = 0.25
"""Of the processor's time, for the template alone."""
PATIENCE: Final = 20.0
"""Of time by the clock: a machine may be busy."""
MEMORY: Final = 128 << 20
"""Of address space. Python and MiniJinja take about a third of it."""
KEPT: Final = 128

_known: dict[bytes, Filled] = {}


def fill_apart(template: str, payload: Payload) -> Filled:
    """Render it elsewhere. What is wrong with the template, also that it takes too much, is in the answer."""
    told = json.dumps({"template": template, "payload": payload}, ensure_ascii=False).encode("utf-8", "replace")
    key = hashlib.sha256(told).digest()
    # A runbook is gone through again for each of its blocks, and would ask for the same over and over.
    if (known := _known.get(key)) is not None:
        return known
    filled, is_lasting = _asked(template, payload, len(told))
    if is_lasting:
        if len(_known) >= KEPT:
            _known.clear()
        _known[key] = filled
    return filled


def _asked(template: str, payload: Payload, size: int) -> tuple[Filled, bool]:
    request: dict[str, Any] = {
        "template": template,
        "payload": payload,
        "paths": _paths(),
        "memory": MEMORY + 8 * size,
        "seconds": SECONDS,
    }
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(Path(__file__).with_name("worker.py"))],
            input=json.dumps(request).encode(),
            capture_output=True,
            timeout=PATIENCE,
            env={},
            cwd="/",
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Filled("", (), f"it was not done within {PATIENCE:g} s"), False
    except OSError as problem:
        return Filled("", (), f"no process could be started for it ({problem.strerror})"), False
    if done.returncode == 0:
        text, sources, words, line = json.loads(done.stdout)
        return Filled(text, tuple(sources), words, line), True
    if done.returncode == -signal.SIGPROF:
        return Filled("", (), f"it takes more than {SECONDS:g} s"), True
    if done.returncode in (-signal.SIGABRT, -signal.SIGSEGV) or b"MemoryError" in done.stderr:
        return Filled("", (), f"it takes more than {MEMORY >> 20} MiB of memory"), True
    return Filled("", (), f"the process that does it ended with {done.returncode}"), False


def _paths() -> list[str]:
    """Where Pollux and MiniJinja are."""
    found = importlib.util.find_spec("minijinja")
    if found is None or found.origin is None:
        raise missing()
    return [str(Path(__file__).parents[3]), str(Path(found.origin).parents[1])]
