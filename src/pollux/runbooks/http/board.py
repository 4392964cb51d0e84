"""How far each block has come, read off what has been told. The stream and this tell the same, from one source."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import convert

from pollux.core.errors import NotFound
from pollux.core.events import ActionHandedOver
from pollux.core.ids import Instant, RunId
from pollux.core.run import Run
from pollux.engine.ports import Recorded
from pollux.engine.queries import Queries
from pollux.runbooks.http.lines import PendingTool, TokenUsage
from pollux.runbooks.http.shapes import AgentProgress, BlockState
from pollux.runbooks.progress import Types
from pollux.runbooks.rules import PROFILE
from pollux.runbooks.told import BlockTeller, ChildTeller, Told


@dataclass
class Place:
    """What is known of one block."""

    state: BlockState = "pending"
    outputs: list[str] = field(default_factory=list[str])
    code: str = ""
    error: str = ""
    seconds: float | None = None
    started_at: Instant | None = None
    agent: AgentProgress | None = None


class Board:
    """Folds what is told of a document's runs, one after another."""

    def __init__(self) -> None:
        self.places: dict[str, Place] = {}

    def read(self, told: Told) -> None:
        data: dict[str, Any] = told["data"]
        if "within" in data or "blockId" not in data:
            # Of a runbook inside this one: here it is one block.
            return
        place = self.places.setdefault(data["blockId"], Place())
        match told["type"]:
            case "blockApprovalRequired":
                self.places[data["blockId"]] = Place("waiting")
            case "blockApprovalResponse" if data["approved"]:
                place.state = "running"
            case "blockStarted":
                self.places[data["blockId"]] = Place("running", started_at=data["startedAt"])
            case "blockFinished":
                place.state = "done" if data["success"] else "failed"
                place.outputs = sorted(data["object"])
                place.code, place.error, place.seconds = data["code"], data["error"], data["seconds"]
            case "agentStateChanged":
                state = data["state"]
                told_usage, pending = state["tokenUsage"], state["pendingToolCall"]
                usage = convert(told_usage, TokenUsage) if told_usage else None
                place.agent = AgentProgress(
                    status=state["status"],
                    token_usage=usage,
                    pending_tool_call=convert(pending, PendingTool) if pending else None,
                    input_tokens=usage.input_tokens if usage else None,
                    output_tokens=usage.output_tokens if usage else None,
                )
            case _:
                pass


class Journals:
    """The journals of runs, each as far as the run was seen: what has happened since is not told beside it."""

    def __init__(self, queries: Queries, seen: Mapping[RunId, Run]) -> None:
        self._queries = queries
        self._seen = seen

    async def of(self, run_id: RunId) -> Sequence[Recorded]:
        """Raises NotFound."""
        records = await self._queries.journal(run_id)
        seen = self._seen.get(run_id)
        return records if seen is None else records[: seen.version]

    async def run(self, run_id: RunId) -> Run:
        """Raises NotFound."""
        return self._seen.get(run_id) or await self._queries.run(run_id)

    def child_of(self, action_id: str) -> RunId:
        return self._queries.child_of(action_id)


async def told_of(journals: Journals, types: Types, run_id: RunId) -> AsyncIterator[Told]:
    """What the journals of a run and of its agents tell, without what was only shown."""
    teller = BlockTeller(types)
    for record in await journals.of(run_id):
        for told in teller.read(record):
            yield told
        if isinstance(record.event, ActionHandedOver):
            async for told in _told_of_agent(journals, record.event.action_id, teller):
                yield told


async def _told_of_agent(journals: Journals, action_id: str, teller: BlockTeller) -> AsyncIterator[Told]:
    action = teller.run.action(action_id) if teller.run else None
    child_id = journals.child_of(action_id)
    try:
        if action is None or (await journals.run(child_id)).profile == PROFILE:
            return
        journal = await journals.of(child_id)
    except NotFound:
        # It has not begun, or its words were erased.
        return
    child = ChildTeller(action.call.id, teller.runbook)
    for record in journal:
        for told in teller.heard(child, record):
            yield told
