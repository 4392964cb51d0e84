"""`pollux approvals`: the questions that runs wait for, as they are stored, and a person's answers to them."""

import argparse
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pollux.cli.kept import Teller, command, complete, looking, moment, settings_of, some, span, subject_lines, verb
from pollux.cli.reading import must_be_text
from pollux.cli.rest import add_options, rest_of, take_output
from pollux.config import ConfigError
from pollux.core.errors import NotFound
from pollux.wire.brief import brief_of

if TYPE_CHECKING:
    from pollux.config import Settings
    from pollux.core.run import Approval
    from pollux.engine.queries import Question

PREVIEW_LENGTH = 300
EXAMPLES = """\
examples:
  pollux approvals list
  pollux approvals show apr_1b2c3d_1.0
  pollux approvals approve apr_1b2c3d_1.0 --always
  pollux approvals approve apr_1b2c3d_1.0 --session
  pollux approvals reject apr_1b2c3d_1.0 --feedback "Not on the main branch"
  POLLUX_TOKEN=… pollux approvals list --server https://agents.example.com

exit codes: 0; 1 error, also when it was answered before; 2 usage; 3 waiting for another approval; 4 needs a person
"""


def main(argv: list[str]) -> int:
    """Run the command; the result is the exit code."""
    arguments = _parser().parse_args(argv)
    settings = settings_of(arguments)
    if arguments.server is not None:
        if getattr(arguments, "session", False):
            raise ConfigError("--session cannot be used with --server. Answer in the console instead", code="usage")
        from pollux.cli.remote import answer_remotely

        return answer_remotely(arguments, settings)
    match arguments.verb:
        case "list":
            return _list(arguments, settings)
        case "show":
            return _show(arguments, settings)
        case _:
            return _answer(arguments, settings)


def _list(arguments: argparse.Namespace, settings: "Settings") -> int:
    async def listed() -> "list[Question]":
        from pollux.sdk.setup import USER

        async with looking(settings) as queries:
            return list(await queries.approvals(USER, limit=arguments.limit))

    nothing = "nothing waits for approval"
    found = complete(listed())
    Teller(settings).items(found, as_json=arguments.json, document=_listed, lines=_brief, nothing=nothing)
    return 0


def _show(arguments: argparse.Namespace, settings: "Settings") -> int:
    question, teller = complete(_found(settings, arguments.id)), Teller(settings)
    if arguments.json:
        teller.document(_document(question))
    else:
        teller.lines(_whole(question, teller))
    return 0


def _answer(arguments: argparse.Namespace, settings: "Settings") -> int:
    outlet = take_output()
    from pollux.cli.finish import finish
    from pollux.sdk.approvals import Approve, Reject

    is_yes = arguments.verb == "approve"
    always = "tool" if is_yes and arguments.session else is_yes and arguments.always
    answer = Approve(always=always) if is_yes else Reject(must_be_text(arguments.feedback, "--feedback"))
    return finish(arguments.id, answer, rest=rest_of(arguments, settings), outlet=outlet)


async def _found(settings: "Settings", approval_id: str) -> "Question":
    from pollux.core.run import run_of
    from pollux.engine.queries import Question
    from pollux.sdk.setup import USER

    async with looking(settings) as queries:
        try:
            run = await queries.run(run_of(approval_id), USER)
        except NotFound:
            run = None
        action = run.action_of_approval(approval_id) if run else None
        if run is None or action is None:
            raise NotFound(f"there is no approval {approval_id!r}. `pollux approvals list` lists those that wait")
        return Question(run, action)


def _document(question: "Question") -> dict[str, Any]:
    run, action, approval = question.run, question.action, _approval(question)
    return {
        "id": approval.id,
        "status": approval.status,
        "tool": action.tool,
        "args": action.args,
        "argsHash": approval.args_hash,
        "schemaHash": approval.schema_hash,
        "subjects": list(action.subjects),
        "preview": action.preview,
        "reason": approval.reason,
        "decision": asdict(action.decision) if action.decision else None,
        "provenance": list(action.provenance),
        "requestedAt": approval.requested_at,
        "expiresAt": approval.expires_at,
        "resolution": asdict(approval.resolution) if approval.resolution else None,
        "actionId": action.id,
        "callId": action.call.id,
        "runId": run.id,
        "sessionId": run.thread_id,
        "door": run.door,
        "cwd": run.origin,
        "model": run.model,
    }


