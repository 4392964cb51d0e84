"""Which HTTP client the composition root gives to a provider."""

from pathlib import Path

import pytest

from pollux.bootstrap import Registry
from pollux.config import read_settings
from pollux.providers.http import AiohttpHttp
from pollux.providers.light import LightHttp


def client(home: Path, model: str, environ: dict[str, str]) -> object:
    keys = {"GEMINI_API_KEY": "k", "OPENAI_API_KEY": "k", "POLLUX_HOME": str(home)}
    provider = Registry(read_settings(keys, cwd=home), environ)(model)
    # One that is asked for a model under another name holds the real one.
    return getattr(getattr(provider, "_provider", provider), "_http", None)


@pytest.mark.parametrize("model", ["gemini-3.8-flash", "gpt-5", "openai:https://hub.example/v1/some-model"])
@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy", "http_proxy", "ALL_PROXY"])
def test_a_proxy_in_the_environment_is_used_for_a_host_outside(tmp_path: Path, model: str, name: str):
    assert isinstance(client(tmp_path, model, {name: "http://proxy.example:3128"}), AiohttpHttp)


@pytest.mark.parametrize(
    ("model", "proxy"),
    [
        ("gemini-3.8-flash", ""),
        ("ollama/llama3", "http://proxy.example:3128"),
        ("openai:http://127.0.0.1:1/v1/some-model", "http://proxy.example:3128"),
        ("openai:http://[::1]:1/v1/some-model", "http://proxy.example:3128"),
    ],
)
def test_otherwise_the_light_client_is_used(tmp_path: Path, model: str, proxy: str):
    assert isinstance(client(tmp_path, model, {"HTTPS_PROXY": proxy}), LightHttp)
