"""Asking the host: what an `on_approval` function is given, what it may answer, and how the answer is recorded."""

import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Literal, cast

from pollux.core.errors import Misfit, ValidationError
from pollux.core.frozen import frozen
from pollux.core.ids import UserId
from pollux.core.messages import JSON
from pollux.core.policy import Scope
from pollux.engine.engine import Engine
from pollux.sdk.events import ApprovalRequired
from pollux.tools.threads import in_thread

logger = logging.getLogger(__name__)


@frozen
class Approve:
    """Yes; with `always`, also for these recipients from now on, or with "session" for this session's rest.

    With "tool" for every call of the tool in this session: where the question offers that.
    """

    always: bool | Literal["session", "tool"] = False

    def __post_init__(self) -> None:
        if self.always not in (True, False, "session", "tool"):
            raise ValidationError(f'expected always to be True, False, "session" or "tool", found {self.always!r}')


@frozen
class Reject:
    """No; the model reads the feedback."""

    feedback: str = ""

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.feedback), str):
            raise ValidationError(f"expected the feedback to be text, found {type(self.feedback).__name__}")


@frozen
class Edit:
    """Other arguments. They are prepared and decided on anew, and asked about anew where the policy asks."""

    args: dict[str, JSON]


Answer = Approve | Reject | Edit | bool | None
"""True and False are a plain yes and no; None leaves the question open, to be answered later."""

OnApproval = Callable[[ApprovalRequired], Answer | Awaitable[Answer]]


async def ask(engine: Engine, on_approval: OnApproval, asked: ApprovalRequired, *, user: UserId) -> None:
    """Put the question to the host and record the answer. Whatever the host's own code raises is raised."""
    answer = await _answer(on_approval, asked)
    try:
        await give(engine, asked, answer, user=user)
    except Misfit as misfit:
        logger.info("the question was closed meanwhile: %s", misfit)


async def give(engine: Engine, asked: ApprovalRequired, answer: Any, *, user: UserId) -> None:
    """Record an answer. Raises ValidationError for what is none, Misfit where the question is closed."""
    match answer:
        case None:
            return
        case True | Approve():
            # Where a grant could not be recognised later, there is none: the approval counts once.
            scope = scope_of(answer) if asked.scopes else None
            await engine.resolve(asked.id, "approved", by=user, user=user, scope=scope, args_hash=asked.args_hash)
        case False | Reject():
            feedback = answer.feedback if isinstance(answer, Reject) else ""
            await engine.resolve(asked.id, "rejected", by=user, user=user, feedback=feedback)
        case Edit(args=args):
            await engine.edit(asked.id, args, by=user, user=user)
        case _:
            raise ValidationError(
                f"expected True, False, None, Approve, Reject or Edit from on_approval, found {type(answer).__name__}"
            )


async def _answer(on_approval: OnApproval, asked: ApprovalRequired) -> object:
    if inspect.iscoroutinefunction(on_approval):
        return await on_approval(asked)
    # It may well wait at a terminal.
    answer = await in_thread(on_approval, asked)
    return await answer if inspect.isawaitable(answer) else answer


def scope_of(answer: object) -> Scope | None:
    """For how long an answer is to count; None for this once."""
    if not isinstance(answer, Approve) or not answer.always:
        return None
    return "always" if answer.always is True else answer.always
