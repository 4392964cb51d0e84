"""The calls that a foreign agent's requests become. Each is decided like any other: by the policy, or by a person.

A permission lets the agent do something itself: all that we learn of it is that it began and how it says it ended.
Files and commands that it asks us for are ours: under the same rules as those of our own tools.
"""

import os
import shlex
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from pollux.acp.terminals import CommandTerminal
from pollux.core.errors import ToolError, ValidationError
from pollux.core.messages import JSON, CallFacts
from pollux.core.tools import Reconciled, Tool, ToolContext, ToolSpec
from pollux.runbooks.agents.live import LiveAgents
from pollux.runbooks.blocks.pinned import PROGRAMS, pairs, program_lines, require_same, subjects_of_programs
from pollux.runbooks.blocks.programs import environment_subjects
from pollux.runbooks.blocks.started import started
from pollux.runbooks.located import Programs
from pollux.tools.define import Args, FunctionTool, InformedTool
from pollux.tools.files.root import Root
from pollux.tools.files.text import decoded, encoded
from pollux.tools.shell.agent_shell import argv_of
from pollux.tools.shell.judge import subjects as command_subjects
from pollux.tools.shell.process import run_process
from pollux.tools.shell.surroundings import Surroundings
from pollux.tools.threads import in_thread

PERMISSION: Final = "agent_permission"
READ: Final = "agent_read_file"
WRITE: Final = "agent_write_file"
TERMINAL: Final = "agent_terminal"
NAMES: Final = (PERMISSION, READ, WRITE, TERMINAL)
MOST_READ: Final = 64 * 2**20
"""Of what a command puts out. One that has more is still run to its end; nobody sees it."""
LARGEST_FILE: Final = 16 << 20
TEXT: Final[dict[str, JSON]] = {"type": "string"}
LONG: Final[dict[str, JSON]] = {"type": "string", "maxLength": LARGEST_FILE}
Roots = Callable[[str], Root]


def asked_tools(live: LiveAgents, roots: Roots) -> tuple[Tool, ...]:
    """All of them. `roots` opens a directory for reading and writing beneath it."""
    return _permission(live), _read(live, roots), _write(live, roots), _terminal(live)


def _permission(live: LiveAgents) -> Tool:
    spec = ToolSpec(
        PERMISSION,
        "A foreign agent does something by itself, with leave.",
        _schema(
            kind=TEXT,
            title=TEXT,
            input={"maxLength": LARGEST_FILE},
            paths={"type": "array", "items": TEXT},
            changes=TEXT,
        ),
        side_effect=True,
        repeat="once",
    )

    async def run(context: ToolContext, args: Args) -> JSON:
        # A grant or a rule shows nothing to anybody: it stands for no file that we write.
        writes = [{**each, "request": args["request"]} for each in live.request(context, args).writes]
        objections = [await context.objection(WRITE, each) for each in writes]
        waiting = live.request(context, args)
        waiting.leave.set_result(not any(objections))
        return await waiting.over

    def preview(args: Args) -> str:
        told = f"{args['agent']} wants to {args['kind']}: {args['title']}"
        return f"{told}\n{args['changes']}" if args["changes"] else told

    # What it says of itself is all there is to go by: to remember one answer is to remember it for the kind.
    return FunctionTool(
        spec, run, subjects=lambda args: frozenset({f"{args['agent']}:{args['kind']}"}), preview=preview
    )


def _read(live: LiveAgents, roots: Roots) -> Tool:
    spec = ToolSpec(
        READ,
        "Read a text file for a foreign agent.",
        _schema(directory=TEXT, path=TEXT, line={"type": ["integer", "null"]}, limit={"type": ["integer", "null"]}),
    )

    async def run(context: ToolContext, args: Args) -> JSON:
        waiting = live.request(context, args)
        content = await in_thread(_content, roots, str(args["directory"]), str(args["path"]))
        text = None if content is None else _lines(decoded(content), args["line"], args["limit"])
        waiting.leave.set_result(text)
        return {"path": args["path"], "characters": len(text) if text is not None else None}

    return FunctionTool(spec, run, prepare=_beneath, subjects=_path, preview=lambda args: f"read {args['path']}")


def _write(live: LiveAgents, roots: Roots) -> Tool:
    spec = ToolSpec(
        WRITE,
        "Write a text file for a foreign agent.",
        _schema(directory=TEXT, path=TEXT, content=LONG),
        side_effect=True,
        repeat="checkable",
    )

    async def run(context: ToolContext, args: Args) -> JSON:
        content = encoded(args["content"])

        def write() -> None:
            root = roots(str(args["directory"]))
            try:
                root.write(str(args["path"]), content)
            finally:
                root.close()

        await in_thread(write)
        live.request(context, args).leave.set_result(None)
        return {"path": args["path"], "bytes": len(content)}

    async def reconcile(context: ToolContext, args: Args) -> Reconciled:
        found = await in_thread(_content, roots, str(args["directory"]), str(args["path"]))
        if found == encoded(args["content"]):
            return Reconciled("done", {"path": args["path"]})
        return Reconciled("unknown", detail=f"look at {args['path']}: an agent was about to write it")

    def preview(args: Args) -> str:
        return f"write {args['path']}\n{args['content']}"

    return FunctionTool(spec, run, prepare=_beneath, subjects=_path, preview=preview, reconcile=reconcile)


