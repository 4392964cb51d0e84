"""A line editor at the terminal. The only file that knows prompt_toolkit, which is imported with it.

It draws on standard error and never in colour, so that standard output is the answers and nothing else. At a question
nothing counts that was typed before the question was there to be read.
"""

import os
import sys
import termios
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import create_input
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.shortcuts import CompleteStyle
from prompt_toolkit.styles import Attrs

from pollux.cli.chat.keys import Interrupted
from pollux.cli.folding import Wrapping

PROMPT: Final = "> "
MORE: Final = ". "


class Keyboard:
    """Enter sends. Alt-Enter, or Enter after a backslash, begins a line; what is pasted keeps its lines."""

    def __init__(
        self, history: Path, commands: Iterable[str], clean: Callable[[str], str], *, prompt: str = PROMPT
    ) -> None:
        self._input = create_input(sys.stdin)
        shared: dict[str, Any] = {"input": self._input, "output": _output(), "reserve_space_for_menu": 0}
        self._prompt: PromptSession[str] = PromptSession(
            prompt,
            multiline=True,
            prompt_continuation=MORE,
            completer=_Commands(commands),
            complete_style=CompleteStyle.READLINE_LIKE,
            complete_while_typing=False,
            history=_history(history, clean),
            enable_suspend=True,
            key_bindings=_bindings(sends=True),
            **shared,
        )
        self._question: PromptSession[str] = PromptSession(key_bindings=_bindings(sends=False), **shared)

    async def prompt(self) -> str | None:
        try:
            return await self._prompt.prompt_async(handle_sigint=False)
        except EOFError:
            return None

    async def ask(self, question: str) -> str | None:
        self._forget_typed()
        wrapping = Wrapping(sys.stderr)
        try:
            return await self._question.prompt_async(wrapping.feed(question) + wrapping.finish(), handle_sigint=False)
        except EOFError:
            return None

    def interrupt(self) -> None:
        for session in (self._prompt, self._question):
            if session.app.is_running and not session.app.is_done:
                session.app.exit(exception=Interrupted(had_text=bool(session.default_buffer.text)))

    def _forget_typed(self) -> None:
        clear_typeahead(self._input)
        with suppress(termios.error):
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


class _Colourless(Vt100_Output):
    """Moves the cursor, and sets no attribute."""

    def set_attributes(self, attrs: Attrs, color_depth: ColorDepth) -> None:
        pass

    def reset_attributes(self) -> None:
        pass


class _Commands(Completer):
    """Completes the name of a command."""

    def __init__(self, commands: Iterable[str]) -> None:
        self._commands = sorted(commands)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        typed = document.text_before_cursor
        for name in self._commands:
            if typed and f"/{name}".startswith(typed):
                yield Completion(f"/{name}", start_position=-len(typed))


class _History(FileHistory):
    """Keeps what was sent, without the secrets that we know."""

    def __init__(self, path: Path, clean: Callable[[str], str]) -> None:
        super().__init__(path)
        self._clean = clean

    def store_string(self, string: str) -> None:
        # A full disk is no reason not to go on talking.
        with suppress(OSError):
            super().store_string(self._clean(string))


def _history(path: Path, clean: Callable[[str], str]) -> History:
    """The file's, readable by nobody else. Where it cannot be kept, what is typed is remembered until the end."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(opened, 0o600)
        finally:
            os.close(opened)
    except OSError:
        return InMemoryHistory()
    return _History(path, clean)


def _output() -> Vt100_Output:
    output = _Colourless.from_pty(sys.stderr, term=os.environ.get("TERM"), enable_bell=False)
    # A terminal that does not say where its cursor is would be told off, and one that answers late types into us.
    output.enable_cpr = False
    return output


def _bindings(*, sends: bool) -> KeyBindings:
    keys = KeyBindings()

    def interrupt(event: KeyPressEvent) -> None:
        event.app.exit(exception=Interrupted(had_text=bool(event.current_buffer.text)))

    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.is_cursor_at_the_end and buffer.text.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        else:
            buffer.validate_and_handle()

    def begin_line(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    keys.add("c-c")(interrupt)
    if sends:
        keys.add("enter")(enter)
        keys.add("escape", "enter")(begin_line)
    return keys
