"""A tool as a whole, granted to an agent of ours inside a document for its session: what that opens, and what not."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.core.builders import Tale

from pollux.core.conditions import Condition
from pollux.core.ids import GrantId, ThreadId, UserId
from pollux.core.policy import (
    AGENT,
    ANY_ARGUMENTS,
    UNANALYSED,
    Decision,
    Document,
    Facts,
    Grant,
    PolicyRequest,
    Rule,
    Scope,
    by_rules,
    decide,
    offered_scopes,
)
from pollux.core.run import Approval, Resolution, evolve
from pollux.core.tools import ToolSpec

SAVE = ToolSpec("save_note", "", {}, side_effect=True)
OWN = Facts(
    user=UserId("ada"),
    interface="runbook",
    profile=AGENT,
    thread_id=ThreadId("thr_1"),
    document=Document("d"),
    provenance=frozenset({"user", "tool:read_file", "web"}),
    definition="1",
)
WHOLE = Grant(
    GrantId("gnt_1"),
    UserId("ada"),
    "save_note",
    ANY_ARGUMENTS,
    "session",
    0.0,
    ThreadId("thr_1"),
    definition="1",
    by="ada",
)
ASK = Rule("require_approval", tool="save_note", tier="user")


def request(*subjects: str, **facts: Any) -> PolicyRequest:
    return PolicyRequest(SAVE, {"text": "eggs"}, replace(OWN, **facts), frozenset(subjects))


def found(pattern: str, text: str) -> bool:
    return re.search(pattern, text) is not None


def offered(asked: PolicyRequest, *rules: Rule) -> tuple[Scope, ...]:
    return offered_scopes(asked, by_rules(asked, rules, match=found))


def mode(asked: PolicyRequest, *rules: Rule, grants: Sequence[Grant] = (WHOLE,)) -> str:
    return decide(asked, rules, grants, match=found).mode


@pytest.mark.parametrize("rules", [(), (ASK,)])
@pytest.mark.parametrize(("subjects", "scopes"), [((), ("tool",)), (("list.txt",), ("tool", "session", "document"))])
def test_an_agent_of_ours_in_a_document_is_offered_the_tool_for_its_session(
    subjects: tuple[str, ...], scopes: tuple[Scope, ...], rules: tuple[Rule, ...]
):
    assert offered(request(*subjects), *rules) == scopes
    assert offered(request(*subjects, profile=f"{AGENT}:notes"), *rules) == scopes


def test_the_tool_as_a_whole_is_allowed_whatever_its_arguments_and_the_audit_says_by_whom():
    decision = Decision("allow", "you always allow this tool in this session", "grant", (WHOLE.id,), ("ada",))
    assert decide(request(), (), [WHOLE]) == decide(request("a", "b"), (ASK,), [WHOLE]) == decision


ELSEWHERE: list[dict[str, Any]] = [
    {"document": None},
    {"asker": "runbook_acp"},
    {"profile": "runbook"},
    {"profile": f"{AGENT}s"},
    {"profile": "default"},
]


@pytest.mark.parametrize("facts", ELSEWHERE)
def test_nobody_else_is_offered_a_tool_as_a_whole_or_allowed_by_such_a_grant(facts: dict[str, Any]):
    asked = request("list.txt", **facts)
    assert "tool" not in offered(asked)
    assert mode(asked) == mode(request(**facts)) == "require_approval"


@pytest.mark.parametrize(
    "given",
    [
        replace(WHOLE, user=UserId("bob")),
        replace(WHOLE, tool="send_mail"),
        replace(WHOLE, thread_id=ThreadId("thr_2")),
        replace(WHOLE, definition="2"),
        replace(WHOLE, scope="document", document="d"),
        replace(WHOLE, scope="always"),
        replace(WHOLE, scope="tool"),
    ],
)
def test_it_counts_for_this_user_tool_definition_and_session_alone(given: Grant):
    assert mode(request("list.txt"), grants=[given]) == "require_approval"


STRICTER: list[Rule] = [
    Rule("require_approval", provenance=("web",)),
    Rule("require_approval", where=(Condition("text", "equals", "eggs"),)),
    Rule("require_approval", args="eggs"),
    Rule("require_approval", subjects=("list.*",)),
    Rule("require_approval", interactive=True),
    Rule("require_approval", document="untrusted"),
    Rule("require_approval", grantable=False),
    # It cannot be evaluated.
    Rule("require_approval", args="("),
]


@pytest.mark.parametrize("rule", STRICTER)
@pytest.mark.parametrize("others", [(), (ASK,), (replace(ASK, tier="admin"),)])
def test_what_a_rule_asks_because_of_the_call_or_its_facts_is_asked_each_time(rule: Rule, others: tuple[Rule, ...]):
    asked = request("list.txt")
    assert "tool" not in offered(asked, rule, *others)
    assert mode(asked, rule, *others) in ("require_approval", "deny")


def test_a_denial_about_the_call_denies_also_what_was_granted_as_a_whole():
    denial = Rule("deny", provenance=("web",))
    assert mode(request("list.txt"), denial) == "deny"
    # One that a stronger rule outweighs still keeps the whole tool from being granted.
    assert mode(request("list.txt"), denial, ASK) == "require_approval"


def test_an_unconditional_denial_is_a_denial():
    assert mode(request(), replace(ASK, decision="deny")) == "deny"
    assert offered(request(), replace(ASK, decision="deny")) == ()


@pytest.mark.parametrize("subject", [UNANALYSED, ANY_ARGUMENTS])
@pytest.mark.parametrize("rules", [(), (ASK,)])
def test_a_call_that_cannot_be_read_or_names_the_whole_tool_is_asked_about_each_time(
    subject: str, rules: tuple[Rule, ...]
):
    asked = request("list.txt", subject)
    grants = [WHOLE, replace(WHOLE, subject=subject), replace(WHOLE, id=GrantId("gnt_2"), subject="list.txt")]
    assert offered(asked, *rules) == ()
    assert mode(asked, *rules, grants=grants) == "require_approval"
    elsewhere = request("list.txt", subject, profile="default", document=None)
    assert offered(elsewhere, *rules) == ()
    assert mode(elsewhere, *rules, grants=grants) == "require_approval"


def test_an_answer_for_the_whole_tool_leaves_one_grant_in_its_session():
    tale = Tale().claim().want("mail").hold("mail")
    action = tale.action("mail")
    assert action.approval is not None
    answer = Resolution("approved", 5.0, "ada", scope="tool")
    approval: Approval = evolve(action.approval, resolution=answer)
    for subjects in ((), ("a", "b")):
        (given,) = tale.run.grants_of(evolve(action, approval=approval, subjects=subjects))
        assert (given.subject, given.scope, given.thread_id, given.by) == (
            ANY_ARGUMENTS, "session", tale.run.thread_id, "ada",
        )  # fmt: skip
        assert given.is_whole and not given.document


def test_without_a_lasting_scope_always_is_refused():
    tale = Tale().claim().want("mail").hold("mail")
    approval = tale.action("mail").approval
    assert approval is not None
    assert evolve(approval, scopes=("tool",)).scope_for("tool") == "tool"
    with pytest.raises(Exception, match="can be allowed for: tool"):
        evolve(approval, scopes=("tool",)).scope_for("always")
