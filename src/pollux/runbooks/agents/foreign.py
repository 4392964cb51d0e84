"""`runbook_acp`: a foreign agent answers a prompt. It runs its own tools; what it asks for goes through our gate.

What it does without asking is written down as observed, never as allowed. It ends with its block: cancelled, timed out
or killed, nothing of it is left behind.
"""

import os
import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, cast

from pollux.acp.client import Capabilities, Decision, PermissionRequest, Terminal
from pollux.acp.conversation import Answer, converse
from pollux.acp.failures import AgentFailed
from pollux.acp.messages import check_installed
from pollux.acp.process import AgentCommand
from pollux.acp.toolcalls import ToolCallSeen
from pollux.acp.updates import (
    TextChunk,
    ToolCall,
    ToolCallChanged,
    ToolCallEnded,
    ToolCallStarted,
    ToolKind,
    Update,
)
from pollux.core.canonical import digest
from pollux.core.errors import Misfit, PolicyError, PolluxError, ToolExecutionError, ValidationError
from pollux.core.messages import JSON, CallFacts
from pollux.core.redact import Masking
from pollux.core.tools import ToolContext, ToolSpec
from pollux.runbooks.agents import asked
from pollux.runbooks.agents.known import unknown_settings
from pollux.runbooks.agents.live import LiveAgents, Refusal
from pollux.runbooks.agents.matching import Matching, changes_of, edits_of
from pollux.runbooks.agents.program import servers_of, started_by
from pollux.runbooks.blocks.block_type import TEXT
from pollux.runbooks.blocks.pinned import FORMERLY, PINNED
from pollux.runbooks.blocks.programs import environment_subjects
from pollux.runbooks.located import UNACCEPTED, Programs, accepted_of, differences, located, program_subjects
from pollux.runbooks.settings import DEFAULT_AGENTS, AgentEntry
from pollux.runbooks.trust import always_asks
from pollux.tools.define import Args, InformedTool

NAME: Final = "runbook_acp"
DANGEROUS: Final = "dangerous:"
"""How a subject begins that says which word of the command switches the agent's own questions off."""
LEAVE: Final = "approvedEdit"
"""Stands among the capabilities behind the writing of a file for which the agent has just been given leave."""
PROMPTED: Final = "prompted"
"""What is noted once the agent has been sent its prompt: from then on it is its answer that is waited for."""
UNKNOWN: Final = "unknown:"
"""How a subject begins that says what a known agent would be given that Pollux does not know to be harmless."""
NEEDS: Final[Mapping[ToolKind, str]] = {
    "read": "readFiles",
    "search": "readFiles",
    "edit": "writeFiles",
    "delete": "writeFiles",
    "move": "writeFiles",
    "execute": "executeCommands",
}
"""Which capability of the block a kind of tool call needs. What is not here is asked about, whatever the block has."""
MOST_SHOWN: Final = 4_000
MOST_OF_LINE: Final = 500
"""Of each of the last lines that a failed agent wrote to stderr."""

CAPABILITIES: Final[dict[str, JSON]] = {
    "type": "object",
    "properties": {
        name: {"type": "boolean"} for name in ("readFiles", "writeFiles", "executeCommands", "alwaysAllowTools")
    },
    "additionalProperties": False,
}
SPEC: Final = ToolSpec(
    NAME,
    "Have a foreign agent answer a prompt.",
    {
        "type": "object",
        "properties": {
            "name": TEXT,
            "argv": {"type": "array", "items": TEXT, "minItems": 1},
            "env": {"type": "object", "additionalProperties": TEXT},
            "directory": TEXT,
            "prompt": TEXT,
            "system": TEXT,
            "capabilities": CAPABILITIES,
            "timeout": {"type": ["number", "null"], "exclusiveMinimum": 0},
            "mcp_servers": {"type": "array", "items": {"type": "object"}},
            "dangerous": TEXT,
            **PINNED,
            "unknown": {"type": "array", "items": TEXT},
        },
        "required": ["name", "argv", "env", "directory", "prompt"],
        "additionalProperties": False,
    },
    side_effect=True,
    repeat="once",
)


