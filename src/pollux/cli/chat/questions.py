"""Questions to the person: what would run, exactly as it is stored, one at a time, and no by default."""

import asyncio
from collections.abc import Callable

from pollux.cli.asking import answer_of, described, prompt_of
from pollux.cli.chat.keys import Interrupted, Keys
from pollux.cli.chat.screen import Screen
from pollux.sdk.approvals import Answer
from pollux.sdk.events import ApprovalRequired


class Questions:
    """Puts what needs approval to whoever sits there."""

    def __init__(self, keys: Keys, screen: Screen, stop: Callable[[], None]) -> None:
        self._keys = keys
        self._screen = screen
        self._stop = stop
        self.at_rest = asyncio.Lock()
        """Held while a question is on the screen: nothing else may be drawn there."""

    async def ask(self, question: ApprovalRequired) -> Answer:
        """The person's answer. Anything but a yes is a no; Ctrl-C stops the whole answer."""
        async with self.at_rest:
            self._screen.fold(described(question))
            try:
                word = await self._keys.ask(prompt_of(question))
            except Interrupted:
                self._stop()
                return None
            self._screen.wait(question.tool)
            return answer_of(word or "")
