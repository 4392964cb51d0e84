"""The wheel as somebody installs it: into an environment of its own, with what it says it needs and nothing else.

No network is asked. The wheel is installed by pip; what it depends on is linked from where the tests run, found by its
own metadata. So a dependency that is used and not declared is missing here, and nothing of the source tree is found.
"""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path
from typing import Any, Final

import pytest
from packaging.requirements import Requirement
from tests.waiting import HANG_SECONDS

from pollux._version import __version__

REPOSITORY: Final = Path(__file__).parent.parent
STATIC: Final = REPOSITORY / "src/pollux/_static"
PROJECT: Final[dict[str, Any]] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
PATIENCE: Final = 6 * HANG_SECONDS
EVERYTHING: Final = frozenset({"all"})
NOTHING: Final[frozenset[str]] = frozenset()

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as installers build it, by the pinned back end."""
    folder = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index",
         "--no-build-isolation", "--wheel-dir", str(folder), str(REPOSITORY))  # fmt: skip
    [built] = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_everything_of_the_source_is_in_it(names: set[str]):
    source = REPOSITORY / "src"
    kept = [path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert [path for path in kept if path.relative_to(source).as_posix() not in names] == []


def test_what_browsers_load_is_in_it_though_git_ignores_it(names: set[str]):
    if not (STATIC / "console").exists():
        pytest.skip("the browser side is not built: make web")
    wanted = {"pollux.js", "automation.js", "automation.mjs", "console/index.html", "console/console.js"}
    assert {f"pollux/_static/{name}" for name in wanted} <= names


def test_nothing_of_tests_or_of_the_browser_s_source_is_in_it(names: set[str]):
    own = ("pollux/", f"pollux-{__version__}.data/", f"pollux-{__version__}.dist-info/")
    assert [name for name in names if not name.startswith(own)] == []
    assert [name for name in names if name.endswith((".tsx", ".pyc", ".map"))] == []


def test_it_needs_what_the_project_says_and_its_extras_are_the_project_s(wheel: Path):
    metadata = _metadata(wheel)
    needs = [Requirement(text) for text in metadata.requires or ()]
    extras: dict[str, list[str]] = PROJECT["optional-dependencies"]
    assert set(metadata.metadata.get_all("Provides-Extra") or ()) == set(extras)
    assert _wanted(needs, "") == _as_requirements(PROJECT["dependencies"])
    [whole] = extras.pop("all")
    assert set(Requirement(whole).extras) == set(extras)
    for name, listed in extras.items():
        assert _wanted(needs, name) == _as_requirements(listed)
    every = [text for listed in extras.values() for text in listed]
    assert _wanted(needs, "all") == _as_requirements(every)


@pytest.mark.parametrize(
    ("extras", "mailbox"), [(EVERYTHING, "Gmail's ledger"), (NOTHING, "the outbox")], ids=["all", "plain"]
)
def test_it_plays_the_tour_and_opens_the_demo_where_there_is_no_node(
    wheel: Path, tmp_path: Path, extras: frozenset[str], mailbox: str
):
    pollux = _installed(wheel, tmp_path, extras)
    assert _run(pollux, "--version", cwd=tmp_path, path=pollux.parent) == f"pollux {__version__}\n"
    where = _run(pollux.with_name("python"), "-c", "import pollux; print(pollux.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(tmp_path)
    assert shutil.which("node", path=str(pollux.parent)) is None
    told = _run(pollux, "demo", "--tour", cwd=tmp_path, path=pollux.parent)
    assert f"exactly once: 1 mail in {mailbox}, to bob@example.com" in told
    told = _run(pollux, "demo", "--port", "0", cwd=tmp_path, path=pollux.parent)
    assert "/login?token=" in told and "demo model, rule-based" in told
    assert ("make web" in told) == (not (STATIC / "pollux.js").exists())


def _installed(wheel: Path, folder: Path, extras: frozenset[str]) -> Path:
    """The program, in an environment that has the wheel, and what the wheel asks for."""
    environment, needed = folder / "environment", folder / "needed"
    _run(sys.executable, "-m", "venv", "--without-pip", environment)
    python = environment / "bin/python"
    _run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check",
         "--no-deps", "--no-index", "--no-compile", wheel)  # fmt: skip
    needed.mkdir()
    for found in _closure(_metadata(wheel), extras):
        _link(found, needed)
    [packages] = environment.glob("lib/python*/site-packages")
    # Named by a file of paths, it is only searched: links to a source tree that lie in it count for nothing.
    (packages / "needed.pth").write_text(f"{needed}\n")
    return environment / "bin/pollux"


def _closure(start: Distribution, extras: frozenset[str]) -> Iterator[Distribution]:
    """What it needs with these extras, and what that needs."""
    open_, seen = [(start, extras)], {("pollux", extras)}
    while open_:
        found, wanted = open_.pop()
        for text in found.requires or ():
            need = Requirement(text)
            if not any(_applies(need, extra) for extra in ("", *wanted)):
                continue
            key = (need.name.lower(), frozenset(need.extras))
            if key not in seen:
                seen.add(key)
                open_.append((distribution(need.name), key[1]))
                yield open_[-1][0]


def _link(found: Distribution, folder: Path) -> None:
    """What it has installed, by name, where it can be found."""
    for name in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
        # A name that several share, such as `google`, is there with the first of them.
        if not (folder / name).exists():
            (folder / name).symlink_to(Path(str(found.locate_file(name))))


def _applies(need: Requirement, extra: str) -> bool:
    return need.marker is None or need.marker.evaluate({"extra": extra})


def _wanted(needs: list[Requirement], extra: str) -> set[tuple[str, str, frozenset[str]]]:
    """What is needed for this extra and not without it; for none, what always is."""
    chosen = [need for need in needs if _applies(need, extra) and (not extra or not _applies(need, ""))]
    return {(need.name, str(need.specifier), frozenset(need.extras)) for need in chosen}


def _as_requirements(texts: list[str]) -> set[tuple[str, str, frozenset[str]]]:
    return {(need.name, str(need.specifier), frozenset(need.extras)) for need in map(Requirement, texts)}


def _metadata(wheel: Path) -> PathDistribution:
    return PathDistribution(zipfile.Path(wheel, f"pollux-{__version__}.dist-info/"))  # pyright: ignore[reportArgumentType]


def _run(*words: str | Path, cwd: Path | None = None, path: Path | None = None) -> str:
    """What a program says, with nothing of whoever runs the tests in its environment. It must succeed."""
    private = ("GEMINI_", "GOOGLE_", "POLLUX_", "PYTHON", "VIRTUAL_ENV", "COV_", "COVERAGE_", "PIP_")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(private)}
    # Nothing that pip is told by files of the machine or of the person counts.
    environ["PIP_CONFIG_FILE"] = os.devnull
    if path is not None:
        environ["PATH"] = str(path)
    done = subprocess.run(
        [*map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, cwd=cwd,
        env=environ,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