def _listed(question: "Question") -> dict[str, Any]:
    """As it stands in a list: of a large one the beginning. `show` has it whole."""
    whole = _document(question)
    brief = brief_of(preview=whole["preview"], subjects=whole["subjects"], args=whole["args"])
    shown = {"preview": brief.preview, "subjects": list(brief.subjects), "args": brief.args}
    return {**whole, **shown, "truncated": brief.is_truncated}


def _brief(question: "Question", teller: Teller) -> list[str]:
    action, approval, now = question.action, _approval(question), time.time()
    age = f"asked {span(now - approval.requested_at)} ago"
    lines = [f"{approval.id}  {teller.line(action.tool)}, {age}, {_expiry(approval, now)}"]
    lines += subject_lines(action.subjects, teller)
    if action.preview:
        lines.append(f"    {teller.line(action.preview, most=PREVIEW_LENGTH)}")
    return lines


def _whole(question: "Question", teller: Teller) -> list[str]:
    """Read from the stored action: what is shown is what will run."""
    run, action, approval = question.run, question.action, _approval(question)
    now = time.time()
    lines = [
        f"{approval.id}  {approval.status}",
        f"tool        {teller.line(action.tool)}",
        *(f"to          {teller.line(subject)}" for subject in action.subjects),
        "arguments   exactly as they will run:",
        *(f"    {teller.line(name)}: {teller.value(value)}" for name, value in action.args.items()),
        f"hash        {approval.args_hash}",
    ]
    if action.preview:
        lines.append(f"preview     {teller.line(action.preview)}")
    lines.append(f"reason      {teller.line(approval.reason)}")
    if approval.is_open and "tool" in approval.scopes:
        lines.append(f"--session   always allow {teller.line(action.tool)} in this session")
    if action.decision:
        rule = f" (rule {teller.line(action.decision.rule)})" if action.decision.rule else ""
        lines.append(f"decision    {action.decision.mode}: {teller.line(action.decision.reason)}{rule}")
    lines += [f"words from  {teller.line(source)}" for source in action.provenance]
    lines.append(f"asked       {moment(approval.requested_at)}")
    if approval.is_open:
        lines.append(f"expires     {moment(approval.expires_at)}, {_expiry(approval, now)}")
    else:
        lines += _resolved(approval, teller)
    return [
        *lines,
        f"run         {run.id} ({run.status}, {teller.line(run.model)})",
        f"session     {run.thread_id}",
        f"from        {teller.line(run.door)} {teller.line(run.origin)}".rstrip(),
    ]


def _resolved(approval: "Approval", teller: Teller) -> list[str]:
    closed = approval.resolution
    assert closed is not None
    by = f" by {teller.line(closed.by)}" if closed.by else ""
    lines = [f"answered    {closed.status}{by}, {moment(closed.at)}"]
    return [*lines, f"feedback    {teller.line(closed.feedback)}"] if closed.feedback else lines


def _expiry(approval: "Approval", now: float) -> str:
    left = approval.expires_at - now
    return f"{span(left)} left" if left > 0 else f"ran out {span(-left)} ago"


def _approval(question: "Question") -> "Approval":
    assert question.action.approval is not None
    return question.action.approval


def _parser() -> argparse.ArgumentParser:
    parser, verbs = command("approvals", "Answer what runs wait for. An answer finishes the run.", EXAMPLES)
    list_ = verb(verbs, "list", "List the questions that wait, newest first.", lists=True)
    list_("--limit", type=some, default=25, metavar="N", help="at most so many (default: 25)")
    show = verb(verbs, "show", "Show one question whole: exactly what would run, and why it asks.", lists=True)
    show("id", metavar="ID")
    approve = verb(verbs, "approve", "Say yes, go on with the run and print the rest of its answer.")
    approve("id", metavar="ID")
    lasting = approve.__self__.add_mutually_exclusive_group()
    lasting.add_argument("--always", action="store_true", help="and always from now on, for these recipients")
    lasting.add_argument(
        "--session", action="store_true", help="and always allow the tool in this session, where the question offers it"
    )
    reject = verb(verbs, "reject", "Say no, go on with the run and print the rest of its answer.")
    reject("id", metavar="ID")
    reject("--feedback", default="", metavar="TEXT", help="why not; the model reads it")
    for add in (approve, reject):
        add_options(add)
    for add in (list_, show, approve, reject):
        add("--server", metavar="URL", help="ask a running `pollux serve` instead of the store")
    return parser