def _terminal(live: LiveAgents) -> Tool:
    spec = ToolSpec(
        TERMINAL,
        "Run a command for a foreign agent.",
        _schema(
            directory=TEXT,
            command=TEXT,
            words={"type": "array", "items": TEXT},
            env={"type": "object", "additionalProperties": TEXT},
            limit={"type": ["integer", "null"]},
            programs=PROGRAMS,
        ),
        side_effect=True,
        repeat="once",
    )

    async def run(facts: CallFacts, context: ToolContext, args: Args) -> JSON:
        require_same(_started(facts, args), args)
        waiting = live.request(context, args)
        words = cast("list[str]", args["words"])
        # A command line in one text runs as it was judged; words are a program and its arguments.
        command = [str(args["command"]), *words] if words else str(args["command"])
        start = partial(run_process, cwd=Path(str(args["directory"])))
        ready = await _around(args).ready(argv_of(command), start)
        started = partial(start, ready.argv, env=ready.env, timeout=None, output_limit=MOST_READ)
        terminal = CommandTerminal(
            lambda on_output: started(on_output=on_output), output_byte_limit=cast("int | None", args["limit"])
        )
        try:
            waiting.leave.set_result(terminal)
            ended = await terminal.wait()
        finally:
            await terminal.kill()
        return {"exit_code": ended.code, "signal": ended.signal, "output": (await terminal.output()).text}

    return InformedTool(
        spec,
        run,
        prepare=lambda facts, args: {**_whole(args), "programs": pairs(_started(facts, args))},
        # A variable can change what a command does: leave for the one without it is none for the one with it.
        subjects=lambda args: (
            command_subjects(_line(args), is_installed=_around(args).is_installed)
            | environment_subjects(cast("dict[str, str]", args["env"]))
            | subjects_of_programs(args)
        ),
        preview=lambda facts, args: f"{_terminal_preview(args)}{program_lines((), args)}",
        unaccepted=lambda facts, args: frozenset(),
    )


def _started(facts: CallFacts, args: Args) -> Programs:
    """What the command means now. Its words are a shell's, as they are judged."""
    directory, env = str(args["directory"]), cast("dict[str, str]", args["env"])
    return started("sh", _line(args), env=env, directory=directory, places=(*facts.places, directory))


def _around(args: Args) -> Surroundings:
    return Surroundings(Path(str(args["directory"])), cast("dict[str, str]", args["env"]))


def _terminal_preview(args: Args) -> str:
    """As with scripts, of variables only the names: values may be secret, and the arguments show them."""
    env = cast("dict[str, str]", args["env"])
    named = f", with {', '.join(env)} set" if env else ""
    return f"$ {_line(args)}\nin {args['directory']}{named}"


def _schema(**properties: Any) -> Mapping[str, JSON]:
    common: dict[str, JSON] = {"agent": TEXT, "request": TEXT}
    return {
        "type": "object",
        "properties": {**common, **properties},
        # What is worked out is given by nobody.
        "required": [name for name in (*common, *properties) if name != "programs"],
        "additionalProperties": False,
    }


def _beneath(args: Args) -> Args:
    """The path, beneath the agent's directory. Raises ValidationError where it leads out of it."""
    inner = os.path.relpath(str(args["path"]), str(args["directory"]))
    if inner == ".." or inner.startswith("../"):
        raise ValidationError(f"{args['path']} is outside the agent's directory {args['directory']}")
    return {**args, "path": inner}


def _whole(args: Args) -> Args:
    words = cast("list[str]", args["words"])
    if any("\0" in word for word in (str(args["command"]), *words)):
        raise ValidationError("command: expected text without NUL characters")
    argv_of(_line(args))
    return args


def _path(args: Args) -> frozenset[str]:
    return frozenset({str(args["path"])})


def _line(args: Args) -> str:
    words = cast("list[str]", args["words"])
    # An agent that gives one text and no words means a command line, as Gemini CLI does.
    return shlex.join([str(args["command"]), *words]) if words else str(args["command"])


def _content(roots: Roots, directory: str, path: str) -> bytes | None:
    root = roots(directory)
    try:
        return root.read(path)
    finally:
        root.close()


def _lines(text: str, line: JSON, limit: JSON) -> str:
    """The lines from the first on that was asked for, as many as were."""
    if not isinstance(line, int) and not isinstance(limit, int):
        return text
    first = max(line - 1, 0) if isinstance(line, int) else 0
    lines = text.splitlines(keepends=True)
    if first > len(lines):
        raise ToolError(f"the file has {len(lines)} lines")
    return "".join(lines[first : first + limit if isinstance(limit, int) else None])
