"""The tool `shell`: one command, asked about first unless a rule allows it."""

import os
from typing import Final

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.core.tools import ToolContext, ToolSpec
from pollux.tools.define import Args, FunctionTool
from pollux.tools.shell.agent_shell import TIMEOUT, Runner, argv_of
from pollux.tools.shell.judge import advice, subjects

MAX_COMMAND: Final = 32_768

SHELL: Final = ToolSpec(
    "shell",
    "Run a command in the working directory and return its exit code and output. Write one simple command where you"
    " can: pipes, redirections, variables and several commands in one need a person's approval.",
    {
        "type": "object",
        "properties": {
            "command": {"type": "string", "minLength": 1, "maxLength": MAX_COMMAND, "description": "the command line"}
        },
        "required": ["command"],
        "additionalProperties": False,
    },
    side_effect=True,
    repeat="once",
)


def shell_tool(runner: Runner, *, timeout: float = TIMEOUT, network: bool = False) -> FunctionTool:
    """The tool, running commands there."""

    async def run(context: ToolContext, args: Args) -> dict[str, JSON]:
        result = await runner.run(str(args["command"]), timeout=timeout, network=network)
        told: dict[str, JSON] = {"stdout": result.stdout, "stderr": result.stderr, "exit_code": result.exit_code}
        if result.timed_out or result.blocked:
            told["error"] = result.reason or "the command took too long and was stopped"
        return told

    return FunctionTool(
        SHELL,
        run,
        prepare=_prepare,
        subjects=lambda args: subjects(str(args["command"]), is_installed=runner.is_installed),
        preview=lambda args: _preview(str(args["command"])),
        place=os.path.realpath(runner.cwd),
    )


def _preview(command: str) -> str:
    why = advice(command)
    return f"$ {command}\n({why})" if why else f"$ {command}"


def _prepare(args: Args) -> Args:
    command = str(args["command"]).strip()
    if "\0" in command:
        raise ValidationError("command: expected text without NUL characters")
    argv_of(command)
    return {"command": command}
