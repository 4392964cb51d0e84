"""`runbook_agent`: our own agent answers a prompt, as a child run. The block's capabilities become its tools and rules.

The person's own configuration adds tools, and a profile where the block or the run names one. `alwaysAllowTools` is for
the tools that every agent here has: whoever trusted a document has not seen what the configuration adds later.

Whatever becomes of this process, the child is a run like any other: it is gone on with, its questions are in the same
inbox, and its end answers the block.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import field, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Final, cast

from pollux.bootstrap import Opened
from pollux.config import without_key
from pollux.core.errors import Conflict, ToolError, ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.core.policy import AGENT, Rule
from pollux.core.profile import Limits, Profile, bounded
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
PROFILE: Final = AGENT
CONFIGURED: Final = f"{PROFILE}:"
"""With tools of the configuration, and behind the colon the profile's name, where one is named."""
DOCUMENT: Final = "get_runbook_document"
DOCS: Final = "get_block_docs"
READING: Final = ("read_file", "list_directory", "glob", "search")
WRITING: Final = ("write_file", "replace")
COMMANDS: Final = ("shell",)
PLACES: Final = (*READING, *WRITING, *COMMANDS)
OWN: Final = (DOCUMENT, DOCS, *PLACES)
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
            "profile": TEXT,
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


@frozen
class Outfits:
    """What the person's configuration gives our own agents: tools for all of them, and profiles by name.

    A profile without a model of its own has an empty one. The `rules` are those for every profile.
    """

    tools: tuple[str, ...] = ()
    profiles: Mapping[str, Profile] = field(default_factory=dict[str, Profile])
    rules: tuple[Rule, ...] = ()
    limits: Limits = LIMITS
    """What an agent without a profile may spend."""

    def chosen(self, name: str) -> Profile:
        """The profile of this name. Raises ValidationError."""
        if not name:
            return self._plain
        if name not in self.profiles:
            known = ", ".join(sorted(self.profiles)) or "none"
            raise ValidationError(f"Unknown profile {name!r}. Your configuration has: {known}")
        return self.profiles[name]

    def profiles_of(self, model: str, reserved: Collection[str]) -> dict[str, Profile]:
        """What a child is offered at most, by what its run is under; its own rules say what of it.

        `reserved` are the tools of documents: no agent calls them.
        """
        plain = replace(self._plain, model=model, tools=OWN)
        found = {
            PROFILE: plain,
            CONFIGURED: replace(plain, name=CONFIGURED, tools=(*OWN, *self.tools), rules=self._rules_for(PROFILE)),
        }
        for name, each in self.profiles.items():
            # Files and commands are the block's to give: a profile that names some of these tools narrows them.
            places = [tool for tool in each.tools if tool in PLACES] or PLACES
            others = [tool for tool in each.tools if tool not in OWN and tool not in reserved]
            found[f"{CONFIGURED}{name}"] = replace(
                each,
                name=f"{CONFIGURED}{name}",
                model=each.model or model,
                tools=(DOCUMENT, DOCS, *places, *others),
                # Written for the profile by its name; here it has another one.
                rules=(*(replace(rule, profile="*") for rule in each.rules), *self._rules_for(PROFILE, name)),
            )
        return found

    @property
    def _plain(self) -> Profile:
        return Profile(PROFILE, model="", limits=self.limits)

    def _rules_for(self, *names: str) -> tuple[Rule, ...]:
        """The rules for profiles of these names: a rule for all our agents in runbooks is for this one too."""
        named = (rule for rule in self.rules if rule.profile != "*")
        return tuple(replace(rule, profile="*") for rule in named if any(fnmatchcase(n, rule.profile) for n in names))


NO_OUTFITS: Final = Outfits()


