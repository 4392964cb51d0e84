"""`runbook_agent`: our own agent answers a prompt, as a child run. The block's capabilities become its tools and rules.

Whatever becomes of this process, the child is a run like any other: it is gone on with, its questions are in the same
inbox, and its end answers the block.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, cast

from pollux.bootstrap import Opened
from pollux.config import without_key
from pollux.core.errors import Conflict, ToolError, ValidationError
from pollux.core.messages import JSON
from pollux.core.policy import Rule
from pollux.core.profile import Limits, Profile
from pollux.core.run import Parent, Run
from pollux.core.tools import Tool, ToolContext, ToolSpec
from pollux.engine.engine import Engine
from pollux.engine.start import Start
from pollux.runbooks.agents.foreign import CAPABILITIES, TEXT
from pollux.runbooks.blocks import BlockType
from pollux.runbooks.documents import read
from pollux.runbooks.opening import last_opening, within_block
from pollux.tools.define import Args, FunctionTool

NAME: Final = "runbook_agent"
PROFILE: Final = "runbook-agent"
DOCUMENT: Final = "get_runbook_document"
DOCS: Final = "get_block_docs"
READING: Final = ("read_file", "list_directory", "glob", "search")
WRITING: Final = ("write_file", "replace")
COMMANDS: Final = ("shell",)
LIMITS: Final = Limits(model_calls=25, approval_seconds=300.0)
INSTRUCTIONS: Final = """\
You are an agent inside a runbook: a document of steps that run one after another. Your last message is the output of \
your step, and later steps read it as text: say what was asked for, and nothing around it. You can read the runbook \
with get_runbook_document, where it is offered; you cannot change it."""
SPEC: Final = ToolSpec(
    NAME,
    "Have an agent answer a prompt.",
    {
        "type": "object",
        "properties": {
            "name": TEXT,
            "model": TEXT,
            "prompt": TEXT,
            "system": TEXT,
            "directory": TEXT,
            "capabilities": CAPABILITIES,
            "timeout": {"type": ["number", "null"], "exclusiveMinimum": 0},
        },
        "required": ["name", "model", "prompt"],
        "additionalProperties": False,
    },
    side_effect=True,
    # The child's id is made from the action's: the same action starts it once, however often it is tried.
    repeat="keyed",
    where="child",
)


class Host:
    """The engine in which all this runs. It is made with these tools, so it comes after them."""

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self.opened: Opened | None = None
        """The services of models, as the engine knows them."""

    @property
    def engine(self) -> Engine:
        assert self._engine is not None, "the engine is not there yet"
        return self._engine

    def serve(self, engine: Engine) -> None:
        self._engine = engine


def profile(model: str, limits: Limits) -> Profile:
    """What a child is offered at most; each run's rules say what of it."""
    return Profile(
        PROFILE,
        model=model,
        tools=(DOCUMENT, DOCS, *READING, *WRITING, *COMMANDS),
        limits=limits,
    )


def internal_agent(host: Host, model: str, limits: Limits = LIMITS) -> Tool:
    """The tool that starts the child. `model` is the person's own: an address in its name may get their key."""

    async def run(context: ToolContext, args: Args) -> None:
        parent = await host.engine.queries.run(context.run_id, context.user)
        root = parent.parent.root if parent.parent else parent.id
        capabilities = cast("dict[str, bool]", args["capabilities"])
        timeout = cast("float | None", args["timeout"])
        named = str(args["model"])
        # Also where the arguments were edited: an address counts with the key beside it alone.
        is_own = named in (model, last_opening(parent.messages).model)
        try:
            await host.engine.start(
                Start(
                    str(args["prompt"]),
                    user=context.user,
                    profile=PROFILE,
                    door=parent.door,
                    origin=parent.origin,
                    model=named if is_own else without_key(named),
                    interactive=parent.interactive,
                    limits=replace(limits, seconds=timeout),
                    live=True,
                    parent=Parent(context.run_id, context.action_id, root),
                    run_id=host.engine.queries.child_of(context.action_id),
                    rules=rules_for(capabilities),
                    # What it asks, it asks for the document that wrote its prompt.
                    document=within_block(parent, context.action_id),
                    instructions=_instructions(args),
                    title=str(args["name"]),
                )
            )
        except Conflict:
            # An attempt before this one has started it.
            pass

    return FunctionTool(SPEC, run, prepare=_prepare, preview=_preview)


