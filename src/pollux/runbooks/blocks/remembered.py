"""The tool of a block that only says what later blocks shall know. It does nothing, and may be done again.

Its result is what it was called with, and which outputs that is made of: so nothing has to be rendered a second time to
know what follows from it.
"""

from pollux.core.messages import JSON
from pollux.core.tools import ToolContext, ToolSpec
from pollux.runbooks.blocks.block_type import Args, Call, Reading, members, schema
from pollux.runbooks.scene import Variable
from pollux.tools.define import FunctionTool

SOURCES: dict[str, JSON] = {"type": "array", "items": {"type": "string"}}


def remembering(tool: str, description: str, required: tuple[str, ...], /, **properties: JSON) -> FunctionTool:
    """Such a tool. The first argument is what people are told of it: the others may be secret."""
    spec = ToolSpec(tool, description, schema(required, **properties, sources=SOURCES), repeat="repeatable")
    return FunctionTool(spec, _run, preview=lambda args: f"{description} {args[required[0]]}")


def to_remember(reading: Reading, tool: str, /, **args: JSON) -> Call:
    """The call of such a tool, with what its texts were made of."""
    return reading.call(tool, **args, sources=[*sorted(reading.sources)])


def remembered(result: JSON, name: str, value: str) -> tuple[str, Variable] | None:
    """The variable that a result speaks of, by its members' names. None if it names none, or the call failed."""
    found = members(result)
    if not found.get(name):
        return None
    return found[name], Variable(found[value], frozenset(found.get("sources", ())))


async def _run(context: ToolContext, args: Args) -> dict[str, JSON]:
    return dict(args)
