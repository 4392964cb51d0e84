"""The tour: the whole story by itself, and what it says where the story does not hold."""

import re
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.cli.demos import demo, leftovers, running, survivors
from tests.waiting import until

from pollux.cli.demo.post import Gmail
from pollux.cli.demo.process import environment
from pollux.cli.demo.tour import LONGEST, Teller, World, play, world_in

pytestmark = pytest.mark.slow

STEPS = ["start", "ask", "approval", "kill -9", "restart", "approval", "approve", "kill -9", "restart", "recover",
         "approve", "audit", "sent"]  # fmt: skip
STEP = re.compile(r"^ +\d+\.\d s  (\S+(?: -9)?) ", re.MULTILINE)


def test_whoever_names_a_port_for_it_is_told_that_it_has_none(tmp_path: Path):
    done = demo("", "--tour", "--port", "8700", cwd=tmp_path)
    assert done.returncode == 2
    assert "not allowed with" in done.stderr


@pytest.mark.story
def test_it_is_played_to_the_end_and_every_step_is_told(tmp_path: Path):
    # What somebody has set is no part of it.
    done = demo("", "--tour", cwd=tmp_path, GEMINI_API_KEY="invalid", POLLUX_STORE="/nowhere/at.all")
    # It stops itself with 1 where it takes longer than this.
    assert LONGEST == 60
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert STEP.findall(done.stdout) == STEPS
    assert "exactly once: 1 mail in Gmail's ledger, to bob@example.com" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert list(leftovers(tmp_path).iterdir()) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
async def test_a_signal_ends_the_server_with_it(tmp_path: Path, number: signal.Signals, code: int):
    async with running(tmp_path, "--tour") as tour:
        await until(lambda: survivors(tmp_path))
        assert await tour.ends(number) == (code, "")
        assert (survivors(tmp_path), list(leftovers(tmp_path).iterdir())) == ([], [])


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody can be told to die with their parent")
async def test_a_tour_that_is_killed_leaves_no_server_behind(tmp_path: Path):
    async with running(tmp_path, "--tour") as tour:
        await tour.hears("start     pollux serve")
        tour.process.kill()
        await tour.process.wait()
        await until(lambda: not survivors(tmp_path))


class Twice(Gmail):
    """A mailbox in which every mail arrives twice."""

    def sent(self) -> list[list[str]]:
        return [mail for mail in super().sent() for _ in range(2)]


@asynccontextmanager
async def double(place: Path) -> AsyncGenerator[World]:
    async with world_in(place) as world:
        assert world.workspace is not None
        world.post = Twice(world.workspace)
        yield world


async def test_a_mail_that_arrives_twice_fails_it(tmp_path: Path):
    said: list[str] = []
    assert await play(tmp_path, Teller(said.append), double) == 1
    assert "FAILED after `audit`: expected one mail to bob@example.com, found " in "\n".join(said)


@asynccontextmanager
async def without_a_server(place: Path) -> AsyncGenerator[World]:
    async with world_in(place) as world:
        (place / "tour.toml").write_text("broken = [")
        yield world


async def test_a_server_that_does_not_start_is_told_in_its_own_words(tmp_path: Path):
    said: list[str] = []
    assert await play(tmp_path, Teller(said.append), without_a_server) == 1
    assert "the server did not start" in "\n".join(said) and "tour.toml" in "\n".join(said)


def test_no_setting_and_no_proxy_of_the_person_reaches_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("POLLUX_TOKENS", "ANTHROPIC_API_KEY", "HTTPS_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "theirs")
    given = environment(tmp_path, model="http://127.0.0.1:1", workspace=None)
    assert "theirs" not in given.values()
    assert "PATH" in given
