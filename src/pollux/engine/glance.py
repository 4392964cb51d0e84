"""A run at a glance: what lists and sums tell of it without its journal. Everything follows from the run itself.

A store keeps it in the run's row, with the version it was taken at. A process that does not know of it moves the run on
and leaves it behind: it is known to be old then, and counts as not there.
"""

from pollux.core.actions import UNKNOWN
from pollux.core.frozen import frozen
from pollux.core.ids import Instant
from pollux.core.messages import Usage
from pollux.core.prices import cost, price_of
from pollux.core.run import Action, Run


@frozen
class Glance:
    """What a row tells of its run. `thoughts` is part of `output`, `cached` of `input`."""

    model: str = ""
    code: str = ""
    """Why it ended without an answer; of one that completed, how many of its calls were not made: `1 rejected`."""
    input: int = 0
    output: int = 0
    thoughts: int = 0
    cached: int = 0
    cost: float | None = None
    """US dollars by the list price; None where there is none, or nothing was used."""
    unknown: int = 0
    """Of how many of its actions nobody knows whether they happened."""
    budget: int | None = None
    """The tokens that it may use. Looked at before each call of the model: the last one may pass it."""


@frozen
class DayUsage:
    """What a user's runs of one day and one model used. A run counts on the day on which it began, in UTC.

    Of runs that nobody took a glance at, only their number and the total are known: their model is "".
    """

    day: int
    """Days since 1970."""
    model: str
    runs: int
    input: int
    output: int
    thoughts: int
    cached: int
    total: int
    cost: float | None


@frozen
class Spending:
    """Tokens since a moment."""

    used: int = 0
    """By runs that changed since then: all that each of them used, also before."""
    promised: int = 0
    """What open runs may use beyond, whenever they began. A run may pass its own limit by one call, whose input may be
    all that it has used before: twice the limit. One without a limit is taken to have just reached one."""


def glance_of(run: Run) -> Glance:
    """The run at a glance."""
    usage, ending = run.usage, run.ending
    return Glance(
        model=run.model,
        code=ending.code if ending and ending.status != "completed" else run.refused,
        input=usage.input,
        output=usage.output,
        thoughts=usage.thoughts,
        cached=usage.cached,
        cost=cost_of(run.model, *run.used, at=run.created_at),
        unknown=len(unknown_in(run)),
        budget=run.limits.tokens,
    )


def state_of(run: Run) -> str:
    """The state of a run in words: not every run that completed did all that it set out to do."""
    refused = run.refused
    return f"{run.status}, {refused}" if refused else run.status


def unknown_in(run: Run) -> list[Action]:
    """Its actions of which nobody knows whether they happened, newest first."""
    return [action for action in reversed(run.actions) if action.outcome and action.outcome.code == UNKNOWN]


def cost_of(model: str, *calls: Usage, at: Instant) -> float | None:
    """What these calls of a model cost in US dollars; None where nobody knows, or nothing was used."""
    if not any(call.total for call in calls):
        return None
    price = price_of(model, at=at)
    return None if price is None else float(sum(cost(call, price) for call in calls))
