"""`sub-runbook`: another document runs as a part of this one, with its directory, variables and environment.

What it sets stays its own, unless the block says `exportEnv`. It is a child run: killed, cancelled and resumed like any
other. Retried, it resumes where it stopped, with the document as it was.

Trust is worked out for each document and never passed on: a part is trusted where a person accepted it and every
document around it. What it finds under a document that nobody trusts is not its own, and neither is for the document
around it what a part exports that nobody trusts: both are marked with where they come from.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

from pollux.core.errors import Conflict, NotFound, ThreadBusy, ToolError, ValidationError
from pollux.core.ids import ActionId, ThreadId, UserId
from pollux.core.messages import JSON, CallFacts
from pollux.core.run import Parent, Run
from pollux.core.tools import Tool, ToolContext, ToolSpec
from pollux.engine.start import Start
from pollux.runbooks.agents.internal import Host
from pollux.runbooks.blocks.block_type import ENVIRONMENT, TEXT, Args, Call, Reading, members, schema
from pollux.runbooks.documents import Block
from pollux.runbooks.made_from import labels_of
from pollux.runbooks.opening import Opening, document_fact, folder_of, last_opening, within_block
from pollux.runbooks.rules import PROFILE
from pollux.runbooks.scene import Scene
from pollux.runbooks.shelf import Shelf, Volume, digest_of, volume
from pollux.runbooks.trust import Trust
from pollux.tools.define import InformedTool

NAME: Final = "runbook_sub"
DEEPEST: Final = 10
SOURCES: Final[dict[str, JSON]] = {
    "type": "object",
    "additionalProperties": {"type": "array", "items": {"type": "string"}},
}
FORMERLY: Final = {"env": "env_sources", "var": "variable_sources"}
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
        # Of older versions: they can only add to what is known.
        env_sources=SOURCES,
        variable_sources=SOURCES,
        directory_sources={"type": "array", "items": {"type": "string"}},
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
        call = reading.call(
            NAME,
            directory=scene.directory,
            path=path,
            id=id_,
            name=name,
            env=dict(scene.env),
            variables={key: each.value for key, each in scene.variables.items()},
            exports=reading.flag("exportEnv", default=False),
        )
        # Also inside of it, a command made from an agent's words is not the one that somebody has read.
        told = {f"env {key}": sources for key, sources in scene.env_sources.items()}
        told |= {f"var {key}": each.sources for key, each in scene.variables.items()}
        found = ((key, labels_of(sources, scene.runbook)) for key, sources in told.items() if sources)
        return replace(call, made_from=tuple(found))

    def output(self, result: JSON) -> dict[str, JSON]:
        return {"text": members(result).get("text", "")}

    def after(self, scene: Scene, block: Block, result: JSON) -> Scene:
        scene = scene.with_output(block.id, self.output(result))
        if block.props.get("exportEnv") is not True:
            # What it says at its end begins with its name, and that may look like anything.
            return scene
        exported = _exported(members(result).get("text"))
        sources, is_foreign = members(exported.get("sources")), exported.get("trusted") is not True
        for name, value in members(exported.get("env")).items():
            if value == scene.env.get(name) and not sources.get(name):
                continue
            scene = scene.with_env(
                name, value, frozenset((*sources.get(name, ()), *([block.id] if is_foreign else [])))
            )
        return scene

    def succeeded(self, result: JSON) -> bool:
        return "text" in members(result)


def sub_runbook(host: Host, trust: Trust) -> Tool:
    """The tool that starts the child, or goes on with one that did not come to its end."""

    async def run(facts: CallFacts, context: ToolContext, args: Args) -> None:
        parent = await host.engine.queries.run(context.run_id, context.user)
        outer = last_opening(parent.messages)
        thread_id = _thread_of(host, parent, context.action_id)
        earlier = await _earlier(host, thread_id, context.user)
        # Gone on with, it is the document of then: what was done of it is not done again.
        found = Volume(Path(earlier.path), earlier.source, earlier.form) if earlier else _found(args)
        around = (*outer.around, digest_of(outer.source))
        if found.digest in around:
            raise ToolError(f"{found.path.name} is already running around this block: it would never end")
        if len(around) > DEEPEST:
            raise ToolError(f"runbooks are run inside one another at most {DEEPEST} deep")
        runbook = found.read()
        if earlier is None and (hazard := runbook.hazard):
            raise ToolError(f"{found.path.name}: {hazard}. Nothing of it was run")
        folder = folder_of(str(found.path), str(args["directory"]))
        is_under_trust = parent.document is not None and parent.document.is_trusted
        pin = trust.pinned("runbook", found.digest, folder=folder) if is_under_trust else None
        variables, env = cast("dict[str, str]", args["variables"]), cast("dict[str, str]", args["env"])
        giver = () if is_under_trust else (_label(outer),)
        opening = Opening(
            found.source,
            found.form,
            str(args["directory"]),
            outer.workspace,
            str(found.path),
            variables,
            env,
            _sources(facts, args, "var", variables, giver),
            _sources(facts, args, "env", env, giver),
            around,
            bool(args["exports"]),
            # Of these only the one that stopped it has not succeeded.
            retried=tuple(block.id for block in runbook.blocks) if earlier else (),
            model=outer.model,
            profile=outer.profile,
            directory_sources=(*facts.placed_by, *cast("list[str]", args.get("directory_sources", [])), *giver),
            is_trusted=pin is not None,
            programs=pin.programs if pin else None,
            scripts=pin.scripts if pin else None,
        )
        around_it = within_block(parent, context.action_id)
        start = Start(
            opening.message(),
            user=context.user,
            profile=PROFILE,
            door=parent.door,
            origin=parent.origin,
            interactive=parent.interactive,
            live=True,
            parent=Parent(context.run_id, context.action_id, parent.parent.root if parent.parent else parent.id),
            run_id=host.engine.queries.child_of(context.action_id),
            thread_id=thread_id,
            create=True,
            document=document_fact(found.digest, folder, is_trusted=pin is not None, around=around_it),
            title=runbook.name,
            project=str(args["directory"]),
        )
        try:
            await host.engine.start(start)
        except Conflict:
            # An attempt before this one has started it.
            pass
        except ThreadBusy as problem:
            if problem.run_id != start.run_id:
                raise ToolError(f"{found.path.name} is gone on with already, as {problem.run_id}") from None

    def preview(_: CallFacts, args: Args) -> str:
        return f"run the runbook {args['path'] or args['name'] or args['id']}\nin {args['directory']}"

    return InformedTool(
        SPEC,
        run,
        prepare=lambda facts, args: args,
        subjects=lambda args: frozenset(),
        preview=preview,
        unaccepted=lambda facts, args: frozenset(),
    )


def _thread_of(host: Host, parent: Run, action_id: str) -> ThreadId:
    """Where all goes at this block's document are: the same, however often the block is tried."""
    action = parent.action(ActionId(action_id))
    assert action is not None, "a tool runs for an action"
    return host.engine.queries.thread_beneath(parent.thread_id, action.call.id)