def foreign_agent(
    live: LiveAgents, masking: Masking, registry: Mapping[str, AgentEntry] = DEFAULT_AGENTS
) -> InformedTool:
    """The tool. Its agents are found by those behind their requests in `live`; `masking` knows what is never kept.

    What the `registry` says of an agent is the person's own word: only what a document adds to that is asked about.
    """

    async def run(facts: CallFacts, context: ToolContext, args: Args) -> dict[str, JSON]:
        _check_installed()
        _check_same(facts, args)
        began = time.monotonic()
        desk = _Desk(context, live, args, masking)
        wanted = _capabilities(args)
        try:
            answer = await converse(
                AgentCommand(_located(args), _env(args), str(args["directory"])),
                prompt=str(args["prompt"]),
                system=str(args["system"]) or None,
                client=desk,
                capabilities=Capabilities(wanted["readFiles"], wanted["writeFiles"], wanted["executeCommands"]),
                mcp_servers=cast("list[dict[str, JSON]]", args["mcp_servers"]),
                timeout=cast("float | None", args["timeout"]),
                prompted=desk.prompted,
            )
        except AgentFailed as problem:
            raise _failure(problem) from problem
        finally:
            live.forget(context)
        return _result(answer, desk, time.monotonic() - began)

    return InformedTool(
        SPEC,
        run,
        prepare=lambda facts, args: _prepare(facts, args, registry),
        subjects=_subjects,
        preview=_preview,
        unaccepted=lambda facts, args: frozenset(f"{UNACCEPTED}{each}" for each in _unaccepted(facts, args)),
    )


class _Desk:
    """Where one agent's requests arrive, and what it tells."""

    def __init__(self, context: ToolContext, live: LiveAgents, args: Args, masking: Masking) -> None:
        self._context = context
        self._live = live
        self._masking = masking
        self._args = args
        self._may = _capabilities(args)
        self._requests = 0
        self._asked: dict[str, list[str]] = {}
        """Of each tool call, the requests about it: its id is the agent's to choose, and to use twice."""
        self.refused: set[str] = set()
        """The tool calls that it was not allowed, at least once."""
        self.matching = Matching(str(args["directory"]))
        self.rejections: list[str] = []
        """What it asked for and was not given, each in a few words."""
        self.approved: set[str] = set()
        """The tool calls that it was allowed, whenever it asked about them."""

    async def prompted(self) -> None:
        # Of a run that is being cancelled nothing more is noted.
        with suppress(Misfit):
            await self._context.note(PROMPTED)

    async def permission(self, request: PermissionRequest) -> Decision:
        need = NEEDS.get(request.kind)
        if need is not None and not self._may[need]:
            await self._context.observe(f"acp:{request.kind}", _short(request.title), f"refused: {need} is off")
            self.rejections.append(f"{_brief(request.title)} was rejected: {need} is off")
            return "reject_once"
        number = self._number(asked.PERMISSION)
        self._asked.setdefault(request.tool_call_id, []).append(number)
        told: Args = {
            "kind": request.kind,
            "title": _short(request.title),
            "input": request.raw_input,
            "paths": list(request.locations),
            "changes": _short(changes_of(request)),
        }
        try:
            # It says what it will do, and does it itself: nothing is lost where a secret is left out of that.
            writes = self._writes(request)
            told = self._masking.value(told)
            is_shown = await self._ask(asked.PERMISSION, number, is_vague=need is None, writes=writes, **told)
        except Refusal as refused:
            self.refused.add(request.tool_call_id)
            self.approved.discard(request.tool_call_id)
            if not refused.is_over:
                self.rejections.append(f"{_brief(request.title)} was rejected: {refused}")
            return "cancelled" if refused.is_over else "reject_once"
        self.matching.allowed(request, is_shown=is_shown)
        if request.tool_call_id not in self.refused:
            self.approved.add(request.tool_call_id)
        # Never `allow_always`: what was remembered is a grant of ours, that can be seen and taken back.
        return "allow_once"

    async def read_text_file(self, path: str, line: int | None, limit: int | None) -> str:
        text = await self._file(asked.READ, path=path, line=line, limit=limit)
        if text is None:
            raise FileNotFoundError(2, "there is no such file")
        return text

    async def write_text_file(self, path: str, content: str) -> None:
        is_asked = self.matching.takes_edit(path, content)
        await self._file(asked.WRITE, with_leave=is_asked, path=path, content=content)
        self.matching.wrote(path)

    async def terminal(
        self,
        command: str,
        args: tuple[str, ...],
        env: Mapping[str, str],
        cwd: str | None,
        output_byte_limit: int | None,
    ) -> Terminal:
        own = str(self._args["directory"])
        if cwd is not None and not _is_within(cwd, own):
            raise PolicyError(f"{cwd} is outside the agent's directory {own}")
        return await self._file(
            asked.TERMINAL,
            command=command,
            words=list(args),
            env=dict(env),
            limit=output_byte_limit,
            directory=cwd or own,
        )

    async def update(self, update: Update) -> None:
        if isinstance(update, TextChunk):
            self._context.tell(update.text)
        elif isinstance(update, ToolCallStarted | ToolCallChanged):
            self.matching.heard(update.call.id)
        elif isinstance(update, ToolCallEnded):
            call = update.call
            self.matching.heard(call.id)
            asked_as = call.id if call.asked else self.matching.asked_as(call)
            for number in self._asked.get(asked_as, ()):
                self._live.ended(self._context, number, call)
            if asked_as in self.approved or (not asked_as and self.matching.was_ours(call)):
                self.approved.add(call.id)
            elif not asked_as:
                await self._observed(call)

    async def _observed(self, call: ToolCall) -> None:
        await self._context.observe(f"acp:{call.kind}", _short(call.title), call.status)

    async def _file(self, tool: str, *, with_leave: bool = False, **args: Any) -> Any:
        if self._masking.value(args) != args:
            # What is asked for is kept, word for word, as what was decided about.
            raise PolicyError("a secret of Pollux's own is a part of this: it would be kept in the journal")
        try:
            placed = {"directory": self._args["directory"], **args}
            return await self._ask(tool, self._number(tool), with_leave=with_leave, **placed)
        except Refusal as refused:
            raise PolicyError(str(refused)) from None

    def _writes(self, request: PermissionRequest) -> list[Args]:
        """How the agent may have us write what it asks leave to edit: once for each file."""
        changed = {each.path: each.new for each in edits_of(request)}
        placed: Args = {"agent": self._args["name"], "directory": self._args["directory"]}
        return [{**placed, "path": path, "content": new} for path, new in changed.items()]

    def _number(self, tool: str) -> str:
        """What a request is known by. Never a word of the agent's: leave for one must not be taken for another's."""
        self._requests += 1
        return f"{tool}#{self._requests}"

    async def _ask(
        self,
        tool: str,
        request: str,
        *,
        is_vague: bool = False,
        with_leave: bool = False,
        writes: Sequence[Args] = (),
        **args: JSON,
    ) -> Any:
        told: Args = {"agent": self._args["name"], **args}
        given = {name for name, is_on in self._may.items() if is_on}
        if is_vague and not given.issuperset(NEEDS.values()):
            # The kind is the agent's own word: one that says nothing must not stand for what the block may not do.
            given.discard("alwaysAllowTools")
        if with_leave:
            given.add(LEAVE)
        try:
            return await self._live.ask(self._context, tool, request, told, capabilities=given, writes=writes)
        except ValidationError as problem:
            raise PolicyError(str(problem)) from None


