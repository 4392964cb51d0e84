"""The quick look for a key says what the thorough one says, or leaves it to that."""

import json
from pathlib import Path

import pytest

from pollux.cli import keyless, run

CASES = [
    ["hello"],
    ["-p", "hello"],
    ["--prompt=hello", "--output-format", "json"],
    ["-", "--output-format", "stream-json", "--debug"],
    ["hello", "--model", "claude-opus-5"],
    ["hello", "--model=gpt-5"],
    ["hello", "--model-name", "gemini-2.5-pro", "--allow", "shell:git status"],
]
LEFT = [
    [],
    ["a", "b"],
    ["hello", "--unknown"],
    ["hello", "--model"],
    ["hello", "--api-key", "k"],
    ["hello", "--cwd", "."],
    ["hello", "--config", "c.toml"],
    ["hello", "--output-format", "xml"],
    ["hello", "--model", "o3"],
    ["hello", "--model", "ollama/qwen"],
    ["--help"],
]


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "POLLUX_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "POLLUX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("argv", CASES, ids=" ".join)
def test_both_refuse_in_the_same_words(argv: list[str], capfd: pytest.CaptureFixture[str]):
    assert keyless.refused(argv)
    quick = json.loads(capfd.readouterr().out)
    assert run.main(argv) == 1
    assert json.loads(capfd.readouterr().out) == quick and quick["code"] == "missing_credential"


@pytest.mark.parametrize("argv", LEFT, ids=lambda argv: " ".join(argv) or "nothing")
def test_what_wants_thought_is_left_to_the_thorough_one(argv: list[str], capfd: pytest.CaptureFixture[str]):
    assert not keyless.refused(argv)
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("name", [".env", "pollux.toml", "config/.gemini.yaml"])
def test_where_a_file_could_hold_a_key_it_is_read(tmp_path: Path, name: str):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    assert not keyless.refused(["hello"])


def test_a_key_in_the_environment_is_enough(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GOOGLE_API_KEY", "k")
    assert not keyless.refused(["hello"])
    monkeypatch.setenv("GOOGLE_API_KEY", " <your key>")
    assert keyless.refused(["hello"])
