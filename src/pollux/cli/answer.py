"""The part of `pollux run` that asks."""

import asyncio
import gc
import sys
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pollux.cli.masking import Mask
from pollux.cli.outlet import Outlet
from pollux.cli.telling import Telling, talk, tell
from pollux.config import Settings
from pollux.core.errors import PolluxError, SessionNotFound
from pollux.sdk.agent import Agent

if TYPE_CHECKING:
    from pollux.cli.run import Asked

LISTING_SECONDS = 10.0


class CliAgent(Agent):
    """An agent at this door, with the settings that the flags have made."""

    _door = "cli"

    def __init__(
        self, instructions: str = "", *, settings: Settings, obeyed: Path | None = None, **options: Any
    ) -> None:
        self._settings = settings
        self._obeyed = () if obeyed is None else (obeyed.absolute(),)
        super().__init__(instructions, **options)


def answer(asked: "Asked", outlet: Outlet) -> int:
    """Ask, and tell the answer on standard output; the result is the exit code."""
    mask = Mask(asked.settings.secrets())
    return tell(_Command(asked).run, format_=asked.format, outlet=outlet, mask=mask, timeout=asked.timeout)


class _Command:
    """One prompt on its way."""

    def __init__(self, asked: "Asked") -> None:
        self._asked = asked

    async def run(self, telling: Telling) -> None:
        asked = self._asked
        # Whatever may be a pipe is read under the deadline, by a thread that can be left behind.
        prompt = asked.prompt if asked.prompt != "-" else await _standard_input()
        agent = await self._agent(await _instructions(asked))
        try:
            if asked.debug:
                await _list_models(agent, telling.mask)
            telling.writer.begin(prompt)
            async with aclosing(agent.send_stream([prompt, *asked.attach])) as stream:
                async for event in stream:
                    await telling.read(event)
                    if not gc.isenabled():
                        # Off since the start (`pollux.cli`). What was imported until now will never be garbage.
                        gc.freeze()
                        gc.enable()
        finally:
            await agent.aclose()

    async def _agent(self, instructions: str) -> Agent:
        session = self._asked.session
        return self._made(instructions, await self._latest() if session == "latest" else session)

    def _made(self, instructions: str, session: str | None) -> Agent:
        from pollux.cli.allow import rules_for
        from pollux.cli.asking import Terminal, has_terminal
        from pollux.cli.profile import outfit_of, require_known_tools

        asked = self._asked
        outfit = outfit_of(asked.settings, asked.profile)
        allowed = rules_for(asked.allow)
        # Not the time-out, which is this command's own: a question may be answered tomorrow, and the run goes on then.
        limits = outfit.limits
        agent = CliAgent(
            "\n\n".join(filter(None, (outfit.instructions, instructions))),
            tools=outfit.tools,
            model=asked.model,
            cwd=asked.cwd,
            session_id=session,
            policy=[*outfit.rules, *allowed, *([asked.policy] if asked.policy else [])],
            on_approval=Terminal().ask if has_terminal() else "defer",
            limits=limits if asked.max_turns is None else replace(limits, model_calls=asked.max_turns),
            log_level="debug" if asked.debug else "error",
            settings=asked.settings,
            obeyed=asked.system_prompt_file,
        )
        require_known_tools(asked.allow, allowed, agent.tools)
        return agent

    async def _latest(self) -> str:
        agent = self._made("", None)
        try:
            listed = [info for info in await agent.list_sessions() if info.session_id and info.problem is None]
        finally:
            await agent.aclose()
        if not listed:
            raise SessionNotFound(f"there is no session of {self._asked.cwd} to go on with")
        return listed[0].session_id


async def _list_models(agent: Agent, mask: Mask) -> None:
    """For those who look for a mistake. That it fails is no reason not to ask."""
    try:
        async with asyncio.timeout(LISTING_SECONDS):
            for info in await agent.models():
                talk(mask, f"model {info.name}")
    except TimeoutError:
        talk(mask, "the models could not be listed (no answer in time)")
    except Exception as problem:  # noqa: BLE001  Whatever it is, it concerns nobody but those who look.
        talk(mask, f"the models could not be listed ({problem})")


async def _instructions(asked: "Asked") -> str:
    from pollux.cli.reading import must_be_text, read_text
    from pollux.tools.threads import in_thread

    path = asked.system_prompt_file
    if path is None:
        return must_be_text(asked.system_prompt, "--system-prompt")
    return await in_thread(read_text, path, "--system-prompt-file")


async def _standard_input() -> str:
    from pollux.cli.reading import read_all
    from pollux.tools.threads import in_thread

    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise PolluxError("standard input is closed. Give the prompt as an argument", code="usage")
    try:
        # Not sys.stdin: a thread left waiting in its buffer makes the interpreter abort at its end.
        data = await in_thread(read_all, 0, "standard input")
    except OSError as problem:
        raise PolluxError(f"standard input cannot be read ({problem.strerror})", code="usage") from problem
    return data.decode("utf-8", "replace")
