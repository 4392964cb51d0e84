"""Calls of the page's tools that never reach the page: what the request holds already, what the page must not do."""

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.core.run import Action
from pollux.page import chat
from pollux.page.state import READ, read_more


@frozen
class Own:
    """What we answer ourselves."""

    result: str = ""
    error: str | None = None


def own_answer(action: Action, state: JSON) -> Own | None:
    """Our answer to a call; None where the page is to execute it."""
    if action.tool == READ.name:
        path, start = action.args.get("path"), action.args.get("start", 0)
        try:
            return Own(read_more(state, str(path), start=start if isinstance(start, int) else 0))
        except ValidationError as problem:
            return Own(error=str(problem))
    if chat.is_reached_by(action.args):
        return Own(error="this control belongs to the chat itself, which you are. Answer the user instead")
    return None
