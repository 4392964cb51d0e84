"""What the types of every HTTP door have in common, and the lines that every stream of a run is made of."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

Id = Annotated[str, Meta(min_length=1, max_length=200)]
SomeText = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=0)]
Limit = Annotated[int, Meta(ge=1, le=100)]
State = Literal["queued", "planning", "awaiting_confirmation", "executing", "completed", "failed", "cancelled"]
"""Of a run."""
LONGEST_TEXT = 10_000
"""Of what a person says beside an answer."""


class Camel(Struct, rename="camel", kw_only=True, frozen=True):
    """Python's names here, JavaScript's on the wire."""


class Finish(Camel, kw_only=True, frozen=True):
    """How an answer ended that is not whole. None of it is there for any other."""

    finish_reason: Literal["length"] | UnsetType = UNSET
    """The answer reached the output limit."""
    incomplete: Literal[True] | UnsetType = UNSET
    cut: Literal[True] | UnsetType = UNSET
    """The limit was the profile's `answer_bytes`: the model said more, and it was not read."""


class Strict(Camel, forbid_unknown_fields=True, frozen=True):
    """A body. What it does not know is refused: a misspelt member must not be passed over in silence."""


class PageQuery(Struct, frozen=True):
    """A part of a list: so many, and only those after the one that `before` names."""

    limit: Limit = 25
    before: str | None = None


class Line(Camel, tag_field="type", forbid_unknown_fields=True, frozen=True):
    """One line, told from the others by its `type`."""


class DeltaLine(Line, tag="delta", frozen=True):
    """Some more text of the answer. In a journal's stream it tells where in its turn it belongs."""

    delta: SomeText
    turn: Count | UnsetType = UNSET
    offset: Count | UnsetType = UNSET


class ThoughtLine(Line, tag="thought_delta", frozen=True):
    """Some more of the thinking that the model shows."""

    delta: SomeText
    turn: Count | UnsetType = UNSET
    offset: Count | UnsetType = UNSET


class ToolCallLine(Line, tag="tool_call", frozen=True):
    """An action was taken on, and the policy has judged it."""

    id: Id
    tool_name: SomeText
    preview: str


class RestartLine(Line, tag="turn_restarted", frozen=True):
    """The answer begins anew: drop what was shown of this turn."""

    turn: Count


class ErrorLine(Line, tag="error", frozen=True):
    """The last line where no run can be told: this process stops, or the store is in trouble."""

    error: SomeText
    code: SomeText
    run_id: Id | UnsetType = UNSET
