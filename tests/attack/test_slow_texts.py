"""One argument cannot hold up the server: whatever a rule compares it with, the decision takes linear time."""

import time
from typing import Any

import pytest
from tests.engine.builders import mail

from pollux.core.conditions import Condition
from pollux.core.ids import UserId
from pollux.core.policy import Facts, PolicyRequest, Rule, decide
from pollux.engine.gate import Toolbox
from pollux.engine.patterns import is_match

MOST_SECONDS = 1.0
"""Each of these took from 10 to 75 seconds when something was quadratic, and takes less than 0.1 now."""
HALF = 15_000
HOSTILE = {
    "marks with letters between them that nobody sees": "a" + "\u0301\u200b" * HALF + "\u0323\u200b" * HALF,
    "marks spelled out from punycode": "a" + f"xn--lsa{'a' * 39}\u0323" * 1_300,
    "no address in a long text": "a" * 64_000,
    "almost an address": "é" * 63_000 + "@",
    "very many addresses": "a@b," * 16_000,
    "very many labels": "a@" + "b." * 31_000,
    "a label longer than any": "xn--" + "".join(chr(0x4E00 + n) for n in range(20_000)),
}
RULES: dict[str, Rule] = {
    "subjects": Rule("deny", tool="send_mail", subjects=("*@rival.example",)),
    "address": Rule("deny", tool="send_mail", where=(Condition("to", "address", "*@rival.example"),)),
    "allowed address": Rule("allow", tool="send_mail", where=(Condition("to", "address", "*@example.com"),)),
    "allowed host": Rule("allow", tool="send_mail", where=(Condition("to", "host", "*.example.com"),)),
    "file": Rule("deny", tool="send_mail", where=(Condition("to", "file", "/etc/*"),)),
    "glob": Rule("allow", tool="send_mail", where=(Condition("to", "glob", "*@*example.com"),)),
}
FACTS = Facts(user=UserId("ada"), interface="http", profile="default")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("what", HOSTILE)
def test_a_decision_about_a_hostile_text_is_quick_and_not_permissive(what: str, rule: str):
    tool = mail()
    args: dict[str, Any] = Toolbox([tool]).prepare("send_mail", {"to": HOSTILE[what]})
    request = PolicyRequest(tool.spec, args, FACTS, frozenset({str(args["to"])}))
    began = time.process_time()
    decision = decide(request, (RULES[rule],), (), match=is_match)
    assert time.process_time() - began < MOST_SECONDS
    assert decision.mode != "allow"
    if what.startswith("marks with") and RULES[rule].decision == "deny":
        assert decision.mode == "deny"