def rules_for(capabilities: Mapping[str, bool]) -> tuple[Rule, ...]:
    """What the block's capabilities mean for the child. What is off is not even offered."""
    rules = [Rule("allow", tool=DOCS, name="get_block_docs is always safe")]
    if capabilities["readFiles"]:
        rules.append(Rule("allow", tool=DOCUMENT, name="readFiles"))
    else:
        rules.append(Rule("require_approval", tool=DOCUMENT, name="readFiles is off"))
    for name, tools in (("readFiles", READING), ("writeFiles", WRITING), ("executeCommands", COMMANDS)):
        if not capabilities[name]:
            rules += [Rule("deny", tool=tool, priority=2, reason=f"the block's {name} is off") for tool in tools]
    if capabilities["alwaysAllowTools"]:
        rules.append(Rule("allow", priority=1, name="alwaysAllowTools"))
    return tuple(rules)


def document_tools(host: Host, types: Mapping[str, BlockType]) -> tuple[Tool, ...]:
    """What an agent may know of the runbook around it. There is no tool that changes it."""

    async def document(context: ToolContext, args: Args) -> dict[str, JSON]:
        run = await host.engine.queries.run(context.run_id, context.user)
        if run.parent is None:
            raise ToolError("this agent is in no runbook")
        return _told(await host.engine.queries.run(run.parent.run_id, context.user))

    def docs(context: ToolContext, args: Args) -> dict[str, JSON]:
        type_ = types.get(str(args["type"]))
        if type_ is None:
            raise ToolError(f"there is no such block type; the types are: {', '.join(sorted(types))}")
        tools: list[JSON] = [
            {"description": tool.spec.description, "arguments": json.loads(json.dumps(tool.spec.input_schema))}
            for tool in type_.tools
        ]
        return {"type": args["type"], "calls": tools, "output": sorted(type_.output(None))}

    by_type: Mapping[str, JSON] = {
        "type": "object",
        "properties": {"type": {"type": "string", "description": "the block's type, such as script"}},
        "required": ["type"],
        "additionalProperties": False,
    }
    nothing: Mapping[str, JSON] = {"type": "object", "properties": {}, "additionalProperties": False}
    return (
        FunctionTool(ToolSpec(DOCUMENT, "Read the runbook that you are part of.", nothing), document),
        FunctionTool(ToolSpec(DOCS, "What a type of block does and what it puts out.", by_type), docs),
    )


def _told(run: Run) -> dict[str, JSON]:
    opening = last_opening(run.messages)
    runbook = read(opening.source, form=opening.form)
    blocks: list[JSON] = [
        {"id": block.id, "type": block.type, "name": block.name, "props": dict(block.props), "text": block.content}
        for block in runbook.blocks
    ]
    return {"name": runbook.name, "blocks": blocks}


def _instructions(args: Args) -> str:
    parts = [INSTRUCTIONS, _place(args), str(args["system"])]
    return "\n\n".join(part for part in parts if part)


def _place(args: Args) -> str:
    """Where it works, as the paths of its tools are counted."""
    inner = str(args["directory"])
    return "" if inner in ("", ".") else f"Work in the folder {inner}: the paths of your tools begin above it."


def _prepare(args: Args) -> Args:
    if not str(args["model"]).strip():
        raise ValidationError("No model configured. Give the block a model, or set one: `model` in pollux.toml")
    off = {"readFiles": False, "writeFiles": False, "executeCommands": False, "alwaysAllowTools": False}
    given = cast("dict[str, JSON]", args.get("capabilities") or {})
    return {"system": "", "timeout": None, "directory": "", **args, "capabilities": {**off, **given}}


def _preview(args: Args) -> str:
    may = [name for name, is_on in cast("dict[str, bool]", args["capabilities"]).items() if is_on]
    head = f"ask {args['model']} as the agent {args['name']}, allowed: {', '.join(may) or 'nothing but to talk'}"
    return f"{head}\n\n{args['prompt']}"
