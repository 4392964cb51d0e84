"""What is typed at the demo: in a line editor at a terminal, else as lines of a pipe."""

from pathlib import Path
from typing import Final

from pollux.cli.asking import has_terminal
from pollux.cli.lines import Lines, StandardInput

PROMPT: Final = "you> "
LEAVING: Final = ("quit", "exit")


class Typed:
    """A person's words from the chat's own line editor: arrows, history and Ctrl-C as there."""

    def __init__(self, home: Path) -> None:
        # It takes a while to import, and a pipe needs none of it.
        from pollux.cli.chat.editor import Keyboard

        self._keys = Keyboard(home / "history", LEAVING, lambda text: text, prompt=PROMPT)

    async def next(self, prompt: str) -> str | None:
        """The next line, or None when there are no more. Raises Interrupted."""
        if not prompt.endswith(PROMPT):
            return await self._keys.ask(prompt)
        print(prompt.removesuffix(PROMPT), end="", flush=True)
        return await self._keys.prompt()

    def forget(self) -> None:
        """A question drops what was typed before it by itself."""


def lines_of(home: Path) -> Lines:
    """Where the words come from."""
    return Typed(home) if has_terminal() else StandardInput()
