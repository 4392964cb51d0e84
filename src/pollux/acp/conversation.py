"""One prompt to one agent, from its start to its end. However it goes, nothing of the agent is left afterwards.

The way there: start, `initialize`, `session/new` or `session/load`, `session/prompt`; then its updates, its requests
and its answer. The way out is one, also when we are cancelled: cancel what it is at, answer all that it asked, end its
input, wait, terminate, kill.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Final

from pollux.acp import messages, rpc
from pollux.acp.client import Capabilities, Client
from pollux.acp.desk import Desk
from pollux.acp.failures import AgentFailed, FailureKind
from pollux.acp.limits import MIB, Limits
from pollux.acp.process import HURRIED_CLOSE_SECONDS, Agent, AgentCommand, launched
from pollux.acp.rpc import Notification, Refused, Request
from pollux.acp.toolcalls import ToolCalls, ToolCallSeen
from pollux.acp.updates import ContextUsed, TextChunk, name_of, object_of, objects, simple_update
from pollux.acp.usage import AgentUsage, usage_of
from pollux.acp.wire import Silent, Unreadable, Wire
from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON

DEFAULT_LIMITS: Final = Limits()
DYING_SECONDS: Final = 1.0
"""How long we wait for the end of one whose output has ended. Those whom it leaves behind have half of that."""


@frozen(kw_only=True)
class Answer:
    """What came of a prompt. `tool_calls` are all that the agent told of, in the order of their beginnings."""

    text: str
    stop_reason: str
    usage: AgentUsage | None
    tool_calls: tuple[ToolCallSeen, ...]
    session_id: str
    agent_name: str
    agent_version: str


async def converse(
    command: AgentCommand,
    *,
    prompt: str,
    client: Client,
    system: str | None = None,
    capabilities: Capabilities = Capabilities(),  # noqa: B008  A value.
    mcp_servers: Sequence[Mapping[str, JSON]] = (),
    timeout: float | None = None,
    limits: Limits = DEFAULT_LIMITS,
    load: str | None = None,
    prompted: Callable[[], Awaitable[None]] | None = None,
) -> Answer:
    """Start an agent, have it answer a prompt, and see it end.

    `mcp_servers` are as the protocol has them. `load` is the id of a session to go on with: what is replayed of it is
    neither told to the client nor part of the answer. `timeout` is in seconds and for everything up to the answer.
    `prompted` is called once the agent has been sent the prompt.

    Raises:
        AgentFailed: there is no answer; the kind says why.
        ValidationError: the command or an MCP server is none.
        PolluxError: the extra `acp` is not installed.
        Exception: what the client raised.
    """
    messages.check_installed()
    if timeout is not None and not timeout > 0:
        raise ValidationError(f"timeout is in seconds and more than 0, found {timeout}. None stands for no limit")
    text = f"{system}\n\n{prompt}" if system else prompt
    async with launched(command, limits=limits) as agent:
        conversation = _Conversation(agent, client, capabilities, limits, prompted)
        try:
            return await conversation.hold(text, mcp_servers, cwd=command.cwd, timeout=timeout, load=load)
        except AgentFailed as failure:
            raise failure.with_stderr(agent.stderr) from None


class _Conversation:
    """The state of one."""

    def __init__(
        self,
        agent: Agent,
        client: Client,
        capabilities: Capabilities,
        limits: Limits,
        prompted: Callable[[], Awaitable[None]] | None,
    ) -> None:
        self._agent = agent
        self._on_prompted = prompted
        self._client = client
        self._capabilities = capabilities
        self._limits = limits
        self._wire = Wire(agent, limits)
        self._calls = ToolCalls(limits)
        self._desk = Desk(self._wire, client, capabilities, calls=self._calls, limits=limits)
        self._doing = "it was started"
        self._version = ""
        self._logins: list[str] = []
        self._offers: dict[str, JSON] = {}
        self._pieces: list[str] = []
        self._size = 0
        self._context: ContextUsed | None = None
        self._heard_at = 0.0
        self._answer: asyncio.Future[JSON] | None = None
        self._hurry: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def hold(
        self,
        text: str,
        mcp_servers: Sequence[Mapping[str, JSON]],
        *,
        cwd: str,
        timeout: float | None,
        load: str | None,
    ) -> Answer:
        flood = AgentFailed("flood", "the agent writes to stderr without end")
        self._agent.flooded.add_done_callback(lambda _: self._wire.fail(flood))
        listening = asyncio.create_task(self._wire.listen(self._hear))
        clock = asyncio.timeout(timeout)
        try:
            try:
                # Not on the agent's time, though while it starts.
                await messages.load_models()
                async with clock:
                    await self._introduced(mcp_servers)
                    await self._session(cwd, mcp_servers, load)
                    return await self._prompted(text)
            finally:
                await self._see(self._end(listening))
        except TimeoutError:
            if not clock.expired():
                raise
            raise self._failed("timeout", f"the agent took longer than {timeout:g} s: it was stopped while") from None
        except Silent:
            raise self._agent.obituary(self._doing) from None

    async def _introduced(self, mcp_servers: Sequence[Mapping[str, JSON]]) -> None:
        self._doing = "it should introduce itself (initialize)"
        params = messages.initialize(self._capabilities)
        seconds = self._limits.initialize_seconds
        result = object_of(await self._called("initialize", params, seconds=seconds, kind="initialize"))
        version = result.get("protocolVersion")
        if version is True or version != messages.PROTOCOL_VERSION:
            found = repr(version)[:50]
            text = f"the agent speaks version {found} of the protocol, expected {messages.PROTOCOL_VERSION}"
            raise AgentFailed("initialize", f"{text}. Install a version of it that fits")
        about = object_of(result.get("agentInfo"))
        self._desk.agent_name, self._version = name_of(about.get("name")), name_of(about.get("version"))
        self._logins = [name_of(each.get("name")) for each in objects(result.get("authMethods"))]
        self._offers = object_of(result.get("agentCapabilities"))
        takes = object_of(self._offers.get("mcpCapabilities"))
        for server in mcp_servers:
            if (kind := server.get("type")) in ("http", "sse") and takes.get(kind) is not True:
                raise AgentFailed("refused", f"the agent takes no MCP servers over {kind}. Give it one by its command")

    async def _session(self, cwd: str, mcp_servers: Sequence[Mapping[str, JSON]], load: str | None) -> None:
        seconds = self._limits.session_seconds
        if load is None:
            self._doing = "it should open a session (session/new)"
            params = messages.new_session(cwd, mcp_servers)
            result = object_of(await self._called("session/new", params, seconds=seconds))
            id = result.get("sessionId")
            if not isinstance(id, str) or not id:
                raise AgentFailed("protocol", "the agent's answer to session/new has no sessionId")
            self._desk.session_id = id
            return
        if self._offers.get("loadSession") is not True:
            raise AgentFailed("refused", "the agent cannot go on with an earlier session. Begin a new one")
        self._doing = "it should load a session (session/load)"
        self._desk.session_id = load
        await self._called("session/load", messages.load_session(load, cwd, mcp_servers), seconds=seconds)
        await self._replayed()

    async def _replayed(self) -> None:
        """Wait for the end of a replay, which nothing tells but silence."""
        now = asyncio.get_running_loop().time
        quiet, until = self._limits.replay_quiet_seconds, now() + self._limits.replay_seconds
        self._heard_at = max(self._heard_at, now())
        # What is waited for is that nothing happens: no event tells of that.
        while (left := min(until, self._heard_at + quiet) - now()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(left)

    async def _prompted(self, text: str) -> Answer:
        self._doing = "it should answer"
        id = self._desk.session_id
        self._answer = self._wire.call("session/prompt", messages.prompt(id, text))
        if self._on_prompted is not None:
            await self._on_prompted()
        result = object_of(await self._answered(self._answer, "session/prompt", "refused"))
        stop_reason = name_of(result.get("stopReason"))
        if not stop_reason:
            raise AgentFailed("protocol", "the agent's answer to session/prompt has no stopReason")
        return Answer(
            text="".join(self._pieces),
            stop_reason=stop_reason,
            usage=usage_of(result, self._context),
            tool_calls=self._calls.seen,
            session_id=id,
            agent_name=self._desk.agent_name,
            agent_version=self._version,
        )

    async def _called(
        self, method: str, params: dict[str, JSON], *, seconds: float, kind: FailureKind = "refused"
    ) -> JSON:
        clock = asyncio.timeout(seconds)
        try:
            async with clock:
                return await self._answered(self._wire.call(method, params), method, kind)
        except TimeoutError:
            if not clock.expired():
                raise
            slow: FailureKind = "initialize" if method == "initialize" else "timeout"
            raise self._failed(slow, f"the agent did not answer within {seconds:g} s while") from None

    async def _answered(self, answer: asyncio.Future[JSON], method: str, kind: FailureKind) -> JSON:
        try:
            # Shielded: who stops waiting for it may still want to hear the last word.
            return await asyncio.shield(answer)
        except Refused as problem:
            raise self._refused(problem, method, kind) from None
        except Unreadable:
            text = f"the agent's answer to {method} cannot be read: expected an answer of JSON-RPC 2.0"
            raise AgentFailed("protocol", text) from None

    def _refused(self, problem: Refused, method: str, kind: FailureKind) -> AgentFailed:
        details = object_of(problem.data).get("details")
        words = self._agent.mask.words(f"{problem}: {details}" if isinstance(details, str) else str(problem))
        if problem.code == rpc.AUTH_REQUIRED:
            logins = self._agent.mask.words(", ".join(self._logins))
            ways = f" (it knows: {logins})" if logins else ""
            advice = "Log in with the agent's own program once, or give it a key in its environment"
            return AgentFailed("auth", f"the agent wants a login{ways}. {advice}")
        if problem.code == rpc.REQUEST_CANCELLED:
            return AgentFailed("cancelled", f"the agent says that {method} was cancelled")
        return AgentFailed(kind, f"the agent refused {method}: {words or 'no reason given'} ({problem.code})")

    def _failed(self, kind: FailureKind, text: str) -> AgentFailed:
        junk = (
            f". {self._wire.ignored} of its lines were no messages, or answers to nothing" if self._wire.ignored else ""
        )
        return AgentFailed(kind, f"{text} {self._doing}{junk}")

    async def _hear(self, message: Request | Notification) -> None:
        self._heard_at = asyncio.get_running_loop().time()
        match message:
            case Request():
                if self._answer is not None and self._answer.done():
                    self._desk.close()
                self._desk.take(message)
            case Notification(method="session/update", params=params, size=size):
                await self._updated(params, size)
            case Notification():
                pass

    async def _updated(self, params: dict[str, JSON], size: int) -> None:
        # Before the prompt it is a replay, after the answer nobody waits for it.
        if self._answer is None or self._answer.done() or params.get("sessionId") != self._desk.session_id:
            return
        told = object_of(params.get("update"))
        is_call = told.get("sessionUpdate") in ("tool_call", "tool_call_update")
        update = self._calls.told(told, size) if is_call else simple_update(told)
        if isinstance(update, TextChunk):
            self._size += len(update.text.encode())
            if self._size > self._limits.text_bytes:
                raise AgentFailed("flood", f"the agent's answer is longer than {self._limits.text_bytes / MIB:g} MiB")
            self._pieces.append(update.text)
        elif isinstance(update, ContextUsed):
            self._context = update
        await self._client.update(update)

    async def _end(self, listening: asyncio.Task[None]) -> None:
        is_at_work = self._answer is not None and not self._answer.done()
        is_answered = self._answer is not None and self._answer.done() and self._answer.exception() is None
        if is_at_work:
            self._wire.notify("session/cancel", messages.cancel(self._desk.session_id))
        self._desk.close()
        if self._answer is not None and is_at_work:
            await self._wait(self._answer, self._limits.cancel_seconds)
        elif self._wire.is_silent:
            await self._agent.die(DYING_SECONDS)
        self._agent.close_input()
        await self._wait(self._agent.gone, self._limits.close_seconds if is_answered else HURRIED_CLOSE_SECONDS)
        await self._agent.end(hurry=not is_answered or self._hurry.done())
        # Everybody who could say anything is gone.
        listening.cancel()
        await asyncio.wait({listening})
        await self._desk.clear()

    async def _wait(self, what: asyncio.Future[Any], seconds: float) -> None:
        await asyncio.wait({what, self._hurry}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)

    async def _see(self, ending: Coroutine[Any, Any, None]) -> None:
        """Through to its end: who is cancelled meanwhile gets to know afterwards, and there is no more patience."""
        task = asyncio.create_task(ending)
        interrupted: asyncio.CancelledError | None = None
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError as again:
                interrupted = again
                if not self._hurry.done():
                    self._hurry.set_result(None)
        if interrupted is not None:
            raise interrupted
        task.result()
