"""A document as a provider: it "replies" with its next block as a call, and with a few words at its end.

What comes next is worked out from the run's messages alone, so a run that was killed anywhere goes on where it was.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Final

from pollux.bootstrap import Opened
from pollux.core.errors import ModelError, PolluxError
from pollux.core.messages import NO_USAGE, CallFacts, Message, Text, ToolCall
from pollux.engine.model import Done, ModelEvent, ModelInfo, ModelRequest, Provider
from pollux.runbooks.documents import place_of
from pollux.runbooks.made_from import all_labels_of, labels_of
from pollux.runbooks.progress import Progress, Types, progress_of

MODEL: Final = "runbook"
"""The name under which a run asks the document for its next block."""


class DocumentProvider:
    """Replies for every runbook's run: the document is in the run's own first message."""

    name = MODEL

    def __init__(self, types: Types) -> None:
        self._types = types

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """The next block as a call. Raises ModelError where a block has failed or cannot be called."""
        try:
            # In a thread: a template may take a moment, and everybody else's runs go on meanwhile.
            message = await asyncio.to_thread(_reply, list(request.turns), self._types)
        except PolluxError as problem:
            raise ModelError(str(problem), kind="block") from problem
        yield Done("tool_calls" if message.calls else "end", message, NO_USAGE)

    async def count_tokens(self, request: ModelRequest) -> int:
        return 0

    async def models(self) -> tuple[ModelInfo, ...]:
        return ()

    async def close(self) -> None:
        """Nothing is open."""


class WithDocuments:
    """The providers of models, and beside them the one that reads documents."""

    def __init__(self, documents: DocumentProvider, others: Opened) -> None:
        self._documents = documents
        self._others = others

    def __call__(self, model: str) -> Provider:
        return self._documents if model == MODEL else self._others(model)

    async def close(self) -> None:
        await self._others.close()


def _reply(turns: list[Message], types: Types) -> Message:
    progress = progress_of(turns, types)
    if failed := progress.failure:
        raise PolluxError(f"a block failed: {failed.problem} {place_of(failed.block)}")
    block = progress.following
    if block is None:
        words = _exported_words(progress) if progress.opening.exports else _closing_words(progress)
        return Message("assistant", (Text(words),))
    call = types[block.type].call(block, progress.scene)
    facts = CallFacts(
        labels_of(call.sources, progress.runbook),
        labels_of(call.placed_by, progress.runbook),
        accepted=call.accepted,
        made_from=call.made_from,
        places=call.places,
    )
    known = facts if facts != CallFacts() else None
    return Message("assistant", (ToolCall(block.id, call.tool, dict(call.args), facts=known),))


def _exported_words(progress: Progress) -> str:
    """What the runbook around it takes over, what that was made from, and whether a person had accepted it."""
    scene = progress.scene
    sources = all_labels_of(scene.env_sources, scene.runbook)
    return json.dumps({"env": dict(scene.env), "sources": sources, "trusted": progress.opening.is_trusted})


def _closing_words(progress: Progress) -> str:
    passed = sum(1 for step in progress.steps if step.passed_over)
    done = len(progress.steps) - passed
    words = f"{progress.runbook.name or 'The runbook'}: {done} block{'' if done == 1 else 's'} done"
    return f"{words}, {passed} passed over." if passed else f"{words}."
