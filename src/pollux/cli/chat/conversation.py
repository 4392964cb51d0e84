"""The session that is talked in, and the agent that answers there. Another session, or model, is another agent."""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pollux.cli.allow import rules_for
from pollux.cli.answer import CliAgent
from pollux.cli.chat.asked import Asked, need_key
from pollux.cli.profile import outfit_of, require_known_tools
from pollux.core.errors import SessionNotFound, ValidationError
from pollux.core.frozen import frozen
from pollux.sdk.agent import Agent
from pollux.sdk.approvals import OnApproval

if TYPE_CHECKING:
    from pollux.sdk.session_info import SessionInfo

USUAL: Final = 0.5
AT_ONCE: Final = 1e-9
"""A share of the window that any conversation has filled."""


@frozen
class Undone:
    """What the person took back."""

    prompt: str
    messages: int
    """How many are left."""


class Conversation:
    """Holds one open agent at a time."""

    def __init__(self, asked: Asked, on_approval: OnApproval | None) -> None:
        self._asked = asked
        self._on_approval = on_approval
        self._model = asked.model
        self._threshold = USUAL
        self._agent: Agent | None = None
        self.has_begun = False
        """Whether anything was said in this session."""

    @property
    def agent(self) -> Agent:
        assert self._agent is not None
        return self._agent

    @property
    def model(self) -> str:
        return self._model

    async def open(self) -> None:
        """Raises SessionNotFound."""
        session = self._asked.session
        if session == "latest":
            session = await self._latest()
        await self.go_to(session)

    async def close(self) -> None:
        agent, self._agent = self._agent, None
        if agent is not None:
            await agent.aclose()

    async def go_to(self, session_id: str | None) -> None:
        """Go on in another session; None begins a new one. Raises SessionNotFound, and then nothing has changed."""
        await self._take(session_id, self._model, USUAL)

    async def use_model(self, name: str) -> None:
        """Who answers from now on. Raises ConfigError or MissingCredential, and then nothing has changed."""
        need_key(name, self._asked.settings)
        await self._take(self._here, name, self._threshold)

    async def summarise_next(self) -> None:
        """Have the older part summarised before the next answer."""
        await self._take(self._here, self._model, AT_ONCE)

    async def summarised(self) -> bool:
        """Whether a summary had been asked for; from now on it is made when one is due."""
        if self._threshold == USUAL:
            return False
        await self._take(self._here, self._model, USUAL)
        return True

    async def undo(self) -> Undone:
        """Go on in a session that ends before the last prompt. The one with it stays, and is listed."""
        history = await self.agent.history()
        asked = [number for number, message in enumerate(history) if message.role == "user"]
        if not asked:
            raise ValidationError("there is nothing to undo: nothing was asked in this session yet")
        last = asked[-1]
        await self.go_to(await self.agent.fork_session(upto=last) if last else None)
        return Undone(history[last].text, last)

    async def listed(self, limit: int) -> "list[SessionInfo]":
        """The sessions of this directory that can be gone on with, the latest first."""
        found = await self.agent.list_sessions()
        return [info for info in found if info.session_id and info.problem is None][:limit]

    @property
    def _here(self) -> str | None:
        """The session, where there is one already."""
        return self.agent.session_id if self.has_begun else None

    async def _take(self, session_id: str | None, model: str, threshold: float) -> None:
        """Another agent in place of the one we have."""
        agent = self._made(session_id, model, threshold)
        try:
            await agent.__aenter__()
        except BaseException:
            await agent.aclose()
            raise
        before, self._agent = self._agent, agent
        self._model, self._threshold = model, threshold
        self.has_begun = session_id is not None
        if before is not None:
            await before.aclose()

    async def _latest(self) -> str:
        self._agent = self._made(None, self._model, USUAL)
        try:
            listed = await self.listed(1)
        finally:
            await self.close()
        if not listed:
            raise SessionNotFound(f"there is no session of {self._asked.cwd} to go on with. Leave --session away")
        return listed[0].session_id

    def _made(self, session_id: str | None, model: str, threshold: float) -> Agent:
        asked = self._asked
        outfit, allowed = outfit_of(asked.settings, asked.profile), rules_for(asked.allow)
        policy: list[object] = [*outfit.rules, *allowed, *([asked.policy] if asked.policy else [])]
        limits = outfit.limits if asked.timeout is None else replace(outfit.limits, seconds=asked.timeout)
        agent = CliAgent(
            "\n\n".join(filter(None, (outfit.instructions, asked.system_prompt))),
            tools=outfit.tools,
            model=model,
            cwd=asked.cwd,
            session_id=session_id,
            compression_threshold=threshold,
            policy=policy,
            on_approval=self._on_approval or "defer",
            limits=limits,
            log_level="debug" if asked.debug else "silent",
            settings=asked.settings,
            obeyed=asked.system_prompt_file,
        )
        require_known_tools(asked.allow, allowed, agent.tools)
        return agent
