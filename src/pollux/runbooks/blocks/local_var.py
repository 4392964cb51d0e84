"""`local-var`: a variable that whoever runs the document brings along. Its value is never in the document.

It may be a secret, so the call does not hold it: what was given is in the scene from the beginning.
"""

from pollux.core.messages import JSON
from pollux.runbooks.blocks.block_type import NAME, Call, Quiet, Reading
from pollux.runbooks.blocks.remembered import remembering
from pollux.runbooks.documents import Block
from pollux.runbooks.scene import Scene


class LocalVar(Quiet):
    """The type of `local-var` blocks."""

    names = ("local-var",)

    def __init__(self) -> None:
        self.tools = (remembering("runbook_local_var", "Use a given variable:", ("name",), name=NAME),)

    def call(self, block: Block, scene: Scene) -> Call:
        reading = Reading(block, scene)
        name = reading.variable("name")
        if name not in scene.variables:
            raise reading.problem(f"the variable {name} has no value. Give it one: --var {name}=VALUE")
        return reading.call("runbook_local_var", name=name)

    def after(self, scene: Scene, block: Block, result: JSON) -> Scene:
        return scene
