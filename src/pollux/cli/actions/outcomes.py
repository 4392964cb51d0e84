"""`pollux actions list` and `settle`: what may or may not have happened, and a person's word on whether it did."""

import argparse
import time
from typing import TYPE_CHECKING, Any, Final

from pollux.cli.kept import Teller, changing, complete, looking, moment, span
from pollux.core.errors import Misfit, NotFound

if TYPE_CHECKING:
    from pollux.config import Settings
    from pollux.core.run import Action
    from pollux.engine.queries import Queries, Question

PREVIEW_LENGTH: Final = 300
MESSAGE_LENGTH: Final = 1_000
"""A tool may say where to look, which takes more words."""
LONGEST_ID: Final = 200


def list_unknown(arguments: argparse.Namespace, settings: "Settings") -> int:
    """The actions of which nobody knows whether they happened."""

    async def listed() -> "list[Question]":
        from pollux.sdk.setup import USER

        async with looking(settings) as queries:
            return list(await queries.unknown(USER, limit=arguments.limit))

    nothing = "there is no action whose outcome is unknown"
    found = complete(listed())
    Teller(settings).items(found, as_json=arguments.json, document=_document, lines=_lines, nothing=nothing)
    return 0


def settle(arguments: argparse.Namespace, settings: "Settings") -> int:
    """A person's word on one of them."""
    _must_be_id(arguments.id)
    if arguments.server is not None:
        from pollux.cli.remote import settle_remotely

        return settle_remotely(arguments, settings)
    question, teller = complete(_settled(settings, arguments.id, arguments.outcome)), Teller(settings)
    if arguments.json:
        teller.document(_document(question))
    else:
        action = question.action
        said = teller.line(action.outcome.message if action.outcome else "")
        teller.lines([f"{teller.line(action.id)}  {teller.line(action.tool)}, {action.status}: {said}"])
    return 0


async def _settled(settings: "Settings", action_id: str, outcome: Any) -> "Question":
    from pollux.engine.queries import Question
    from pollux.sdk.setup import USER

    async with changing(settings) as engine:
        _must_be_unknown(await _found(engine.queries, action_id))
        run = await engine.settle(action_id, outcome, by=USER, user=USER)
        action = run.action(action_id)
        assert action is not None
        return Question(run, action)


async def _found(queries: "Queries", action_id: str) -> "Action":
    from pollux.core.run import run_of
    from pollux.sdk.setup import USER

    try:
        run = await queries.run(run_of(action_id), USER)
    except NotFound:
        raise _missing(action_id) from None
    action = run.action(action_id)
    if action is None:
        raise _missing(action_id)
    return action


def _must_be_unknown(action: "Action") -> None:
    """Raises Misfit where a person has nothing to say about it, or has said it before."""
    from pollux.core.actions import UNKNOWN

    outcome = action.outcome
    if outcome and outcome.code == UNKNOWN:
        return
    found = f"it is {action.status}"
    if outcome and outcome.message.startswith("settled as "):
        found = f"it was {outcome.message}"
    raise Misfit(
        f"settle needs an action whose outcome is unknown, but that of {action.id} is not: {found}. "
        "`pollux actions list` lists those that there are",
        code="already_resolved",
    )


def _must_be_id(text: str) -> None:
    """Raises NotFound for junk, before it gets into an address or a store."""
    if not text.startswith("act_") or not text.isprintable() or len(text) > LONGEST_ID:
        raise _missing(text)


def _missing(action_id: str) -> NotFound:
    brief = action_id if len(action_id) <= LONGEST_ID else action_id[: LONGEST_ID - 1] + "…"
    hint = "" if action_id.startswith("act_") else "An action's id begins with act_. "
    return NotFound(f"there is no action {brief!r}. {hint}`pollux actions list` lists those to settle")


def _document(question: "Question") -> dict[str, Any]:
    run, action, outcome = question.run, question.action, question.action.outcome
    return {
        "id": action.id,
        "status": action.status,
        "errorCode": (outcome.code or None) if outcome else None,
        "message": outcome.message if outcome else "",
        "tool": action.tool,
        "args": action.args,
        "argsHash": action.args_hash,
        "subjects": list(action.subjects),
        "preview": action.preview,
        "startedAt": action.started.at if action.started else None,
        "endedAt": outcome.at if outcome else None,
        "callId": action.call.id,
        "runId": run.id,
        "sessionId": run.thread_id,
        "door": run.door,
        "cwd": run.origin,
        "model": run.model,
    }


def _lines(question: "Question", teller: Teller) -> list[str]:
    run, action = question.run, question.action
    began = action.started.at if action.started else action.decided_at
    own = teller.line(action.id)
    lines = [f"{own}  {teller.line(action.tool)}, begun {moment(began)}, {span(time.time() - began)} ago"]
    lines += [f"    to {teller.line(subject)}" for subject in action.subjects]
    if action.preview:
        lines.append(f"    {teller.line(action.preview, most=PREVIEW_LENGTH)}")
    if action.outcome and action.outcome.message:
        lines.append(f"    {teller.line(action.outcome.message, most=MESSAGE_LENGTH)}")
    return [
        *lines,
        f"    in {teller.line(run.id)}, session {teller.line(run.thread_id)}",
        f"    find out, then say: pollux actions settle {own} --done, or --not-done",
    ]
