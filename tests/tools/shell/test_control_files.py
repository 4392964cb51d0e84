"""What a command made of the names that decide what may run is set aside; what was there, or is harmless, stays."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pollux.tools.shell import control_files as module
from pollux.tools.shell.control_files import control_files, set_aside

ENDINGS = (".atrb",)


def look(root: Path, *, since: module.Found | None = None, most: int = module.MOST_FOLDERS) -> module.Found:
    return control_files(str(root), endings=ENDINGS, since=since, most=most)


def after(root: Path, command: Callable[[], object]) -> tuple[str, ...]:
    """What is said once a command did this."""
    before = look(root)
    command()
    return set_aside(str(root), before, look(root, since=before))


def as_its_mode_says(place: str, mode: int) -> bool:
    return os.stat(place).st_mode & 0o500 == 0o500


def write(root: Path, *names: str, text: str = "evil") -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)


NAMES = (
    "sub/.env", "a/b/config/.gemini.yaml", "sub/pollux.toml", "sub/skills/x/SKILL.md", "sub/.mcp.json", "deploy.atrb",
    "sub/.git/config", "sub/.git/hooks/post-commit", "sub/.git/info/attributes", "sub/.git/commondir",
    "sub/.git/config.worktree", "node_modules/x/.git/config", ".git/commondir", ".git/modules/x/config", "SUB/.ENV",
    "sub/.vscode/tasks.json", ".hg/hgrc", "lefthook.toml",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_what_is_new_gets_another_name(name: str, tmp_path: Path):
    git(tmp_path, "init", "-q")
    (said,) = after(tmp_path, lambda: write(tmp_path, name))
    assert not (tmp_path / name).exists() and said.startswith(str(Path(name).parent if "hooks/" in name else name))
    (aside,) = tmp_path.rglob("*.set-aside-*")
    assert aside.name in said and "evil" in (aside if aside.is_file() else aside / Path(name).name).read_text()


@pytest.mark.parametrize("name", NAMES)
def test_what_was_there_stays(name: str, tmp_path: Path):
    write(tmp_path, name)
    assert after(tmp_path, lambda: write(tmp_path, "sub/other")) == () and (tmp_path / name).exists()


def test_of_folders_that_are_kept_only_secrets_are_covered_again(tmp_path: Path):
    write(tmp_path, "sub/.claude/settings.json", "sub/.claude/skills/a/SKILL.md", "sub/.claude/a/.env")
    found = look(tmp_path)
    assert list(found.kept) == [f"{tmp_path}/sub/.claude"] and list(found.hidden) == [f"{tmp_path}/sub/.claude/a/.env"]


def test_folders_of_agents_are_set_aside_whole(tmp_path: Path):
    (said,) = after(tmp_path, lambda: write(tmp_path, "sub/.claude/settings.json", "sub/.claude/skills/a/SKILL.md"))
    assert "sub/.claude decides" in said and not (tmp_path / "sub/.claude").exists()


def test_an_editors_settings_are_by_their_names_in_its_folder_alone(tmp_path: Path):
    write(tmp_path, ".idea/runConfigurations/x.xml")
    assert list(look(tmp_path).kept) == [f"{tmp_path}/.idea/runConfigurations"]
    said = after(tmp_path, lambda: write(tmp_path, "settings.json", ".vscode/extensions.json", ".idea/misc.xml"))
    assert said == () and (tmp_path / ".vscode/extensions.json").exists()
    write(tmp_path, "sub/tasks.json")
    (said,) = after(tmp_path, lambda: (tmp_path / "sub/.vscode").symlink_to("."))
    assert said.startswith("sub/.vscode decides")


def test_packages_may_bring_what_they_like_but_no_repository(tmp_path: Path):
    said = after(tmp_path, lambda: write(tmp_path, "node_modules/x/.env", "node_modules/x/.git/config"))
    assert len(said) == 1 and (tmp_path / "node_modules/x/.env").exists()


@pytest.mark.parametrize("commands", [["init"], ["init --bare"], ["init", "worktree add ../tree"], ["clone . copy"]])
def test_a_plain_repository_stays_as_git_makes_it(commands: list[str], tmp_path: Path):
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--allow-empty", "-qm", "x")

    def run() -> None:
        for each in commands:
            if "clone" in each:
                git(tmp_path, "clone", "-q", str(tmp_path), "copy")
            elif "worktree" in each:
                git(tmp_path, "worktree", "add", "-q", "tree")
            else:
                git(tmp_path, *each.split(), "sub")
                git(tmp_path / "sub", "config", "user.name", "Ada")

    assert after(tmp_path, run) == ()


LINES = (
    "[core]\n\tfsmonitor = x",
    "[include]\n\tpath = x",
    "[core]\n\tpager = x",
    "[alias]\n\tst = !x",
    '[filter "a"]',
    '[remote "o"]\n\turl = ext::sh',
    '[remote "o"]\n\turl = -x',
    "[core] fsmonitor = x",
    "[user]\n\tname = a\\",
    "[core]\n\tbare = false ; x",
    "[extensions]\n\tworktreeConfig = true",
    "[CORE]\n\tsshCommand = x",
)


@pytest.mark.parametrize("lines", LINES)
def test_a_new_repositorys_configuration_that_may_name_a_program_is_set_aside(lines: str, tmp_path: Path):
    def run() -> None:
        git(tmp_path, "init", "-q", "sub")
        with (tmp_path / "sub/.git/config").open("a") as file:
            file.write(lines)

    (said,) = after(tmp_path, run)
    assert "sub/.git/config decides" in said and (tmp_path / "sub/.git/HEAD").exists()


def test_a_repository_by_another_name_is_none_any_more_and_loses_nothing(tmp_path: Path):
    write(tmp_path, "src/config/mine.py", "src/hooks/mine.js", text="mine")

    def run() -> None:
        write(tmp_path, "src/HEAD", text="ref: refs/heads/main\n")
        (tmp_path / "src/objects").mkdir()
        (tmp_path / "src/refs").mkdir()

    (said,) = after(tmp_path, run)
    assert "src/HEAD decides" in said and not (tmp_path / "src/HEAD").exists()
    assert (tmp_path / "src/config/mine.py").exists() and (tmp_path / "src/hooks/mine.js").exists()


@pytest.mark.parametrize("target", ["../innocent", "/etc"])
def test_a_link_that_leads_elsewhere_now_is_set_aside(target: str, tmp_path: Path):
    write(tmp_path, "innocent/settings.json", "shared/settings.json")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/.claude").symlink_to("../shared")

    def run() -> None:
        (tmp_path / "sub/.claude").unlink()
        (tmp_path / "sub/.claude").symlink_to(target)

    assert after(tmp_path, lambda: None) == ()
    (said,) = after(tmp_path, run)
    assert "sub/.claude decides" in said and not os.path.lexists(tmp_path / "sub/.claude")


def test_a_folder_that_was_closed_is_opened_to_look_into_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "access", as_its_mode_says)

    def run() -> None:
        write(tmp_path, "sub/inner/.env")
        (tmp_path / "sub/inner").chmod(0o311)
        (tmp_path / "sub").chmod(0o311)

    assert len(after(tmp_path, run)) == 1 and not (tmp_path / "sub/inner/.env").exists()


def test_a_folder_that_cannot_be_listed_is_kept_whole_and_stays_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # For the administrator, too, who may list every folder.
    monkeypatch.setattr(os, "access", as_its_mode_says)
    write(tmp_path, "sub/.env")
    (tmp_path / "sub").chmod(0o311)
    assert look(tmp_path).kept == {f"{tmp_path}/sub": ""}
    assert after(tmp_path, lambda: None) == () and (tmp_path / "sub").stat().st_mode & 0o777 == 0o311
    (tmp_path / "sub").chmod(0o755)
    assert (tmp_path / "sub/.env").exists()


def test_a_folder_that_lies_too_deep_is_set_aside(tmp_path: Path):
    def run() -> None:
        here = os.open(tmp_path, os.O_RDONLY)
        for _ in range(20):
            os.mkdir("x" * 240, dir_fd=here)
            inner = os.open("x" * 240, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = inner
        os.close(here)

    assert len(after(tmp_path, run)) == 1
    # Nothing else can remove it either.
    subprocess.run(["rm", "-rf", str(tmp_path / ("x" * 240))], check=True)


def test_one_that_could_not_be_looked_through_says_so(tmp_path: Path):
    write(tmp_path, "a/x", "b/.env", "c/x")
    assert not look(tmp_path, most=3).is_whole and look(tmp_path, most=4).is_whole
    assert set_aside(str(tmp_path), look(tmp_path), look(tmp_path, most=3)) == (module.TOO_MANY,)


def test_a_link_on_the_way_is_not_followed(tmp_path: Path):
    root = tmp_path / "root"
    write(tmp_path, "persons/.env", "root/sub/.env")
    found = look(root)
    shutil.rmtree(root / "sub")
    (root / "sub").symlink_to(tmp_path / "persons")
    (said,) = set_aside(str(root), module.Found(), found)
    assert "could not be set aside" in said and (tmp_path / "persons/.env").exists()


def test_what_is_remembered_of_a_folder_ends_with_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_ODD_SECONDS", -3600.0)
    write(tmp_path, "sub/a", "sub/b")
    assert look(tmp_path).hidden == {}
    before = (tmp_path / "sub").stat()
    write(tmp_path, "sub/.env")
    os.utime(tmp_path / "sub", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert list(look(tmp_path).hidden) == [f"{tmp_path}/sub/.env"]


TODO = ".git/rebase-merge/git-rebase-todo"
CONTINUED = (
    (TODO, "pick 1234 Größe\n\n# p, pick\ns 12 x\nmerge -C 1 b # b\nu refs/heads/b\r\n", "p 1 x\n  exec touch fired\n"),
    (TODO, "noop\n", "x touch fired"),
    ("lib/.git/rebase-merge/git-rebase-todo", "noop\n", "# x\n#\nx\ttouch fired"),
    (".git/modules/lib/rebase-merge/git-rebase-todo", "noop\n", "exec false"),
    (".git/worktrees/tree/rebase-merge/git-rebase-todo", "noop\n", "exec false"),
    (".git/rebase-merge/strategy", "recursive\n", "/evil\n"),
    (".git/sequencer/opts", "[options]\n\tstrategy = ort\n\tedit = true\n", "[options]\n\tstrategy = /evil\n"),
    (".git/sequencer/opts", "[options]\n\tstrategy-option = theirs\n", "[options] strategy=/evil\n"),
    (".git/BISECT_NAMES", " 'src/a b'\n", "; touch fired\n"),
)


@pytest.mark.parametrize(("name", "plain", "risky"), CONTINUED)
def test_what_git_continues_from_is_the_commands_unless_it_runs_something(
    name: str, plain: str, risky: str, tmp_path: Path
):
    for each in ("", "lib", ".git/modules/lib"):
        git(tmp_path, "init", "-q", *(["--bare"] if "modules" in each else []), str(tmp_path / each))
    write(tmp_path, ".git/worktrees/tree/HEAD", ".git/worktrees/tree/commondir", text="../..\n")
    assert after(tmp_path, lambda: write(tmp_path, name, text=plain)) == () and (tmp_path / name).exists()
    assert f"{tmp_path}/{name}" not in look(tmp_path).kept
    (said,) = after(tmp_path, lambda: write(tmp_path, name, text=risky))
    assert said.startswith(f"{name} decides") and not (tmp_path / name).exists()
    write(tmp_path, name, text=risky)
    assert f"{tmp_path}/{name}" in look(tmp_path).kept
    assert after(tmp_path, lambda: write(tmp_path, "other")) == () and (tmp_path / name).exists()


def test_what_git_continues_from_counts_by_its_only_name_and_in_a_folder_of_its_own(tmp_path: Path):
    git(tmp_path, "init", "-q")

    def command() -> None:
        write(tmp_path, TODO, "elsewhere/opts", text="noop\n")
        os.link(tmp_path / TODO, tmp_path / "other")
        (tmp_path / ".git/sequencer").symlink_to("../elsewhere")

    assert {each.split()[0] for each in after(tmp_path, command)} == {TODO, ".git/sequencer"}
