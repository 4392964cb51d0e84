"""Where the person's words come from: a line editor at a terminal (`editor`), plain lines from a pipe."""

from typing import Protocol

from pollux.cli.lines import LineReader


class Interrupted(Exception):
    """Ctrl-C while somebody was to type. `had_text` tells whether there was anything to clear."""

    def __init__(self, *, had_text: bool = False) -> None:
        super().__init__()
        self.had_text = had_text


class Keys(Protocol):
    """Words, as they are typed."""

    async def prompt(self) -> str | None:
        """The next words, several lines where they belong together; None when there are no more. Raises Interrupted."""
        ...

    async def ask(self, question: str) -> str | None:
        """One line in answer to a question; None where there is nobody to give one. Raises Interrupted."""
        ...

    def interrupt(self) -> None:
        """As if Ctrl-C had been typed."""
        ...


class Piped:
    """Lines from a pipe, a file or /dev/null. A trailing backslash joins a line with the next."""

    def __init__(self, descriptor: int = 0) -> None:
        self._lines = LineReader(descriptor)

    async def prompt(self) -> str | None:
        lines: list[str] = []
        while (line := await self._lines.next()) is not None:
            if not line.endswith("\\"):
                return "\n".join([*lines, line])
            lines.append(line.removesuffix("\\"))
        return "\n".join(lines) if lines else None

    async def ask(self, question: str) -> str | None:
        return None

    def interrupt(self) -> None:
        pass
