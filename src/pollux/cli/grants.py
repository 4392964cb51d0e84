"""`pollux grants`: what "always allow this" has left behind, and how to take it back."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pollux.cli.kept import Teller, changing, command, complete, looking, moment, settings_of, verb
from pollux.core.errors import NotFound

if TYPE_CHECKING:
    from pollux.config import Settings
    from pollux.core.policy import Grant

DIGEST_SHOWN = 12
"""Letters of the hash of a document."""
EXAMPLES = """\
examples:
  pollux grants list
  pollux grants revoke gnt_1b2c3d_1.0_0
"""


def main(argv: list[str]) -> int:
    """Run the command; the result is the exit code."""
    arguments = _parser().parse_args(argv)
    settings = settings_of(arguments)
    teller = Teller(settings)
    if arguments.verb == "revoke":
        revoked = complete(_revoke(settings, arguments.id))
        teller.talk(f"{revoked.tool} asks again before it acts on {revoked.subject}")
        return 0
    grants, nothing = complete(_listed(settings)), "nothing is always allowed"
    teller.items(grants, as_json=arguments.json, document=_document, lines=_lines, nothing=nothing)
    return 0


async def _listed(settings: "Settings") -> "list[Grant]":
    from pollux.sdk.setup import USER

    async with looking(settings) as queries:
        return list(reversed(await queries.grants(USER)))


async def _revoke(settings: "Settings", grant_id: str) -> "Grant":
    from pollux.sdk.setup import USER

    async with changing(settings) as engine:
        grant = next((each for each in await engine.queries.grants(USER) if each.id == grant_id), None)
        if grant is None:
            raise NotFound(f"there is no grant {grant_id!r}. `pollux grants list` lists those that there are")
        await engine.revoke(grant_id, user=USER, by=USER)
        return grant


def _document(grant: "Grant") -> dict[str, Any]:
    return {
        "id": grant.id,
        "tool": grant.tool,
        "subject": grant.subject,
        "scope": grant.scope,
        "grantedAt": grant.granted_at,
        "sessionId": grant.thread_id,
        "document": grant.document,
        "approvalId": grant.approval_id,
    }


def _lines(grant: "Grant", teller: Teller) -> list[str]:
    return lines_of_grant(grant, teller.line)


def lines_of_grant(grant: "Grant", line: Callable[[str], str]) -> list[str]:
    """What is allowed, and for how long. `line` makes a text from outside harmless."""
    match grant.scope:
        case "always":
            where = "always"
        case "document":
            where = f"in document {line(grant.document[:DIGEST_SHOWN])}"
        case "session" | "tool":
            where = f"in session {line(grant.thread_id or '')}"
    return [
        f"{grant.id}  {line(grant.tool)}, {where}, since {moment(grant.granted_at)}",
        f"    {'with' if grant.is_whole else 'to'} {line(grant.subject)}",
    ]


def _parser() -> argparse.ArgumentParser:
    parser, verbs = command("grants", "What you allowed for good, tool by tool and recipient by recipient.", EXAMPLES)
    verb(verbs, "list", "List the grants, newest first.", lists=True)
    add = verb(verbs, "revoke", "Take a grant back: what it allowed is asked about again.")
    add("id", metavar="ID")
    return parser
