"""Questions of a runbook to the person at the terminal: about one call, and about the document as a whole."""

import sys

from pollux.cli.asking import ask_line
from pollux.cli.shown import shown
from pollux.core.errors import NotFound
from pollux.core.run import run_of
from pollux.engine.engine import Engine
from pollux.runbooks.runtime import Runbooks
from pollux.runbooks.shelf import Volume
from pollux.runbooks.told import Told
from pollux.sdk.events import ApprovalRequired

MOST_SHOWN = 12
"""Lines of one block. The document itself shows all of them."""


async def question_of(engine: Engine, data: Told) -> ApprovalRequired:
    """As it is stored: what is shown is what will run."""
    run = await engine.queries.run(run_of(data["approvalId"]))
    action = run.action_of_approval(data["approvalId"])
    if action is None or action.approval is None:
        raise NotFound(f"there is no approval {data['approvalId']!r}")
    approval = action.approval
    return ApprovalRequired(
        approval.id,
        action.call.id,
        action.tool,
        action.args,
        approval.args_hash,
        approval.reason,
        action.preview,
        approval.expires_at,
        action.subjects,
    )


async def trusts(document: Volume, runbooks: Runbooks) -> bool:
    """Whether the person accepts the document as it stands. No, unless they say so."""
    runbook = document.read()
    acting = [block for block in runbook.blocks if block.type in runbooks.types]
    lines = [f"\n  {shown(runbook.name or str(document.path), lines=False)} is not trusted yet. It would run:"]
    for block in acting:
        lines.append(f"    {shown(block.name or block.type, lines=False)} ({shown(block.type, lines=False)})")
        text = next(
            (str(block.props[name]) for name in ("code", "query", "url", "prompt") if block.props.get(name)), ""
        )
        rows = text.splitlines()
        lines += [f"      {shown(row, lines=False)}" for row in rows[:MOST_SHOWN]]
        if len(rows) > MOST_SHOWN:
            lines.append(f"      … {len(rows) - MOST_SHOWN} more lines")
    sys.stderr.write("\n".join(lines) + "\n")
    word = await ask_line("  trust it as it stands? [y]es / [N]o, ask me about every block > ")
    return (word or "").strip().lower() in ("y", "yes")
