"""The pins are complete, hashed and tied to no registry."""

import re
import tomllib
from pathlib import Path
from typing import Final

import pytest

REPOSITORY: Final = Path(__file__).parent.parent
PINS: Final = sorted((REPOSITORY / "requirements").glob("*.txt"))


def versions(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", path.read_text(), re.MULTILINE))


@pytest.mark.parametrize("path", PINS, ids=lambda path: path.name)
def test_every_pin_has_a_hash_and_none_names_a_place(path: Path):
    text = path.read_text()
    assert "/" not in text, "an index address or a local path has crept in; `make pins` writes neither"
    for pin in re.split(r"(?<!\\)\n", text.strip()):
        assert re.match(r"[a-z0-9-]+==\S+( ; .+?)? \\\n +--hash=sha256:[0-9a-f]{64}", pin), pin.splitlines()[0]


def test_every_declared_dependency_is_pinned():
    declared = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    runtime = {re.split(r"[<>=\[]", name)[0] for name in declared["project"]["dependencies"]}
    dev = {re.split(r"[<>=\[]", name)[0] for name in declared["dependency-groups"]["dev"]}
    assert runtime <= versions(REPOSITORY / "requirements/runtime.txt").keys(), "run `make pins`"
    assert runtime | dev <= versions(REPOSITORY / "requirements/dev.txt").keys(), "run `make pins`"


def test_the_tests_run_with_the_versions_users_get():
    runtime, dev = (versions(REPOSITORY / "requirements" / name) for name in ("runtime.txt", "dev.txt"))
    assert runtime.items() <= dev.items()