def internal_agent(host: Host, model: str, outfits: Outfits = NO_OUTFITS) -> Tool:
    """The tool that starts the child. `model` is the person's own: an address in its name may get their key."""

    async def run(context: ToolContext, args: Args) -> None:
        parent = await host.engine.queries.run(context.run_id, context.user)
        root = parent.parent.root if parent.parent else parent.id
        capabilities = cast("dict[str, bool]", args["capabilities"])
        timeout = cast("float | None", args["timeout"])
        named, chosen = str(args["model"]), outfits.chosen(profile := str(args.get("profile", "")))
        under = f"{CONFIGURED}{profile}" if profile or outfits.tools else PROFILE
        _require_tools(host.engine, chosen, under)
        # Also where the arguments were edited: an address counts with the key beside it alone.
        is_own = named in (model, chosen.model, last_opening(parent.messages).model)
        limits = chosen.limits if timeout is None else bounded(chosen.limits, {"seconds": timeout})
        try:
            await host.engine.start(
                Start(
                    str(args["prompt"]),
                    user=context.user,
                    profile=under,
                    door=parent.door,
                    origin=parent.origin,
                    model=named if is_own else without_key(named),
                    interactive=parent.interactive,
                    limits=limits,
                    live=True,
                    parent=Parent(context.run_id, context.action_id, root),
                    run_id=host.engine.queries.child_of(context.action_id),
                    rules=rules_for(capabilities),
                    # What it asks, it asks for the document that wrote its prompt.
                    document=within_block(parent, context.action_id),
                    instructions=_instructions(args, chosen.instructions),
                    title=str(args["name"]),
                )
            )
        except Conflict:
            # An attempt before this one has started it.
            pass

    def prepare(args: Args) -> Args:
        prepared = _prepare(args)
        outfits.chosen(str(prepared["profile"]))
        return prepared

    # What the question shows is a part of the tool's definition: with other tools it is another question.
    shown = {"": outfits.tools, **{name: each.tools for name, each in outfits.profiles.items()}}
    return FunctionTool(SPEC, run, prepare=prepare, preview=partial(_preview, shown))


def _require_tools(engine: Engine, chosen: Profile, under: str) -> None:
    """Raises ToolError where the profile names a tool that runbooks do not have here."""
    there = engine.profiles[under].tools
    if missing := [name for name in chosen.tools if name not in there or name not in engine.toolbox]:
        raise ToolError(
            f"profile {chosen.name!r} names {', '.join(missing)}, which agents in runbooks do not have here"
        )


def rules_for(capabilities: Mapping[str, bool]) -> tuple[Rule, ...]:
    """What the block's capabilities mean for the child. What is off is not even offered."""
    rules = [Rule("allow", tool=DOCS, name="get_block_docs is always safe")]
    if capabilities["readFiles"]:
        rules.append(Rule("allow", tool=DOCUMENT, name="readFiles"))
    else:
        rules.append(Rule("require_approval", tool=DOCUMENT, name="readFiles is off"))
    for name, tools in (("readFiles", READING), ("writeFiles", WRITING), ("executeCommands", COMMANDS)):
        if not capabilities[name]:
            # Above whatever the configuration allows for its profiles.
            off = f"the block's {name} is off"
            rules += [Rule("deny", tool=tool, tier="admin", priority=2, reason=off) for tool in tools]
    if capabilities["alwaysAllowTools"]:
        rules += [Rule("allow", tool=tool, priority=1, name="alwaysAllowTools") for tool in OWN]
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


def _instructions(args: Args, profile: str) -> str:
    parts = [INSTRUCTIONS, _place(args), profile, str(args["system"])]
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
    return {"system": "", "timeout": None, "directory": "", "profile": "", **args, "capabilities": {**off, **given}}


def _preview(shown: Mapping[str, Collection[str]], args: Args) -> str:
    may = [name for name, is_on in cast("dict[str, bool]", args["capabilities"]).items() if is_on]
    head = f"ask {args['model']} as the agent {args['name']}, allowed: {', '.join(may) or 'nothing but to talk'}"
    if args["profile"]:
        head += f"\nprofile: {args['profile']}"
    if more := [name for name in shown[str(args["profile"])] if name not in OWN]:
        head += f"\ntools of your configuration: {', '.join(more)}"
    return f"{head}\n\n{args['prompt']}"
