"""Where the words of a call came from. A command into which another block's output was put is not the one that stands
in the document: whoever trusted the document has not seen it.

The names of those blocks are an argument of the call, `made_from`: the policy sees it, and so does the person who is
asked.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from pollux.core.messages import JSON
from pollux.core.tools import Reconciled, Tool, ToolContext, ToolSpec
from pollux.runbooks.documents import Runbook

MADE_FROM: Final = "made_from"

Args = dict[str, JSON]


def all_labels_of(told: Mapping[str, Iterable[str]], runbook: Runbook) -> dict[str, JSON]:
    """The same for values by name. What was made from nobody's output is left out."""
    labels = {name: labels_of(sources, runbook) for name, sources in told.items()}
    return {name: each for name, each in labels.items() if each}


def labels_of(sources: Iterable[str], runbook: Runbook) -> list[JSON]:
    """The blocks as people know them: their type and their name. Those of a runbook around it are so already."""
    named = {block.id: f"{block.type}: {block.name or block.id}" for block in runbook.blocks}
    return [*sorted(named.get(source, source) for source in sources)]


class WithSources:
    """A block's tool whose calls also say what they were made from."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        told = tool.spec
        properties: Any = told.input_schema["properties"]
        sources = {"type": "array", "items": {"type": "string"}, "minItems": 1}
        self.spec = ToolSpec(
            told.name,
            told.description,
            {**told.input_schema, "properties": {**properties, MADE_FROM: sources}},
            side_effect=told.side_effect,
            default_approval=told.default_approval,
            repeat=told.repeat,
            parallel=told.parallel,
            where=told.where,
            timeout=told.timeout,
        )

    def prepare(self, args: Args) -> Args:
        rest, sources = _apart(args)
        return {**self._tool.prepare(rest), **sources}

    def subjects(self, args: Args) -> frozenset[str]:
        return self._tool.subjects(_apart(args)[0])

    def preview(self, args: Args) -> str:
        rest, sources = _apart(args)
        told = self._tool.preview(rest)
        named = sources.get(MADE_FROM)
        return f"{told}\nmade from the output of {_listed(named)}" if named else told

    async def run(self, context: ToolContext, args: Args) -> object:
        return await self._tool.run(context, _apart(args)[0])

    async def reconcile(self, context: ToolContext, args: Args) -> Reconciled:
        return await self._tool.reconcile(context, _apart(args)[0])


def _apart(args: Args) -> tuple[Args, Args]:
    rest = {name: value for name, value in args.items() if name != MADE_FROM}
    return rest, {MADE_FROM: args[MADE_FROM]} if MADE_FROM in args else {}


def _listed(sources: JSON) -> str:
    return ", ".join(cast("list[str]", sources))
