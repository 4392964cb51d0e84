"""A tool around another: everything is the inner one's, unless somebody says otherwise."""

from copy import copy
from functools import partial
from typing import Any, Self

from pollux.core.messages import JSON, CallFacts
from pollux.core.tools import Informed, Personal, Reconciled, Tool, ToolContext
from pollux.engine.definitions import functions_of


class Around:
    """Hands everything on. Made to be changed in one place."""

    def __init__(self, inner: Tool) -> None:
        self.spec = inner.spec
        self._inner = inner
        if isinstance(inner, Personal):
            # Handed on only where there is something to: having them is what makes a tool depend on its user.
            self.is_offered = inner.is_offered
            self.admit = inner.admit
        if isinstance(inner, Informed):
            self.informed = partial(self._around, inner)
            self.unaccepted = inner.unaccepted

    def _around(self, inner: Informed, facts: CallFacts) -> Self:
        again = copy(self)
        Around.__init__(again, inner.informed(facts))
        return again

    def prepare(self, args: dict[str, JSON]) -> dict[str, JSON]:
        return self._inner.prepare(args)

    def subjects(self, args: dict[str, JSON]) -> frozenset[str]:
        return self._inner.subjects(args)

    def preview(self, args: dict[str, JSON]) -> str:
        return self._inner.preview(args)

    async def run(self, context: ToolContext, args: dict[str, JSON]) -> Any:
        return await self._inner.run(context, args)

    async def reconcile(self, context: ToolContext, args: dict[str, JSON]) -> Reconciled:
        return await self._inner.reconcile(context, args)

    def functions(self) -> tuple[object, ...]:
        return tuple(functions_of(self._inner))
