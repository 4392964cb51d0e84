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

pytestmark = pytest.mark.slow

GIT = """[[rules]]
decision = "allow"
commands = [
    "git", "git add", "git commit", "git stash", "git fetch", "git checkout", "git rm", "git push", "git remote",
    "git bisect start", "git bisect reset", "git bisect bad", "timeout 9 git push", "git -C . push origin HEAD:n",
]
"""


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


def wanted(repo: Repository) -> None:
    filtered_submodule(repo, "\tignore = none\n")


def committed(repo: Repository) -> None:
    filtered_submodule(repo)
    repo.git("commit", "-qm", "second")


def only_in_the_index(repo: Repository) -> None:
    wanted(repo)
    (repo.path / ".gitmodules").unlink()


def only_committed(repo: Repository) -> None:
    wanted(repo)
    repo.git("commit", "-qm", "second")
    repo.git("rm", "-q", "--cached", ".gitmodules")
    (repo.path / ".gitmodules").unlink()


def only_on_another_branch(repo: Repository) -> None:
    """There it is a submodule. Here its place holds files like any others."""
    repo.git("checkout", "-qb", "other")
    wanted(repo)
    repo.git("commit", "-qm", "second")
    os.rename(repo.path / "sub", repo.path / "aside")
    repo.git("checkout", "-qf", "-")
    os.rename(repo.path / "aside", repo.path / "sub")


def by_other_words(repo: Repository, modules: bytes) -> None:
    filtered_submodule(repo)
    (repo.path / ".gitmodules").write_bytes(modules + b"\n\tpath = sub\n\turl = ./sub\n\tignore = none\n")
    repo.git("-c", "core.fsmonitor=false", "add", ".gitmodules")


def with_files_elsewhere(repo: Repository) -> None:
    wanted(repo)
    place = repo.path / "wt"
    place.mkdir()
    for name in (".gitmodules", "sub"):
        os.rename(repo.path / name, place / name)
    repo.git("config", "core.worktree", str(place))


def unnamed(repo: Repository) -> None:
    filtered_submodule(repo)
    repo.git("rm", "-q", "--cached", ".gitmodules")
    (repo.path / ".gitmodules").unlink()
    repo.git("commit", "-qm", "second")


def two_levels_down(repo: Repository) -> None:
    inner = Repository(repo.path / "middle")
    inner.hit = repo.hit
    wanted(inner)
    inner.git("commit", "-qam", "second")
    (inner.path / "sub" / "a.x").write_text("c\n")
    (repo.path / ".gitmodules").write_text('[submodule "m"]\n\tpath = middle\n\turl = ./m\n\tignore = none\n')
    repo.git("add", ".gitmodules", "middle")


def program_at(repo: Repository, *names: str) -> Path:
    place = repo.path.joinpath(*names)
    place.parent.mkdir(exist_ok=True)
    place.write_text(f"#!/bin/sh\ntouch {repo.hit}\n")
    place.chmod(0o755)
    return place


def proxied(repo: Repository) -> None:
    repo.git("remote", "add", "origin", "git://127.0.0.1:1/x")
    repo.git("config", "core.gitProxy", str(program_at(repo, "proxy")))


def of_another_kind(repo: Repository) -> None:
    program_at(repo, "git-remote-x", "evil")
    repo.git("remote", "add", "origin", "git://127.0.0.1:1/x")
    repo.git("config", "remote.origin.vcs", "x/evil")


def hooked(repo: Repository) -> None:
    """Hooks of another repository in the folder, and the same as the place of a remote."""
    repo.git("init", "-q", "--bare", "evil.git")
    for name in ("pre-receive", "update", "post-receive", "reference-transaction"):
        place = program_at(repo, "evil.git", "hooks", name)
        place.write_text(f"#!/bin/sh\ntouch {repo.hit}\n")
    repo.git("remote", "add", "origin", "./evil.git")


def rewritten(repo: Repository) -> None:
    hooked(repo)
    repo.git("remote", "set-url", "origin", "https://example.com/evil.git")
    repo.git("config", f"url.file://{repo.path}/.insteadOf", "https://example.com/")


def pushed_elsewhere(repo: Repository) -> None:
    hooked(repo)
    repo.git("remote", "set-url", "origin", "https://example.com/evil.git")
    repo.git("remote", "set-url", "--push", "origin", str(repo.path / "evil.git"))


def on_references(repo: Repository) -> None:
    repo.git("remote", "add", "origin", ".")
    repo.git("fetch", "-q", "origin")
    repo.hook("reference-transaction")


