"""Agents for tests: a directory of their own, no key, and no way out of this machine."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pollux import Agent
from pollux.testing import Answer, ScriptedModel, forbid_real_requests, scripted

KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY")


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing of whoever runs the tests is read or written."""
    for name in ("POLLUX_CONFIG", "POLLUX_STORE", *KEYS):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "POLLUX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "alone" / name.lower()))
    (tmp_path / "alone" / "home").mkdir(parents=True)
    with forbid_real_requests():
        yield


class Bench:
    """Makes agents over one directory and one store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.home = path / "alone" / "home"
        self.cwd = path / "work"
        self.cwd.mkdir()
        self.model: ScriptedModel = scripted()

    def agent(self, *steps: Any, instructions: Any = "Be brief.", **options: Any) -> Agent:
        """An agent whose model plays these steps."""
        self.model = scripted(*steps)
        made: dict[str, Any] = {"model": self.model, "cwd": self.cwd, **options}
        return Agent(instructions, **made)

    def system(self, number: int = 1) -> str:
        """What the model was told as its instructions, in that call."""
        return self.model.requests[number - 1].system


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


__all__ = ["Answer", "Bench"]
