"""What a runbook's run may do. A document that nobody trusts asks about every block that acts.

Trust is for the document as it stands. What is not in it is asked about all the same: code into which an agent's or a
server's words were put, what a document that nobody trusts has set around this one, a variable that changes what
programs run and whose value is not in the document, an agent or a script's program that is not the one that was
accepted, and an agent that is started with its own questions switched off.
"""

from typing import Final

from pollux.core.conditions import Condition
from pollux.core.policy import Rule
from pollux.core.profile import Limits, Profile
from pollux.runbooks.agents import foreign, internal
from pollux.runbooks.agents.asked import WRITE
from pollux.runbooks.blocks import PAUSE_ASKS
from pollux.runbooks.blocks.remembered import NOT_LITERAL
from pollux.runbooks.located import UNACCEPTED
from pollux.runbooks.provider import MODEL

PROFILE: Final = "runbook"
LIMITS: Final = Limits(model_calls=100_000, approval_seconds=300)
"""A document ends by itself; every block of it is one call."""
NOT_THE_DOCUMENTS: Final = tuple(
    f"{type_}: *" for type_ in ("agent", "http", "sqlite", "postgres", "sub-runbook", "runbook")
)
"""The blocks whose outputs are not the document's words, and a document around this one that nobody trusts."""
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
            rendered_from=NOT_THE_DOCUMENTS,
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
            where=(Condition("capabilities.alwaysAllowTools", "equals", True),),
            rendered_from=NOT_THE_DOCUMENTS,
            priority=10,
            reason="another block's output is a part of the prompt, and the agent would be asked about nothing",
            name="made from outputs",
            grantable=False,
        )
        for tool in (foreign.NAME, internal.NAME)
    ),
    *(
        Rule(
            "require_approval",
            tool=tool,
            placed_by=NOT_THE_DOCUMENTS,
            priority=10,
            reason=f"another block's output or another document says where {who} would work",
            name="made from outputs",
            grantable=False,
        )
        for tool, who in (*((tool, "it") for tool in CODE), (foreign.NAME, "the agent"))
    ),
    Rule(
        "require_approval",
        tool="runbook_env",
        rendered_from=(f"{NOT_LITERAL}*",),
        priority=10,
        reason="this variable changes what programs run, and its value is not in the document",
        name="variables of programs",
        grantable=False,
    ),
    Rule(
        "require_approval",
        tool=foreign.NAME,
        rendered_from=(f"{UNACCEPTED}*",),
        priority=12,
        reason="the agent's program is not the one that was accepted with the document",
        name="other program",
        grantable=False,
    ),
    *(
        Rule(
            "require_approval",
            tool=tool,
            # Not by a subject, which every script would have that is too long to be read: of that one each word counts.
            rendered_from=(f"{UNACCEPTED}*",),
            priority=12,
            reason="a program of the script is not the one that was accepted with the document",
            name="other program",
            grantable=False,
        )
        for tool in ("runbook_script", "runbook_terminal")
    ),
    Rule(
        "require_approval",
        tool=foreign.NAME,
        subjects=(f"{foreign.UNKNOWN}*",),
        priority=10,
        reason="the agent would be started with settings that Pollux does not know",
        name="unknown settings",
    ),
    Rule(
        "require_approval",
        tool=foreign.NAME,
        subjects=(f"{foreign.DANGEROUS}*",),
        priority=11,
        reason="the agent would be started with its own questions switched off",
        name="dangerous arguments",
        grantable=False,
    ),
    Rule(
        "allow",
        tool="agent_*",
        asker=(foreign.NAME,),
        capabilities=("alwaysAllowTools",),
        priority=1,
        reason="the block has alwaysAllowTools",
        name="alwaysAllowTools",
    ),
    Rule(
        "allow",
        tool=WRITE,
        asker=(foreign.NAME,),
        capabilities=(foreign.LEAVE,),
        priority=1,
        reason="it is the edit for which leave was just given",
        name="approved edit",
    ),
    Rule("allow", tool="runbook_*", document="trusted", reason="you trust this document", name="trusted"),
)


UNBOXED: Final = tuple(
    Rule(
        "deny",
        tool=tool,
        tier="admin",
        # Of any source: a tool that is denied without a condition is hidden, and the reason with it.
        provenance=("*",),
        reason="it would run without a sandbox, and your settings require one (sandbox = required)",
        name="sandbox required",
    )
    for tool in ("runbook_script", "runbook_terminal", foreign.NAME, "agent_terminal")
)
"""What starts programs outside any sandbox."""


def profile(tools: tuple[str, ...], *, requires_sandbox: bool = False) -> Profile:
    """What runs documents."""
    rules = (*ALWAYS, *UNBOXED) if requires_sandbox else ALWAYS
    return Profile(PROFILE, model=MODEL, tools=tools, rules=rules, limits=LIMITS, on_reject="fail")