async def _earlier(host: Host, thread_id: ThreadId, user: UserId) -> Opening | None:
    """What an earlier go at it began with. None where this is the first."""
    try:
        return last_opening(await host.engine.queries.messages(thread_id, user))
    except (NotFound, ValidationError):
        return None


def _found(args: Args) -> Volume:
    directory = Path(str(args["directory"]))
    if args["path"]:
        return volume(directory / str(args["path"]))
    try:
        return Shelf(directory).find(id=str(args["id"]), name=str(args["name"]))
    except NotFound as problem:
        raise ToolError(str(problem)) from None


def _sources(
    facts: CallFacts, args: Args, kind: str, values: Iterable[str], giver: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """Of each value, the blocks that it was made from, and the document around it where nobody trusts that one."""
    known, formerly = dict(facts.made_from), members(args.get(FORMERLY[kind]))
    found = {key: (*known.get(f"{kind} {key}", ()), *formerly.get(key, ()), *giver) for key in values}
    return {key: tuple(dict.fromkeys(labels)) for key, labels in found.items() if labels}


def _label(outer: Opening) -> str:
    return f"runbook: {os.path.basename(outer.path) or 'the one around it'}"


def _exported(text: JSON) -> dict[str, JSON]:
    if not isinstance(text, str) or not text.startswith('{"env"'):
        return {}
    return members(json.loads(text))
