"""`terminal`, also called `run`: code for a shell, run on a terminal of its own.

Atuin leaves the shell open until somebody types `exit`, since it cannot see where a command ends. Nobody types here:
the shell is given the code, and ends with it.
"""

import os
from typing import Final

from pollux.core.messages import JSON, CallFacts
from pollux.core.tools import ToolContext, ToolSpec
from pollux.runbooks.blocks.block_type import ENVIRONMENT, NAME, TEXT, TIMEOUT, Args, Call, Reading, members, schema
from pollux.runbooks.blocks.pinned import PINNED, pinned, unaccepted_facts, with_pins
from pollux.runbooks.blocks.programs import (
    OUTPUT_LIMIT,
    TAKES_CODE_BY,
    at_work,
    command_of,
    preview_of,
    subjects_of,
    told,
)
from pollux.runbooks.blocks.pty import MAX_SIDE, run_on_terminal
from pollux.runbooks.blocks.script import with_variables
from pollux.runbooks.documents import Block
from pollux.runbooks.scene import Scene
from pollux.tools.define import InformedTool

ROWS: Final = 20
COLUMNS: Final = 120

TERMINAL: Final = ToolSpec(
    "runbook_terminal",
    "Run code by a shell in a directory, on a terminal of its own, and return what it showed.",
    schema(
        ("shell", "code", "directory", "env"),
        shell=NAME,
        code=TEXT,
        directory=TEXT,
        env=ENVIRONMENT,
        rows={"type": "integer", "minimum": 1, "maximum": MAX_SIDE},
        columns={"type": "integer", "minimum": 1, "maximum": MAX_SIDE},
        visible={"type": "boolean"},
        timeout=TIMEOUT,
        **PINNED,
    ),
    side_effect=True,
    repeat="once",
)


class Terminal:
    """The type of `terminal` and `run` blocks. `shell` is for those that name none: the user's own."""

    names = ("terminal", "run")

    def __init__(self, *, shell: str = "bash") -> None:
        self._shell = shell if os.path.basename(shell) in TAKES_CODE_BY else "bash"
        self.tools = (
            InformedTool(
                TERMINAL,
                _run,
                prepare=_prepare,
                subjects=lambda args: subjects_of(str(args["shell"]), str(args["code"]), args),
                preview=lambda facts, args: preview_of(f"{args['shell']}, on a terminal,", facts, args),
                unaccepted=unaccepted_facts,
            ),
        )

    def call(self, block: Block, scene: Scene) -> Call:
        reading = Reading(block, scene)
        rows = reading.number("terminalRows", default=reading.number("rows", default=ROWS))
        args: Args = {
            # The shell's name is called `type` there.
            "shell": reading.written("type").strip() or self._shell,
            "code": reading.text("code"),
            "directory": scene.directory,
            "env": reading.environment(),
            "rows": _side(rows),
            "columns": _side(reading.number("cols", default=COLUMNS)),
            "visible": reading.flag("outputVisible", default=True),
            "timeout": reading.timeout(),
        }
        return with_pins(reading.call("runbook_terminal", **args), scene)

    def output(self, result: JSON) -> dict[str, JSON]:
        found = members(result)
        return {
            "output": found.get("output", ""),
            "byte_count": found.get("byte_count", 0),
            "cancelled": found.get("cancelled", "exit_code" not in found),
        }

    def after(self, scene: Scene, block: Block, result: JSON) -> Scene:
        scene = scene.with_output(block.id, self.output(result))
        return with_variables(scene, block, members(result).get("variables", {}))

    def succeeded(self, result: JSON) -> bool:
        return members(result).get("exit_code") == 0


def _side(cells: int) -> int:
    return min(max(cells, 1), MAX_SIDE)


def _prepare(facts: CallFacts, args: Args) -> Args:
    command_of(str(args["shell"]), str(args["code"]))
    return pinned(
        str(args["shell"]), facts, {"rows": ROWS, "columns": COLUMNS, "visible": True, "timeout": None, **args}
    )


async def _run(facts: CallFacts, context: ToolContext, args: Args) -> dict[str, JSON]:
    rows, columns = args["rows"], args["columns"]
    assert isinstance(rows, int) and isinstance(columns, int)
    async with at_work(context, facts, args, str(args["shell"]), TERM="xterm-256color") as program:
        shown = await run_on_terminal(
            program.argv,
            cwd=program.directory,
            env=program.env,
            rows=rows,
            columns=columns,
            timeout=program.timeout,
            output_limit=OUTPUT_LIMIT,
            on_output=program.telling,
        )
        variables, problem = program.over()
    result: dict[str, JSON] = {
        "exit_code": shown.exit_code,
        "output": shown.output,
        "byte_count": shown.byte_count,
        "cancelled": bool(shown.reason),
        "variables": dict(variables),
    }
    return told(result, reason=shown.reason, note=problem)
