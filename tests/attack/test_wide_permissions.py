"""Files that speak for a person, where another account of the machine could write or read them."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.machine import Machine

from pollux.bootstrap import made_once, make_home, open_store
from pollux.config import ConfigError, accept_project, load_project, read_settings
from pollux.core.errors import ValidationError
from pollux.engine import exposure
from pollux.engine.exposure import exposures
from pollux.tools.policy.files import load_policy

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
BYSTANDER = 1
"""An account that every machine has, and that is not ours."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / ".config/pollux").mkdir(parents=True)
    (home / ".config/pollux/config.toml").write_text('model = "gemini-x"\n')
    return home


def read(home: Path, cwd: Path | None = None, **environ: str):
    return read_settings({"HOME": str(home), **environ}, cwd=cwd or home)


def refusal(act: Callable[[], object]) -> str:
    with pytest.raises((ConfigError, ValidationError)) as refused:
        act()
    assert refused.value.code == "config"
    return str(refused.value)


def test_a_configuration_that_everybody_can_change_is_refused_with_the_command_that_helps(home: Path):
    config = home / ".config/pollux/config.toml"
    config.chmod(0o666)
    assert refusal(lambda: read(home)) == (
        f"{config} can be changed by everybody on this machine. Run: chmod o-w {config}"
    )
    config.chmod(0o664)
    read(home)


def test_a_folder_on_the_way_that_everybody_can_change_is_as_bad_unless_it_is_sticky(home: Path):
    (home / ".config").chmod(0o777)
    assert f"chmod o-w {home / '.config'}" in refusal(lambda: read(home))
    (home / ".config").chmod(0o1777)
    read(home)


@as_root
def test_a_configuration_of_another_account_is_refused_also_in_a_sticky_folder(home: Path):
    config = home / ".config/pollux/config.toml"
    os.chown(config, BYSTANDER, -1)
    assert "belongs to another user" in refusal(lambda: read(home))
    (home / ".config/pollux").chmod(0o1777)
    assert f"chown -h 0 {config}" in refusal(lambda: read(home))


@as_root
def test_a_link_to_a_file_of_another_account_is_refused_and_so_is_one_through_a_folder_of_theirs(
    home: Path, tmp_path: Path
):
    config, theirs = home / ".config/pollux/config.toml", tmp_path / "theirs"
    theirs.mkdir()
    config.replace(theirs / "config.toml")
    config.symlink_to(theirs / "config.toml")
    read(home)
    os.chown(theirs / "config.toml", BYSTANDER, -1)
    assert f"{theirs / 'config.toml'} belongs to another user" in refusal(lambda: read(home))
    os.chown(theirs / "config.toml", 0, -1)
    os.chown(theirs, BYSTANDER, -1)
    assert f"{theirs} belongs to another user" in refusal(lambda: read(home))
    os.chown(theirs, 0, -1)
    theirs.chmod(0o777)
    assert f"chmod o-w {theirs}" in refusal(lambda: read(home))


