"""A model that says what the test tells it to, and fails the test when it is asked too often or not often enough."""

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

from pollux.engine.model import ModelEvent, ModelRequest
from pollux.providers.scripted import ScriptedProvider, Step


class ScriptedModel(ScriptedProvider):
    """Plays its steps in order. Use as `with scripted(...) as model`, and what was not played fails the block.

    A step too many fails the run that asked for it, as a broken model would; leaving the block tells it again, so that
    code which swallows the failure does not hide it.
    """

    def __init__(self, *steps: Step) -> None:
        super().__init__(*steps)
        self._surplus: AssertionError | None = None

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        try:
            async for event in super().stream(request):
                yield event
        except AssertionError as surplus:
            self._surplus = surplus
            raise

    def check(self) -> None:
        """Raises AssertionError unless exactly the steps that there are were asked for."""
        if self._surplus is not None:
            raise self._surplus
        self.assert_exhausted()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A test that has failed already has said what matters.
        if error is None:
            self.check()


def scripted(*steps: Step) -> ScriptedModel:
    """A model for `Agent(model=...)` that answers with these steps."""
    return ScriptedModel(*steps)
