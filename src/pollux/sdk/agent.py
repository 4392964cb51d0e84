"""An agent: instructions, tools and a session, ready to be asked.

    agent = Agent("You add numbers.", tools=[add])
    print(agent.send_sync("What is 2 + 3?").text)

`send` is `send_stream` drained, and `send_sync` is `send` for callers without an event loop: one path.
"""

import asyncio
import inspect
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Never, Self, TypeVar, cast, overload

from pollux.config import Settings
from pollux.core.errors import ValidationError
from pollux.core.ids import ActionId, RunId
from pollux.core.messages import Message
from pollux.core.prices import Price
from pollux.core.profile import DEFAULT_MODEL, Limits, Profile
from pollux.core.run import Run
from pollux.core.tools import Tool, ToolContext
from pollux.engine.engine import RandomIds
from pollux.engine.model import ModelInfo, Provider
from pollux.engine.ports import Clock, Store
from pollux.sdk import options
from pollux.sdk.approvals import Answer, OnApproval, give
from pollux.sdk.collect import ToolSet
from pollux.sdk.context import SessionContext
from pollux.sdk.events import AgentEvent, ApprovalRequired
from pollux.sdk.logs import LogLevel, LogTap
from pollux.sdk.open_questions import OpenQuestion
from pollux.sdk.output import shape_of, typed
from pollux.sdk.prompt import Prompt, message_of
from pollux.sdk.result import Result, drain
from pollux.sdk.session import Session, Spent, pricing
from pollux.sdk.session_info import SessionInfo
from pollux.sdk.setup import Given, Setup, set_up
from pollux.sdk.stream import to_the_end
from pollux.tools.files.fs import AgentFs
from pollux.tools.shell.agent_shell import AgentShell
from pollux.tools.threads import in_thread

if TYPE_CHECKING:
    from pollux.sdk.portal import Portal
    from pollux.tools.shell.sandbox import Sandbox
    from pollux.tools.skills import SkillDir

T = TypeVar("T")

Instructions = Callable[[SessionContext], "str | Coroutine[Any, Any, str]"]
"""Makes the instructions anew before every model call."""


