"""Described actions as tools for a model. Nothing else of a server is offered, and side effects pass the gate."""

from collections.abc import Collection
from typing import Any, Final

from pollux.core.errors import ToolError, ValidationError
from pollux.core.messages import JSON
from pollux.core.tools import Reconciled, ToolContext, ToolSpec
from pollux.tools.actions.names import tool_name
from pollux.tools.actions.registry import INVALID_OUTPUT, ActionError, ActionRegistry, DescribedAction
from pollux.tools.define import Args

OWN: Final = ("geminiAgent.*",)
"""The agent's own actions: a model that could call these would talk to itself."""


class ActionTool:
    """An action as a tool. `action` is its name; it cannot be told from the tool's."""

    def __init__(self, name: str, described: DescribedAction, registry: ActionRegistry, *, has_namesake: bool) -> None:
        metadata, handler = described.metadata, described.handler
        own = handler.tool.spec
        schema: dict[str, JSON] = dict(metadata.input_schema)
        if has_namesake:
            # Who of them has which name may change with the next one: what was approved for one is not for the other.
            schema["title"] = described.name
        self.action = described.name
        self.spec = ToolSpec(
            name=name,
            description=metadata.description,
            input_schema=schema,
            side_effect=own.side_effect,
            default_approval=own.default_approval,
            repeat=own.repeat,
            parallel=own.parallel,
            timeout=own.timeout,
        )
        self._handler = handler
        self._registry = registry

    def prepare(self, args: Args) -> Args:
        try:
            return self._registry.prepare(self.action, args)
        except ActionError as problem:
            raise ValidationError(str(problem)) from None

    def subjects(self, args: Args) -> frozenset[str]:
        return self._handler.subjects(args)

    def preview(self, args: Args) -> str:
        return self._handler.preview(args)

    async def run(self, context: ToolContext, args: Args) -> Any:
        try:
            return await self._registry.perform(self.action, args, context)
        except ActionError as problem:
            if problem.code == INVALID_OUTPUT and not problem.is_own and self.spec.side_effect:
                # It was done. To say that it failed would make the model do it again.
                return {"done": True, "problem": f"It was done, but its answer cannot be shown: {problem}"}
            raise ToolError(str(problem), code=problem.code) from None

    async def reconcile(self, context: ToolContext, args: Args) -> Reconciled:
        return await self._handler.reconcile(context, args)

    def functions(self) -> tuple[object, ...]:
        return self._handler.functions()


def action_tools(
    registry: ActionRegistry, *, own: Collection[str] = OWN, taken: Collection[str] = ()
) -> dict[str, ActionTool]:
    """The described actions by the names that a model knows them by, unlike those that are `taken`.

    Those that are the agent's `own` are left out; `geminiAgent.*` stands for all that begin so.
    """
    described = sorted(
        (each for each in registry.get_actions_with_metadata() if not _is_own(each.name, own)),
        key=lambda each: each.name,
    )
    plain = [tool_name(each.name, ()) for each in described]
    tools: dict[str, ActionTool] = {}
    for each, wanted in zip(described, plain, strict=True):
        name = tool_name(each.name, {*tools, *taken})
        has_namesake = plain.count(wanted) > 1 or wanted in taken
        tools[name] = ActionTool(name, each, registry, has_namesake=has_namesake)
    return tools


def _is_own(name: str, own: Collection[str]) -> bool:
    return any(name == each or (each.endswith(".*") and name.startswith(each[:-1])) for each in own)
