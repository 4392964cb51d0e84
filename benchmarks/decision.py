"""What one decision of the policy costs, beside the least that is done with every call: the hash of its arguments.

Five rules, twenty grants, two recipients. Prints one JSON line with microseconds of processor time.
"""

import json
import time
from collections.abc import Callable

from pollux.core.canonical import digest
from pollux.core.ids import GrantId, UserId
from pollux.core.messages import JSON
from pollux.core.policy import Facts, Grant, PolicyRequest, Rule, decide
from pollux.core.tools import ToolSpec

ROUNDS, TIMES = 15, 2_000
MAIL = ToolSpec("send_mail", "Send a mail.", {"type": "object"}, side_effect=True)
ADA = UserId("ada")
RULES = (
    Rule("allow", tool="read_*"),
    Rule("deny", tool="shell"),
    Rule("require_approval", tool="gmail_*", provenance=("tool:*",)),
    Rule("allow", tool="send_mail", subjects=("*@example.com",), tier="user"),
    Rule("deny", tool="send_mail", subjects=("*@rival.example",), tier="user"),
)
GRANTS = [Grant(GrantId(f"g{n}"), ADA, "send_mail", f"p{n}@example.org", "always", 0.0) for n in range(20)]
RECIPIENTS = ["bob@example.com", "eve@elsewhere.example"]
ARGS: dict[str, JSON] = {"to": [*RECIPIENTS], "subject": "hello", "body": "x" * 2_000}
FACTS = Facts(user=ADA, interface="http", profile="default", provenance=frozenset({"user", "tool:read"}))
REQUEST = PolicyRequest(MAIL, ARGS, FACTS, frozenset(RECIPIENTS))


def least(work: Callable[[], object]) -> float:
    """Microseconds of one call, in the quickest round."""
    found: list[float] = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(TIMES):
            work()
        found.append(time.process_time() - began)
    return min(found) / TIMES * 1e6


if __name__ == "__main__":
    assert decide(REQUEST, RULES, GRANTS).mode == "require_approval"
    print(json.dumps({"us": least(lambda: decide(REQUEST, RULES, GRANTS)), "floor_us": least(lambda: digest(ARGS))}))
