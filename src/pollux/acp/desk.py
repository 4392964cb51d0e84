"""Answers what an agent asks for. Each request gets exactly one answer, and all open ones at once when it is over."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Final, cast, get_args

from pollux.acp import messages
from pollux.acp.client import Capabilities, Client, OptionKind, PermissionRequest, Terminal, chosen
from pollux.acp.limits import Limits
from pollux.acp.rpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    NOT_FOUND,
    REQUEST_CANCELLED,
    Refused,
    Request,
)
from pollux.acp.toolcalls import ToolCalls
from pollux.acp.updates import count_of, name_of, object_of, objects, text_of
from pollux.acp.wire import Wire
from pollux.core.errors import NotFound, PolicyError, ToolExecutionError, ValidationError
from pollux.core.messages import JSON
from pollux.engine.logs import log_of

logger = log_of(__name__)

PERMISSION: Final = "session/request_permission"
RELEASE_SECONDS: Final = 5.0

# Told of a file that is missing, these cannot make a new one: an empty file is what they expect to find.
_EMPTY_WHEN_MISSING: Final = ("gemini", "qwen")

Params = dict[str, JSON]


class Desk:
    """Where an agent's requests go. `agent_name` is what it calls itself."""

    def __init__(
        self, wire: Wire, client: Client, capabilities: Capabilities, *, calls: ToolCalls, limits: Limits
    ) -> None:
        self.session_id = ""
        self.agent_name = ""
        self._wire = wire
        self._client = client
        self._calls = calls
        self._limits = limits
        self._open: dict[asyncio.Task[None], Request] = {}
        self._late: set[asyncio.Task[None]] = set()
        self._terminals: dict[str, Terminal] = {}
        self._opened = 0
        self._is_closed = False
        self._services = self._granted(capabilities)

    def take(self, request: Request) -> None:
        """Begin to serve a request, or refuse it."""
        if self._is_closed:
            self._answer_cancelled(request)
        elif len(self._open) >= self._limits.requests:
            limit = self._limits.requests
            self._wire.refuse(request.id, Refused(INTERNAL_ERROR, f"more than {limit} requests at a time"))
        else:
            task = asyncio.create_task(self._serve(request))
            self._open[task] = request
            task.add_done_callback(lambda done: self._open.pop(done, None))

    def close(self) -> None:
        """Answer all that is open as cancelled, now, and all that comes. Whoever is still at it is cancelled too."""
        self._is_closed = True
        for task, request in list(self._open.items()):
            del self._open[task]
            self._late.add(task)
            self._answer_cancelled(request)
            task.cancel()

    async def clear(self) -> None:
        """After `close`: see the cancelled end, and release what is left of the terminals."""
        terminals, self._terminals = list(self._terminals.values()), {}
        tasks = self._late | {asyncio.create_task(_released(terminal)) for terminal in terminals}
        if not tasks:
            return
        _, left = await asyncio.wait(tasks, timeout=RELEASE_SECONDS)
        for task in left:
            task.cancel()
        if left:
            logger.warning("%d requests of an agent were still at work after it had ended", len(left))

    def _answer_cancelled(self, request: Request) -> None:
        if request.method == PERMISSION:
            self._wire.answer(request.id, messages.permission(None))
        else:
            self._wire.refuse(request.id, Refused(REQUEST_CANCELLED, "the conversation is over"))

    async def _serve(self, request: Request) -> None:
        task = asyncio.current_task()
        try:
            result: JSON = await self._result(request)
        except Refused as problem:
            if task in self._open:
                self._wire.refuse(request.id, problem)
        except Exception as problem:  # noqa: BLE001  The top of a task: the conversation ends with it.
            if task in self._open:
                self._answer_cancelled(request)
            self._wire.fail(problem)
        else:
            if task in self._open:
                self._wire.answer(request.id, result)

    async def _result(self, request: Request) -> JSON:
        service = self._services.get(request.method)
        if service is None and request.method != PERMISSION:
            raise Refused(METHOD_NOT_FOUND, f"{request.method[:100]} is not offered")
        if request.params.get("sessionId") != self.session_id:
            raise Refused(INVALID_PARAMS, "there is no session of this id")
        if service is None:
            return await self._permission(request)
        try:
            return await service(request.params)
        except FileNotFoundError:
            raise Refused(NOT_FOUND, "Resource not found", {"uri": text_of(request.params.get("path"))}) from None
        except OSError as problem:
            raise Refused(INTERNAL_ERROR, problem.strerror or "it could not be done") from None
        except (ValidationError, PolicyError, ToolExecutionError, NotFound) as problem:
            raise Refused(INTERNAL_ERROR, str(problem)) from None

    def _granted(self, capabilities: Capabilities) -> dict[str, Callable[[Params], Awaitable[JSON]]]:
        services: dict[str, Callable[[Params], Awaitable[JSON]]] = {}
        if capabilities.read_files:
            services["fs/read_text_file"] = self._read
        if capabilities.write_files:
            services["fs/write_text_file"] = self._write
        if capabilities.terminal:
            services["terminal/create"] = self._create
            services["terminal/output"] = self._output
            services["terminal/wait_for_exit"] = self._wait
            services["terminal/kill"] = self._kill
            services["terminal/release"] = self._release
        return services

    async def _permission(self, request: Request) -> JSON:
        call = self._calls.asked(object_of(request.params.get("toolCall")), request.size)
        if call is None:
            raise Refused(INVALID_PARAMS, "toolCall.toolCallId is missing")
        options = _options(request.params.get("options"))
        if not options:
            # Whatever were decided, there would be no way to say it.
            return messages.permission(None)
        decision = await self._client.permission(
            PermissionRequest(
                tool_call_id=call.id,
                title=call.title,
                kind=call.kind,
                raw_input=call.raw_input,
                locations=call.locations,
                content=call.content,
                options=tuple(options),
            )
        )
        return messages.permission(chosen(decision, options))

    async def _read(self, params: Params) -> JSON:
        line, limit = count_of(params.get("line")), count_of(params.get("limit"))
        try:
            content = await self._client.read_text_file(_path(params), line, limit)
        except FileNotFoundError:
            if not any(name in self.agent_name.lower() for name in _EMPTY_WHEN_MISSING):
                raise
            content = ""
        if len(content.encode("utf-8", "replace")) > self._limits.line_bytes:
            raise Refused(INTERNAL_ERROR, "the file is too large. Ask for some of its lines with line and limit")
        return messages.file_read(content)

    async def _write(self, params: Params) -> JSON:
        content = params.get("content")
        if not isinstance(content, str):
            raise Refused(INVALID_PARAMS, "content must be a text")
        await self._client.write_text_file(_path(params), content)
        return messages.file_written()

    async def _create(self, params: Params) -> JSON:
        command, cwd = text_of(params.get("command")), params.get("cwd")
        if not command or not (cwd is None or (isinstance(cwd, str) and os.path.isabs(cwd))):
            raise Refused(INVALID_PARAMS, "command must be a text, and cwd an absolute path if it is given")
        if len(self._terminals) >= self._limits.terminals:
            raise Refused(INTERNAL_ERROR, f"there are {self._limits.terminals} terminals. Release one of them")
        found = params.get("args")
        args = tuple(text_of(word) for word in cast("list[JSON]", found)) if isinstance(found, list) else ()
        env = {text_of(each.get("name")): text_of(each.get("value")) for each in objects(params.get("env"))}
        limit = count_of(params.get("outputByteLimit"))
        self._opened += 1
        id = f"terminal-{self._opened}"
        terminal = await self._client.terminal(command, args, env, cwd, limit)
        if self._is_closed:
            # Opened while everything was being closed: nobody else will release it.
            await _released(terminal)
            raise Refused(REQUEST_CANCELLED, "the conversation is over")
        self._terminals[id] = terminal
        return messages.terminal_created(id)

    async def _output(self, params: Params) -> JSON:
        return messages.terminal_output(await self._terminal(params).output())

    async def _wait(self, params: Params) -> JSON:
        return messages.terminal_exit(await self._terminal(params).wait())

    async def _kill(self, params: Params) -> JSON:
        await self._terminal(params).kill()
        return {}

    async def _release(self, params: Params) -> JSON:
        terminal = self._terminal(params)
        del self._terminals[name_of(params.get("terminalId"))]
        await terminal.release()
        return {}

    def _terminal(self, params: Params) -> Terminal:
        terminal = self._terminals.get(name_of(params.get("terminalId")))
        if terminal is None:
            raise Refused(INVALID_PARAMS, "there is no terminal of this id")
        return terminal


async def _released(terminal: Terminal) -> None:
    try:
        await terminal.release()
    except Exception:
        logger.exception("a terminal could not be released")


def _options(found: JSON) -> dict[OptionKind, str]:
    """The first option of each kind."""
    options: dict[OptionKind, str] = {}
    for option in objects(found):
        kind, id = option.get("kind"), option.get("optionId")
        if kind in get_args(OptionKind) and isinstance(id, str):
            options.setdefault(cast("OptionKind", kind), id)
    return options


def _path(params: Params) -> str:
    path = params.get("path")
    if not isinstance(path, str) or not os.path.isabs(path):
        raise Refused(INVALID_PARAMS, "path must be an absolute path")
    return path
