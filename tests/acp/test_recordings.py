"""Conversations that were recorded with real agents come to the same answers here."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.acp.agents.recorded import OPENS, Entry, around_prompt, method_of, stretches
from tests.acp.talking import AGENTS, ALL, Notes
from tests.waiting import HANG_SECONDS

from pollux.acp import AgentCommand, AgentFailed, Answer, Decision, Limits, PermissionRequest, converse

TRAFFIC = Path(__file__).parents[2].with_name("shared") / "samples/acp-traffic"
RECORDED = [
    (path.name, number)
    for path in sorted(TRAFFIC.glob("*.jsonl"))
    for number in range(sum(method_of(stretch) == "session/prompt" for stretch in stretches(path)))
]

pytestmark = pytest.mark.skipif(not RECORDED, reason=f"{TRAFFIC} is not there")


@pytest.mark.parametrize(("name", "number"), RECORDED or [("", 0)])
async def test_a_recorded_prompt_has_the_recorded_answer(name: str, number: int):
    start, opened, stretch = around_prompt(TRAFFIC / name, number)
    [reply] = [entry["msg"] for entry in stretch[1:] if is_answer(entry, stretch[0])] or [dict[str, Any]()]
    client = Decided(stretch)
    call = asyncio.create_task(talked(TRAFFIC / name, number, opened, client))
    if any(entry["msg"].get("method") == "session/cancel" for entry in stretch):
        # As soon as it is at work.
        await asyncio.wait_for(client.started.wait(), HANG_SECONDS)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    elif "error" in reply or any("error" in entry["msg"] for entry in opened if is_answer(entry, opened[0])):
        with pytest.raises(AgentFailed) as caught:
            await call
        assert caught.value.kind == "refused", caught.value.stderr
    else:
        answer = await call
        assert answer.text == text_of(stretch)
        assert answer.stop_reason == reply["result"]["stopReason"]
        assert answer.agent_name == start[1]["msg"]["result"].get("agentInfo", {}).get("name", "")
        meta: dict[str, Any] = reply["result"].get("_meta", {"quota": {"token_count": {}}})
        counted: dict[str, int] = meta["quota"]["token_count"]
        told = (answer.usage.input_tokens, answer.usage.output_tokens) if answer.usage else (None, None)
        assert told == (counted.get("input_tokens"), counted.get("output_tokens"))
        asked = {entry["msg"]["params"]["toolCall"]["toolCallId"] for entry in permissions(stretch)}
        assert {call.id for call in answer.tool_calls if call.asked} == asked


class Decided(Notes):
    """Decides as was decided then."""

    def __init__(self, stretch: list[Entry]) -> None:
        super().__init__()
        self._left: list[Decision | None] = [decision_on(entry["msg"], stretch) for entry in permissions(stretch)]
        self.started = asyncio.Event()

    async def permission(self, request: PermissionRequest) -> Decision:
        self.decision = self._left.pop(0)
        self.started.set()
        return await super().permission(request)

    async def update(self, update: Any) -> None:
        await super().update(update)
        self.started.set()


async def talked(path: Path, number: int, opened: list[Entry], client: Notes) -> Answer:
    command = AgentCommand((sys.executable, str(AGENTS / "recorded.py"), str(path), str(number)), {}, "/")
    params = opened[0]["msg"]["params"]
    assert method_of(opened) in OPENS
    limits = Limits(replay_quiet_seconds=0.3)
    return await converse(
        command,
        prompt="hi",
        client=client,
        capabilities=ALL,
        load=params.get("sessionId"),
        timeout=HANG_SECONDS,
        limits=limits,
    )


def is_answer(entry: Entry, asked: Entry) -> bool:
    message = entry["msg"]
    return entry["dir"] == "agent->client" and "method" not in message and message["id"] == asked["msg"]["id"]


def permissions(stretch: list[Entry]) -> list[Entry]:
    return [entry for entry in stretch if entry["msg"].get("method") == "session/request_permission"]


def decision_on(request: dict[str, Any], stretch: list[Entry]) -> Decision | None:
    """None where nobody decided before it was cancelled."""
    kinds = {option["optionId"]: option["kind"] for option in request["params"]["options"]}
    is_over = False
    for entry in stretch:
        is_over = is_over or entry["msg"].get("method") == "session/cancel"
        if entry["dir"] == "client->agent" and entry["msg"].get("id") == request["id"] and "method" not in entry["msg"]:
            outcome = entry["msg"]["result"]["outcome"]
            return None if is_over else kinds.get(outcome.get("optionId"), "cancelled")
    return None


def text_of(stretch: list[Entry]) -> str:
    updates = [entry["msg"]["params"]["update"] for entry in stretch if entry["msg"].get("method") == "session/update"]
    return "".join(each["content"]["text"] for each in updates if each["sessionUpdate"] == "agent_message_chunk")
