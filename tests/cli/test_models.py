"""`pollux models`: what each provider offers, by the names that `--model` takes."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.fakes import nobody
from tests.cli.machine import Machine, emulator

from pollux.cli import models
from pollux.core.profile import DEFAULT_MODEL

KEY = "canary-key-0001"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with emulator() as url:
        yield url


def at(url: str) -> dict[str, str]:
    """Every provider's address, on this machine."""
    return {
        "GOOGLE_GEMINI_BASE_URL": url,
        "ANTHROPIC_BASE_URL": url,
        "OPENAI_BASE_URL": f"{url}/v1",
        "OLLAMA_HOST": url,
    }


def test_the_configured_models_provider_is_listed_one_model_a_line(url: str, tmp_path: Path):
    done = Machine(tmp_path, GEMINI_API_KEY=KEY, **at(url)).run("models")
    assert (done.returncode, done.stderr) == (0, "")
    assert DEFAULT_MODEL in [line.split()[0] for line in done.stdout.splitlines()]
    assert KEY not in done.stdout and "\x1b" not in done.stdout


@pytest.mark.parametrize(("provider", "model"), [("gemini", "gemini-"), ("anthropic", "claude-"), ("openai", "gpt-")])
def test_a_provider_can_be_named_and_the_key_is_meant_for_it(url: str, tmp_path: Path, provider: str, model: str):
    told = Machine(tmp_path, **at(url)).told("models", "--provider", provider, "--api-key", KEY, "--json")
    assert told["provider"] == provider
    assert any((entry["model"] or "").startswith(model) for entry in told["models"])
    assert {frozenset(entry) for entry in told["models"]} == {
        frozenset({"name", "model", "title", "inputTokens", "outputTokens"})
    }


def test_a_model_is_named_so_that_the_flag_takes_it(url: str, tmp_path: Path):
    machine = Machine(tmp_path)
    (machine.cwd / "own.toml").write_text(f'model = "openai:{url}/v1/gpt-5"\n[openai]\napi_key = "{KEY}"\n')
    told = machine.told("models", "--config", "own.toml", "--json")
    assert f"openai:{url}/v1/gpt-5" in [entry["model"] for entry in told["models"]]


@pytest.mark.parametrize("words", [[], ["--json"], ["--provider", "openai"]])
def test_without_a_key_nothing_is_asked_and_one_object_says_so(tmp_path: Path, words: list[str]):
    done = Machine(tmp_path).run("models", *words)
    assert (done.returncode, done.stderr) == (1, "")
    [line] = done.stdout.splitlines()
    told = json.loads(line)
    assert (told["type"], told["code"]) == ("error", "missing_credential")
    assert "API_KEY is not set" in told["error"]


def test_a_service_that_refuses_is_one_line_or_one_object(url: str, tmp_path: Path):
    machine = Machine(tmp_path, GEMINI_API_KEY="invalid-canary", **at(url))
    refused = machine.run("models")
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (1, "", 1)
    told = machine.told("models", "--json", code=1)
    assert told["type"] == "error" and "invalid-canary" not in told["error"]


def test_a_service_that_is_not_there_is_an_error_and_no_traceback(tmp_path: Path):
    with nobody() as url:
        done = Machine(tmp_path, GEMINI_API_KEY=KEY, GOOGLE_GEMINI_BASE_URL=url).run("models")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("pollux: ") and "Traceback" not in done.stderr


def test_a_service_that_says_nothing_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(models, "SECONDS", 0.2)
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        for name, value in Machine(tmp_path, GEMINI_API_KEY=KEY, GOOGLE_GEMINI_BASE_URL=url).environ.items():
            monkeypatch.setenv(name, value)
        assert models.main(["--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"] == "there was no list of models within 0.2 seconds"


def test_a_provider_that_is_none_is_a_usage_error(tmp_path: Path):
    done = Machine(tmp_path).run("models", "--provider", "nobody")
    assert (done.returncode, done.stdout) == (2, "")
    assert "gemini" in done.stderr
