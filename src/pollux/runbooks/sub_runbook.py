"""`sub-runbook`: another document runs as a part of this one, with its directory, variables and environment.

What it sets stays its own, unless the block says `exportEnv`. It is a child run: killed, cancelled and gone on with
like any other.
"""

import json
from pathlib import Path
from typing import Final, cast

from pollux.core.errors import Conflict, NotFound, ToolError
from pollux.core.messages import JSON
from pollux.core.run import Parent
from pollux.core.tools import Tool, ToolContext, ToolSpec
from pollux.engine.start import Start
from pollux.runbooks.agents.internal import Host, child_of
from pollux.runbooks.blocks.block_type import ENVIRONMENT, TEXT, Args, Call, Reading, members, schema
from pollux.runbooks.documents import Block
from pollux.runbooks.opening import Opening, last_opening
from pollux.runbooks.rules import PROFILE, rules_for
from pollux.runbooks.scene import Scene
from pollux.runbooks.shelf import Shelf, Volume, digest_of, volume
from pollux.runbooks.trust import Trust
from pollux.tools.define import FunctionTool

NAME: Final = "runbook_sub"
DEEPEST: Final = 10
SPEC: Final = ToolSpec(
    NAME,
    "Run another runbook to its end.",
    schema(
        ("directory", "path", "id", "name", "env", "variables", "exports"),
        directory=TEXT,
        path=TEXT,
        id=TEXT,
        name=TEXT,
        env=ENVIRONMENT,
        variables=ENVIRONMENT,
        exports={"type": "boolean"},
    ),
    # Its own blocks are asked about one by one, unless its document is trusted.
    repeat="keyed",
    where="child",
)


class SubRunbook:
    """The type of `sub-runbook` blocks."""

    names = ("sub-runbook",)

    def __init__(self, tool: Tool) -> None:
        self.tools = (tool,)

    def call(self, block: Block, scene: Scene) -> Call:
        reading = Reading(block, scene)
        path, id_ = reading.written("runbookPath"), reading.written("runbookId")
        name, uri = reading.written("runbookName"), reading.written("runbookUri")
        if not (path or id_ or name):
            if uri:
                raise reading.problem(f"runbooks of a hub are not fetched. Save {uri} here, and give its runbookPath")
            raise reading.problem("no runbook is selected. Give its runbookPath, relative to this one's directory")
        return reading.call(
            NAME,
            directory=scene.directory,
            path=path,
            id=id_,
            name=name,
            env=dict(scene.env),
            variables={key: each.value for key, each in scene.variables.items()},
            exports=reading.flag("exportEnv", default=False),
        )

    def output(self, result: JSON) -> dict[str, JSON]:
        return {"text": members(result).get("text", "")}

    def after(self, scene: Scene, block: Block, result: JSON) -> Scene:
        scene = scene.with_output(block.id, self.output(result))
        for name, value in _exported(members(result).get("text")).items():
            scene = scene.with_env(name, value)
        return scene

    def succeeded(self, result: JSON) -> bool:
        return "text" in members(result)


def sub_runbook(host: Host, trust: Trust) -> Tool:
    """The tool that starts the child."""

    async def run(context: ToolContext, args: Args) -> None:
        parent = await host.engine.queries.run(context.run_id, context.user)
        outer = last_opening(parent.messages)
        found = _found(args)
        around = (*outer.around, digest_of(outer.source))
        if found.digest in around:
            raise ToolError(f"{found.path.name} is already running around this block: it would never end")
        if len(around) > DEEPEST:
            raise ToolError(f"runbooks are run inside one another at most {DEEPEST} deep")
        opening = Opening(
            found.source,
            found.form,
            str(args["directory"]),
            outer.workspace,
            str(found.path),
            cast("dict[str, str]", args["variables"]),
            cast("dict[str, str]", args["env"]),
            around,
            bool(args["exports"]),
        )
        runbook = found.read()
        start = Start(
            opening.message(),
            user=context.user,
            profile=PROFILE,
            door=parent.door,
            origin=parent.origin,
            interactive=parent.interactive,
            live=True,
            parent=Parent(context.run_id, context.action_id, parent.parent.root if parent.parent else parent.id),
            run_id=child_of(context.action_id),
            rules=rules_for(is_trusted=trust.is_trusted("runbook", found.digest)),
            title=runbook.name,
            project=str(args["directory"]),
        )
        try:
            await host.engine.start(start)
        except Conflict:
            # An attempt before this one has started it.
            pass

    def preview(args: Args) -> str:
        return f"run the runbook {args['path'] or args['name'] or args['id']}\nin {args['directory']}"

    return FunctionTool(SPEC, run, preview=preview)


def _found(args: Args) -> Volume:
    directory = Path(str(args["directory"]))
    if args["path"]:
        return volume(directory / str(args["path"]))
    try:
        return Shelf(directory).find(id=str(args["id"]), name=str(args["name"]))
    except NotFound as problem:
        raise ToolError(str(problem)) from None


def _exported(text: JSON) -> dict[str, str]:
    if not isinstance(text, str) or not text.startswith('{"env"'):
        return {}
    return cast("dict[str, str]", json.loads(text)["env"])
