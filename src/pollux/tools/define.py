"""Make a tool of a function: what the model and the policy may know of it, and what runs."""

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from pollux.core.messages import JSON, CallFacts
from pollux.core.tools import Reconciled, ToolContext, ToolSpec
from pollux.tools.threads import in_thread

Args = dict[str, JSON]
Execute = Callable[[ToolContext, Args], Awaitable[Any] | Any]


def _as_given(args: Args) -> Args:
    return args


def _nobody(args: Args) -> frozenset[str]:
    return frozenset()


async def _cannot_tell(context: ToolContext, args: Args) -> Reconciled:
    return Reconciled("unknown")


class FunctionTool:
    """A tool made of functions. `execute` may be sync: it then runs in a thread, and the loop stays free."""

    def __init__(
        self,
        spec: ToolSpec,
        execute: Execute,
        *,
        prepare: Callable[[Args], Args] = _as_given,
        subjects: Callable[[Args], frozenset[str]] = _nobody,
        preview: Callable[[Args], str] | None = None,
        reconcile: Callable[[ToolContext, Args], Awaitable[Reconciled]] = _cannot_tell,
        place: str = "",
    ) -> None:
        self.spec = spec
        self._execute = execute
        self._prepare = prepare
        self._subjects = subjects
        self._preview = preview
        self._reconcile = reconcile
        self.place = place
        """The folder that it works in. Its arguments mean something else in another one: there it is another tool."""

    def prepare(self, args: Args) -> Args:
        return self._prepare(args)

    def subjects(self, args: Args) -> frozenset[str]:
        return self._subjects(args)

    def preview(self, args: Args) -> str:
        if self._preview is not None:
            return self._preview(args)
        return f"{self.spec.name}({', '.join(f'{name}={value!r}' for name, value in args.items())})"

    async def run(self, context: ToolContext, args: Args) -> Any:
        if inspect.iscoroutinefunction(self._execute):
            return await self._execute(context, args)
        # With a limit of its own it must heed the first word to stop: that is the limit's.
        result = await in_thread(self._execute, context, args, stay=self.spec.timeout is None)
        return await result if inspect.isawaitable(result) else result

    async def reconcile(self, context: ToolContext, args: Args) -> Reconciled:
        return await self._reconcile(context, args)

    def functions(self) -> tuple[object, ...]:
        """What prepares, describes, runs and looks up a call, and where: with another one it is another tool."""
        return self._execute, self._prepare, self._subjects, self._preview, self._reconcile, self.place


class InformedTool(FunctionTool):
    """A tool made of functions that are given, before all else, what our own code knows of the call."""

    def __init__(
        self,
        spec: ToolSpec,
        execute: Callable[[CallFacts, ToolContext, Args], Awaitable[Any]],
        *,
        prepare: Callable[[CallFacts, Args], Args],
        subjects: Callable[[Args], frozenset[str]],
        preview: Callable[[CallFacts, Args], str],
        unaccepted: Callable[[CallFacts, Args], frozenset[str]],
        facts: CallFacts | None = None,
    ) -> None:
        known = facts or CallFacts()
        super().__init__(
            spec,
            partial(execute, known),
            prepare=partial(prepare, known),
            subjects=subjects,
            preview=partial(preview, known),
        )
        self._unaccepted = partial(unaccepted, known)
        self._again = partial(
            InformedTool, spec, execute, prepare=prepare, subjects=subjects, preview=preview, unaccepted=unaccepted
        )

    def informed(self, facts: CallFacts) -> "InformedTool":
        return self._again(facts=facts)

    def unaccepted(self, args: Args) -> frozenset[str]:
        return self._unaccepted(args)
