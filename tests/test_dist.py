"""`make dist`: the packages that a release gives away, and the bill of what is in them."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import pytest
from tests.waiting import HANG_SECONDS

from pollux._version import __version__

REPOSITORY: Final = Path(__file__).parent.parent
STATIC: Final = REPOSITORY / "src/pollux/_static"
PATIENCE: Final = 6 * HANG_SECONDS
HASH: Final = "^([a-fA-F0-9]{32}|[a-fA-F0-9]{40}|[a-fA-F0-9]{64}|[a-fA-F0-9]{96}|[a-fA-F0-9]{128})$"
COMPONENT: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["type", "name", "version", "purl", "bom-ref"],
    "properties": {
        "type": {"enum": ["application", "framework", "library"]},
        "name": {"type": "string", "minLength": 1},
        "version": {"type": "string", "minLength": 1},
        "purl": {"type": "string", "pattern": "^pkg:(pypi|npm)/"},
        "hashes": {
            "type": "array",
            "minItems": 1,
            "uniqueItems": True,
            "items": {
                "type": "object",
                "required": ["alg", "content"],
                "properties": {"alg": {"enum": ["SHA-256", "SHA-512"]}, "content": {"pattern": HASH}},
                "additionalProperties": False,
            },
        },
        "properties": {"type": "array", "items": {"required": ["name", "value"]}},
    },
}
CYCLONEDX: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["bomFormat", "specVersion", "serialNumber", "version", "metadata", "components"],
    "properties": {
        "bomFormat": {"const": "CycloneDX"},
        "specVersion": {"const": "1.6"},
        "serialNumber": {
            "type": "string",
            "pattern": "^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
        },
        "version": {"type": "integer", "minimum": 1},
        "metadata": {"type": "object", "required": ["component"], "properties": {"component": COMPONENT}},
        "components": {
            "type": "array",
            "uniqueItems": True,
            "items": {**COMPONENT, "required": [*COMPONENT["required"], "hashes"]},
        },
        "dependencies": {"type": "array", "items": {"required": ["ref"]}},
    },
    "additionalProperties": False,
}
"""What CycloneDX 1.6 asks of the members that we write, and those that we promise."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the source that holds nothing that was built."""
    left = shutil.ignore_patterns(
        ".git", ".venv", "_static", "node_modules", "dist", "build", "__pycache__", ".*_cache"
    )
    return Path(shutil.copytree(REPOSITORY, tmp_path / "tree", ignore=left, symlinks=True))


def made(tree: Path) -> "subprocess.CompletedProcess[str]":
    (tree / ".venv").symlink_to(Path(sys.executable).parent.parent)
    # The environment is the one that these tests run in: it is not to be made again.
    words = ("make", "--no-print-directory", "-o", ".venv/.ready", "dist")
    return subprocess.run(words, cwd=tree, capture_output=True, text=True, timeout=PATIENCE)


def bill(path: Path) -> dict[str, Any]:
    subprocess.run([sys.executable, REPOSITORY / "scripts/sbom.py", path], check=True, timeout=PATIENCE)
    return json.loads(path.read_text())


def test_the_bill_of_materials_is_cyclonedx_and_names_every_pin_with_its_hashes(tmp_path: Path):
    told = bill(tmp_path / "one.cdx.json")
    jsonschema_rs.validate(CYCLONEDX, told)
    pins = (REPOSITORY / "requirements/runtime.txt").read_text()
    pinned = dict(re.findall(r"^([A-Za-z0-9._-]+)==([^ ]+)", pins, re.MULTILINE))
    components = {each["name"]: each for each in told["components"]}
    assert {name: components[name]["version"] for name in pinned} == pinned
    assert set(components) - set(pinned) == set(
        json.loads((REPOSITORY / "web/package.json").read_text())["dependencies"]
    )
    hashes = [each["content"] for name in pinned for each in components[name]["hashes"]]
    assert sorted(hashes) == sorted(re.findall("sha256:([0-9a-f]{64})", pins))
    assert components["cffi"]["properties"][0]["value"] == "platform_python_implementation != 'PyPy'"


def test_it_says_what_it_is_of_what_that_asks_for_itself_and_no_address(tmp_path: Path):
    told = bill(tmp_path / "one.cdx.json")
    assert told["metadata"]["component"]["purl"] == f"pkg:pypi/pollux@{__version__}"
    [own] = told["dependencies"]
    direct = {ref.partition("/")[2].partition("@")[0] for ref in own["dependsOn"]}
    assert {"aiohttp", "psycopg", "cryptography", "preact"} <= direct and "yarl" not in direct
    text = (tmp_path / "one.cdx.json").read_text()
    assert "://" not in text
    bill(tmp_path / "two.cdx.json")
    assert (tmp_path / "two.cdx.json").read_text() == text, "the same pins make the same bill"


@pytest.mark.slow
def test_without_the_console_and_the_widget_nothing_is_made_and_it_says_what_to_run(tree: Path):
    done = made(tree)
    assert done.returncode == 2
    assert "src/pollux/_static/pollux.js is missing: run make web first" in done.stderr
    assert not (tree / "dist").exists()


@pytest.mark.slow
def test_a_wheel_and_an_sdist_carry_what_browsers_load(tree: Path):
    if not (STATIC / "console").exists():
        pytest.skip("the browser side is not built: make web")
    shutil.copytree(STATIC, tree / "src/pollux/_static")
    done = made(tree)
    assert done.returncode == 0, done.stderr
    own = f"pollux-{__version__}"
    assert {path.name for path in (tree / "dist").iterdir()} == {
        f"{own}-py3-none-any.whl", f"{own}.tar.gz", f"{own}.cdx.json",
    }  # fmt: skip
    wanted = {"pollux.js", "console/index.html", "console/console.js"}
    with zipfile.ZipFile(tree / "dist" / f"{own}-py3-none-any.whl") as wheel:
        assert {f"pollux/_static/{name}" for name in wanted} <= set(wheel.namelist())
    with tarfile.open(tree / "dist" / f"{own}.tar.gz") as sdist:
        assert {f"{own}/src/pollux/_static/{name}" for name in wanted} <= set(sdist.getnames())
    jsonschema_rs.validate(CYCLONEDX, json.loads((tree / "dist" / f"{own}.cdx.json").read_text()))
