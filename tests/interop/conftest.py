"""Real peers. Each test has an emulator of its own and, where it wants one, a Gemini CLI that was never used before."""

import importlib
import warnings
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.interop.peers import GeminiCli, Missing, Served, installed_cli, serving

with warnings.catch_warnings():
    # Compiling the vendor's module for the first time warns about an escape sequence of its own.
    warnings.simplefilter("ignore")
    importlib.import_module("google.genai")


@pytest.fixture(scope="session")
def program() -> Path:
    try:
        return installed_cli()
    except Missing as reason:
        pytest.skip(f"the Gemini CLI cannot be had: {reason}")


@pytest.fixture
def served() -> Generator[Served]:
    with serving() as emulator:
        yield emulator


@pytest.fixture
def gemini(program: Path, served: Served, tmp_path: Path) -> GeminiCli:
    cli = GeminiCli(program, tmp_path, served.url)
    cli.settle_in()
    return cli
