"""`script`: code for an interpreter, run to its end. What it puts out is its output, and may become a variable."""

from typing import Final

from pollux.core.messages import JSON, CallFacts
from pollux.core.tools import ToolContext, ToolSpec
from pollux.runbooks.blocks.block_type import ENVIRONMENT, NAME, TEXT, TIMEOUT, Args, Call, Reading, members, schema
from pollux.runbooks.blocks.pinned import PINNED, pinned, unaccepted_facts, with_pins
from pollux.runbooks.blocks.programs import (
    OUTPUT_LIMIT,
    at_work,
    command_of,
    preview_of,
    subjects_of,
    told,
)
from pollux.runbooks.documents import Block
from pollux.runbooks.scene import NOBODY, Scene, Variable
from pollux.tools.define import InformedTool
from pollux.tools.shell.process import run_process

SCRIPT: Final = ToolSpec(
    "runbook_script",
    "Run code by an interpreter in a directory, and return its exit code and what it put out.",
    schema(
        ("interpreter", "code", "directory", "env"),
        interpreter=NAME,
        code=TEXT,
        directory=TEXT,
        env=ENVIRONMENT,
        output_variable={"type": "string", "pattern": r"^\w*$"},
        visible={"type": "boolean"},
        timeout=TIMEOUT,
        **PINNED,
    ),
    side_effect=True,
    repeat="once",
)


class Script:
    """The type of `script` blocks."""

    names = ("script",)

    def __init__(self) -> None:
        self.tools = (
            InformedTool(
                SCRIPT,
                _run,
                prepare=_prepare,
                subjects=lambda args: subjects_of(str(args["interpreter"]), str(args["code"]), args),
                preview=lambda facts, args: preview_of(str(args["interpreter"]), facts, args),
                unaccepted=unaccepted_facts,
            ),
        )

    def call(self, block: Block, scene: Scene) -> Call:
        reading = Reading(block, scene)
        interpreter = reading.written("interpreter").strip() or "bash"
        args: Args = {
            "interpreter": interpreter,
            "code": reading.text("code"),
            "directory": scene.directory,
            "env": reading.environment(),
            "output_variable": reading.variable("outputVariable") if reading.written("outputVariable") else "",
            "visible": reading.flag("outputVisible", default=True),
            "timeout": reading.timeout(),
        }
        return with_pins(reading.call("runbook_script", **args), scene)

    def output(self, result: JSON) -> dict[str, JSON]:
        found = members(result)
        stdout, stderr = found.get("stdout", ""), found.get("stderr", "")
        combined = found.get("combined", stdout or stderr)
        return {"exit_code": found.get("exit_code"), "stdout": stdout, "stderr": stderr, "combined": combined}

    def after(self, scene: Scene, block: Block, result: JSON) -> Scene:
        found = members(result)
        scene = scene.with_output(block.id, self.output(result))
        if not self.succeeded(result):
            return scene
        return with_variables(scene, block, {**found["variables"], **_captured(found)})

    def succeeded(self, result: JSON) -> bool:
        return members(result).get("exit_code") == 0


def with_variables(scene: Scene, block: Block, variables: dict[str, str]) -> Scene:
    """The scene with what a program has set: all of it comes out of this block, and out of what was put into it."""
    sources = scene.output_sources.get(block.id, NOBODY) | {block.id}
    for name, value in variables.items():
        scene = scene.with_variable(name, Variable(value, sources))
    return scene


def _captured(found: dict[str, str]) -> dict[str, str]:
    name = found.get("output_variable")
    return {name: found["stdout"].strip()} if name else {}


def _prepare(facts: CallFacts, args: Args) -> Args:
    command_of(str(args["interpreter"]), str(args["code"]))
    return pinned(str(args["interpreter"]), facts, {"output_variable": "", "visible": True, "timeout": None, **args})


async def _run(facts: CallFacts, context: ToolContext, args: Args) -> dict[str, JSON]:
    async with at_work(context, facts, args, str(args["interpreter"])) as program:
        ended = await run_process(
            program.argv,
            cwd=program.directory,
            env=program.env,
            timeout=program.timeout,
            output_limit=OUTPUT_LIMIT,
            on_output=program.telling,
        )
        variables, problem = program.over()
    result: dict[str, JSON] = {
        "exit_code": ended.exit_code,
        "stdout": ended.stdout,
        "stderr": ended.stderr,
        "variables": dict(variables) if ended.exit_code == 0 else {},
        "output_variable": args["output_variable"],
    }
    if ended.stdout and ended.stderr:
        # Whose middle is missing has no order any more.
        result["combined"] = ended.stdout + ended.stderr if ended.truncated else "".join(program.telling.pieces)
    return told(result, reason=ended.reason, note=problem)
