"""A run as its author sees it: the engine's facts and deltas in, typed events out, each told once.

The run is folded here from what was watched, so what is told is exactly what the journal says, also when a stream joins
a run half way. What is told is a copy: who writes into an event changes neither what runs nor what the model reads.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from decimal import Decimal

from pollux.core.events import (
    ActionStarted,
    HistoryCompressed,
    ModelReplied,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStarted,
)
from pollux.core.machine import pending, step
from pollux.core.messages import Thought, Usage
from pollux.core.run import Action, Run
from pollux.engine.feed import Delta, Item
from pollux.engine.feed import TurnRestarted as Restarted
from pollux.engine.ports import Recorded
from pollux.sdk import events

Cost = Callable[[str, Usage], Decimal | None]
"""What the tokens of one model call cost in US dollars; None where nobody knows."""


class Translation:
    """Turns what happens to one run into what a stream yields."""

    def __init__(self, cost: Cost, *, with_starts: bool = False) -> None:
        self.run: Run | None = None
        self._cost = cost
        self._with_starts = with_starts
        self._spent: Decimal | None = Decimal()
        self._shown = {"text": 0, "thought": 0}
        """How much of the open turn has been told."""
        self._answered: set[str] = set()
        self._asked: set[str] = set()
        self._past = 0

    @property
    def is_over(self) -> bool:
        return self.run is not None and self.run.ending is not None

    @property
    def is_waiting(self) -> bool:
        """Whether only people can move the run."""
        return self.run is not None and bool(self.run.approvals) and not pending(self.run)

    def read(self, item: Item) -> Iterator[events.AgentEvent]:
        """What this item tells."""
        if isinstance(item, Recorded):
            yield from self._read_fact(item)
        elif isinstance(item, Delta):
            self._shown[item.kind] += len(item.text)
            yield events.Content(item.text) if item.kind == "text" else events.Thought(item.text)
        elif isinstance(item, Restarted):
            yield from self._restart(item)

    def finished(self) -> events.Finished:
        """The last word, also about a run that goes on without this stream."""
        assert self.run is not None
        reason = self.run.ending.status if self.run.ending else "awaiting_confirmation"
        return events.Finished(reason, self.run.usage, self._total_cost, **self.run.finish)

    def _restart(self, item: Restarted) -> Iterator[events.AgentEvent]:
        if any(self._shown.values()):
            self._shown = {"text": 0, "thought": 0}
            yield events.TurnRestarted()

    def _read_fact(self, record: Recorded) -> Iterator[events.AgentEvent]:
        event = record.event
        run = self.run = step(self.run, event)
        match event:
            case RunStarted():
                yield events.ModelInfo(run.model, run.thread_id, run.id)
            case ModelReplied():
                yield from self._read_reply(run, event)
            case ActionStarted(action_id=action_id):
                yield from self._read_start(run, action_id)
            case HistoryCompressed():
                self._charge(run, event.usage)
                yield events.ChatCompressed(event.tokens_before, event.tokens_after, event.status)
            case _:
                pass
        yield from self._read_actions(run)
        match event:
            case RunFailed(code=code, message=message):
                yield events.Failure(code, message)
                yield self.finished()
            case RunCompleted() | RunCancelled():
                yield self.finished()
            case _:
                pass

    def _read_start(self, run: Run, action_id: str) -> Iterator[events.ToolCallStarted]:
        action = run.action(action_id)
        if self._with_starts and action is not None:
            yield events.ToolCallStarted(action.call.id, action.call.name)

    def _read_reply(self, run: Run, event: ModelReplied) -> Iterator[events.AgentEvent]:
        if run.turn == event.turn and run.attempt > event.attempt:
            # This answer was none: its words are not the run's, and whoever saw them was told to drop them.
            yield self._used(run, event.usage)
            return
        # What was not streamed, or was streamed before anybody watched, is told now.
        thought = "".join(part.text for part in event.message.parts if isinstance(part, Thought))
        if rest := thought[self._shown["thought"] :]:
            yield events.Thought(rest)
        if rest := event.message.text[self._shown["text"] :]:
            yield events.Content(rest)
        self._shown = {"text": 0, "thought": 0}
        for call in event.message.calls:
            yield events.ToolCallRequest(call.id, call.name, deepcopy(call.args))
        yield self._used(run, event.usage)

    def _used(self, run: Run, usage: Usage) -> events.UsageUpdate:
        call_cost = self._charge(run, usage)
        return events.UsageUpdate(usage, run.usage, self._total_cost, call_cost)

    @property
    def _total_cost(self) -> float | None:
        return None if self._spent is None else float(self._spent)

    def _charge(self, run: Run, usage: Usage) -> float | None:
        """What this call cost. Call by call, since large ones may have another price."""
        cost = self._cost(run.model, usage)
        self._spent = None if cost is None or self._spent is None else self._spent + cost
        return None if cost is None else float(cost)

    def _read_actions(self, run: Run) -> Iterator[events.AgentEvent]:
        for action in (*run.done[self._past :], *run.open):
            if action.outcome and action.id not in self._answered and action.outcome.code != "superseded":
                self._answered.add(action.id)
                yield _response(action)
            if action.is_asked and action.id not in self._asked:
                self._asked.add(action.id)
                yield question(action)
        self._past = len(run.done)


def question(action: Action) -> events.ApprovalRequired:
    """The question about an action that waits for a person."""
    assert action.approval is not None
    return events.ApprovalRequired(
        id=action.approval.id,
        call_id=action.call.id,
        tool=action.tool,
        args=deepcopy(action.args),
        args_hash=action.args_hash,
        reason=action.approval.reason,
        preview=action.preview,
        expires_at=action.approval.expires_at,
        subjects=action.subjects,
        provenance=action.provenance,
        scopes=action.approval.scopes,
    )


def _response(action: Action) -> events.ToolCallResponse:
    outcome = action.outcome
    assert outcome is not None
    result = deepcopy(outcome.result)
    if outcome.status == "completed":
        return events.ToolCallResponse(action.call.id, action.call.name, result)
    return events.ToolCallResponse(
        action.call.id, action.call.name, result, outcome.message or outcome.code, outcome.code
    )
