"""A repository that names programs in its own configuration: git runs none of them for an agent."""

import asyncio
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.sdk.conftest import Bench

from pollux import shell
from pollux.testing import call, reply
from pollux.tools.shell.agent_shell import Runner
from pollux.tools.shell.git import submodules

pytestmark = pytest.mark.slow

GIT = '[[rules]]\ndecision = "allow"\ncommands = ["git", "git add", "git commit", "git stash", "git fetch"]\n'


class Repository:
    """A repository with one changed file, whose configuration somebody else wrote."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.hit = path.parent / "hit"
        path.mkdir()
        (path / "a.x").write_text("a\n")
        (path / ".gitattributes").write_text("*.x filter=evil diff=evil merge=evil\n")
        self.git("init", "-q", ".")
        self.git("config", "user.email", "ada@example.com")
        self.git("config", "user.name", "Ada")
        self.git("add", ".")
        self.git("commit", "-qm", "first")
        (path / "a.x").write_text("b\n")

    @property
    def payload(self) -> str:
        return f"touch {self.hit}; cat"

    def git(self, *words: str, cwd: Path | None = None) -> None:
        subprocess.run(["git", *words], cwd=cwd or self.path, check=True, capture_output=True)

    def set(self, *names: str) -> None:
        for name in names:
            self.git("config", name, self.payload)

    def hook(self, name: str) -> None:
        path = self.path / ".git" / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {self.hit}\n")
        path.chmod(0o755)


def embedded(repo: Repository) -> Path:
    """A folder that is a bare repository, as one can be committed or unpacked."""
    place = repo.path / "vendored"
    repo.git("init", "-q", "--bare", str(place))
    repo.git("config", "core.bare", "false", cwd=place)
    repo.git("config", "core.worktree", str(repo.path), cwd=place)
    repo.git("config", "core.fsmonitor", repo.payload, cwd=place)
    return place


def submodule(repo: Repository) -> None:
    inner = repo.path / "sub"
    inner.mkdir()
    for words in (
        ["init", "-q", "."],
        ["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"],
    ):
        repo.git(*words, cwd=inner)
    repo.git("config", "core.fsmonitor", repo.payload, cwd=inner)
    (repo.path / ".gitmodules").write_text('[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n')
    repo.git("-c", "core.fsmonitor=false", "add", ".")
    repo.hit.unlink(missing_ok=True)


def fetched(repo: Repository) -> None:
    repo.git("remote", "add", "origin", str(repo.path))
    repo.set("remote.origin.uploadpack")


def signed(repo: Repository) -> None:
    repo.git("config", "log.showSignature", "true")
    program = repo.path.parent / "gpg"
    program.write_text(f"#!/bin/sh\ntouch {repo.hit}\n")
    program.chmod(0o755)
    repo.git("config", "gpg.program", str(program))
    body = subprocess.run(["git", "cat-file", "commit", "HEAD"], cwd=repo.path, check=True, capture_output=True).stdout
    signature = b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n"
    content = body.replace(b"\n\n", b"\n" + signature + b"\n", 1)
    made = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        input=content, cwd=repo.path, check=True, capture_output=True,
    )  # fmt: skip
    repo.git("update-ref", "HEAD", made.stdout.decode().strip())


def filtered_submodule(repo: Repository, wish: str = "") -> None:
    inner = repo.path / "sub"
    inner.mkdir()
    (inner / "a.x").write_text("a\n")
    (inner / ".gitattributes").write_text("*.x filter=evil diff=evil\n")
    repo.git("init", "-q", ".", cwd=inner)
    repo.git("add", ".", cwd=inner)
    repo.git("-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "-m", "x", cwd=inner)
    (repo.path / ".gitmodules").write_text(f'[submodule "a=\\"b"]\n\tpath = sub\n\turl = ./sub\n{wish}')
    repo.git("add", ".")
    (inner / "a.x").write_text("b\n")
    repo.git("config", "filter.evil.clean", repo.payload, cwd=inner)
    repo.git("config", "diff.evil.command", repo.payload, cwd=inner)
    repo.git("config", "diff.submodule", "diff")


Prepare = Callable[[Repository], object]
ATTACKS: dict[str, tuple[Prepare, str]] = {
    "a monitor": (lambda repo: repo.set("core.fsmonitor"), "git status"),
    "a monitor of a submodule": (submodule, "git status"),
    "a filter of a submodule": (filtered_submodule, "git status"),
    "a filter of a submodule that wants to be looked at": (
        lambda repo: filtered_submodule(repo, "\tignore = none\n"),
        "git status",
    ),
    "a diff driver of a submodule": (filtered_submodule, "git diff"),
    "a clean filter": (lambda repo: repo.set("filter.evil.clean"), "git diff"),
    "a filter process": (lambda repo: repo.set("filter.evil.process"), "git status"),
    "a filter whose name holds an equals sign": (
        lambda repo: (
            repo.set("filter.e=v.clean"),
            (repo.path / ".gitattributes").write_text("*.x filter=e=v\n"),
        ),
        "git diff",
    ),
    "a smudge filter": (lambda repo: repo.set("filter.evil.smudge"), "git stash"),
    "a filter that an included file names": (
        lambda repo: (
            (repo.path / "more").write_text(f'[filter "evil"]\n\tclean = "{repo.payload}"\n'),
            repo.git("config", "include.path", "../more"),
        ),
        "git diff",
    ),
    "a driver of diffs": (lambda repo: repo.set("diff.evil.command"), "git diff"),
    "an external diff": (lambda repo: repo.set("diff.external"), "git diff"),
    "a conversion to text": (lambda repo: repo.set("diff.evil.textconv"), "git diff"),
    "a conversion to text of what was committed": (lambda repo: repo.set("diff.evil.textconv"), "git show"),
    "a program for signatures": (signed, "git log"),
    "a pager": (lambda repo: repo.set("core.pager", "pager.log"), "git log"),
    "a hook before a commit": (lambda repo: repo.hook("pre-commit"), "git commit -am x"),
    "hooks elsewhere": (
        lambda repo: (repo.hook("pre-commit"), repo.git("config", "core.hooksPath", ".git/hooks")),
        "git commit -am x",
    ),
    "an editor": (lambda repo: repo.set("core.editor", "sequence.editor"), "git commit -a"),
    "the other side of a fetch": (fetched, "git fetch origin"),
    "an alias": (lambda repo: repo.git("config", "alias.status", f"!{repo.payload}"), "git status"),
}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    for name in ("HOME", "POLLUX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    return Bench(tmp_path)


@pytest.fixture
def repo(bench: Bench) -> Repository:
    return Repository(bench.path / "repo")


@pytest.mark.parametrize("attack", ATTACKS)
async def test_git_runs_nothing_that_a_repository_names(attack: str, repo: Repository, bench: Bench):
    prepare, command = ATTACKS[attack]
    prepare(repo)
    policy = bench.path / "policy.toml"
    policy.write_text(GIT)
    steps = [call("shell", {"command": command}), reply("ok")]
    async with bench.agent(*steps, tools=[shell], cwd=repo.path, policy=policy, sandbox="off") as agent:
        ran: Any = (await agent.send("?")).tool_calls[0]
    result: dict[str, Any] = ran.result
    assert not (ran.error or "").startswith("the policy") and "stdout" in result, ran
    assert not repo.hit.exists()
    if command == "git fetch origin":
        assert "this repository sets remote.origin.uploadpack, a command that git would run" in str(result)
    if command == "git diff" and "submodule" not in attack:
        assert "-a" in result["stdout"] and "+b" in result["stdout"], result


async def test_a_bare_repository_in_the_folder_is_none_that_git_works_in(repo: Repository):
    place = embedded(repo)
    result = await Runner(place, sandbox="off").run("git status")
    assert "safe.bareRepository" in result.stderr and not repo.hit.exists()


async def test_the_attacks_work_where_nothing_stands_against_them(tmp_path: Path):
    """Otherwise the tests above could not fail."""
    works: list[str] = []
    for number, (attack, (prepare, command)) in enumerate(ATTACKS.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        repo = Repository(folder / "repo")
        prepare(repo)
        repo.hit.unlink(missing_ok=True)
        program = await asyncio.create_subprocess_shell(
            command, cwd=repo.path, stdin=-3, stdout=-3, stderr=-3, env={"PATH": "/usr/bin:/bin", "HOME": str(folder)}
        )
        await program.wait()
        if repo.hit.exists():
            works.append(attack)
    assert set(ATTACKS) - set(works) <= {"a pager", "an alias"}


def test_a_pipe_in_place_of_gitmodules_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / ".gitmodules")
    assert submodules(tmp_path) == []