def on_references_while_bisecting(repo: Repository) -> None:
    repo.git("commit", "-qam", "second")
    repo.git("bisect", "start", "HEAD", "HEAD~1")
    on_references(repo)


BIG = b"#" * (1 << 20) + b'\n[submodule "sub"]'
Prepare = Callable[[Repository], object]
ATTACKS: dict[str, tuple[Prepare, str]] = {
    "a monitor": (lambda repo: repo.set("core.fsmonitor"), "git status"),
    "a monitor of a submodule": (submodule, "git status"),
    "a filter of a submodule": (filtered_submodule, "git status"),
    "a filter of a submodule that wants to be looked at": (
        lambda repo: filtered_submodule(repo, "\tignore = none\n"),
        "git status",
    ),
    "a submodule that only the index names": (only_in_the_index, "git status"),
    "a submodule that only the index names, looked at by a diff": (only_in_the_index, "git diff"),
    "a submodule that only the last commit names": (only_committed, "git status"),
    "a submodule that only another branch names": (only_on_another_branch, "git checkout other"),
    "a submodule whose section has a dot": (lambda repo: by_other_words(repo, b"[submodule.sub]"), "git status"),
    "a submodule behind a long comment": (lambda repo: by_other_words(repo, BIG), "git status"),
    "a submodule whose name is no text": (
        lambda repo: by_other_words(repo, b'[submodule "\xff"]'),
        "git status",
    ),
    "a submodule of files that lie elsewhere": (with_files_elsewhere, "git status"),
    "a submodule that nothing names": (unnamed, "git add -u"),
    "a submodule that is added": (filtered_submodule, "git add ."),
    "a submodule that is removed": (committed, "git rm sub"),
    "a submodule of a submodule": (two_levels_down, "git status"),
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
    "a proxy": (proxied, "git fetch origin"),
    "a remote of another kind": (of_another_kind, "git fetch origin"),
    "hooks where a push goes by a path": (hooked, "git push ./evil.git HEAD:n"),
    "hooks where a push goes by an address": (
        lambda repo: (hooked(repo), repo.git("remote", "set-url", "origin", f"file://{repo.path}/evil.git")),
        "git push origin HEAD:n",
    ),
    "hooks of the remote": (hooked, "git -C . push origin HEAD:n"),
    "hooks of a remote with another address": (rewritten, "git push origin HEAD:n"),
    "hooks of where a remote is pushed to": (pushed_elsewhere, "timeout 9 git push origin HEAD:n"),
    "hooks of the repository itself": (lambda repo: repo.hook("pre-receive"), "git push . HEAD:refs/heads/n"),
    "a hook on references, by bisect start": (on_references, "git bisect start"),
    "a hook on references, by bisect reset": (on_references_while_bisecting, "git bisect reset"),
    "a hook on references, by bisect bad": (on_references_while_bisecting, "git bisect bad"),
    "a hook on references, by remote rename": (on_references, "git remote rename origin other"),
    "a hook on references, by remote remove": (on_references, "git remote remove origin"),
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
    repo.hit.unlink(missing_ok=True)
    policy = bench.path / "policy.toml"
    policy.write_text(GIT)
    steps = [call("shell", {"command": command}), reply("ok")]
    async with bench.agent(*steps, tools=[shell], cwd=repo.path, policy=policy, sandbox="off") as agent:
        ran: Any = (await agent.send("?")).tool_calls[0]
    result: dict[str, Any] = ran.result
    assert not (ran.error or "").startswith("the policy") and "stdout" in result, ran
    assert not repo.hit.exists()
    if "a hook on references" in attack:
        assert "runs its hook reference-transaction" in result["error"], result
    if "push" in command:
        assert "transport 'file' not allowed" in result["stderr"], result
    if command == "git fetch origin":
        assert ", a command that git would run. Ask the user to remove it" in str(result)
    if command == "git diff" and "submodule" not in attack:
        assert "-a" in result["stdout"] and "+b" in result["stdout"], result


@pytest.mark.parametrize("attack", [each for each in ATTACKS if "push" in ATTACKS[each][1] or "on references" in each])
async def test_the_same_holds_for_git_within_a_script(attack: str, repo: Repository):
    prepare, command = ATTACKS[attack]
    prepare(repo)
    repo.hit.unlink(missing_ok=True)
    result = await Runner(repo.path, sandbox="off").run(f"true && {command}")
    assert not repo.hit.exists() and result.exit_code, result


async def test_a_script_changes_no_references_in_a_repository_inside_that_has_a_hook(repo: Repository):
    inner = Repository(repo.path / "inner")
    inner.hit = repo.hit
    inner.hook("reference-transaction")
    result = await Runner(repo.path, sandbox="off").run("cd inner && git bisect start")
    assert result.blocked and not repo.hit.exists(), result


@pytest.mark.parametrize("hook", [False, True])
async def test_git_takes_from_a_repository_by_its_path_and_names_remotes(hook: bool, repo: Repository):
    hooked(repo)
    if hook:
        repo.hook("reference-transaction")
    runner = Runner(repo.path, sandbox="off")
    commands = ["git fetch .", "git clone -q . copy", "git branch other", "git -c protocol.file.allow=always fetch ."]
    for command in [*commands, *([] if hook else ["git remote rename origin other", "git bisect start"])]:
        assert (result := await runner.run(command)).exit_code == 0 or hook, (command, result)
        assert not repo.hit.exists()


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


@pytest.mark.parametrize(
    "name",
    [
        "gc.recentObjectsHook",
        "lfs.extension.x.clean",
        "lfs.extension.x.smudge",
        "lfs.customtransfer.x.path",
        "remote.x.receivepack",
    ],
)
async def test_a_setting_that_nothing_overrides_is_refused(name: str, repo: Repository):
    repo.set(name)
    result = await Runner(repo.path, sandbox="off").run("git status")
    assert result.blocked and name.casefold() in result.reason.casefold()


async def test_a_pipe_in_place_of_gitmodules_is_not_waited_for(repo: Repository):
    os.mkfifo(repo.path / ".gitmodules")
    result = await Runner(repo.path, sandbox="off").run("git status")
    assert result.blocked and "could not be read" in result.reason


async def test_a_program_of_the_folder_is_not_run_because_of_its_name(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
):
    """As an argument, or found by its name: git is asked about the folder, and that git is not the folder's."""
    program_at(repo, "git")
    assert "git" in (await Runner(repo.path, sandbox="off").run("ls ./git")).stdout
    monkeypatch.setenv("PATH", f"{repo.path}:{os.environ['PATH']}")
    program_at(repo, "find")
    assert (await Runner(repo.path, sandbox="off").run("grep -rl git a.x")).exit_code == 1
    assert (await Runner(repo.path, sandbox="off").run("git status")).exit_code == 0
    assert not repo.hit.exists()


async def test_the_folder_may_be_all_of_the_machine(repo: Repository):
    repo.set("filter.evil.clean")
    result = await Runner(Path("/"), sandbox="off").run(f"git -C {repo.path} diff")
    assert "+b" in result.stdout and not repo.hit.exists()


async def test_git_works_in_a_repository_with_submodules(repo: Repository):
    filtered_submodule(repo)
    repo.git("config", "--unset", "filter.evil.clean", cwd=repo.path / "sub")
    (repo.path / "sub" / "a.x").write_text("a\n")
    runner = Runner(repo.path, sandbox="off")
    for command in ("git status --short", "git diff", "git add a.x .gitmodules", "git commit -m second", "git log"):
        result = await runner.run(command)
        assert result.exit_code == 0 and not result.stderr, (command, result)
        if command == "git status --short":
            assert "a.x" in result.stdout and "A  sub" in result.stdout
    (repo.path / "sub" / "more").write_text("x")
    repo.git("add", ".", cwd=repo.path / "sub")
    repo.git("-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "more", cwd=repo.path / "sub")
    assert " M sub" in (await runner.run("git status --short")).stdout
    assert (await runner.run("git commit -am third")).exit_code == 0
    assert not (await runner.run("git status --short")).stdout


async def test_what_the_person_sets_holds_where_the_repository_sets_the_same(repo: Repository):
    Path(os.environ["HOME"]).mkdir()
    person = ["git", "config", "--global", "filter.evil.clean", "tr a-z A-Z"]
    subprocess.run(person, check=True, capture_output=True)
    repo.set("filter.evil.clean")
    result = await Runner(repo.path, sandbox="off").run("git diff")
    assert "+B" in result.stdout and not repo.hit.exists()


async def test_a_program_that_starts_git_by_itself_is_held_to_the_same(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
):
    """`go build` asks git for the state of the repository."""
    place = repo.path.parent / "bin" / "go"
    place.parent.mkdir()
    place.write_text("#!/bin/sh\ngit status --porcelain\n")
    place.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place.parent}:{os.environ['PATH']}")
    repo.set("filter.evil.clean")
    assert "a.x" in (await Runner(repo.path, sandbox="off").run("go build")).stdout
    assert not repo.hit.exists()
