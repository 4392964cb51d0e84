"""The tool of a block that only says what later blocks shall know. It does nothing, and may be done again.

Its result is what it was called with: so nothing has to be rendered a second time to know what follows from it. Which
outputs that is made of is a fact of the call, and not among the arguments.
"""

from typing import Final

from pollux.core.messages import JSON
from pollux.core.tools import ToolContext, ToolSpec
from pollux.runbooks.blocks.block_type import Args, members, schema
from pollux.runbooks.documents import Block
from pollux.runbooks.scene import Scene, Variable
from pollux.tools.define import FunctionTool

SOURCES: dict[str, JSON] = {"type": "array", "items": {"type": "string"}, "description": "Of older versions."}
NOT_LITERAL: Final = "value from outside: "
"""How a source begins that says: this variable changes what programs run, and its value is not in the document."""


def remembering(tool: str, description: str, required: tuple[str, ...], /, **properties: JSON) -> FunctionTool:
    """Such a tool. The first argument is what people are told of it: the others may be secret."""
    spec = ToolSpec(tool, description, schema(required, **properties, sources=SOURCES), repeat="repeatable")
    return FunctionTool(spec, _run, preview=lambda args: f"{description} {args[required[0]]}")


def remembered(scene: Scene, block: Block, result: JSON, name: str, value: str) -> tuple[str, Variable] | None:
    """The variable that a result speaks of, by its members' names. None if it names none, or the call failed."""
    found = members(result)
    if not found.get(name):
        return None
    known = (each for each in scene.output_sources.get(block.id, ()) if not each.startswith(NOT_LITERAL))
    # In results of older versions they are, too: those can only add to what is known.
    return found[name], Variable(found[value], frozenset((*known, *found.get("sources", ()))))


async def _run(context: ToolContext, args: Args) -> dict[str, JSON]:
    return dict(args)
