"""The lines of a stream, as types. `schema/http-lines.json` is made from them; tests hold what is written to it."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from pollux.http.shapes import Camel, Id, RunView

SomeText = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=0)]


class Line(Camel, tag_field="type", forbid_unknown_fields=True, frozen=True):
    """One line, told from the others by its `type`."""


class StatusLine(Line, tag="status", frozen=True):
    """The first line: the run has begun, and this is how to find it again."""

    status: Literal["planning"]
    thread_id: Id
    run_id: Id


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


class ResultLine(Line, tag="result", frozen=True):
    """The last line: the run as the sync route tells it, also when it failed."""

    result: RunView


class ErrorLine(Line, tag="error", frozen=True):
    """The last line where no run can be told: this process stops, or the store is in trouble."""

    error: SomeText
    code: SomeText
    run_id: Id | UnsetType = UNSET


RUN_LINES = (StatusLine, DeltaLine, ThoughtLine, ToolCallLine, RestartLine, ResultLine, ErrorLine)
"""What the stream of a run is made of."""
JOURNAL_LINES = (DeltaLine, ThoughtLine, RestartLine, ErrorLine)
"""What a journal's stream holds beside the events themselves."""
