"""What a server that was started plainly gives away: no token that nobody asked for, no link in a log, no open page."""

import json
import os
import pty
import select
import stat
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.attack.credentials import HERE, Got, ask
from tests.http.site import TOKENS, known, process, settings_in
from tests.http.test_serve import attempt
from tests.waiting import HANG_SECONDS

from pollux.asgi.credentials import USER, credentials_of
from pollux.config import ConfigError, accept_project, read_settings
from pollux.serve import running_app

NAMED = ",".join(f"{name}:{token}" for name, token in TOKENS.items())
Asking = Callable[[], Awaitable[Got]]
OIDC = {"POLLUX_TOKENS": "", "POLLUX_OIDC_ISSUER": "https://issuer.example", "POLLUX_OIDC_AUDIENCE": "pollux"}


@pytest.mark.parametrize("environ", [{"POLLUX_TOKENS": NAMED}, OIDC], ids=["tokens", "oidc"])
def test_with_configured_callers_a_loopback_server_makes_no_token_of_its_own(tmp_path: Path, environ: dict[str, str]):
    (tmp_path / "home").mkdir(mode=0o700)
    # One of an earlier start, before anybody was configured, opens nothing any more.
    (tmp_path / "home/token").write_text("token-of-an-earlier-start-0123456789")
    for host in ("127.0.0.1", "::1", "localhost"):
        found = credentials_of(settings_in(tmp_path, environ, host=host))
        assert found.token is None and USER not in {user for user, _ in found.tokens}
    (tmp_path / "home/token").unlink()
    credentials_of(settings_in(tmp_path, environ))
    assert not (tmp_path / "home/token").exists()


async def test_its_ready_line_names_no_token_file_and_its_log_no_link(tmp_path: Path):
    async with process(tmp_path) as serving:
        assert serving.ready == {"ready": True, "url": serving.url}
        assert not (tmp_path / "home/token").exists()
        assert await serving.stop() == 0
        assert "login" not in serving.talk and "token" not in serving.talk


@pytest.mark.slow
def test_a_person_at_a_terminal_is_shown_the_link(tmp_path: Path):
    environ = {"HOME": str(tmp_path), "POLLUX_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    terminal, theirs = pty.openpty()
    command = [sys.executable, "-m", "pollux.cli", "serve", "--port", "0"]
    serving = subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, cwd=tmp_path, env=environ)
    os.close(theirs)
    try:
        assert serving.stdout is not None
        ready = json.loads(serving.stdout.readline())
        token = Path(ready["tokenFile"]).read_text()
        assert stat.S_IMODE(Path(ready["tokenFile"]).stat().st_mode) == 0o600
        shown = ""
        while f"{ready['url']}/login?token={token}" not in shown:
            assert select.select([terminal], [], [], HANG_SECONDS)[0], shown
            shown += os.read(terminal, 4096).decode()
    finally:
        serving.kill()
        serving.wait(60)
        os.close(terminal)
        assert serving.stdout is not None
        serving.stdout.close()


@pytest.mark.parametrize(
    ("tokens", "user", "length"),
    [("ada:zq7", "ada", 3), ("ada:0123456789abcde", "ada", 15), (f"{NAMED},eve:123456789", "eve", 9)],
)
def test_a_token_that_could_be_guessed_is_refused_at_the_start(tmp_path: Path, tokens: str, user: str, length: int):
    environ = {"HOME": str(tmp_path), "POLLUX_TOKENS": tokens}
    with pytest.raises(ConfigError, match=rf"token of '{user}' has {length} characters.*at least 16.*openssl"):
        read_settings(environ, cwd=tmp_path)
    assert tokens.rpartition(":")[2] not in _said(environ, tmp_path)
    # Sixteen are enough.
    assert read_settings({**environ, "POLLUX_TOKENS": "ada:0123456789abcdef"}, cwd=tmp_path).tokens


def _said(environ: Mapping[str, str], cwd: Path) -> str:
    with pytest.raises(ConfigError) as told:
        read_settings(environ, cwd=cwd)
    return str(told.value)


def test_a_server_with_such_a_token_does_not_start_and_says_how_to_make_one(tmp_path: Path):
    ended = attempt(tmp_path, "--port", "0", POLLUX_TOKENS="ada:short")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "'ada'" in ended.stderr and "openssl rand" in ended.stderr and "Traceback" not in ended.stderr


# Pages.


@asynccontextmanager
async def plain(path: Path, config: str = "", *, project: str = "", accepted: bool = False) -> AsyncGenerator[Asking]:
    """A server as `pollux serve` makes it, with this configuration and this project file."""
    environ = {"HOME": str(path), "POLLUX_HOME": str(path / "home"), "GEMINI_API_KEY": "key-of-nobody"}
    if config:
        (path / "config.toml").write_text(config)
        environ["POLLUX_CONFIG"] = str(path / "config.toml")
    cwd = path / "project"
    cwd.mkdir()
    if project:
        (cwd / "pollux.toml").write_text(project)
    settings = read_settings(environ, cwd=cwd)
    if accepted:
        accept_project(cwd / "pollux.toml", settings.home)
    async with running_app(settings, known(TOKENS)) as (app, _):

        async def asking() -> Got:
            return await ask(app, "POST", "/api/page/session", [("origin", HERE)], b"{}")

        yield asking


async def test_a_page_talks_to_the_agent_only_where_a_page_table_says_so(tmp_path: Path):
    cases: list[tuple[str, dict[str, object], int]] = [
        ("nothing", {}, 404),
        ("other tables", {"config": "[limits]\nmodel_calls = 3\n"}, 404),
        ("an empty table", {"config": "[page]\n"}, 200),
        ("origins", {"config": '[page]\norigins = ["https://shop.example"]\n'}, 200),
        ("a folder that nobody trusts", {"project": "[page]\n"}, 404),
        ("one that does more", {"project": '[page]\norigins = ["https://evil.example"]\n'}, 404),
        ("a folder that a person accepted", {"project": "[page]\n", "accepted": True}, 200),
    ]
    for number, (name, given, status) in enumerate(cases):
        path = tmp_path / str(number)
        path.mkdir()
        async with plain(path, **given) as asking:  # pyright: ignore[reportArgumentType]
            got = await asking()
            assert got.status == status, (name, got)
            assert status == 200 or "[page]" in got.json["error"]["message"], name


def test_visitors_have_a_bound_where_none_was_set(tmp_path: Path):
    assert read_settings({"HOME": str(tmp_path)}, cwd=tmp_path).visitor_tokens_per_day == 1_000_000
