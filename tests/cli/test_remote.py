"""Approvals on a server, answered from a command line elsewhere."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.fakes import nobody
from tests.http.site import TOKENS, Site, site

from pollux.cli import main
from pollux.testing import ScriptedModel, call, reply, scripted
from pollux.tools.demo_mail import demo_mail

MAIL = {"to": "bob@example.com", "subject": "Report", "body": "It is\x1b[31m ready."}


def script() -> ScriptedModel:
    return scripted(call("demo_mail", MAIL), reply("Sent."))


async def answered(here: Site, path: Path, monkeypatch: pytest.MonkeyPatch, *words: str, who: str = "ada") -> int:
    """The command, in a thread: the server is in this loop."""
    import asyncio

    monkeypatch.setenv("POLLUX_HOME", str(path / "elsewhere"))
    monkeypatch.setenv("POLLUX_TOKEN", TOKENS.get(who, who))
    return await asyncio.to_thread(main, ["approvals", *words, "--server", here.url])


async def asked(here: Site) -> str:
    return (await here.ada.run("email Bob the report"))["approvals"][0]["id"]


async def test_what_waits_is_listed_shown_and_approved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    outbox = tmp_path / "outbox.jsonl"
    async with site(tmp_path, script(), tools=[demo_mail(outbox)]) as here:
        approval = await asked(here)
        assert await answered(here, tmp_path, monkeypatch, "list") == 0
        assert await answered(here, tmp_path, monkeypatch, "show", approval) == 0
        told = capfd.readouterr().out
        assert approval in told and "bob@example.com" in told
        assert "\x1b" not in told

        assert await answered(here, tmp_path, monkeypatch, "approve", approval) == 0
        assert capfd.readouterr().out == "Sent.\n"
        assert len(outbox.read_text().splitlines()) == 1


async def test_answering_twice_says_so_to_programs_and_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    async with site(tmp_path, script(), tools=[demo_mail(tmp_path / "outbox.jsonl")]) as here:
        approval = await asked(here)
        assert await answered(here, tmp_path, monkeypatch, "reject", approval, "--feedback", "no") == 0
        capfd.readouterr()
        assert await answered(here, tmp_path, monkeypatch, "approve", approval) == 1
    said: dict[str, Any] = json.loads(capfd.readouterr().out)
    assert (said["type"], said["code"]) == ("error", "already_resolved")


@pytest.mark.parametrize(("who", "code"), [("bob", 1), ("a-wrong-token-0123456789", 1)])
async def test_others_see_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], who: str, code: int
):
    async with site(tmp_path, script(), tools=[demo_mail(tmp_path / "outbox.jsonl")]) as here:
        approval = await asked(here)
        assert await answered(here, tmp_path, monkeypatch, "approve", approval, who=who) == code
        assert "a-wrong-token" not in "".join(capfd.readouterr())
        assert (await here.ada.get("/api/agent/approvals/pending")).body["items"][0]["id"] == approval


async def test_a_server_that_is_not_there_is_said_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("POLLUX_HOME", str(tmp_path))
    monkeypatch.setenv("POLLUX_TOKEN", "token-0123456789")
    with nobody() as url:
        assert main(["approvals", "list", "--server", url]) == 1
    assert "Is `pollux serve` running there?" in capfd.readouterr().err


@pytest.mark.parametrize("url", ["8642", "ftp://host", "http://user:pw@host", "http://"])
def test_an_address_that_is_none_is_a_usage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], url: str
):
    monkeypatch.setenv("POLLUX_HOME", str(tmp_path))
    monkeypatch.setenv("POLLUX_TOKEN", "token-0123456789")
    assert main(["approvals", "list", "--server", url]) == 2
    assert "--server must be an address" in capfd.readouterr().err
