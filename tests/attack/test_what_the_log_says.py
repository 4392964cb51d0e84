"""An error may repeat what a person or a model said. At the default level the log has its type and place alone."""

import asyncio
import logging
from pathlib import Path

import pytest
from tests.engine.builders import FakeTool
from tests.http.scenes import LOCKED
from tests.http.site import site

from pollux.cli.lasting import log_to_stderr
from pollux.core.errors import OutcomeUnknown
from pollux.core.messages import JSON
from pollux.core.redact import Secret
from pollux.core.tools import ToolContext
from pollux.providers.scripted import call, reply
from pollux.testing import scripted

SAID = "the-merger-is-on-friday"
ARGS: dict[str, JSON] = {"to": "bob@example.com", "body": SAID}


class Repeating(FakeTool):
    """A tool that fails in one of its methods, and says with what."""

    def __init__(self, where: str) -> None:
        super().__init__("send_mail", schema=LOCKED, side_effect=True, repeat="checkable", body=self._send)
        self._where = where

    async def _send(self, context: ToolContext, args: dict[str, JSON]) -> object:
        self._fail("run", args)
        if self._where == "reconcile":
            raise OutcomeUnknown("the line broke")
        return "sent"

    def prepare(self, args: dict[str, JSON]) -> dict[str, JSON]:
        self._fail("prepare", args)
        return args

    def subjects(self, args: dict[str, JSON]) -> frozenset[str]:
        self._fail("subjects", args)
        return frozenset()

    def preview(self, args: dict[str, JSON]) -> str:
        self._fail("preview", args)
        return "a mail"

    async def reconcile(self, context: ToolContext, args: dict[str, JSON]):
        self._fail("reconcile", args)
        return await super().reconcile(context, args)

    def _fail(self, where: str, args: dict[str, JSON]) -> None:
        if where == self._where:
            try:
                raise KeyError(args)
            except KeyError as problem:
                raise RuntimeError(f"no answer for {args}") from problem


@pytest.mark.parametrize("where", ["prepare", "subjects", "preview", "run", "reconcile"])
async def test_a_tool_that_repeats_its_arguments_tells_the_log_nothing(
    where: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO)
    async with site(tmp_path, scripted(call("send_mail", ARGS), reply("Well.")), tools=[Repeating(where)]) as here:
        told = await here.ada.run("write to Bob")
        for approval in told["approvals"]:
            await here.ada.resolve(approval["id"])
    assert "RuntimeError, after KeyError at tests.attack.test_what_the_log_says:" in caplog.text
    assert SAID not in caplog.text


async def test_at_level_debug_the_whole_of_it_is_there(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    async with site(tmp_path, scripted(call("send_mail", ARGS), reply("Well.")), tools=[Repeating("run")]) as here:
        (approval,) = (await here.ada.run("write to Bob"))["approvals"]
        await here.ada.resolve(approval["id"])
    assert f"no answer for {ARGS}" in caplog.text


@pytest.fixture
def as_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a test does to the process's logging is undone."""
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", root.level)


def fail(said: str) -> None:
    raise ValueError(said)


@pytest.mark.usefixtures("as_a_server")
async def test_what_other_parts_of_the_process_log_is_held_to_the_same(capsys: pytest.CaptureFixture[str]):
    log_to_stderr("info", ())
    asyncio.get_running_loop().call_soon(fail, SAID)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    try:
        fail(SAID)
    except ValueError:
        logging.getLogger("somebody.else").exception("it failed\nfor %s", SAID)
    written = capsys.readouterr().err
    assert "it failed: ValueError at" in written
    assert "Exception in callback fail: ValueError at" in written
    assert SAID not in written


@pytest.mark.usefixtures("as_a_server")
def test_at_level_debug_keys_are_still_masked(capsys: pytest.CaptureFixture[str]):
    log_to_stderr("debug", (Secret("a-key-of-somebody-123"),))
    try:
        fail(f"{SAID} a-key-of-somebody-123")
    except ValueError:
        logging.getLogger("somebody.else").exception("it failed")
    written = capsys.readouterr().err
    assert SAID in written
    assert "a-key-of-somebody-123" not in written
