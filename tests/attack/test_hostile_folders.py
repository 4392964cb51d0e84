"""Commands that somebody starts in a folder of a stranger end, and do nothing that the folder wants."""

import json
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from tests.attack.hostile_folders import CANARY, FOLDERS, TRAP, Hostile
from tests.attack.listening import listening
from tests.cli.machine import Machine, emulator
from tests.waiting import HANG_SECONDS, block_until

# As the installed program has it: the folder that one is in is no place to import from.
POLLUX = [sys.executable, "-P", "-W", "error", "-m", "pollux.cli"]
MINE = "the-persons-own-key"

LOOKER = """
import json, sys
from pathlib import Path
from pollux.config import ConfigError, load_project, read_settings
from pollux.core.errors import PolluxError
from pollux.runbooks.shelf import Shelf
from pollux.tools.actions.folders import action_files, plugin_folders
from pollux.tools.skills import load_skills, skill_dir

for line in sys.stdin:
    folder = Path(line.rstrip("\\n"))
    said = {"error": "", "widened": []}
    try:
        project = load_project(read_settings({"HOME": "/nowhere", "GEMINI_API_KEY": "mine"}, cwd=folder))
        rights = project.rights
        said["widened"] = [
            *rights.tools, *rights.actions, *rights.profiles, *rights.page_origins, *map(str, rights.page_plugins),
            *map(str, rights.runbooks.registries), *rights.runbooks.agents,
            *(rule.name for rule in rights.rules if rule.decision == "allow"),
        ]
    except ConfigError as problem:
        said["error"] = str(problem)
    for volume in Shelf(folder).volumes():
        try:
            volume.read()
        except PolluxError:
            pass
    said["found"] = len(plugin_folders([folder])) + len(action_files([folder]))
    try:
        load_skills([skill_dir(folder)])
    except PolluxError:
        pass
    print(json.dumps(said), flush=True)
"""


def made(hostile: Hostile, folder: Path, trap: str = TRAP) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    hostile.make(folder)
    for name in ("pollux.toml", ".env"):
        path = folder / name
        if path.is_file() and path.stat().st_size < 10_000:
            path.write_bytes(path.read_bytes().replace(TRAP.encode(), trap.encode()))
            path.write_bytes(path.read_bytes().replace(TRAP[7:].encode(), trap[7:].encode()))


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """What one process that looks at all of them, one after the other, has to say."""
    top = tmp_path_factory.mktemp("folders")
    try:
        for name, hostile in FOLDERS.items():
            made(hostile, top / name)
        done = subprocess.run(
            [sys.executable, "-P", "-W", "error", "-c", LOOKER],
            input="".join(f"{top / name}\n" for name in FOLDERS),
            capture_output=True,
            text=True,
            timeout=HANG_SECONDS * 2,
        )
    finally:
        # Too deep for whoever clears away the folders of tests.
        subprocess.run(["rm", "-rf", str(top / "folders without end")], check=True)
    assert done.returncode == 0, done.stderr
    return top, dict(zip(FOLDERS, map(json.loads, done.stdout.splitlines()), strict=True))


def test_there_are_forty_of_them():
    assert len(FOLDERS) >= 40


@pytest.mark.parametrize("name", FOLDERS)
def test_a_hostile_folder_is_read_to_an_end_and_widens_nothing(name: str, looked: tuple[Path, dict[str, Any]]):
    top, said = looked
    expected = FOLDERS[name].said
    assert said[name]["widened"] == []
    assert expected in said[name]["error"]
    assert bool(expected) == bool(said[name]["error"]), said[name]
    assert len(said[name]["error"]) < 1_000
    assert not [*(top / name).glob(CANARY)]


# The program itself, in each of them


@pytest.fixture(scope="module")
def model() -> Generator[str]:
    with emulator() as url:
        yield url


@pytest.mark.slow
@pytest.mark.parametrize("name", FOLDERS)
def test_every_command_ends_there_with_a_plain_word(name: str, tmp_path: Path, model: str):
    with listening() as listener:
        use_in(name, tmp_path, model, listener.url)
    assert listener.heard == []
    assert not [*tmp_path.rglob(CANARY)]


def use_in(name: str, tmp_path: Path, model: str, trap: str) -> None:
    machine = Machine(tmp_path, GEMINI_API_KEY=MINE, GOOGLE_GEMINI_BASE_URL=model)
    made(FOLDERS[name], machine.cwd, trap)
    here = machine.cwd / "/".join(["d"] * 1_000) if name == "folders without end" else machine.cwd
    expected = FOLDERS[name].said
    ends = {
        ("run", "--timeout", "20", "Hello"): (2 if expected else 0,),
        ("doctor", "--offline"): (1,) if expected else (0,),
        # A list needs no rules, so that a mistake in one is none of its business.
        ("runbook", "list"): (0,) if not expected else (0, 2) if "rule" in expected else (2,),
        ("actions", "check"): (0, 1),  # No configuration is read, and what is wrong is a finding.
        ("sessions", "list"): (0, 2),
    }
    try:
        for words, codes in ends.items():
            done = subprocess.run(
                [*POLLUX, *words], cwd=here, env=machine.environ, capture_output=True, text=True, timeout=HANG_SECONDS
            )
            told = f"{words}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
            assert "Traceback" not in done.stderr, told
            assert done.returncode in codes, told
            if expected and done.returncode and words[0] != "actions":
                assert expected in done.stdout + done.stderr, told
    finally:
        subprocess.run(["rm", "-rf", str(machine.cwd / "d")], check=True)


@pytest.mark.slow
def test_control_c_ends_a_command_that_waits_for_a_folder(tmp_path: Path, model: str):
    """The model never answers; nothing of the folder keeps the program from hearing the signal."""
    machine = Machine(tmp_path, GEMINI_API_KEY=MINE, GOOGLE_GEMINI_BASE_URL=model)
    made(FOLDERS["a pattern that backtracks"], machine.cwd)
    words = ["run", "--model", "gemini-3.8-flash--silence", "--output-format", "stream-json", "a" * 60_000]
    with subprocess.Popen(
        [*POLLUX, *words], cwd=machine.cwd, env=machine.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        store = machine.home / "pollux/pollux.db"
        block_until(store.exists)
        process.send_signal(signal.SIGINT)
        assert process.wait(HANG_SECONDS) == 130
