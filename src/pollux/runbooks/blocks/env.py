"""`env`: a variable in the environment of the programs that later blocks run."""

from dataclasses import replace

from pollux.core.messages import JSON
from pollux.runbooks.blocks.block_type import NAME, TEXT, Call, Quiet, Reading
from pollux.runbooks.blocks.remembered import NOT_LITERAL, remembered, remembering
from pollux.runbooks.documents import Block
from pollux.runbooks.scene import Scene
from pollux.tools.shell.steering import steers


class Env(Quiet):
    """The type of `env` blocks."""

    names = ("env",)

    def __init__(self) -> None:
        tool = remembering("runbook_env", "Set in the environment:", ("name", "value"), name=NAME, value=TEXT)
        self.tools = (tool,)

    def call(self, block: Block, scene: Scene) -> Call:
        reading = Reading(block, scene)
        name, value = reading.text("name").strip(), reading.text("value")
        if "=" in name or "\0" in name:
            raise reading.problem(f"name must hold neither '=' nor NUL, found {name!r}")
        if "\0" in value:
            raise reading.problem("value must not hold a NUL: no program can be given one")
        call = reading.call("runbook_env", name=name, value=value)
        is_literal = (name, value) == (reading.written("name").strip(), reading.written("value"))
        if is_literal or not steers(name):
            return call
        # A value that the document only makes room for: nobody who accepted the document has seen it.
        return replace(call, sources=call.sources | {f"{NOT_LITERAL}{name}"})

    def after(self, scene: Scene, block: Block, result: JSON) -> Scene:
        # A block that nobody has filled in yet names nothing, and sets nothing.
        found = remembered(scene, block, result, "name", "value")
        return scene.with_env(found[0], found[1].value, found[1].sources) if found else scene
