"""The policy: which rule speaks, what a grant opens, and that a doubt is a no."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollux.core.conditions import Condition
from pollux.core.errors import ValidationError
from pollux.core.ids import GrantId, ThreadId, UserId
from pollux.core.policy import (
    MOST_RANKED,
    TIERS,
    UNANALYSED,
    Decision,
    Document,
    Facts,
    Grant,
    Mode,
    PolicyRequest,
    Rule,
    Scope,
    by_rules,
    decide,
    hides,
    offered_scopes,
)
from pollux.core.tools import ToolSpec

READ = ToolSpec("read_mail", "", {})
SEND = ToolSpec("send_mail", "", {}, side_effect=True)
QUIET = ToolSpec("log", "", {}, side_effect=True, default_approval="not_required")
WATCHED = ToolSpec("peek", "", {}, default_approval="required")
BOB, EVE = "bob@example.com", "eve@evil.test"


def request(tool: ToolSpec = SEND, *subjects: str, **changes: Any) -> PolicyRequest:
    facts = Facts(user=UserId("ada"), interface="http", profile="assistant", thread_id=ThreadId("thr_1"))
    known = {name: changes.pop(name) for name in list(changes) if hasattr(facts, name)}
    plain = PolicyRequest(tool, {"to": sorted(subjects)}, replace(facts, **known), frozenset(subjects))
    return replace(plain, **changes)


def grant(subject: str = BOB, scope: Scope = "always", **changes: Any) -> Grant:
    plain = Grant(GrantId("gnt_1"), UserId("ada"), "send_mail", subject, scope, granted_at=0.0)
    return replace(plain, **changes)


def mode(asked: PolicyRequest, *rules: Rule, grants: Sequence[Grant] = ()) -> Mode:
    return decide(asked, rules, grants, match=found).mode


def found(pattern: str, text: str) -> bool:
    return re.search(pattern, text) is not None


# Without rules.

DEFAULTS: list[tuple[ToolSpec, Decision]] = [
    (READ, Decision("allow", "it has no side effect", "default")),
    (SEND, Decision("require_approval", "side effects need a person's approval", "default")),
    (QUIET, Decision("allow", "the tool asks for no approval", "default")),
    (WATCHED, Decision("require_approval", "side effects need a person's approval", "default")),
]


@pytest.mark.parametrize(("tool", "decision"), DEFAULTS)
def test_where_no_rule_speaks_the_tool_decides(tool: ToolSpec, decision: Decision):
    assert decide(request(tool), (), ()) == decision


@pytest.mark.parametrize("tool", [SEND, WATCHED])
def test_with_nobody_to_ask_what_needs_approval_is_denied(tool: ToolSpec):
    decision = decide(request(tool, interactive=False), (), ())

    assert decision == Decision("deny", "it needs approval, and there is nobody to ask", "default")
    assert mode(request(READ, interactive=False)) == "allow"


# Which rule speaks.

MATCHES: list[tuple[Rule, bool]] = [
    (Rule("deny"), True),
    (Rule("deny", tool="send_mail"), True),
    (Rule("deny", tool="send_*"), True),
    (Rule("deny", tool="send"), False),
    (Rule("deny", tool="SEND_MAIL"), False),
    (Rule("deny", door="http"), True),
    (Rule("deny", door="cli"), False),
    (Rule("deny", profile="assist*"), True),
    (Rule("deny", profile="ops"), False),
    (Rule("deny", user="ada"), True),
    (Rule("deny", user="bob"), False),
    (Rule("deny", args=r'"to":\["bob'), True),
    (Rule("deny", args=r"^carol"), False),
    (Rule("deny", subjects=("*@example.com",)), True),
    (Rule("deny", subjects=("*@other.test",)), False),
    (Rule("deny", subjects=()), False),
    (Rule("deny", provenance=("web:*",)), True),
    (Rule("deny", provenance=("file:*",)), False),
    (Rule("deny", interactive=True), True),
    (Rule("deny", interactive=False), False),
]


@pytest.mark.parametrize(("rule", "speaks"), MATCHES)
def test_a_rule_speaks_when_all_of_its_patterns_fit(rule: Rule, speaks: bool):
    asked = request(SEND, BOB, provenance=frozenset({"user", "web:shop"}))

    assert mode(asked, rule) == ("deny" if speaks else "require_approval")


def test_a_rule_may_be_for_runs_with_somebody_to_ask_or_for_those_without():
    rules = [Rule("require_approval", interactive=True, name="asked"), Rule("deny", interactive=False, name="alone")]

    assert decide(request(interactive=True), rules, ()).rule == "asked"
    assert decide(request(interactive=False), rules, ()).rule == "alone"


def test_a_rule_gives_its_reason_and_its_name():
    rules = [Rule("deny", reason="not on Sundays", name="sunday")]
    assert decide(request(), rules, ()) == Decision("deny", "not on Sundays", "sunday")

    decision = decide(request(), [Rule("allow", tool="send_*", tier="user")], ())
    assert decision.decider == "rule:user allow send_*"

    silent: list[tuple[Mode, str]] = [
        ("allow", "a rule allows it"),
        ("require_approval", "a rule asks for approval"),
        ("deny", "a rule forbids it"),
    ]
    for decision, reason in silent:
        assert decide(request(), [Rule(decision)], ()).reason == reason


SUBJECTS: list[tuple[Mode, tuple[str, ...], bool]] = [
    ("allow", (BOB,), True),
    ("allow", (BOB, "carol@example.com"), True),
    ("allow", (BOB, EVE), False),
    ("allow", (), False),
    ("deny", (BOB, EVE), True),
    ("deny", (EVE,), False),
    ("require_approval", (BOB, EVE), True),
]


@pytest.mark.parametrize(("decision", "subjects", "speaks"), SUBJECTS)
def test_leave_is_for_all_recipients_and_a_refusal_for_any(decision: Mode, subjects: tuple[str, ...], speaks: bool):
    rule = Rule(decision, subjects=("*@example.com",), name="colleagues")

    assert (decide(request(SEND, *subjects), [rule], ()).rule == "colleagues") == speaks


ORDERS: list[tuple[str, list[Rule], Mode]] = [
    ("a higher tier", [Rule("deny", tier="workspace"), Rule("allow", tier="admin")], "allow"),
    ("a tier before a priority", [Rule("deny", priority=99), Rule("allow", tier="extension")], "allow"),
    ("a higher priority", [Rule("deny"), Rule("allow", priority=1)], "allow"),
    ("of equals the strictest", [Rule("allow"), Rule("deny"), Rule("require_approval")], "deny"),
    ("asking before allowing", [Rule("allow"), Rule("require_approval")], "require_approval"),
    ("a weaker one where the stronger is silent", [Rule("deny", tool="x", tier="admin"), Rule("allow")], "allow"),
]


@pytest.mark.parametrize(("what", "rules", "expected"), ORDERS)
def test_the_strongest_rule_speaks_in_whatever_order_they_stand(what: str, rules: list[Rule], expected: Mode):
    assert mode(request(), *rules) == mode(request(), *reversed(rules)) == expected, what


def test_the_tiers_stand_in_this_order():
    rules = [Rule("deny", tier=tier, name=tier) for tier in TIERS]

    assert [decide(request(), rules[: n + 1], ()).rule for n in range(len(rules))] == list(TIERS)


# Doubt.


@pytest.mark.parametrize("pattern", ["(", "a{99999999999999999999}", "(?<=a*)b", "[z-a]"])
def test_a_rule_that_cannot_be_evaluated_denies(pattern: str):
    decision = decide(request(), [Rule("allow", args=pattern, name="broken")], [grant()])

    assert (decision.mode, decision.rule) == ("deny", "broken")


@pytest.mark.parametrize("args", [{"n": float("nan")}, {"n": 2**60}, {"\ud800": 1}])
def test_arguments_that_cannot_be_judged_are_denied(args: dict[str, Any]):
    assert mode(request(args=args), Rule("allow", args=".")) == "deny"


def test_of_equal_rules_a_broken_one_denies_wherever_it_stands():
    broken, fine = Rule("allow", args="("), Rule("allow", args="to")

    assert mode(request(), broken, fine) == mode(request(), fine, broken) == "deny"


def test_of_equal_rules_one_that_always_asks_wins_wherever_it_stands():
    strict, mild = Rule("require_approval", grantable=False), Rule("require_approval", subjects=("*",))

    for rules in ([strict, mild], [mild, strict]):
        assert mode(request(SEND, BOB), *rules, grants=[grant()]) == "require_approval"


def test_a_broken_rule_for_another_tool_harms_nobody():
    assert mode(request(), Rule("allow", tool="other", args="("), Rule("allow")) == "allow"


def test_a_stronger_rule_speaks_before_a_broken_one_is_looked_at():
    assert mode(request(), Rule("allow", tier="admin"), Rule("deny", args="(")) == "allow"


# Grants.


def test_a_grant_turns_asking_into_leave():
    decision = decide(request(SEND, BOB), (), [grant()])

    assert decision == Decision("allow", "every recipient is on your allow list", "grant", (GrantId("gnt_1"),))


GRANTS: list[tuple[str, tuple[str, ...], list[Grant], Mode]] = [
    ("all recipients granted", (BOB, EVE), [grant(), grant(EVE)], "allow"),
    ("one recipient not granted", (BOB, EVE), [grant()], "require_approval"),
    ("no recipient at all", (), [grant()], "require_approval"),
    ("another user's", (BOB,), [grant(user=UserId("eve"))], "require_approval"),
    ("another tool's", (BOB,), [grant(tool="book")], "require_approval"),
    ("this session's", (BOB,), [grant(scope="session", thread_id=ThreadId("thr_1"))], "allow"),
    ("another session's", (BOB,), [grant(scope="session", thread_id=ThreadId("thr_2"))], "require_approval"),
    ("a pattern is no wildcard", (BOB,), [grant("*")], "require_approval"),
    ("always and elsewhere", (BOB,), [grant(thread_id=ThreadId("thr_2"))], "allow"),
]


@pytest.mark.parametrize(("what", "subjects", "grants", "expected"), GRANTS)
def test_a_grant_is_for_one_user_tool_and_recipient(
    what: str, subjects: tuple[str, ...], grants: list[Grant], expected: Mode
):
    assert mode(request(SEND, *subjects), grants=grants) == expected, what


def test_a_session_grant_needs_a_session():
    asked = request(SEND, BOB, thread_id=None)

    assert mode(asked, grants=[grant(scope="session", thread_id=ThreadId("thr_1"))]) == "require_approval"


def test_a_grant_does_not_lift_a_rule_that_denies_or_that_always_asks():
    assert mode(request(SEND, BOB), Rule("deny"), grants=[grant()]) == "deny"
    assert mode(request(SEND, BOB), Rule("require_approval"), grants=[grant()]) == "allow"
    always = Rule("require_approval", grantable=False)
    assert mode(request(SEND, BOB), always, grants=[grant()]) == "require_approval"


def test_a_grant_serves_where_nobody_can_be_asked():
    assert mode(request(SEND, BOB, interactive=False), grants=[grant()]) == "allow"


# Hiding.

HIDDEN: list[tuple[str, list[Rule], bool]] = [
    ("no rule", [], False),
    ("denied outright", [Rule("deny")], True),
    ("denied for another tool", [Rule("deny", tool="other")], False),
    ("denied on another door", [Rule("deny", door="cli")], False),
    ("denied for some arguments only", [Rule("deny", args="x")], False),
    ("denied for some, then for all", [Rule("deny", args="x", priority=1), Rule("deny")], True),
    ("allowed for some recipients", [Rule("allow", subjects=("a",), priority=1), Rule("deny")], False),
    ("asked for some sources", [Rule("require_approval", provenance=("a",), priority=1), Rule("deny")], False),
    ("allowed by a stronger rule", [Rule("allow", tier="user"), Rule("deny")], False),
    ("denied where nobody can be asked", [Rule("deny", interactive=False)], False),
    ("denied where somebody can be asked", [Rule("deny", interactive=True)], False),
    (
        "denied where nobody can be asked, then for all",
        [Rule("deny", interactive=False, priority=1), Rule("deny")],
        True,
    ),
    ("allowed where somebody can be asked", [Rule("allow", interactive=True, priority=1), Rule("deny")], False),
]


@pytest.mark.parametrize(("what", "rules", "hidden"), HIDDEN)
def test_a_tool_is_hidden_when_it_is_denied_whatever_its_arguments(what: str, rules: list[Rule], hidden: bool):
    assert hides(rules, tool="send_mail", interface="http", profile="assistant", user="ada") == hidden, what


# What holds for any policy.

addresses = st.sampled_from(["a@x", "b@x", "c@y", "d@y"])
patterns = st.sampled_from(["*", "*@x", "*@y", "a@x", "zzz"])
rules = st.builds(
    Rule,
    decision=st.sampled_from(["allow", "require_approval", "deny"]),
    tool=st.sampled_from(["*", "send_*", "send_mail", "other"]),
    subjects=st.none() | st.lists(patterns, max_size=2).map(tuple),
    args=st.sampled_from([None, None, None, None, "to", "("]),
    user=st.sampled_from(["*", "ada", "eve"]),
    interactive=st.sampled_from([None, None, True, False]),
    tier=st.sampled_from(TIERS),
    priority=st.integers(0, 2),
    grantable=st.booleans(),
)
grants = st.builds(
    grant,
    subject=addresses,
    scope=st.sampled_from(["session", "always"]),
    user=st.sampled_from(["ada", "eve"]),
    tool=st.sampled_from(["send_mail", "other"]),
    thread_id=st.sampled_from([None, "thr_1", "thr_2"]),
)
requests = st.builds(request, st.just(SEND), subjects=st.frozensets(addresses, max_size=3), interactive=st.booleans())
often = settings(max_examples=max(2_000, settings().max_examples))


@pytest.mark.slow
@often
@given(requests, st.lists(rules, max_size=5), st.lists(grants, max_size=6))
def test_leave_means_that_a_rule_allows_every_recipient_or_each_is_granted(
    asked: PolicyRequest, policy: list[Rule], granted: list[Grant]
):
    if mode(asked, *policy, grants=granted) != "allow":
        return
    own = {g.subject for g in granted if g.user == "ada" and g.tool == "send_mail" and _is_here(g)}
    by_grant = bool(asked.subjects) and asked.subjects <= own
    assert by_grant or any(_allows_all(rule, asked) for rule in policy)


def _is_here(granted: Grant) -> bool:
    return granted.scope == "always" or granted.thread_id == "thr_1"


def _allows_all(rule: Rule, asked: PolicyRequest) -> bool:
    if rule.decision != "allow" or rule.tool == "other" or rule.user == "eve":
        return False
    if rule.interactive is not None and rule.interactive != asked.facts.interactive:
        return False
    if rule.subjects is None:
        return True
    return bool(asked.subjects) and all(_fits(subject, rule.subjects) for subject in asked.subjects)


def _fits(subject: str, wanted: tuple[str, ...]) -> bool:
    return any(p == "*" or p == subject or (p.startswith("*@") and subject.endswith(p[1:])) for p in wanted)


@given(requests, st.lists(rules, max_size=5), st.lists(grants, max_size=6), st.randoms())
def test_the_order_of_rules_and_grants_changes_nothing(
    asked: PolicyRequest, policy: list[Rule], granted: list[Grant], dice: Any
):
    decision = mode(asked, *policy, grants=granted)
    dice.shuffle(policy)
    dice.shuffle(granted)

    assert mode(asked, *policy, grants=granted) == decision


@given(requests, st.lists(rules, max_size=5), st.lists(grants, max_size=6))
def test_a_further_denial_in_the_highest_tier_is_the_last_word(
    asked: PolicyRequest, policy: list[Rule], granted: list[Grant]
):
    assert mode(asked, *policy, Rule("deny", tier="admin", priority=9), grants=granted) == "deny"


@given(requests, st.lists(rules, max_size=5))
def test_a_hidden_tool_is_never_allowed(asked: PolicyRequest, policy: list[Rule]):
    if hides(policy, tool="send_mail", interface="http", profile="assistant", user="ada"):
        assert mode(asked, *policy) == "deny"


@pytest.mark.parametrize(("sources", "mode"), [({"user"}, "allow"), ({"user", "web:shop"}, "require_approval")])
def test_leave_by_provenance_needs_every_source_to_fit(sources: set[str], mode: str):
    rule = Rule("allow", provenance=("user",))

    assert decide(request(SEND, BOB, provenance=frozenset(sources)), [rule], []).mode == mode


# Small print.


def test_a_rule_without_a_priority_is_as_strong_as_one_of_priority_zero():
    assert mode(request(), Rule("deny", priority=0), Rule("allow")) == "deny"
    assert mode(request(), Rule("deny"), Rule("allow", priority=0)) == "deny"


def test_a_tool_denied_only_for_words_from_some_place_is_not_hidden():
    rule = Rule("deny", provenance=("page:*",))

    assert not hides([rule], tool="send_mail", interface="http", profile="assistant", user="ada")


def test_only_the_rules_that_ask_say_whether_a_grant_may_answer():
    rules = [Rule("require_approval"), Rule("allow", grantable=False)]

    assert mode(request(SEND, BOB), *rules, grants=[grant()]) == "allow"


def test_one_text_stands_for_a_list_of_one():
    rule = Rule("allow", "send", subjects="*@example.com", provenance="user")  # pyright: ignore[reportArgumentType]
    assert (rule.subjects, rule.provenance) == (("*@example.com",), ("user",))
    assert Rule("allow", subjects=["a", "b"]).subjects == ("a", "b")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "wrong",
    [{"subjects": 7}, {"subjects": ["a", 7]}, {"provenance": 7}, {"decision": "yes"}, {"tier": "emperor"}],
    ids=str,
)
def test_a_rule_that_means_nothing_is_refused_when_it_is_written(wrong: dict[str, Any]):
    with pytest.raises(ValidationError, match="of a rule"):
        replace(Rule("allow"), **wrong)


# What could not be read to its end.


@pytest.mark.parametrize("decision", ["deny", "require_approval"])
def test_what_cannot_be_analysed_fits_every_rule_that_forbids_or_asks_about_subjects(decision: Mode):
    allowed = Rule("allow", tier="admin")
    assert mode(request(SEND, BOB, UNANALYSED), allowed, Rule(decision, subjects=("x@elsewhere.test",))) == decision


@pytest.mark.parametrize("tool", [READ, SEND, QUIET, WATCHED])
@pytest.mark.parametrize("rule", [None, Rule("allow", tier="admin", priority=9), Rule("allow", subjects=("*",))])
def test_what_cannot_be_analysed_is_never_allowed_without_a_person(tool: ToolSpec, rule: Rule | None):
    rules = [rule] if rule else []
    asked = request(tool, BOB, UNANALYSED)
    granted = [grant(tool=tool.name), grant(UNANALYSED, tool=tool.name)]
    assert mode(asked, *rules, grants=granted) == "require_approval"
    alone = replace(asked, facts=replace(asked.facts, interactive=False))
    assert mode(alone, *rules, grants=granted) == "deny"


# Facts, which nothing in the arguments can become.

FACTS: list[tuple[Rule, dict[str, Any], bool]] = [
    (Rule("deny", interface=("http", "page")), {}, True),
    (Rule("deny", interface="cli"), {}, False),  # pyright: ignore[reportArgumentType]
    (Rule("deny", interface_not=("http",)), {}, False),
    (Rule("deny", interface_not=["cli", "runbook"]), {}, True),  # pyright: ignore[reportArgumentType]
    (Rule("deny", asker=("runbook_acp",)), {"asker": "runbook_acp"}, True),
    (Rule("deny", asker=("runbook_acp",)), {}, False),
    (Rule("deny", capabilities=("a", "b")), {"capabilities": frozenset("abc")}, True),
    (Rule("deny", capabilities=("a", "b")), {"capabilities": frozenset("a")}, False),
    (Rule("deny", document="trusted"), {"document": Document("d", is_trusted=True)}, True),
    (Rule("deny", document="trusted"), {"document": Document("d")}, False),
    (Rule("deny", document="untrusted"), {"document": Document("d")}, True),
    (Rule("deny", document="untrusted"), {}, False),
    (Rule("deny", rendered_from=("http: *",)), {"rendered_from": frozenset({"script: a", "http: b"})}, True),
    (Rule("deny", rendered_from=("http: *",)), {"rendered_from": frozenset({"script: http: a"})}, False),
    (Rule("deny", placed_by=("agent: *",)), {"placed_by": frozenset({"agent: a"})}, True),
    (Rule("deny", placed_by=("agent: *",)), {}, False),
]


@pytest.mark.parametrize(("rule", "facts", "speaks"), FACTS)
def test_a_rule_about_facts_reads_them_from_the_facts_alone(rule: Rule, facts: dict[str, Any], speaks: bool):
    assert mode(request(READ, **facts), rule) == ("deny" if speaks else "allow")
    # The same words in the arguments change nothing.
    same = {name: str(value) if name == "document" else list(value) for name, value in facts.items()}
    assert mode(request(READ, args={**same, "facts": same}), rule) == mode(request(READ), rule)


def test_a_tool_denied_for_some_callers_only_is_still_offered():
    assert not hides([Rule("deny", asker=("x",))], tool="send_mail", interface="http", profile="p", user="u")
    assert hides([Rule("deny", interface_not=("cli",))], tool="send_mail", interface="http", profile="p", user="u")


@pytest.mark.parametrize(
    "pattern", ["*@RIVAL.example", "*@xn--bcher-kva.example", "*@bücher.example", "*@ＲＩＶＡＬ.example"]
)
@pytest.mark.parametrize("subject", ["bob@rival.example", "bob@bücher.example", "bob@xn--bcher-kva.example"])
def test_a_denial_meets_a_recipient_however_it_is_spelled(pattern: str, subject: str):
    is_same = ("cher" in pattern) == ("cher" in subject)
    assert mode(request(SEND, subject), Rule("deny", subjects=(pattern,))) == (
        "deny" if is_same else "require_approval"
    )


def test_an_allow_is_not_widened_by_another_spelling():
    assert mode(request(SEND, "Docs/x"), Rule("allow", subjects=("docs/*",))) == "require_approval"


def test_a_document_that_a_person_accepted_is_allowed_for_its_identity():
    trust = Rule("allow", document="trusted")
    trusted = request(SEND, UNANALYSED, document=Document("d", is_trusted=True))
    assert mode(trusted, trust) == "allow"
    assert mode(trusted, trust, Rule("deny", subjects=("within:rm *",), priority=1)) == "deny"
    assert mode(request(SEND, UNANALYSED, document=Document("d")), trust) == "require_approval"


SCOPED: list[tuple[Grant, dict[str, Any], bool]] = [
    (grant(scope="session", thread_id=ThreadId("thr_1")), {}, True),
    (grant(scope="session", thread_id=ThreadId("thr_2")), {}, False),
    (grant(scope="always"), {}, True),
    (grant(scope="always"), {"document": Document("d")}, False),
    (grant(scope="document", document="d"), {"document": Document("d")}, True),
    (grant(scope="document", document="d"), {"document": Document("e")}, False),
    (grant(scope="document", document="d"), {}, False),
    (grant(definition="1"), {"definition": "1"}, True),
    (grant(definition="1"), {"definition": "2"}, False),
    (grant(definition=""), {"definition": "2"}, False),
]


@pytest.mark.parametrize(("given", "facts", "counts"), SCOPED)
def test_a_grant_counts_within_its_scope_and_for_its_tool(given: Grant, facts: dict[str, Any], counts: bool):
    assert mode(request(SEND, BOB, **facts), grants=[given]) == ("allow" if counts else "require_approval")


@pytest.mark.parametrize(
    ("asked", "rules", "scopes"),
    [
        (request(SEND, BOB), (), ("session", "always")),
        (request(SEND, BOB, document=Document("d")), (), ("session", "document")),
        (request(SEND, BOB, interface="page", document=Document("d")), (), ("session",)),
        (request(SEND), (), ()),
        (request(SEND, BOB, UNANALYSED), (), ()),
        (request(SEND, BOB), (Rule("require_approval", grantable=False),), ()),
        (request(SEND, BOB), (Rule("deny"),), ()),
    ],
)
def test_a_question_offers_only_scopes_in_which_a_grant_can_be_recognised(
    asked: PolicyRequest, rules: tuple[Rule, ...], scopes: tuple[Scope, ...]
):
    assert offered_scopes(asked, by_rules(asked, rules)) == scopes


def test_rules_that_change_in_their_list_are_looked_at_as_they_are():
    rules = [Rule("allow")]
    assert decide(request(SEND, BOB), rules, ()).mode == "allow"
    rules[0] = Rule("deny")
    assert decide(request(SEND, BOB), rules, ()).mode == "deny"


def test_however_many_lists_of_rules_there_are_each_is_known():
    lists = [(Rule("allow" if n % 2 else "deny", priority=n),) for n in range(MOST_RANKED + 2)]
    for _ in range(2):
        modes = [decide(request(SEND, BOB), rules, ()).mode for rules in lists]
        assert modes == ["deny", "allow"] * (len(lists) // 2)


def test_a_pattern_without_an_engine_for_patterns_denies():
    assert decide(request(READ), (Rule("allow", where=(Condition("to", "matches", "x"),)),), ()).mode == "allow"
    asked = request(READ, args={"to": "x"})
    assert decide(asked, (Rule("allow", where=(Condition("to", "matches", "x"),)),), ()).mode == "deny"


@pytest.mark.parametrize(
    "recipient",
    [
        "eve@evil.test, bob@example.com",
        "eve@evil.test;bob@example.com",
        "eve@evil.test bob@example.com",
        "eve@evil.test\nbob@example.com",
        "<eve@evil.test> bob@example.com",
        "eve@evil.test<bob@example.com",
        '"eve@evil.test"bob@example.com',
        "eve@evil.test\\@example.com",
        "eve(bob@example.com",
    ],
)
def test_a_pattern_of_addresses_allows_one_address_and_not_a_text_of_two(recipient: str):
    rule = Rule("allow", tool="send_mail", subjects=("*@example.com",))
    assert mode(request(SEND, recipient), rule) == "require_approval"
    assert mode(request(SEND, "bob@example.com"), rule) == "allow"


@pytest.mark.parametrize(
    "recipient",
    [
        "Eve <eve@rival.example>",
        "eve@rival.example ",
        "bob@example.com, eve@rival.example",
        "eve@rival.example.",
        "EVE@RIVAL.example;x",
        '"eve"@rival.example, b@x.org',
        '"e v"@rival.example; b@x.org',
        "eve @rival.example, b@x.org",
        "eve@ rival.example, b@x.org",
        "eve@(x)rival.example",
        "eve@rival.example (boss)",
        "eve@[rival.example]",
        "eve%rival.example@relay.example",
        "team: eve @rival.example;",
        "mailto:eve%40rival.example",
        "=?utf-8?q?eve=40rival.example?=",
        "eve\uff20 rival.example",
        ",".join(f"{n}@x.org" for n in range(2_000)),
    ],
)
def test_a_denied_address_is_found_in_whatever_a_tool_names(recipient: str):
    assert mode(request(SEND, recipient), Rule("deny", subjects=("*@rival.example",))) == "deny"
    assert mode(request(SEND, "bob@example.com"), Rule("deny", subjects=("*@rival.example",))) == "require_approval"


@pytest.mark.parametrize(
    "recipient",
    [
        "bob",
        "<bob@example.com>",
        "Bob <bob@example.com>, carol@x.org",
        '"Bob B." <bob@example.com>;',
        "BOB@example.com",
    ],
)
def test_a_plain_list_of_other_addresses_is_not_denied(recipient: str):
    assert mode(request(SEND, recipient), Rule("deny", subjects=("*@rival.example",))) == "require_approval"
