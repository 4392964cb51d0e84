"""One conversation at work: an open engine, the thread it is in, and the one run that may be answering there."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from contextvars import copy_context
from dataclasses import replace
from decimal import Decimal
from typing import NoReturn

from pollux.bootstrap import Fixed, Registry
from pollux.core.errors import Misfit, NotFound, PolluxError, SessionNotFound, ThreadBusy
from pollux.core.events import HistoryCompressed, ModelReplied
from pollux.core.frozen import frozen
from pollux.core.ids import RunId, ThreadId
from pollux.core.messages import JSON, Message, Usage
from pollux.core.policy import Decision, Facts, PolicyRequest, decide
from pollux.core.prices import Price, cost, price_of
from pollux.core.profile import Profile
from pollux.core.run import Run, run_of
from pollux.core.thread import title_of
from pollux.core.tools import ToolSpec
from pollux.engine.engine import Engine, RandomIds, Start
from pollux.engine.model import ModelInfo
from pollux.engine.patterns import is_match
from pollux.engine.perform import Instruct
from pollux.sdk.approvals import OnApproval
from pollux.sdk.events import AgentEvent, ApprovalRequired
from pollux.sdk.logs import LogTap
from pollux.sdk.open_questions import OpenQuestion, open_question
from pollux.sdk.sessions import Sessions
from pollux.sdk.setup import USER, Setup, engine_for, with_output
from pollux.sdk.stream import Stream
from pollux.sdk.translate import Cost, question
from pollux.telemetry import AgentSpan, tracer
from pollux.tools.files.fs import JudgeWrite
from pollux.tools.files.toolset import WRITE_FILE
from pollux.tools.shell.agent_shell import Command, Judge, written
from pollux.tools.shell.judge import subjects
from pollux.tools.shell.toolset import SHELL

logger = logging.getLogger(__name__)

CLOSE_SECONDS = 10.0
BUSY = (
    "the session has a run that has not ended: it waits for an approval, or was interrupted. `await agent.resume()`"
    " goes on with it, `await agent.cancel()` ends it"
)

ADVICE = "Mark the tool side_effect=True, so that its calls are asked about, or allow {} by a rule"


@frozen
class Spent:
    """What a session has used: tokens, and US dollars where the prices are known."""

    usage: Usage
    cost: float | None


class Session:
    """A thread and the engine that answers in it. Lives in the event loop it was opened in."""

    user = USER

    def __init__(
        self,
        setup: Setup,
        *,
        instructions: str,
        price: Cost,
        log: LogTap,
        on_approval: OnApproval | None,
        defers: bool,
    ) -> None:
        self._instructions = instructions
        self.loop = asyncio.get_running_loop()
        self._setup = setup
        self._price = price
        self._log = log
        self._on_approval = on_approval
        self._is_interactive = defers or on_approval is not None
        self._live: Stream | None = None
        self._transcript: list[Message] = []
        self._thread_id: ThreadId | None = None

    async def open(self, instruct: Instruct) -> None:
        """Open the engine. Raises ConfigError for broken settings."""
        settings = self._setup.settings()
        self._log.mask(settings.secrets())
        rights = self._setup.rights(settings)
        self._rules = rights.rules
        self._store = self._setup.open_store(settings)
        self._providers = Fixed(self._setup.provider) if self._setup.provider else Registry(settings)
        self.engine: Engine = engine_for(self._setup, rights, instruct, self._providers, self._store)
        self.sessions = Sessions(
            self.engine, user=USER, cwd=self._setup.cwd, store_path=self._setup.store_path(settings)
        )
        try:
            await self.engine.__aenter__()
        except BaseException:
            await self._let_go()
            raise

    async def find(self, session_id: str, *, is_new: bool) -> None:
        """Find the thread, once. Raises SessionNotFound where it should be there and is not."""
        if self._thread_id is None:
            self._thread_id = ThreadId(session_id) if is_new else await self.sessions.find(session_id)

    @property
    def thread_id(self) -> ThreadId:
        assert self._thread_id is not None
        return self._thread_id

    async def close(self) -> None:
        """Stop what is being answered, and close the engine."""
        try:
            if self._live is not None and not self._live.closed.is_set():
                await self._live.stop()
        except PolluxError as problem:
            logger.warning("a run could not be stopped: %s", problem)
        finally:
            await self._let_go()

    @property
    def left_over(self) -> RunId | None:
        """The run of a stream that was left and may not have been stopped."""
        return self._live.run_id if self._live is not None and self._live.is_left else None

    async def abandon(self) -> None:
        """Let go of what is left after the event loop has gone: its tasks went with it."""
        await self._store.close()

    # Asking.

    async def ask(self, message: Message, *, schema: Mapping[str, JSON] | None = None) -> AsyncGenerator[AgentEvent]:
        """The events of a new run that answers this message."""
        await self._make_way()
        # Known at once, before anything is written or asked.
        provider = self._providers(self._setup.model)
        profile = self._profile(schema)
        start = Start(
            message,
            user=USER,
            thread_id=self.thread_id,
            create=True,
            profile=profile.name,
            door=self._setup.door,
            origin=str(self._setup.cwd),
            interactive=self._is_interactive,
            live=True,
            instructions=self._instructions,
            rules=self._setup.kept_rules,
            run_id=RandomIds().run_id(),
            title=title_of(message.text),
            project=str(self._setup.cwd),
        )
        assert start.run_id is not None
        stream = self._stream(start.run_id)
        span = AgentSpan(
            tracer(), self._setup.name, thread_id=self.thread_id, model=self._setup.model, provider=provider.name
        )
        try:
            await self._begin(start, stream, span)
            async with aclosing(stream.events()) as events:
                async for event in events:
                    yield event
        except Exception as problem:
            span.end(error=problem)
            raise
        finally:
            span.end(stream.run)

    async def resume(self) -> AsyncGenerator[AgentEvent]:
        """The events of the session's open run, from its beginning, and on to its end."""
        await self._make_way()
        run = await self.open_run()
        if run is None:
            raise NotFound(f"session {self.thread_id!r} has no open run to go on with", code="nothing_open")
        # Another task may have begun meanwhile: a question is put once, and one stream stops the run.
        await self._make_way()
        stream = self._live = self._stream(run.id)
        stream.past = run.version
        self._answer_for(run)
        try:
            with self._log.active():
                stream.context = copy_context()
                await self.engine.recover(run.id)
        except BaseException:
            stream.closed.set()
            raise
        async with aclosing(stream.events()) as events:
            async for event in events:
                yield event

    async def cancel(self, only: RunId | None = None) -> bool:
        """Stop the session's open run, or only that one. False when there is none."""
        run = await self.open_run()
        if run is None or only not in (None, run.id):
            return False
        self._answer_for(run)
        try:
            await self.engine.cancel(run.id, by=USER)
        except Misfit:
            # It is being stopped already. Whoever did that may be gone.
            await self.engine.recover(run.id)
        await self.engine.wait_settled(run.id, seconds=CLOSE_SECONDS)
        return True

    # Looking.

    async def models(self) -> tuple[ModelInfo, ...]:
        """What the provider of the agent's model offers."""
        return await self._providers(self._setup.model).models()

    async def open_run(self) -> Run | None:
        """The run that has not ended, if there is one."""
        try:
            thread = await self.engine.queries.thread(self.thread_id, USER)
        except NotFound:
            return None
        return await self.engine.queries.run(thread.open_run, USER) if thread.open_run else None

    async def questions(self) -> list[ApprovalRequired]:
        """What waits for a person in this session."""
        run = await self.open_run()
        return [question(action) for action in run.open if _is_asked(run, action.id)] if run else []

    async def open_questions(self, limit: int) -> list[OpenQuestion]:
        """What waits for a person in any session of the store."""
        asked = await self.engine.queries.approvals(USER, limit=limit)
        unknown = await self.engine.queries.unknown(USER, limit=limit)
        found = [open_question(each, "approval") for each in asked]
        return [*found, *(open_question(each, "unknown_outcome") for each in unknown)]

    async def refuse_answer(self, approval_id: str) -> NoReturn:
        """Say why a question cannot be answered. Raises NotFound or Misfit."""
        try:
            run = await self.engine.queries.run(run_of(approval_id), USER)
        except NotFound:
            run = None
        action = run.action_of_approval(approval_id) if run and run.thread_id == self.thread_id else None
        if action is None or action.approval is None:
            raise NotFound(f"this session has no question {approval_id!r}")
        status = action.approval.status
        code = "already_resolved" if status in ("approved", "rejected") else status
        raise Misfit(f"the question cannot be answered any more: it is {status}", code=code)

    async def transcript(self) -> tuple[Message, ...]:
        """What was said so far, in full, whatever was summarised for the model. Only what is new is read."""
        try:
            news = await self.engine.queries.messages(self.thread_id, USER, after=len(self._transcript))
        except NotFound:
            # There is none yet, or it was deleted: then nothing of it is kept here either.
            self._transcript.clear()
            news = ()
        self._transcript.extend(news)
        return tuple(self._transcript)

    async def usage(self) -> Spent:
        """The tokens of every run of the session, and what they cost."""
        total, spent = Usage(), Decimal()
        before: str | None = None
        while rows := await self.engine.queries.runs(USER, thread_id=self.thread_id, limit=100, before=before):
            for row in rows:
                try:
                    run = await self.engine.queries.run(row.run_id, USER)
                except NotFound:
                    # It was deleted. That it was is kept, what it said and used is not.
                    continue
                for record in await self.engine.queries.journal(row.run_id, USER):
                    if isinstance(record.event, ModelReplied | HistoryCompressed):
                        total += record.event.usage
                        each = self._price(run.model, record.event.usage)
                        spent = None if each is None or spent is None else spent + each
            before = rows[-1].run_id
        return Spent(total, None if spent is None else float(spent))

    def judge(self, is_gated: bool) -> Judge:
        """Decides on the commands of a tool's own code, as `_own_code` says."""

        async def decided(command: Command) -> Decision:
            seen = subjects(command, is_installed=self._setup.workspace.runner.is_installed)
            return await self._own_code(SHELL, {"command": written(command)}, seen, is_gated)

        return decided

    def judge_write(self, is_gated: bool) -> JudgeWrite:
        """Decides on the files that a tool's own code writes, as `_own_code` says."""

        async def decided(path: str, content: str) -> Decision:
            return await self._own_code(WRITE_FILE, {"path": path, "content": content}, frozenset({path}), is_gated)

        return decided

    async def _own_code(self, tool: ToolSpec, args: dict[str, JSON], seen: frozenset[str], is_gated: bool) -> Decision:
        """The one rule for commands and files of a tool's own code.

        A call that was let through as a side effect was asked about as a whole: only a rule that denies stops it.
        Other calls were not asked about, so they need a rule that allows the command, or writing the file.
        """
        facts = Facts(
            user=USER,
            interface=self._setup.door,
            profile=self._setup.profile.name,
            interactive=is_gated,
            thread_id=self._thread_id,
        )
        request = PolicyRequest(tool, args, facts, seen)
        decision = decide(request, self._rules, await self.engine.queries.grants(USER), match=is_match)
        if decision.mode == "require_approval":
            return replace(decision, mode="allow")
        if decision.mode == "deny" and not is_gated:
            what = "the command" if tool is SHELL else "write_file"
            return replace(decision, reason=f"{decision.reason}. {ADVICE.format(what)}")
        return decision

    # Inside.

    async def _begin(self, start: Start, stream: Stream, span: AgentSpan) -> None:
        """Start the run. Whoever leaves meanwhile leaves no run behind that nobody knows of."""
        self._live = stream
        # What the run does belongs to this agent's log and span, in whatever task it is done.
        with self._log.active(), span.current():
            stream.context = copy_context()
            starting = asyncio.ensure_future(self.engine.start(start))
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            await asyncio.wait({starting})
            if starting.exception() is None:
                await stream.stop()
            stream.closed.set()
            raise
        except ThreadBusy as busy:
            stream.closed.set()
            raise ThreadBusy(BUSY, run_id=busy.run_id) from None
        except NotFound:
            stream.closed.set()
            raise SessionNotFound(f"session {self.thread_id!r} was deleted. Begin another") from None
        except BaseException:
            stream.closed.set()
            raise

    async def _make_way(self) -> None:
        """One prompt at a time. A stream that nobody reads any more gives way; one that is being read does not."""
        while (live := self._live) is not None and not live.closed.is_set():
            if live.closing:
                await live.closed.wait()
            elif live.is_read:
                raise ThreadBusy(
                    "the agent is answering another prompt. Wait for it, or make another agent", run_id=live.run_id
                )
            else:
                await live.stop()
                if self._live is live:
                    self._live = None

    async def _let_go(self) -> None:
        try:
            await self.engine.close()
        finally:
            await self._providers.close()

    def _answer_for(self, run: Run) -> None:
        """Its agent may have been made with other tools; whoever goes on with it by name answers for it."""
        self.engine.profiles.setdefault(run.profile, self.engine.profiles[self._setup.profile.name])

    def _stream(self, run_id: RunId) -> Stream:
        return Stream(
            self.engine,
            run_id,
            user=USER,
            cost=self._price,
            on_approval=self._on_approval,
            # Its lines tell of a call when it begins, for whoever reads them when a time-out ends it.
            with_starts=self._setup.door == "cli",
        )

    def _profile(self, schema: Mapping[str, JSON] | None) -> Profile:
        profile = self.engine.profiles[self._setup.profile.name]
        if schema is None:
            return profile
        shaped = with_output(profile, schema)
        return self.engine.profiles.setdefault(shaped.name, shaped)


def pricing(prices: Mapping[str, Price] | None, now: Callable[[], float]) -> Cost:
    """What one model call costs by this table."""

    def of(model: str, usage: Usage) -> Decimal | None:
        price = price_of(model, prices, at=now())
        return None if price is None else cost(usage, price)

    return of


def _is_asked(run: Run, action_id: str) -> bool:
    action = run.action(action_id)
    return action is not None and action.is_asked
