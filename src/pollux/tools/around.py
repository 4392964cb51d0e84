"""A tool around another: everything is the inner one's, unless somebody says otherwise."""

from typing import Any

from pollux.core.messages import JSON
from pollux.core.tools import Personal, Reconciled, Tool, ToolContext
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
