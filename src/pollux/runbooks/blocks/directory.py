"""`directory` and `local-directory`: where later blocks work. The latter is given by whoever runs the document."""

import os
from typing import Final

from pollux.core.errors import ToolError, ValidationError
from pollux.core.messages import JSON
from pollux.core.tools import ToolContext, ToolSpec
from pollux.runbooks.blocks.block_type import TEXT, Args, Call, Quiet, Reading, members, schema
from pollux.runbooks.documents import Block
from pollux.runbooks.scene import Scene
from pollux.tools.define import FunctionTool

LOCAL: Final = "local_directory"
"""The variable that a `local-directory` without a name stands for."""


class Directory(Quiet):
    """The type of `directory` and `local-directory` blocks."""

    names = ("directory", "local-directory")

    def __init__(self) -> None:
        spec = ToolSpec(
            "runbook_directory",
            "Work in a directory from here on.",
            schema(("path", "base"), path=TEXT, base=TEXT),
            repeat="repeatable",
        )
        self.tools = (FunctionTool(spec, _run, prepare=_prepare, preview=lambda args: f"work in {args['path']}"),)

    def call(self, block: Block, scene: Scene) -> Call:
        reading = Reading(block, scene)
        path = reading.text("path").strip()
        if block.type == "local-directory" and not path:
            name = reading.variable("name") if reading.written("name") else LOCAL
            if name not in scene.variables:
                raise reading.problem(f"it is for you to say which directory. Give it: --var {name}=PATH")
            path = reading.value_of(name).strip()
        if not path:
            raise reading.problem("path is missing: name a directory")
        return reading.call("runbook_directory", path=path, base=scene.directory)

    def after(self, scene: Scene, block: Block, result: JSON) -> Scene:
        path = members(result).get("path")
        return scene.with_directory(path) if path else scene


def _prepare(args: Args) -> Args:
    path = str(args["path"])
    if "\0" in path:
        raise ValidationError("path must not hold a NUL")
    if path == "~" or path.startswith("~/"):
        return args
    return {**args, "path": os.path.normpath(os.path.join(str(args["base"]), path))}


def _run(context: ToolContext, args: Args) -> dict[str, JSON]:
    path = os.path.expanduser(str(args["path"]))
    if not os.path.isdir(path):
        found = "a file" if os.path.exists(path) else "nothing"
        raise ToolError(f"{path} must be a directory, found {found}. Make it, or correct the block's path")
    return {"path": path}
