"""What a tool may do while its outcome is being looked up: look, and nothing else. Nothing is at work then."""

from collections.abc import Collection
from typing import Final

from pollux.core.errors import ToolExecutionError
from pollux.core.messages import JSON
from pollux.core.tools import Answered, Reach


class _NotNow:
    async def note(self, value: JSON) -> None:
        raise ToolExecutionError("an action is not under way while its outcome is being looked up")

    def tell(self, text: str, *, stream: str = "stdout") -> None:
        pass

    async def ask(self, tool: str, args: dict[str, JSON], capabilities: Collection[str]) -> Answered:
        raise ToolExecutionError("a look at an outcome asks for nothing")

    async def objection(self, tool: str, args: dict[str, JSON]) -> str:
        raise ToolExecutionError("a look at an outcome does nothing else")

    async def observe(self, tool: str, title: str, status: str) -> None:
        raise ToolExecutionError("a look at an outcome observes nothing")


NOT_NOW: Final[Reach] = _NotNow()
