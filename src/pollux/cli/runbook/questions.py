"""Questions of a runbook to the person at the terminal: about one call, and about the document as a whole."""

import json
import shlex
import sys
from collections.abc import Iterator
from typing import Final

from pollux.cli.asking import ask_line, forget_typed
from pollux.cli.shown import shown
from pollux.config import without_key
from pollux.core.errors import NotFound
from pollux.core.run import run_of
from pollux.engine.engine import Engine
from pollux.runbooks.documents import AcpSource, Block, InternalSource, agent_of
from pollux.runbooks.runtime import Runbooks, Started
from pollux.runbooks.shelf import Volume
from pollux.runbooks.told import Told
from pollux.sdk.events import ApprovalRequired

MOST_SHOWN = 12
"""Lines of one text. The document itself shows all of them."""
DECISIVE: Final = {
    "script": ("interpreter", "code"),
    "terminal": ("type", "code"),
    "run": ("type", "code"),
    "http": ("verb", "url", "headers", "body"),
    "sqlite": ("uri", "query"),
    "postgres": ("uri", "query"),
    "sub-runbook": ("runbookPath", "runbookId", "runbookName", "exportEnv"),
}
"""What each type of block reads. Of others everything is shown."""
MAIN: Final = {"script": "code", "terminal": "code", "run": "code", "sqlite": "query", "postgres": "query"}
PLAIN: Final = {"interpreter": "bash", "type": "bash"}
"""What need not be said."""


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
        scopes=approval.scopes,
    )


async def trusts(document: Volume, runbooks: Runbooks, programs: Started) -> bool:
    """Whether the person accepts the document as it stands. No, unless they say so."""
    runbook = document.read()
    acting = [block for block in runbook.blocks if block.type in runbooks.types]
    lines = [f"\n  {shown(runbook.name or str(document.path), lines=False)} is not trusted yet. It would run:"]
    for block in acting:
        lines.append(f"    {shown(block.name or block.type, lines=False)} ({shown(block.type, lines=False)})")
        lines += [f"      {shown(row, lines=False)}" for text in _about(block) for row in _cut(text.splitlines())]
    lines += [f"    {shown(word, lines=False)} is {shown(file, lines=False)}" for word, file in programs.shown]
    if runbooks.outfits.tools and any(_is_ours(block) for block in acting):
        named = ", ".join(shown(name, lines=False) for name in runbooks.outfits.tools)
        lines.append(f"    agents without a profile also have the tools of your configuration: {named}")
    sys.stderr.write("\n".join(lines) + "\n")
    forget_typed()
    word = await ask_line("  trust it as it stands? [y]es / [N]o, ask me about every block > ")
    return (word or "").strip().lower() in ("y", "yes")


def _about(block: Block) -> Iterator[str]:
    """All that decides what it does. What its type does not read is not shown: it could hide what it does."""
    if block.type == "agent":
        yield from _about_agent(block)
        return
    main = MAIN.get(block.type, "")
    for name in DECISIVE.get(block.type, tuple(block.props)):
        value = block.props.get(name)
        if value in (None, "", PLAIN.get(name)) or name in ("name", main):
            continue
        yield f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
    if main and block.props.get(main):
        yield str(block.props[main])


def _is_ours(block: Block) -> bool:
    return block.type == "agent" and isinstance(agent_of(block).source, InternalSource)


def _about_agent(block: Block) -> Iterator[str]:
    agent = agent_of(block)
    if isinstance(agent.source, AcpSource):
        yield f"starts: {shlex.join([agent.source.command, *agent.source.args])}"
        if agent.source.env:
            yield f"environment: {' '.join(f'{name}={value}' for name, value in agent.source.env.items())}"
    elif agent.source.profile:
        yield f"profile: {agent.source.profile}"
    if isinstance(agent.source, InternalSource) and agent.source.model:
        # One of the hub has no name that could be asked for, and stops the run when its turn comes.
        is_hubs = agent.source.model.maker == "atuinHub"
        yield f"model: {agent.source.model.model if is_hubs else without_key(agent.source.model_name())}"
    if servers := block.props.get("mcpServers"):
        yield f"MCP servers: {json.dumps(servers, ensure_ascii=False)}"
    if may := [name for name, is_on in agent.capabilities.as_json().items() if is_on]:
        yield f"allowed: {', '.join(may)}"
    if agent.working_directory:
        yield f"in: {agent.working_directory}"
    yield from (text for text in (agent.system_prompt, agent.prompt) if text)


def _cut(rows: list[str]) -> list[str]:
    return [*rows[:MOST_SHOWN], f"… {len(rows) - MOST_SHOWN} more lines"] if len(rows) > MOST_SHOWN else rows
