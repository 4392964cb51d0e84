"""`var_display`: shows the value of a variable. Nothing happens."""

from typing import Final

from pollux.core.messages import JSON
from pollux.core.tools import ToolContext, ToolSpec
from pollux.runbooks.blocks.block_type import TEXT, Args, Call, Quiet, Reading, schema
from pollux.runbooks.documents import Block
from pollux.runbooks.scene import Scene
from pollux.tools.define import FunctionTool

SHOW: Final = ToolSpec("runbook_show", "Show a text.", schema(("text",), text=TEXT), repeat="repeatable")


async def _run(context: ToolContext, args: Args) -> dict[str, JSON]:
    context.tell(f"{args['text']}\n")
    return {}


SHOW_TOOL: Final = FunctionTool(SHOW, _run, preview=lambda args: str(args["text"]))


class VarDisplay(Quiet):
    """The type of `var_display` blocks."""

    names = ("var_display",)

    def __init__(self) -> None:
        self.tools = (SHOW_TOOL,)

    def call(self, block: Block, scene: Scene) -> Call:
        reading = Reading(block, scene)
        name = reading.variable("name")
        if name not in scene.variables:
            return reading.call("runbook_show", text=f"{name} has no value yet")
        return reading.call("runbook_show", text=f"{name} = " + reading.value_of(name))

    def after(self, scene: Scene, block: Block, result: JSON) -> Scene:
        return scene
