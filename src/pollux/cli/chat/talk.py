"""The conversation: words in, answers out, and every way to stop an answer or to leave."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from dataclasses import replace
from typing import Final

from pollux._version import __version__
from pollux.cli.asking import has_terminal
from pollux.cli.chat.asked import Asked
from pollux.cli.chat.commands import COMMANDS, Commands, command_of
from pollux.cli.chat.conversation import Conversation
from pollux.cli.chat.keys import Interrupted, Keys, Piped
from pollux.cli.chat.questions import Questions
from pollux.cli.chat.screen import Screen
from pollux.cli.chat.telling import tell
from pollux.cli.masking import Mask
from pollux.cli.shown import shown
from pollux.cli.telling import tell_of_bare_commands
from pollux.core.errors import PolluxError
from pollux.sdk import events
from pollux.signals import on_signals

WAITING: Final = 3
NOTHING_OPEN: Final = "nothing_open"
UNATTENDED_SECONDS: Final = 600.0
"""How long an answer may take where nobody is there to stop it."""


def talk(asked: Asked) -> int:
    """Until the person leaves, or there are no more lines; the result is the exit code."""
    is_attended = has_terminal()
    mask = Mask(asked.settings.secrets())
    tell_of_bare_commands(mask)
    screen = Screen(mask, spins=is_attended and not asked.debug)
    if is_attended:
        from pollux.cli.chat.editor import Keyboard

        keys: Keys = Keyboard(asked.settings.home / "history", COMMANDS, mask.text)
    else:
        keys = Piped()
        asked = replace(asked, timeout=asked.timeout or UNATTENDED_SECONDS)
    try:
        return asyncio.run(Talk(asked, keys, screen, is_attended=is_attended).run())
    except OSError as problem:
        if isinstance(problem, BrokenPipeError) or problem.filename is not None:
            raise
        # What could not be written is still in the buffer, and Python would try once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise PolluxError(f"standard output cannot be written ({problem.strerror})", code="output") from problem


class Talk:
    """One person at one terminal; or a pipe, and nobody."""

    def __init__(self, asked: Asked, keys: Keys, screen: Screen, *, is_attended: bool) -> None:
        self._keys = keys
        self._screen = screen
        self._is_attended = is_attended
        self._questions = Questions(keys, screen, self._stop)
        self._conversation = Conversation(asked, self._questions.ask if is_attended else None)
        self._commands = Commands(self._conversation)
        self._at_work: asyncio.Task[int] | None = None
        self._signal: signal.Signals | None = None

    async def run(self) -> int:
        self._heed_signals()
        try:
            await self._conversation.open()
            return await self._talk()
        except asyncio.CancelledError:
            if self._signal is None:
                raise
            return 128 + self._signal
        finally:
            self._screen.rest()
            await self._conversation.close()

    async def _talk(self) -> int:
        if self._is_attended:
            self._screen.note(f"Pollux {__version__}, {self._conversation.model}. /help says what can be typed here.")
        code = await self._take_up()
        while code != WAITING and (words := await self._next_words()) is not None:
            if (command := command_of(words)) is not None:
                if command[0] == "quit":
                    break
                code = await self._obey(*command)
            elif words.strip():
                code = await self._answer(self._conversation.agent.send_stream(words))
        if self._is_attended and self._conversation.has_begun:
            self._screen.note(f"`pollux chat --session {self._conversation.agent.session_id}` goes on here.")
        if self._signal is not None:
            return 128 + self._signal
        return 0 if self._is_attended else code

    async def _next_words(self) -> str | None:
        """What is typed next. Ctrl-C clears the line, and leaves when there was nothing to clear, twice."""
        was_interrupted = False
        while True:
            if self._is_attended:
                self._screen.note("")
            try:
                return await self._keys.prompt()
            except Interrupted as interrupted:
                if was_interrupted and not interrupted.had_text:
                    self._signal = signal.SIGINT
                    return None
                was_interrupted = True
                self._screen.note("(Ctrl-C again leaves, and so does Ctrl-D)")

    async def _obey(self, name: str, rest: str) -> int:
        before = self._conversation.agent.session_id
        code = await self._stoppable(self._run_command(name, rest))
        has_moved = name == "sessions" and self._conversation.agent.session_id != before
        return await self._take_up() if has_moved else code

    async def _run_command(self, name: str, rest: str) -> int:
        self._screen.tell(await self._commands.run(name, rest))
        return 0

    async def _take_up(self) -> int:
        """Go on with what the session left open: an answer that was interrupted, or waits for a person."""
        return await self._answer(self._conversation.agent.resume_stream()) if self._conversation.has_begun else 0

    async def _answer(self, stream: AsyncGenerator[events.AgentEvent]) -> int:
        self._screen.wait("waiting")
        return await self._stoppable(self._follow(stream))

    async def _stoppable(self, work: Coroutine[None, None, int]) -> int:
        """Do it until it is done, fails or is stopped. The chat goes on whichever it is."""
        self._at_work = asyncio.create_task(work)
        try:
            return await self._at_work
        except asyncio.CancelledError:
            main = asyncio.current_task()
            if main is None or main.cancelling():
                raise
            self._screen.note("  (stopped)")
            return 1
        except PolluxError as problem:
            if problem.code == NOTHING_OPEN:
                return 0
            self._screen.note(f"pollux: {shown(str(problem))}")
            return 1
        finally:
            self._at_work = None
            self._screen.end_answer()

    async def _follow(self, stream: AsyncGenerator[events.AgentEvent]) -> int:
        code, is_summarised = 1, False
        async with aclosing(stream):
            async for event in stream:
                async with self._questions.at_rest:
                    tell(event, self._screen, is_attended=self._is_attended)
                match event:
                    case events.ModelInfo():
                        self._conversation.has_begun = True
                    case events.ChatCompressed():
                        is_summarised = True
                    case events.Finished(reason=reason):
                        code = {"completed": 0, "awaiting_confirmation": WAITING}.get(reason, 1)
                    case _:
                        pass
        if await self._conversation.summarised() and not is_summarised:
            self._screen.note("  (there was nothing to summarise yet)")
        return code

    def _stop(self) -> None:
        """Stop the answer, or what is being typed. With nobody there to go on, stop everything."""
        if not self._is_attended:
            self._leave(signal.SIGINT)
        elif self._at_work is not None:
            self._at_work.cancel()
        else:
            self._keys.interrupt()

    def _leave(self, number: signal.Signals) -> None:
        self._signal = number
        self._main.cancel()

    def _heed_signals(self) -> None:
        main = asyncio.current_task()
        assert main is not None
        self._main = main
        on_signals(lambda _: self._stop(), signal.SIGINT)
        on_signals(self._leave, signal.SIGTERM, signal.SIGHUP)
