"""`editor`: a text in the document. It writes no file: where it names a variable, the text is that variable's value."""

from pollux.core.messages import JSON
from pollux.runbooks.blocks.block_type import NAME, TEXT, Call, Quiet, Reading
from pollux.runbooks.blocks.remembered import remembered, remembering
from pollux.runbooks.documents import Block
from pollux.runbooks.scene import Scene


class Editor(Quiet):
    """The type of `editor` blocks."""

    names = ("editor",)

    def __init__(self) -> None:
        self.tools = (remembering("runbook_editor", "Keep a text as", ("name", "text"), name=NAME, text=TEXT),)

    def call(self, block: Block, scene: Scene) -> Call:
        reading = Reading(block, scene)
        name = reading.variable("variableName") if reading.written("variableName") else ""
        # One that is in step with its variable shows what the variable holds, and does not set it.
        is_shown = reading.flag("syncVariable", default=False) and name in scene.variables
        text = reading.value_of(name) if is_shown else reading.text("code")
        return reading.call("runbook_editor", name=name, text=text)

    def after(self, scene: Scene, block: Block, result: JSON) -> Scene:
        found = remembered(scene, block, result, "name", "text")
        return scene.with_variable(*found) if found else scene
