"""What a person's answer leaves behind, and what an audit says of who decided."""

import pytest
from tests.core.builders import Tale

from pollux.core.errors import (
    STORE_HELD,
    STORE_TROUBLE,
    NotFound,
    StoreError,
    StoreRestored,
    ValidationError,
    public_text,
)
from pollux.core.ids import ApprovalId, GrantId
from pollux.core.policy import Decision, Document, Scope, asked_again
from pollux.core.run import Approval, evolve

BY_GRANTS = "grant:g1,g2 by ada"


def approval(*scopes: Scope) -> Approval:
    return Approval(ApprovalId("apr_1"), "", "", "", "", 0.0, 1.0, scopes=scopes)


@pytest.mark.parametrize(
    ("offered", "asked", "got"),
    [
        (("session", "always"), "always", "always"),
        (("session", "always"), "session", "session"),
        # For as long as the question allows.
        (("session", "document"), "always", "document"),
    ],
)
def test_an_answer_gets_a_scope_that_its_question_offers(offered: tuple[Scope, ...], asked: Scope, got: Scope):
    assert approval(*offered).scope_for(asked) == got


@pytest.mark.parametrize(("offered", "said"), [((), "no recipient"), (("session",), "can be allowed for: session")])
def test_a_scope_that_is_not_offered_is_refused(offered: tuple[Scope, ...], said: str):
    with pytest.raises(ValidationError, match=said) as refused:
        approval(*offered).scope_for("always")
    assert refused.value.code == "no_recipient"


def test_what_an_agent_inside_a_document_asks_is_consented_to_for_that_agent():
    told = Tale().claim().want("mail").hold("mail").run
    asker = told.actions[0]
    assert told.consented("tool", asker.id) == told.consented("tool", "") == "tool"
    inside = evolve(told, document=Document("d"))
    assert inside.consented("tool", "") == "tool"
    bound = inside.consented("tool", asker.id)
    other = evolve(inside, open=(evolve(asker, subjects=("another program",)),))
    assert len({"tool", bound, inside.consented("other tool", asker.id), other.consented("tool", asker.id)}) == 4


def test_an_answer_for_once_leaves_no_grant():
    told = Tale().claim().want("mail").hold("mail").resolve("mail")
    assert list(told.run.grants_of(told.action("mail"))) == []


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (Decision("allow", rule="mail to us"), "rule:mail to us"),
        (Decision("allow"), ""),
        (
            Decision("allow", rule="grant", grants=(GrantId("g1"), GrantId("g2")), granted_by=("ada",)),
            "grant:g1,g2 by ada",
        ),
    ],
)
def test_the_audit_names_the_rule_or_the_grants_and_who_made_them(decision: Decision, said: str):
    assert decision.decider == said


def test_a_restored_run_asks_about_what_was_allowed_and_denies_what_was_denied():
    assert asked_again(Decision("deny", "no")) == Decision("deny", "no")
    assert asked_again(Decision("allow", rule="all")).mode == "require_approval"
    assert asked_again(Decision("require_approval", "it is far")).reason.endswith("it is far")


def test_nobody_outside_reads_where_the_store_is():
    problem = "expected /srv/pollux.db to be writable"
    assert [public_text(each(problem)) for each in (StoreError, StoreRestored, NotFound)] == [
        STORE_TROUBLE,
        STORE_HELD,
        problem,
    ]
