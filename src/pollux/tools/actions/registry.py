"""The actions of a server by name: called by pages as they are, and by models where a `.jay-action` describes them.

What comes in is held against the schema before the handler sees it, its defaults filled in; what goes out is held
against the schema too. A caller hears of every failure as an ActionError, never as a trace.
"""

import asyncio
from collections.abc import Iterable
from typing import Any, Final, cast

from pollux.core.canonical import normal, require_few
from pollux.core.errors import PolluxError, ValidationError
from pollux.core.frozen import frozen
from pollux.core.ids import ActionId, RunId, ThreadId, UserId
from pollux.core.messages import JSON
from pollux.core.tools import ToolContext
from pollux.engine import schemas
from pollux.engine.logs import log_of
from pollux.tools.actions.defaults import with_defaults
from pollux.tools.actions.handlers import Handler
from pollux.tools.actions.metadata import ActionMetadata
from pollux.tools.define import Args
from pollux.tools.typed.schema import as_json

logger = log_of(__name__)

NOT_FOUND: Final = "ACTION_NOT_FOUND"
INVALID_INPUT: Final = "INVALID_INPUT"
INVALID_OUTPUT: Final = "INVALID_OUTPUT"
TIMEOUT: Final = "TIMEOUT"
INTERNAL: Final = "INTERNAL_ERROR"


class ActionError(PolluxError):
    """Why an action was not done, for its caller. A handler raises it with a code and a text of its own.

    `is_own` says whether the handler raised it, as `isActionError` does in Jay's answers.
    """

    def __init__(self, code: str, message: str, *, is_own: bool = True) -> None:
        super().__init__(message, code=code)
        self.is_own = is_own


@frozen
class Caller:
    """Who calls an action, and from where."""

    user: UserId
    origin: str = ""
    key: str = ""
    """The same for every attempt at this call, if the caller has one: handlers read it as `context.key`."""

    def context(self) -> ToolContext:
        """The caller as a handler sees it. No run is behind it."""
        return ToolContext(self.user, self.origin, RunId(""), ActionId(self.key), ThreadId(""))


@frozen
class DescribedAction:
    """An action that a model may hear of."""

    name: str
    metadata: ActionMetadata
    handler: Handler[..., Any]


class ActionRegistry:
    """Actions by name. Only described ones are for models."""

    def __init__(self, handlers: Iterable[Handler[..., Any]] = ()) -> None:
        self._handlers: dict[str, Handler[..., Any]] = {}
        self._metadata: dict[str, ActionMetadata] = {}
        self._checks: dict[str, tuple[Any, Any]] = {}
        """Compiled schemas of what comes in and what goes out."""
        for handler in handlers:
            self.register(handler)

    def register(self, handler: Handler[..., Any], metadata: ActionMetadata | None = None) -> None:
        """Add an action. Raises ValidationError if there is one of its name, or if its schemas are none."""
        if handler.name in self._handlers:
            raise ValidationError(f"two actions are called {handler.name!r}; give one of them another name")
        self._handlers[handler.name] = handler
        if metadata is not None:
            self.set_metadata(handler.name, metadata)

    def get_names(self) -> list[str]:
        """The names of all actions, in the order in which they were registered."""
        return list(self._handlers)

    def get(self, name: str) -> Handler[..., Any] | None:
        """The handler of an action; None if there is no such action."""
        return self._handlers.get(name)

    def get_metadata(self, name: str) -> ActionMetadata | None:
        """What describes an action; None if nothing does."""
        return self._metadata.get(name)

    def set_metadata(self, name: str, metadata: ActionMetadata) -> None:
        """Describe an action. One that is not registered stays so. Raises ValidationError for schemas that are none."""
        if name not in self._handlers:
            return
        try:
            takes = schemas.validator(metadata.input_schema)
            gives = schemas.validator(metadata.output_schema) if metadata.output_schema is not None else None
        except ValidationError as problem:
            raise ValidationError(f"action {name}: {problem}") from None
        self._metadata[name], self._checks[name] = metadata, (takes, gives)

    def get_actions_with_metadata(self) -> list[DescribedAction]:
        """The described actions, in the order in which they were registered."""
        return [
            DescribedAction(name, self._metadata[name], handler)
            for name, handler in self._handlers.items()
            if name in self._metadata
        ]

    async def execute(self, name: str, input: JSON, caller: Caller) -> JSON:
        """Call an action. Raises ActionError, whatever goes wrong."""
        args = self.prepare(name, input)
        handler = self._handlers[name]
        limit = asyncio.timeout(handler.tool.spec.timeout)
        try:
            async with limit:
                return await self.perform(name, args, caller.context())
        except ActionError:
            raise
        except PolluxError as problem:
            # Raised by the handler to be read by whoever called.
            raise ActionError(problem.code, str(problem)) from problem
        except TimeoutError as problem:
            if limit.expired():
                raise ActionError(TIMEOUT, f"{name} took too long", is_own=False) from None
            raise _broken(name, problem) from problem
        except (Exception, SystemExit) as problem:  # The top: its trace is for the log, and nobody else.
            raise _broken(name, problem) from problem

    def prepare(self, name: str, input: JSON) -> Args:
        """The input in its final form: what is approved, and what `perform` takes. Raises ActionError."""
        handler = self._handlers.get(name)
        if handler is None:
            raise ActionError(NOT_FOUND, "there is no such action", is_own=False)
        try:
            if not isinstance(input, dict):
                raise ValidationError(f"expected an object, found {type(input).__name__}")
            # Anybody may call an action of a page: each step below takes time for every value.
            require_few(cast("Args", input))
            args = cast("Args", normal(cast("JSON", input)))
            if name not in self._metadata:
                return handler.prepare(args)
            schema = self._metadata[name].input_schema
            args = with_defaults(schema, args)
            schemas.check(self._checks[name][0], args)
            return handler.prepare(args, schema.get("properties", ()))
        except ValidationError as problem:
            raise ActionError(INVALID_INPUT, str(problem), is_own=False) from None

    async def perform(self, name: str, args: Args, context: ToolContext) -> JSON:
        """Do what was prepared. Raises what the handler raises, and ActionError for an answer that does not fit."""
        answer = await self._handlers[name].run(context, args)
        try:
            given = as_json(answer)
        except ValidationError:
            logger.error("the answer of %s is not JSON", name)
            raise ActionError(INVALID_OUTPUT, f"the answer of {name} is not JSON", is_own=False) from None
        try:
            check = self._checks.get(name, (None, None))[1]
            if check is not None:
                schemas.check(check, given)
        except ValidationError:
            # Not what was wrong with it: that would tell a part of the answer.
            logger.error("the answer of %s does not fit its outputSchema", name)
            raise ActionError(
                INVALID_OUTPUT, f"the answer of {name} does not fit its outputSchema", is_own=False
            ) from None
        return given


def _broken(name: str, problem: BaseException) -> ActionError:
    logger.error("an action failed", exc_info=problem)
    return ActionError(INTERNAL, f"{name} failed ({type(problem).__name__})", is_own=False)
