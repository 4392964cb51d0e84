"""`pause`: the run waits until a person says to go on. That is an approval, and nothing else makes up for it."""

from typing import Final

from pollux.core.messages import JSON
from pollux.core.policy import Rule
from pollux.core.tools import ToolContext, ToolSpec
from pollux.runbooks.blocks.block_type import TEXT, Args, Call, Quiet, Reading, schema
from pollux.runbooks.blocks.show import SHOW_TOOL
from pollux.runbooks.documents import Block
from pollux.runbooks.scene import Scene
from pollux.tools.define import FunctionTool

PAUSE: Final = ToolSpec(
    "runbook_pause",
    "Wait until a person says to go on.",
    schema(("text",), text=TEXT),
    default_approval="required",
    repeat="repeatable",
)

PAUSE_ASKS: Final = Rule(
    "require_approval",
    tool=PAUSE.name,
    tier="admin",
    priority=1_000_000,
    reason="the runbook pauses here",
    name="runbook-pause",
    grantable=False,
)
"""Stands above every rule that allows a document's blocks: to trust a document is not to have looked."""


class Pause(Quiet):
    """The type of `pause` blocks."""

    names = ("pause",)

    def __init__(self) -> None:
        self.tools = (FunctionTool(PAUSE, _run, preview=lambda args: str(args["text"])), SHOW_TOOL)

    def call(self, block: Block, scene: Scene) -> Call:
        reading = Reading(block, scene)
        if reading.flag("pauseIfTruthy", default=False) and not _is_truthy(reading.text("condition")):
            return reading.call("runbook_show", text="no pause: its condition is not met")
        text = next((found for name in ("message", "label", "name") if (found := reading.text(name).strip())), "")
        return reading.call("runbook_pause", text=text or block.content.strip() or "The runbook pauses here. Go on?")

    def after(self, scene: Scene, block: Block, result: JSON) -> Scene:
        return scene


def _is_truthy(text: str) -> bool:
    """True, yes, and every number but 0. Whatever else a condition comes to is not."""
    word = text.strip().lower()
    if word in ("true", "yes"):
        return True
    try:
        return float(word) != 0
    except ValueError:
        return False


async def _run(context: ToolContext, args: Args) -> dict[str, JSON]:
    return {}
