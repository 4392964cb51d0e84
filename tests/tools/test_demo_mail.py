"""The mail that goes nowhere: written once for each key, whatever happens in between."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pollux.core.errors import ValidationError
from pollux.core.ids import ActionId, RunId, ThreadId, UserId
from pollux.core.messages import JSON
from pollux.core.tools import ToolContext
from pollux.tools.demo_mail import demo_mail

MAIL: dict[str, JSON] = {"to": "bob@example.com", "subject": "Report", "body": "It is ready.\n"}


def context(key: str = "act_1_1.0") -> ToolContext:
    return ToolContext(UserId("ada"), "", RunId("run_1"), ActionId(key), ThreadId("thr_1"))


def lines(outbox: Path) -> list[dict[str, JSON]]:
    found: list[dict[str, JSON]] = []
    for line in outbox.read_text().splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


async def test_a_second_attempt_with_the_same_key_finds_the_first(tmp_path: Path):
    tool = demo_mail(tmp_path / "outbox.jsonl")
    first, second = await tool.run(context(), MAIL), await tool.run(context(), MAIL)
    assert first == second
    assert [line["id"] for line in lines(tmp_path / "outbox.jsonl")] == ["act_1_1.0"]


async def test_a_line_that_a_crash_cut_off_does_not_swallow_the_next(tmp_path: Path):
    outbox = tmp_path / "outbox.jsonl"
    outbox.write_text('{"id": "act_0", "to": "al')
    await demo_mail(outbox).run(context(), MAIL)
    assert [line["to"] for line in lines(outbox)] == ["bob@example.com"]


def test_many_hands_with_one_key_write_one_line(tmp_path: Path):
    tool = demo_mail(tmp_path / "outbox.jsonl")

    def send(key: str) -> None:
        asyncio.run(tool.run(context(key), MAIL))

    with ThreadPoolExecutor(8) as hands:
        list(hands.map(send, ["act_1_1.0"] * 32))
    assert len(lines(tmp_path / "outbox.jsonl")) == 1


@pytest.mark.parametrize(
    "address",
    [
        "bob",
        "bob@",
        "@example.com",
        "bob@localhost",
        "a@b@example.com",
        "Bob <bob@example.com>",
        "a@b.c, d@e.f",
        "b\nob@e.f",
    ],
)
def test_what_is_not_one_address_is_refused_before_anyone_is_asked(tmp_path: Path, address: str):
    with pytest.raises(ValidationError, match="one address"):
        demo_mail(tmp_path / "outbox.jsonl").prepare({**MAIL, "to": address})


def test_a_subject_is_one_line(tmp_path: Path):
    with pytest.raises(ValidationError, match="one line"):
        demo_mail(tmp_path / "outbox.jsonl").prepare({**MAIL, "subject": "a\nBcc: eve@example.com"})


def test_the_recipient_is_what_a_grant_is_about(tmp_path: Path):
    tool = demo_mail(tmp_path / "outbox.jsonl")
    prepared = tool.prepare({**MAIL, "to": " Bob@Example.com "})
    assert tool.subjects(prepared) == frozenset({"bob@example.com"})
    assert "bob@example.com" in tool.preview(prepared)