@as_root
def test_root_takes_the_files_of_the_person_who_called_sudo_and_of_nobody_else(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    os.chown(home / ".config/pollux/config.toml", BYSTANDER, -1)
    monkeypatch.setenv("SUDO_UID", str(BYSTANDER + 1))
    refusal(lambda: read(home))
    monkeypatch.setenv("SUDO_UID", str(BYSTANDER))
    read(home)


@as_root
def test_what_a_container_has_from_its_host_works(home: Path):
    # Mounted from a host whose accounts are not known here.
    os.chown(home / ".config/pollux/config.toml", 3_999_999_999, -1)
    read(home)
    found = exposures(home / ".config/pollux/config.toml")
    assert [(each.is_grave, "belongs to another user (3999999999)" in each.what) for each in found] == [(False, True)]
    os.chown(home / ".config/pollux/config.toml", exposure.NOBODY, -1)
    read(home)


@as_root
def test_a_secret_mounted_the_way_kubernetes_does_works(home: Path, monkeypatch: pytest.MonkeyPatch):
    volume = home / "volume"
    (volume / "..2026_11_16").mkdir(parents=True)
    (volume / "..data").symlink_to("..2026_11_16")
    volume.chmod(0o1777)
    for name, content in (("config.toml", b'api_key = "k"\n'), ("seal.key", b"s" * 32)):
        (volume / "..data" / name).write_bytes(content)
        (volume / "..data" / name).chmod(0o444)
        (volume / name).symlink_to(f"..data/{name}")
    # The server in the container is not root, and its files are.
    monkeypatch.setattr(os, "geteuid", lambda: 10_001)
    assert read(home, POLLUX_CONFIG=str(volume / "config.toml")).gemini_api_key is not None
    assert made_once(volume / "seal.key", lambda: b"")[0] == b"s" * 32


def test_a_dotenv_that_everybody_can_change_is_refused_where_its_key_would_be_used(home: Path, tmp_path: Path):
    work = tmp_path / "work"
    (work / "config").mkdir(parents=True)
    (work / ".env").write_text("GEMINI_API_KEY=k\n")
    (work / ".env").chmod(0o666)
    assert f"chmod o-w {work / '.env'}" in refusal(lambda: read(home, work))
    assert read(home, work, GEMINI_API_KEY="mine").gemini_api_key is not None
    (work / ".env").write_text("EDITOR=vi\n")
    read(home, work)
    (work / "config/.gemini.yaml").write_text("apiKey: k\n")
    (work / "config/.gemini.yaml").chmod(0o666)
    assert ".gemini.yaml can be changed by everybody" in refusal(lambda: read(home, work))


def test_a_home_that_everybody_can_change_is_refused(tmp_path: Path):
    make_home(tmp_path / "home")
    (tmp_path / "home").chmod(0o777)
    assert f"chmod o-w {tmp_path / 'home'}" in refusal(lambda: make_home(tmp_path / "home"))


@pytest.mark.parametrize("name", ["audit.key", "seal.key", "token"])
@pytest.mark.parametrize("mode", [0o644, 0o666, 0o604])
def test_a_secret_that_others_can_read_is_refused(tmp_path: Path, name: str, mode: int):
    path = tmp_path / name
    assert made_once(path, lambda: b"k" * 32) == (b"k" * 32, True)
    path.chmod(mode)
    assert f"chmod 600 {path}" in refusal(lambda: made_once(path, lambda: b""))
    path.chmod(0o600)
    assert made_once(path, lambda: b"") == (b"k" * 32, False)


def test_a_store_that_everybody_can_change_is_refused(home: Path):
    settings = read(home, GEMINI_API_KEY="k")
    open_store(settings)
    assert isinstance(settings.store, Path)
    settings.store.write_bytes(b"")
    settings.store.chmod(0o666)
    assert f"chmod o-w {settings.store}" in refusal(lambda: open_store(settings))


def test_a_list_of_accepted_files_that_everybody_can_change_accepts_nothing(home: Path, tmp_path: Path):
    work = tmp_path / "work"
    work.mkdir()
    (work / "pollux.toml").write_text('[[rules]]\ndecision = "allow"\n')
    settings = read(home, work)
    accept_project(work / "pollux.toml", settings.home)
    assert load_project(settings).is_accepted
    (settings.home / "trusted.json").chmod(0o666)
    assert "trusted.json can be changed by everybody" in refusal(lambda: load_project(settings))


def test_a_policy_that_everybody_can_change_is_refused(tmp_path: Path):
    policy = tmp_path / "policy.toml"
    policy.write_text('[[rules]]\ndecision = "deny"\n')
    policy.chmod(0o646)
    assert f"chmod o-w {policy}" in refusal(lambda: load_policy(policy))


def test_a_group_of_ones_own_is_nobody_else_and_any_other_group_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "config.toml"
    file.write_text("")
    file.chmod(0o660)  # As everything is where umask is 002.
    assert exposures(file) == ()

    def is_private(gid: int) -> bool:
        return False

    monkeypatch.setattr(exposure, "_is_private", is_private)
    assert [(each.then, each.is_grave) for each in exposures(file)] == [(f"chmod g-w {file}", False)]


def test_a_file_on_the_way_in_circles_or_not_there_has_nothing_wrong_with_it(tmp_path: Path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert exposures(tmp_path / "a") == exposures(tmp_path / "absent" / "file") == ()


def test_what_pollux_makes_is_private_under_any_umask(home: Path, tmp_path: Path):
    before = os.umask(0)
    try:
        settings = read(tmp_path / "fresh", POLLUX_HOME=str(tmp_path / "fresh/pollux"))
        open_store(settings)
    finally:
        os.umask(before)
    assert stat.S_IMODE(settings.home.stat().st_mode) == 0o700
    assert stat.S_IMODE((settings.home / "audit.key").stat().st_mode) == 0o600


@pytest.mark.slow
def test_doctor_lists_all_of_it_and_the_program_refuses_with_the_code_of_wrong_usage(tmp_path: Path):
    machine = Machine(tmp_path)
    home, work = Path(machine.environ["POLLUX_HOME"]), machine.cwd
    config = machine.home / ".config/pollux/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[gemini]\napi_key = "k"\n')
    (work / ".env").write_text("OPENAI_API_KEY=k\n")
    assert machine.run("approvals", "list").returncode == 0
    for name in ("seal.key", "token"):
        (home / name).write_bytes(b"k" * 32)
    wide = [config, work / ".env", home / "pollux.db", home]
    for path in wide:
        path.chmod(0o777)
    for name in ("audit.key", "seal.key", "token"):
        (home / name).chmod(0o644)

    looked = machine.run("doctor", "--offline")

    assert looked.returncode == 1
    assert all(f"chmod o-w {path}" in looked.stdout for path in wide)
    assert all(f"chmod 600 {home / name}" in looked.stdout for name in ("audit.key", "seal.key", "token"))
    for words in (("run", "Hello"), ("approvals", "list"), ("runbook", "list")):
        refused = machine.run(*words)
        assert refused.returncode == 2, refused
        assert f"chmod o-w {config}" in refused.stderr
    config.chmod(0o600)
    (work / ".env").chmod(0o600)
    refused = machine.run("approvals", "list")
    assert (refused.returncode, f"chmod o-w {home}" in refused.stderr) == (2, True)