def _result(answer: Answer, desk: _Desk, seconds: float) -> dict[str, JSON]:
    usage = answer.usage
    elsewhere = set(desk.matching.standing_in.values())
    return {
        "text": answer.text,
        "stop": answer.stop_reason,
        "seconds": round(seconds, 3),
        "usage": {"input": usage.input_tokens if usage else None, "output": usage.output_tokens if usage else None},
        "actions": [
            {
                "tool": call.title or call.kind,
                "status": _status(call, desk),
                "approved": call.id in desk.approved,
                "about": "" if call.asked or call.id in desk.approved else "observed: it was not asked about",
            }
            for call in answer.tool_calls
            if call.id not in elsewhere
        ],
        "problem": _problem(answer, desk),
        "agent": f"{answer.agent_name} {answer.agent_version}".strip(),
        "session": answer.session_id,
    }


def _status(call: ToolCallSeen, desk: _Desk) -> str:
    """How it ended. Of a call that was rejected some agents say nothing more."""
    is_open = call.status in ("pending", "in_progress")
    return "rejected" if is_open and call.id in desk.refused and call.id not in desk.approved else call.status


def _problem(answer: Answer, desk: _Desk) -> str:
    """Why it gave no whole answer. After a rejection some agents say that they were cancelled."""
    if answer.stop_reason == "end_turn":
        return ""
    if answer.stop_reason == "cancelled" and desk.rejections:
        return f"the agent stopped because {desk.rejections[-1]}"
    return f"the agent stopped before its end: {answer.stop_reason}"


def _check_installed() -> None:
    try:
        check_installed()
    except PolluxError as missing:
        # As the tool's own word: nothing was started, and there is no outcome to find out about.
        raise ToolExecutionError(str(missing), code="agent_failed") from None


def _failure(problem: AgentFailed) -> ToolExecutionError:
    tail = [line[-MOST_OF_LINE:] for line in problem.stderr.strip().splitlines()[-3:]]
    said = f"{problem}\n" + "\n".join(tail) if tail else str(problem)
    code = "timeout" if problem.kind == "timeout" else "agent_failed"
    return ToolExecutionError(said, code=code)


def _prepare(facts: CallFacts, args: Args, registry: Mapping[str, AgentEntry]) -> Args:
    words = [str(word) for word in cast("list[JSON]", args["argv"])]
    off = {"readFiles": False, "writeFiles": False, "executeCommands": False, "alwaysAllowTools": False}
    given = cast("dict[str, JSON]", args.get("capabilities") or {})
    plain: Args = {"system": "", "timeout": None, "mcp_servers": []}
    # Worked out here, whatever the arguments say of it.
    return {
        **plain,
        **{name: value for name, value in args.items() if name not in FORMERLY},
        "capabilities": {**off, **given},
        "dangerous": always_asks(words),
        "programs": [[word, file] for word, file in _programs(facts, args)],
        "unknown": _unknown(words, _env(args), registry),
    }


