"""What a tool at work may do beside returning: note how far it came, tell, ask for another call, say what it saw.

A call that a tool asks for is one of the same run, decided by the same gate and answered by the same people. It lives
as long as the action that asked: when that one ends or is interrupted, a question still open is withdrawn.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from pollux.core.errors import ValidationError
from pollux.core.events import ActionDecided, ActionNoted, Event, ToolObserved
from pollux.core.frozen import frozen
from pollux.core.ids import ActionId
from pollux.core.messages import JSON, CallFacts, ToolCall
from pollux.core.run import Action, Run, asked_id
from pollux.core.tools import Answered
from pollux.engine import gate as gates
from pollux.engine.feed import Feed
from pollux.engine.ledger import Facts, Ledger
from pollux.engine.perform import plain


@frozen
class AtWork:
    """One attempt at an action, and what it may reach."""

    ledger: Ledger
    gate: gates.Gate
    feed: Feed
    action: Action

    async def note(self, value: JSON) -> None:
        # Patient: what cannot be written is waited for, and until then the tool does not go on.
        epoch, attempt = self._attempt
        note = plain(value)
        at = self.gate.clock.now()
        await self._record(_just(ActionNoted(epoch=epoch, action_id=self.action.id, attempt=attempt, note=note, at=at)))

    def tell(self, text: str, *, stream: str = "stdout") -> None:
        self.feed.tell(self.action.id, stream, text)

    async def observe(self, tool: str, title: str, status: str) -> None:
        epoch, _ = self._attempt
        seen = ToolObserved(
            epoch=epoch, action_id=self.action.id, tool=tool, title=title, status=status, at=self.gate.clock.now()
        )
        await self._record(_just(seen))

    async def ask(self, tool: str, args: dict[str, JSON], capabilities: Collection[str]) -> Answered:
        if tool not in self.gate.profile_of(self.feed.run).tools:
            # Nobody is asked about what could not be run anyway.
            raise ValidationError(f"there is no tool {tool!r} that could be asked for here")
        own = self.action.call.facts
        facts_of_call = CallFacts(capabilities=tuple(sorted(capabilities)), places=own.places if own else ())
        known = facts_of_call if facts_of_call != CallFacts() else None
        prepared = self.gate.toolbox.prepare(tool, args, known)
        epoch, _ = self._attempt
        decided: list[ActionId] = []

        async def facts(run: Run) -> Sequence[Event]:
            terms = await self.gate.terms_for(run)
            asker = run.action(self.action.id) or self.action
            id_ = asked_id(asker.id, asker.asked + 1)
            call = ToolCall(f"{asker.call.id}-{asker.asked + 1}", tool, args, facts=known)
            action = gates.plan(run, call, prepared, terms, id=id_, asker=asker.id)
            decided[:] = [id_]
            return [ActionDecided(epoch=epoch, action=action, at=terms.now)]

        await self._record(facts)
        return await self._answer(decided[0])

    async def objection(self, tool: str, args: dict[str, JSON]) -> str:
        if tool not in self.gate.profile_of(self.feed.run).tools:
            return f"there is no tool {tool!r} here"
        try:
            prepared = self.gate.toolbox.prepare(tool, args, self.action.call.facts)
        except ValidationError as problem:
            return str(problem)
        run = self.feed.run
        own = run.action(self.action.id) or self.action
        # The same facts: whatever the call was made of, this one is too.
        call = replace(own.call, name=tool, args=args)
        planned = gates.plan(run, call, prepared, await self.gate.terms_for(run), id=own.id, asker=own.asker)
        decision = planned.decision
        assert decision is not None and own.decision is not None
        was_asked = own.approval is not None and own.approval.status == "approved"
        is_approved = decision.mode == "require_approval" and was_asked and decision.rule == own.decision.rule
        return "" if decision.mode == "allow" or is_approved else decision.reason

    async def _answer(self, action_id: ActionId) -> Answered:
        feed = self.feed
        while True:
            action = feed.run.action(action_id)
            assert action is not None
            if outcome := action.outcome:
                return Answered(outcome.status, outcome.result, outcome.code, outcome.message)
            await feed.wait_moved(feed.run.version)

    @property
    def _attempt(self) -> tuple[int, int]:
        assert self.action.started is not None
        return self.action.started.epoch, self.action.started.attempt

    async def _record(self, facts: Facts) -> None:
        await self.ledger.append(self.feed, facts, gates.Followed(self.gate), patient=True)


def _just(event: Event) -> Facts:
    async def facts(_: Run) -> Sequence[Event]:
        return (event,)

    return facts
