"""`var`: a variable that the document sets."""

from pollux.core.messages import JSON
from pollux.runbooks.blocks.block_type import NAME, TEXT, Call, Quiet, Reading
from pollux.runbooks.blocks.remembered import remembered, remembering
from pollux.runbooks.documents import Block
from pollux.runbooks.scene import Scene


class Var(Quiet):
    """The type of `var` blocks."""

    names = ("var",)

    def __init__(self) -> None:
        self.tools = (remembering("runbook_var", "Set a variable:", ("name", "value"), name=NAME, value=TEXT),)

    def call(self, block: Block, scene: Scene) -> Call:
        reading = Reading(block, scene)
        return reading.call("runbook_var", name=reading.variable("name"), value=reading.text("value"))

    def after(self, scene: Scene, block: Block, result: JSON) -> Scene:
        found = remembered(scene, block, result, "name", "value")
        return scene.with_variable(*found) if found else scene