def _unknown(words: list[str], env: Mapping[str, str], registry: Mapping[str, AgentEntry]) -> list[str]:
    """What the document gives a known agent that is not known to be harmless."""
    entries = [entry for entry in registry.values() if tuple(words[: len(entry.argv)]) == entry.argv]
    own = max(entries, key=lambda entry: len(entry.argv), default=None)
    named = {name: value for name, value in env.items() if own is None or own.env.get(name) != value}
    return unknown_settings(words, named, own=len(own.argv) if own else 0)


def _programs(facts: CallFacts, args: Args) -> Programs:
    """Which files the command means now."""
    directory = str(args["directory"])
    places = (*facts.places, directory)
    commands = (_words(args), *servers_of(args.get("mcp_servers")))
    found = [started_by(each, env=_env(args), directory=directory, places=places) for each in commands]
    return tuple(dict.fromkeys(pair for pairs in found for pair in pairs))


def _unaccepted(facts: CallFacts, args: Args) -> list[str]:
    """Which of its programs are not those that a person accepted with the document."""
    accepted = accepted_of(facts)
    return [] if accepted is None else differences(_pairs(args["programs"]), accepted)


def _pairs(given: JSON) -> Programs:
    return tuple((str(word), str(file)) for word, file in cast("list[list[str]]", given or []))


def _check_same(facts: CallFacts, args: Args) -> None:
    """Raises ToolExecutionError where another program would start than the one that was decided about."""
    if changed := differences(_programs(facts, args), _pairs(args["programs"])):
        raise ToolExecutionError(
            f"the agent was not started, because its program changed after the decision: {'; '.join(changed)}",
            code="agent_failed",
        )


def _located(args: Args) -> tuple[str, ...]:
    """The command, with the program that was found and not only its name."""
    first, *rest = _words(args)
    return located(first, env=_env(args), directory=str(args["directory"])) or first, *rest


def _subjects(args: Args) -> frozenset[str]:
    """The command, and all that makes it another agent than the one that somebody said yes to."""
    may = {f"may:{name}" for name, is_on in _capabilities(args).items() if is_on}
    servers = {
        f"mcp:{each.get('name')}#{digest(each)[:12]}" for each in cast("list[dict[str, JSON]]", args["mcp_servers"])
    }
    marked = {
        *([f"{DANGEROUS}{args['dangerous']}"] if args["dangerous"] else []),
        *(f"{UNKNOWN}{each}" for each in cast("list[str]", args["unknown"])),
        *program_subjects(_pairs(args["programs"])),
    }
    return frozenset({shlex.join(_words(args)), *may, *servers, *marked}) | environment_subjects(_env(args))


def _preview(facts: CallFacts, args: Args) -> str:
    may = [name for name, is_on in _capabilities(args).items() if is_on]
    lines = [
        f"start the agent {args['name']}: {' '.join(_words(args))}",
        f"in {args['directory']}, allowed: {', '.join(may) or 'nothing but to talk'}",
    ]
    if named := sorted(_env(args)):
        lines.append(f"with {', '.join(named)} in its environment")
    servers = [str(each.get("name")) for each in cast("list[dict[str, JSON]]", args["mcp_servers"])]
    if servers:
        lines.append(f"with the MCP servers {', '.join(servers)}, that it starts itself")
    lines += [f"{word} is {file}" for word, file in _pairs(args["programs"]) if word != file]
    careful = [
        *([str(args["dangerous"])] if args["dangerous"] else []),
        *_unaccepted(facts, args),
        *(f"the agent would be started with {each}, which Pollux does not know" for each in args["unknown"]),
    ]
    lines += [f"careful: {each}" for each in careful]
    return "\n".join([*lines, "", str(args["prompt"])])


def _capabilities(args: Args) -> dict[str, bool]:
    return cast("dict[str, bool]", args["capabilities"])


def _words(args: Args) -> list[str]:
    return cast("list[str]", args["argv"])


def _env(args: Args) -> dict[str, str]:
    return cast("dict[str, str]", args["env"])


def _is_within(path: str, directory: str) -> bool:
    """Whether it leads there, whatever links there are on the way."""
    inner, outer = os.path.realpath(path), os.path.realpath(directory)
    return inner == outer or inner.startswith(outer.rstrip(os.sep) + os.sep)


def _brief(title: str) -> str:
    line = " ".join(title.split())
    return f"'{line[:100]}'"


def _short(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}… ({len(text) - MOST_SHOWN} more characters)"
