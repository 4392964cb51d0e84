"""What a runbook's run may do. A document that nobody trusts asks about every block that acts.

Trust is for the document as it stands. What is not in it is asked about all the same: code into which an agent's or a
server's words were put, and an agent that is started with its own questions switched off.
"""

from typing import Final

from pollux.core.policy import Rule
from pollux.core.profile import Limits, Profile
from pollux.runbooks.agents import asked, foreign, internal
from pollux.runbooks.blocks import PAUSE_ASKS
from pollux.runbooks.made_from import MADE_FROM
from pollux.runbooks.provider import MODEL

PROFILE: Final = "runbook"
LIMITS: Final = Limits(model_calls=100_000, approval_seconds=300)
"""A document ends by itself; every block of it is one call."""
NOT_THE_DOCUMENTS: Final = r':\[.*"(agent|http|sqlite|postgres|sub-runbook): '
FOREIGN: Final = f'"{MADE_FROM}"{NOT_THE_DOCUMENTS}'
"""Found in the canonical arguments of a call that was made from words which are not the document's."""
CODE: Final = (
    "runbook_script",
    "runbook_terminal",
    "runbook_sqlite*",
    "runbook_postgres*",
    "runbook_http*",
    "runbook_directory",
)
"""What does as its words say: a command, a query, an address, a place for all that follows."""

ALWAYS: Final = (
    PAUSE_ASKS,
    *(
        Rule(
            "require_approval",
            tool=tool,
            args=FOREIGN,
            priority=10,
            reason="another block's output is a part of what would run",
            name="made from outputs",
            grantable=False,
        )
        for tool in CODE
    ),
    *(
        Rule(
            "require_approval",
            tool=tool,
            args=rf'"alwaysAllowTools":true.*{FOREIGN}',
            priority=10,
            reason="another block's output is a part of the prompt, and the agent would be asked about nothing",
            name="made from outputs",
            grantable=False,
        )
        for tool in (foreign.NAME, internal.NAME)
    ),
    Rule(
        "require_approval",
        tool=foreign.NAME,
        args=f'"{foreign.PLACED_BY}"{NOT_THE_DOCUMENTS}',
        priority=10,
        reason="another block's output says where the agent would work",
        name="made from outputs",
        grantable=False,
    ),
    Rule(
        "require_approval",
        tool=foreign.NAME,
        args=foreign.DANGEROUS,
        priority=11,
        reason="the agent would be started with its own questions switched off",
        name="dangerous arguments",
        grantable=False,
    ),
    Rule("allow", tool="agent_*", args=asked.ALWAYS, priority=1, reason="the block has alwaysAllowTools"),
)
TRUSTED: Final = (Rule("allow", tool="runbook_*", reason="the document is trusted as it stands", name="trusted"),)


def profile(tools: tuple[str, ...]) -> Profile:
    """What runs documents."""
    return Profile(PROFILE, model=MODEL, tools=tools, rules=ALWAYS, limits=LIMITS, on_reject="fail")


def rules_for(*, is_trusted: bool) -> tuple[Rule, ...]:
    """A run's own rules."""
    return TRUSTED if is_trusted else ()
