"""Work owed to a run, in the imperative. Derived from the run's state; `machine.key_of` tells one from another."""

from typing import NamedTuple

from pollux.core.frozen import frozen
from pollux.core.ids import ActionId
from pollux.core.messages import ToolCall


class Key(NamedTuple):
    """What tells one effect of a run from another."""

    turn: int
    kind: str
    call: str
    attempt: int


@frozen
class CallModel:
    """Ask the model for the next turn. `begun` says whether that is already in the journal."""

    turn: int
    attempt: int
    begun: bool


@frozen
class Authorize:
    """Check a call's arguments and ask the policy about it."""

    turn: int
    call: ToolCall


@frozen
class RunTool:
    """Execute an action that has leave. `begun` says whether its start is already in the journal."""

    turn: int
    action_id: ActionId
    attempt: int
    begun: bool


@frozen
class Reconcile:
    """Look whether an interrupted action happened."""

    turn: int
    action_id: ActionId
    attempt: int


@frozen
class Compress:
    """Summarise the older part of the thread before the next call."""

    turn: int


Effect = CallModel | Authorize | RunTool | Reconcile | Compress