class Agent:
    """An agent in a session of its own. Use it as it is, or as `async with Agent(...) as agent`.

    Options that do not fit are refused here, with a ValidationError; keys and stores are looked for on first use.

    Args:
        instructions: what the model is told first; a text, or a function of the SessionContext, asked before each call.
        tools: functions, tools, and the sets `files` and `shell`.
        skills: directories of skills, as `skill_dir(path)`.
        model: a model's name, or a provider; by default the configured model.
        cwd: the directory that files, commands and sessions belong to; by default the current one.
        session_id: a session to go on with; without it a new one begins.
        compression_threshold: the share of the model's window at which the conversation is summarised; False for never.
        policy: "ask", "allow_all", a TOML file, rules, or a list of these. By default side effects ask.
        on_approval: answers questions: a function of the ApprovalRequired event, or "defer" to leave them open.
            Without it nobody can be asked, and what needs approval is denied.
        limits: what a run may spend.
        log_level: silent, error, warn, info or debug.
        logger: where logs go: a logging.Logger, or any object with some of log, warn, error and debug.
        debug: the same as log_level="debug".
        store: where sessions are kept: a path, "memory", or a store; by default the configured one.
        prices: US dollars by model, in place of the built-in table.
        sandbox: whether commands run under bubblewrap: "auto" where there is one, "required" or "off".
        name: what the agent is called in journals, rules and traces.
        clock: what time it is, for tests: see `pollux.testing.FakeClock`.
    """

    _door = "sdk"
    _settings: Settings | None = None
    """Another door, the command line, has read them already."""
    _obeyed: tuple[Path, ...] = ()
    """The files that its flags took instructions from."""

    def __init__(
        self,
        instructions: str | Instructions = "",
        *,
        tools: Iterable[Tool | ToolSet | Callable[..., Any] | str] = (),
        skills: "Iterable[SkillDir]" = (),
        model: str | Provider | None = None,
        cwd: str | PathLike[str] | None = None,
        session_id: str | None = None,
        compression_threshold: float | Literal[False] = 0.5,
        policy: object = None,
        on_approval: OnApproval | Literal["defer"] | None = None,
        limits: Limits | Mapping[str, Any] | None = None,
        log_level: LogLevel | None = None,
        logger: object = None,
        debug: bool = False,
        store: Store | str | PathLike[str] | None = None,
        prices: Mapping[str, Price] | None = None,
        sandbox: "Sandbox" = "auto",
        name: str = "agent",
        clock: Clock | None = None,
        **unknown: Never,
    ) -> None:
        options.refuse_unknown(unknown, Agent.__init__)
        self._instructions = options.instructions(instructions)
        self._on_approval, self._defers = options.on_approval(on_approval)
        resumed = options.session_id(session_id)
        self._is_new = resumed is None
        self._session_id: str = resumed or RandomIds().thread_id()
        given = Given(
            tools=tools,
            skills=skills,
            model=model,
            cwd=cwd,
            compression_threshold=compression_threshold,
            policy=policy,
            limits=limits,
            store=store,
            sandbox=sandbox,
            name=name,
            door=self._door,
            clock=options.clock(clock),
            settings=self._settings,
            obeyed=self._obeyed,
        )
        self._setup: Setup = set_up(given, self._widen)
        self._price = pricing(options.prices(prices), time.time)
        self._log = LogTap(log_level, logger=logger, debug=debug, secrets=self._setup.settings().secrets())
        self._session: Session | None = None
        self._opening: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None
        self._left_over: RunId | None = None
        self._portal: Portal | None = None
        self._entering = threading.Lock()

    # Who it is.

    @property
    def session_id(self) -> str:
        """The session's id: give it to another Agent to go on there."""
        return self._session_id

    @property
    def model(self) -> str:
        """The name of the model that is asked."""
        return self._setup.model

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Every tool, skills' and sets' included."""
        return self._setup.tools

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._setup.name!r} in session {self._session_id}>"

    # Asking.

    async def send_stream(self, prompt: Prompt, *, output_type: Any = None) -> AsyncGenerator[AgentEvent]:
        """What happens on the way to an answer, as it happens.

        Leaving early, by `break`, by closing or by cancellation, stops the model and the tools; the session can go on.
        The last event is `finished`, also where the run failed: then `error` comes before it.

        Raises:
            ValidationError: the prompt cannot be sent.
            MissingCredential: the model's key is not set.
            SessionNotFound: there is no session of the id that was given.
            ThreadBusy: the session is at work, or waits for an approval.
        """
        message = message_of(prompt)
        schema = shape_of(output_type).schema if output_type is not None else None
        session = await self._opened()
        async with aclosing(session.ask(message, schema=schema)) as events:
            async for event in events:
                yield event

    @overload
    async def send(self, prompt: Prompt) -> Result[None]: ...
    @overload
    async def send(self, prompt: Prompt, *, output_type: type[T]) -> Result[T]: ...
    async def send(self, prompt: Prompt, *, output_type: Any = None) -> Result[Any]:
        """The answer, once it is there: `send_stream`, drained.

        Raises as `send_stream` does, and:
            RunFailed: there is no answer; the code says why, `result` holds what there was.
            ValidationError: the answer is not of the output type.
        """
        return await self._drained(self.send_stream(prompt, output_type=output_type), output_type)

    @overload
    def send_sync(self, prompt: Prompt) -> Result[None]: ...
    @overload
    def send_sync(self, prompt: Prompt, *, output_type: type[T]) -> Result[T]: ...
    def send_sync(self, prompt: Prompt, *, output_type: Any = None) -> Result[Any]:
        """`send` for scripts and notebooks: blocks until the answer is there, also where an event loop is running."""
        return self._blocking(self.send(prompt, output_type=output_type))

    async def resume_stream(self) -> AsyncGenerator[AgentEvent]:
        """Go on with the session's open run: one that was interrupted by a crash, or waited for an approval.

        What it did before is told again from the journal, and not done again. Raises NotFound where there is none.
        """
        session = await self._opened()
        async with aclosing(session.resume()) as events:
            async for event in events:
                yield event

    @overload
    async def resume(self) -> Result[None]: ...
    @overload
    async def resume(self, *, output_type: type[T]) -> Result[T]: ...
    async def resume(self, *, output_type: Any = None) -> Result[Any]:
        """`resume_stream`, drained. Name the output type again that the prompt was sent with."""
        return await self._drained(self.resume_stream(), output_type)

    async def cancel(self) -> bool:
        """Stop the run that is under way, and wait until nothing of it is. False when there was none."""
        return await (await self._opened()).cancel()

    # People's answers.

    async def approvals(self) -> list[ApprovalRequired]:
        """The questions of this session that wait for an answer."""
        return await (await self._opened()).questions()

    async def answer(self, approval: ApprovalRequired | str, answer: Answer) -> None:
        """Answer a question, by itself or by its id: True, False, Approve, Reject or Edit.

        Raises:
            NotFound: there is no such question in this session.
            Misfit: it has been answered, or has run out.
        """
        session = await self._opened()
        approval_id = approval.id if isinstance(approval, ApprovalRequired) else approval
        if not isinstance(cast("object", approval_id), str):
            raise ValidationError(f"expected a question or its id, found {type(approval).__name__}")
        asked = next((each for each in await session.questions() if each.id == approval_id), None)
        if asked is None:
            await session.refuse_answer(approval_id)
        else:
            # What it sets going is this agent's work.
            with self._log.active():
                await give(session.engine, asked, answer, user=session.user)

    async def open_questions(self, *, limit: int | None = None) -> list[OpenQuestion]:
        """What waits for a person in every session of the store: first approvals, then unknown outcomes, newest first.

        `limit` bounds each of the two lists; without it, 100.
        """
        most = options.count("limit", limit)
        return await (await self._opened(find=False)).open_questions(100 if most is None else most)

    async def settle(self, action: OpenQuestion | str, outcome: Literal["done", "not_done"]) -> None:
        """Record what became of an action whose outcome is unknown, in any session of the store. Nothing runs again.

        Raises:
            NotFound: there is no such action.
            Misfit: its outcome is known.
        """
        action_id = action.action_id if isinstance(action, OpenQuestion) else action
        if not isinstance(cast("object", action_id), str):
            raise ValidationError(f"expected an open question or an action's id, found {type(action).__name__}")
        session = await self._opened(find=False)
        with self._log.active():
            await session.engine.settle(action_id, outcome, by=session.user, user=session.user)

    # Sessions.

    async def list_sessions(self, *, all: bool = False, limit: int | None = None) -> list[SessionInfo]:
        """The sessions of this project, last updated first, Gemini CLI's own among them; with `all`, everybody's."""
        most = options.count("limit", limit)
        return await (await self._opened(find=False)).sessions.listed(every=all, limit=most)

    async def fork_session(self, session_id: str | None = None, *, upto: int | None = None) -> str:
        """The id of a new session that begins like this one, or another, up to that message."""
        session = await self._opened(find=session_id is None)
        chosen = options.session_id(session_id) or self._session_id
        return await session.sessions.fork(chosen, upto=options.count("upto", upto))

    async def delete_session(self, session_id: str | None = None) -> None:
        """Erase this session, or another, for good. That it was is kept in the audit; what was said is not.

        Raises SessionNotFound.
        """
        session = await self._opened(find=False)
        await session.sessions.delete(options.session_id(session_id) or self._session_id)

    async def history(self) -> Sequence[Message]:
        """Everything that was said in this session, also what the model is only told a summary of."""
        return await (await self._opened()).transcript()

    async def models(self) -> "tuple[ModelInfo, ...]":
        """The models that the provider of this agent's model offers."""
        return await (await self._opened(find=False)).models()

    async def usage(self) -> Spent:
        """What this session has used so far."""
        return await (await self._opened()).usage()

    # Its life.

    async def __aenter__(self) -> Self:
        try:
            await self._opened()
        except BaseException:
            await self.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop what is under way and let go of everything. The session stays, and another agent may go on with it."""
        session, self._session = self._session, None
        try:
            if session is not None:
                await to_the_end(session.close())
        finally:
            self._log.close()

    def close(self) -> None:
        """`aclose` for those who use `send_sync`."""
        portal, self._portal = self._portal, None
        if portal is not None:
            portal.close()

    # Inside.

    async def _opened(self, *, find: bool = True) -> Session:
        loop = asyncio.get_running_loop()
        if self._session is not None and self._session.loop is not loop:
            await self._leave(self._session)
        if self._opening is None or self._opening[0] is not loop:
            self._opening = loop, asyncio.Lock()
        async with self._opening[1]:
            if self._session is None:
                self._log.open()
                with self._log.active():
                    self._session = await self._open()
            if find:
                await self._session.find(self._session_id, is_new=self._is_new)
                if self._left_over is not None:
                    left_over, self._left_over = self._left_over, None
                    await self._session.cancel(left_over)
            return self._session

    async def _open(self) -> Session:
        session = Session(
            self._setup,
            # A text is kept with the run; what a function says is asked of the function, each time.
            instructions=self._instructions if isinstance(self._instructions, str) else "",
            price=self._price,
            log=self._log,
            on_approval=self._on_approval,
            defers=self._defers,
        )
        await session.open(self._instruct)
        return session

    async def _leave(self, session: Session) -> None:
        """An agent may outlive its event loop, as with several `asyncio.run`; it does not serve two at once."""
        if not session.loop.is_closed():
            raise ValidationError(
                "this agent is at work in another event loop. Use it from there, or make an agent for each"
            )
        self._session = None
        # A stream that was left as its loop ended could not stop its run any more.
        self._left_over = session.left_over
        await session.abandon()

    async def _drained(self, stream: AsyncGenerator[AgentEvent], output_type: Any) -> Result[Any]:
        shape = shape_of(output_type) if output_type is not None else None
        async with aclosing(stream) as events:
            return await drain(events, lambda text: None if shape is None else typed(text, shape))

    def _blocking(self, work: Coroutine[Any, Any, T]) -> T:
        from pollux.sdk.portal import Portal

        with self._entering:
            if self._portal is None or self._portal.has_ended:
                self._portal = Portal(self.aclose)
            portal = self._portal
        return portal.call(work)

    async def _instruct(self, run: Run, profile: Profile) -> str:
        """The instructions for the next model call, and what is to be known about skills."""
        making = self._instructions
        if isinstance(making, str):
            # Who goes on with a run without a word of their own says what it was begun with.
            text: object = making or run.instructions
        else:
            around = ToolContext(run.user, run.origin, run.id, ActionId(""), run.thread_id, run.deadline)
            context = await self._widen(around, False)
            text = await making(context) if inspect.iscoroutinefunction(making) else await in_thread(making, context)
            text = await text if inspect.isawaitable(text) else text
        if not isinstance(text, str):
            raise ValidationError(f"instructions must be a text, found {type(text).__name__}")
        return "\n\n".join(part for part in (self._setup.preamble, text, self._setup.skills_prompt) if part)

    async def _widen(self, context: ToolContext, is_gated: bool) -> SessionContext:
        """What a tool is given. Commands of a call that was let through need no further leave; others are judged."""
        session = self._session
        assert session is not None
        return SessionContext(
            user=context.user,
            origin=context.origin,
            run_id=context.run_id,
            action_id=context.action_id,
            thread_id=context.thread_id,
            deadline=context.deadline,
            attempt=context.attempt,
            noted=context.noted,
            reach=context.reach,
            session_id=context.thread_id,
            cwd=self._setup.cwd,
            transcript=await session.transcript(),
            timestamp=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            fs=AgentFs(self._setup.workspace.root, session.judge_write(is_gated)),
            shell=AgentShell(self._setup.workspace.runner, session.judge(is_gated)),
            agent=self,
        )


class GeminiAgent(Agent):
    """An agent with Gemini's default model, whatever else is configured.

    It approves nothing by itself. A tool that runs commands (`context.shell.exec`) or writes files
    (`context.fs.write_file`) needs `side_effect=True` and an approval, or a rule that allows it;
    `policy="allow_all"` approves everything.
    """

    def __init__(
        self, instructions: str | Instructions = "", *, model: str | Provider | None = None, **more: Any
    ) -> None:
        super().__init__(instructions, model=DEFAULT_MODEL if model is None else model, **more)
