"""The lines of a stream, as types. `schema/http-lines.json` is made from them; tests hold what is written to it."""

from typing import Literal

from pollux.asgi.shapes import DeltaLine, ErrorLine, Id, Line, RestartLine, ThoughtLine, ToolCallLine
from pollux.http.shapes import RunView


class StatusLine(Line, tag="status", frozen=True):
    """The first line: the run has begun, and this is how to find it again."""

    status: Literal["planning"]
    thread_id: Id
    run_id: Id


class ResultLine(Line, tag="result", frozen=True):
    """The last line: the run as the sync route tells it, also when it failed."""

    result: RunView


class OutputLine(Line, tag="tool_output", frozen=True):
    """Something that a tool shows while it works. It is not kept: what counts is in the result."""

    action_id: Id
    stream: str
    text: str


RUN_LINES = (StatusLine, DeltaLine, ThoughtLine, ToolCallLine, RestartLine, ResultLine, ErrorLine)
"""What the stream of a run is made of."""
JOURNAL_LINES = (DeltaLine, ThoughtLine, OutputLine, RestartLine, ErrorLine)
"""What a journal's stream holds beside the events themselves."""
