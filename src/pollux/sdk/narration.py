"""What an agent's log says of the work: `info` for model calls, tool calls, retries and compression, `debug` for the
rest. Names, counts and codes, never what was said or what a tool was given.
"""

import logging

from pollux.core import events
from pollux.core.run import Run

logger = logging.getLogger(__name__)


def narrate(run: Run, event: events.Event) -> None:
    """Log a fact of this run, as it is after that fact."""
    if not logger.isEnabledFor(logging.INFO):
        return
    match event:
        case events.ModelCalled(turn=turn, attempt=attempt):
            logger.info("%s: model call %d to %s, attempt %d", run.id, turn, run.model, attempt)
        case events.ModelReplied(turn=turn, stop=stop, usage=usage, message=message):
            said = "%s: model call %d ended (%s), %d tool calls, %d tokens in, %d out"
            logger.info(said, run.id, turn, stop, len(message.calls), usage.input, usage.output)
        case events.ModelFailed(turn=turn, kind=kind, retry_at=None):
            logger.info("%s: model call %d failed (%s)", run.id, turn, kind)
        case events.ModelFailed(turn=turn, kind=kind, retry_at=moment, at=at):
            seconds = 0.0 if moment is None else max(moment - at, 0.0)
            logger.info("%s: model call %d failed (%s), retry in %.1f s", run.id, turn, kind, seconds)
        case events.HistoryCompressed(status=status, tokens_before=before, tokens_after=after):
            logger.info("%s: compression %s, %d tokens before, %d after", run.id, status, before, after)
        case events.ActionStarted(action_id=action_id, attempt=attempt):
            logger.info("%s: tool call %s, attempt %d", run.id, _tool(run, action_id), attempt)
        case events.ActionCompleted(action_id=action_id):
            logger.info("%s: tool call %s completed", run.id, _tool(run, action_id))
        case events.ActionFailed(action_id=action_id, code=code):
            logger.info("%s: tool call %s failed (%s)", run.id, _tool(run, action_id), code)
        case events.CallRefused(code=code):
            logger.info("%s: a tool call was refused (%s)", run.id, code)
        case events.ActionDecided(action=action):
            decided = action.decision
            said = "%s: the policy decided on %s: %s (%s)"
            logger.debug(said, run.id, action.tool, decided and decided.mode, decided and decided.rule)
        case _:
            logger.debug("%s: %s", run.id, type(event).__name__)


def _tool(run: Run, action_id: str) -> str:
    action = next((each for each in run.actions if each.id == action_id), None)
    return action.tool if action is not None else action_id
