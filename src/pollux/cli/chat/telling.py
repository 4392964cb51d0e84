"""An answer as the person sees it: its words on standard output, what happens on the way beside them."""

import json
from typing import Final, assert_never

from pollux.cli.chat.screen import Screen
from pollux.cli.shown import shown
from pollux.sdk import events

LONGEST: Final = 200
"""How much of a call's arguments is shown in passing. A question shows them all."""

REFUSED: Final = {
    "refused_empty": "the summary was empty",
    "refused_larger": "the summary would have been no shorter",
    "failed": "the summary could not be made",
}


def tell(event: events.AgentEvent, screen: Screen, *, is_attended: bool) -> None:
    """Show one event."""
    match event:
        case events.ModelInfo():
            screen.wait("waiting")
        case events.Content(text=text):
            screen.answer(text)
        case events.Thought() | events.UsageUpdate() | events.ToolCallStarted():
            pass
        case events.TurnRestarted():
            screen.note("  (the answer begins anew)")
        case events.ToolCallRequest():
            screen.fold(f"  > {_name(event.name)} {_cut(json.dumps(event.args, ensure_ascii=False))}")
            screen.wait(_name(event.name))
        case events.ToolCallResponse():
            if event.error is not None:
                screen.fold(f"  ! {_name(event.name)}: {_cut(event.error)}")
            screen.wait("waiting")
        case events.ApprovalRequired():
            if not is_attended:
                screen.note(f"pollux: {_name(event.tool)} needs approval: pollux approvals approve {event.id}")
        case events.ChatCompressed():
            screen.note(f"  {_summarised(event)}")
            screen.wait("waiting")
        case events.Failure():
            screen.note(f"pollux: {event.code}: {shown(event.message)}")
        case events.Finished():
            screen.end_answer()
            if event.reason == "cancelled":
                screen.note("  (the answer was cancelled)")
            if event.note:
                screen.note(f"pollux: {event.note}")
        case _:
            assert_never(event)


def _summarised(event: events.ChatCompressed) -> str:
    if event.compression_status == "compressed":
        return f"(summarised: {event.original_token_count:,} tokens became {event.new_token_count:,})"
    return f"(not summarised: {REFUSED.get(event.compression_status, event.compression_status)})"


def _name(text: str) -> str:
    return shown(text, lines=False)[:60]


def _cut(text: str) -> str:
    said = shown(text, lines=False)
    return said if len(said) <= LONGEST else f"{said[: LONGEST - 3]}..."
