"""What was allowed for good in one folder is asked about in another: the same words mean other files there."""

from pathlib import Path

import pytest
from tests.sdk.conftest import Bench

from pollux import Approve, files, shell
from pollux.sdk.events import ApprovalRequired
from pollux.testing import call, reply

CALLS = [
    call("shell", {"command": "make"}),
    call("shell", {"command": "sh go.sh"}),
    call("write_file", {"path": "notes.txt", "content": "x"}),
]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("POLLUX_HOME", str(tmp_path / "alone" / "home"))
    (tmp_path / "alone" / "home").mkdir(parents=True)
    return Bench(tmp_path)


@pytest.mark.parametrize("wanted", CALLS)
async def test_always_counts_in_the_folder_it_was_said_for(wanted: object, bench: Bench):
    other = bench.path / "cloned"
    other.mkdir()
    asked: list[str] = []

    def on_approval(question: ApprovalRequired) -> Approve:
        asked.append(question.tool)
        return Approve(always=True)

    for cwd, questions in ((bench.cwd, 1), (bench.cwd, 1), (other, 2)):
        steps = (wanted, reply("ok"))
        async with bench.agent(*steps, tools=[shell, files], cwd=cwd, on_approval=on_approval, sandbox="off") as agent:
            await agent.send("?")
        assert len(asked) == questions


async def test_a_link_that_leads_elsewhere_by_now_is_another_folder(bench: Bench):
    place = bench.path / "linked"
    for target in ("first", "second"):
        (bench.path / target).mkdir()
    asked: list[str] = []

    def on_approval(question: ApprovalRequired) -> Approve:
        asked.append(question.tool)
        return Approve(always=True)

    for target in ("first", "first", "second"):
        place.unlink(missing_ok=True)
        place.symlink_to(bench.path / target)
        async with bench.agent(CALLS[2], reply("ok"), tools=[files], cwd=place, on_approval=on_approval) as agent:
            await agent.send("?")
    assert len(asked) == 2
