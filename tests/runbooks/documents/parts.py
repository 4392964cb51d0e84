"""Documents for tests, short enough to be seen whole."""

import json
from pathlib import Path

import pytest

from pollux.core.messages import JSON
from pollux.runbooks.documents import Runbook, read

SAMPLES = Path(__file__).resolve().parents[4] / "shared" / "samples"
ID = "5f2b1c9e-3a44-4f0e-9c55-0d7a5b8e1f10"


def uuid(n: int) -> str:
    return f"00000000-0000-4000-8000-{n:012d}"


def sample(path: str) -> bytes:
    file = SAMPLES / path
    if not file.is_file():
        pytest.skip(f"{file} is not here")
    return file.read_bytes()


def agent(**props: JSON) -> dict[str, JSON]:
    return {"id": uuid(1), "type": "agent", "props": {"source": {"type": "internal"}, **props}}


def document(*blocks: JSON) -> Runbook:
    return read(json.dumps({"id": ID, "name": "A runbook", "version": 1, "content": blocks}, indent=1))
