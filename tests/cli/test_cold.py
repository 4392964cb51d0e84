"""What the program imports before it is needed: nothing. Scripts that lack a key want to know at once."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.programs import Place

HEAVY = {
    "asyncio", "ssl", "socket", "http", "aiohttp", "httptools", "pydantic", "msgspec", "jsonschema_rs", "sqlite3",
    "yaml", "opentelemetry", "tree_sitter", "concurrent",
}  # fmt: skip
PLACEHOLDERS = "GEMINI_API_KEY=<key>\nOPENAI_API_KEY=\nANTHROPIC_API_KEY=' '\n"
PROBE = """
import json, sys
from pollux.cli import main
try:
    code = main(sys.argv[1:])
except SystemExit as left:
    code = left.code
sys.stderr.write(json.dumps([code, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def imported(place: Place, *words: str) -> tuple[int, set[str], str]:
    """The exit code, the top of every module that was imported, and what was printed."""
    command = [sys.executable, "-c", PROBE, *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=place.cwd, env=place.environ, timeout=60)
    code, modules = json.loads(done.stderr.splitlines()[-1])
    return code, set(modules), done.stdout


@pytest.mark.parametrize("model", ["gemini-3.8-flash", "gpt-5.4", "claude-sonnet-4-5"])
@pytest.mark.parametrize("written", ["", "OTHER=1\n", PLACEHOLDERS], ids=["none", "other", "blank"])
def test_without_a_key_nothing_heavy_is_imported(tmp_path: Path, model: str, written: str):
    place = Place(tmp_path)
    if written:
        (place.cwd / ".env").write_text(written)
    code, modules, printed = imported(place, "run", "hello", "--model", model, "--output-format", "stream-json")
    assert (code, json.loads(printed)["code"]) == (1, "missing_credential")
    assert modules & HEAVY == set()


@pytest.mark.parametrize(
    "words",
    [
        "run --help",
        "version",
        "--help",
        "run --api-key some-key-0001",
        "run one -p two --api-key some-key-0001",
        "run hello --model nonsense",
    ],
)
def test_what_needs_no_model_imports_nothing_heavy(tmp_path: Path, words: str):
    code, modules, printed = imported(Place(tmp_path), *words.split())
    assert (code, bool(printed)) in ((0, True), (2, False))
    assert modules & HEAVY == set()
