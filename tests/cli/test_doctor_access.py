"""`pollux doctor` names each file that others on this machine can read or change, and a start warns of secrets."""

import logging
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import pytest

from pollux.bootstrap import open_store
from pollux.cli.doctor.checks import Check, access
from pollux.cli.masking import Mask
from pollux.cli.telling import tell_of_bare_commands
from pollux.config import ConfigError, Settings, load_project, read_settings
from pollux.config.exposed import warn_of_readable
from pollux.service import plugins_of


class Home:
    """A home on whose way nothing keeps others out."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.work = path / "work"
        self.config = path / ".config/pollux/config.toml"
        self.state = path / ".local/share/pollux"
        for folder in (self.work, self.config.parent, self.state):
            folder.mkdir(parents=True)
        self.put(self.config, 'model = "gemini-x"\n')

    def put(self, path: Path, text: str = "", *, mode: int = 0o644) -> Path:
        path.write_text(text)
        path.chmod(mode)
        return path

    def settings(self) -> Settings:
        return read_settings({"HOME": str(self.path)}, cwd=self.work)

    def check(self) -> Check:
        return access(self.settings(), self.state / "pollux.db")


@pytest.fixture
def home() -> Iterator[Home]:
    # Not beneath pytest's own folder, which nobody else may enter.
    path = Path(mkdtemp())
    path.chmod(0o755)
    yield Home(path)
    rmtree(path)


def test_a_home_that_others_can_enter_is_well_where_they_can_read_nothing_of_worth(home: Home):
    home.put(home.work / ".env", "EDITOR=vi\n")
    home.put(home.state / "pollux.db", mode=0o600)
    assert home.check().status == "ok"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".config/pollux/config.toml", '[gemini]\napi_key = "k"\n'),
        ("work/.env", "GEMINI_API_KEY=k\n"),
        (".local/share/pollux/pollux.db", ""),
        (".local/share/pollux/pollux.db-wal", ""),
    ],
)
def test_a_key_or_a_store_that_others_can_read_is_a_warning_here_and_at_each_start(
    home: Home, name: str, text: str, caplog: pytest.LogCaptureFixture
):
    path = home.put(home.path / name, text)
    expected = f"{path} can be read by everybody on this machine"
    checked = home.check()
    assert (checked.status, checked.details) == ("warning", (f"{expected}: chmod o-r {path}",))
    with caplog.at_level(logging.WARNING):
        open_store(home.settings())
        open_store(home.settings())
    assert [record.getMessage() for record in caplog.records] == [f"{expected}. Run: chmod o-r {path}"]
    path.chmod(0o600)
    assert home.check().status == "ok"


def test_pollux_run_says_it_too(home: Home, capsys: pytest.CaptureFixture[str]):
    store = home.put(home.state / "pollux.db")
    tell_of_bare_commands(Mask(()))
    warn_of_readable(home.settings())
    assert (
        f"pollux: {store} can be read by everybody on this machine. Run: chmod o-r {store}" in capsys.readouterr().err
    )


def test_a_file_that_others_cannot_reach_is_no_warning(home: Home, caplog: pytest.LogCaptureFixture):
    home.put(home.state / "pollux.db")
    home.state.chmod(0o700)
    assert home.check().status == "ok"
    warn_of_readable(home.settings())
    assert not caplog.records


def test_heads_that_others_can_change_are_refused_and_a_lock_that_they_can_change_is_a_warning(home: Home):
    lock = home.put(home.state / "pollux.db.lock", mode=0o666)
    assert (home.check().status, home.check().details) == (
        "warning",
        (f"{lock} can be changed by everybody on this machine: chmod o-w {lock}",),
    )
    heads = home.put(home.state / "audit-heads.jsonl", mode=0o666)
    assert (home.check().status, f"chmod o-w {heads}" in home.check().details[0]) == ("error", True)
    with pytest.raises(ConfigError, match=f"chmod o-w {heads}"):
        open_store(home.settings())


@pytest.mark.parametrize("name", ["", "plugin.yaml", "sub/add.jay-action"])
def test_a_page_plugin_that_others_can_change_is_refused(home: Home, name: str):
    plugin = home.path / "plugins/shop"
    (plugin / "sub").mkdir(parents=True)
    home.put(plugin / "plugin.yaml", "name: shop\n")
    home.put(plugin / "sub/add.jay-action", "name: add\n")
    home.put(home.config, '[page]\nplugins = ["../../plugins/shop"]\n')
    assert home.check().status == "ok"
    (plugin / name).chmod(0o777)
    assert (home.check().status, f"chmod o-w {plugin / name}" in home.check().details[0]) == ("error", True)
    with pytest.raises(ConfigError, match=f"chmod o-w {plugin / name}"):
        plugins_of(load_project(home.settings()).rights)


def test_a_project_that_cannot_be_read_is_for_another_check_to_name(home: Home):
    home.put(home.config, "[page]\nplugins = 7\n")
    assert home.check().status == "ok"
